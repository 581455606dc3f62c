/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * PlainCells
 *
 * A memory in which every bit is kept and every operation looks at every fault: what sim/memory/ must be equal to. It reads
 * the texts of fault primitives by itself and shares nothing with the simulator but wire.h.
 */

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/wire/wire.h"

#define PLAIN_ACCESSES 40
#define PLAIN_BITS     256
#define PLAIN_FAULTS   10
#define PLAIN_RULES    2 /* of one fault */
#define PLAIN_ANY      2
#define PLAIN_TURNS    2
#define PLAIN_ROUNDS   64

typedef struct PlainCell {
        unsigned access, bit;
} PlainCell;

/* <S/F/R>: cell 0 is the victim. OPERATED is the cell that has the operations, or -1. */
typedef struct PlainRule {
        unsigned n_cells;
        PlainCell cells[5];
        unsigned states[5];
        int operated;
        unsigned n_ops;
        bool writes[2];
        unsigned data[2]; /* written, or what a good cell holds when it is read */
        unsigned becomes;
        int reads; /* -1: '-' */
} PlainRule;

typedef struct PlainFault {
        bool present, active, write_wins;
        uint64_t order; /* of injection */
        unsigned n_rules;
        PlainRule rules[PLAIN_RULES];
        bool open; /* stuck-open, at rules[0].cells[0] */
        unsigned latch;
        char decoder; /* 'a' … 'd' between accesses x + i and y + i; 'e': each reaches both */
        unsigned x, y, n;
        bool ones, wired_or;
} PlainFault;

typedef struct PlainOperation {
        bool valid, write;
        unsigned n_reached, reached[2];
        uint8_t data[PLAIN_BITS];
        uint8_t before[PLAIN_ACCESSES][PLAIN_BITS];
        bool open[PLAIN_FAULTS];
} PlainOperation;

typedef struct PlainCells {
        uint16_t size[7];
        unsigned n;
        uint8_t holds[PLAIN_ACCESSES][PLAIN_BITS];
        uint8_t meant[PLAIN_ACCESSES][PLAIN_BITS]; /* what was written to these cells */
        PlainFault faults[PLAIN_FAULTS];
        PlainOperation last; /* of the whole memory */
        bool restless;       /* conditions did not come to an end: nothing can be said any more */
} PlainCells;

/* ---- reading ---- */

/* One side of S: "x", "0", "0w1", "0w1r1". Returns what follows it. */
static const char *plain_read_side(const char *text, PlainRule *rule, unsigned cell, int operated) {
        unsigned holds = *text == 'x' ? PLAIN_ANY : (unsigned) (*text - '0');

        rule->states[cell] = holds;
        for (text++; *text == 'r' || *text == 'w'; text += 2) {
                rule->operated = operated;
                rule->writes[rule->n_ops] = *text == 'w';
                rule->data[rule->n_ops++] = (unsigned) (text[1] - '0');
        }
        return text;
}

static PlainRule plain_read(const char *text) {
        PlainRule rule = { .operated = -1, .n_cells = 1 };
        bool pair = strchr(text, ';') != NULL;

        text = plain_read_side(text + 1, &rule, pair ? 1 : 0, pair ? 1 : 0);
        if (pair) {
                rule.n_cells = 2;
                text = plain_read_side(text + 1, &rule, 0, 0);
        }
        text++;
        rule.becomes = *text == '!' ? PLAIN_TURNS : (unsigned) (*text - '0');
        text = strchr(text, '/') + 1;
        rule.reads = *text == '-' ? -1 : *text - '0';
        return rule;
}

/* ---- operations ---- */

static uint8_t *plain_cell(PlainCells *plain, PlainCell cell) {
        return &plain->holds[cell.access][cell.bit];
}

static bool plain_is_open(const PlainCells *plain, unsigned access, unsigned bit, PlainFault **ret) {
        for (unsigned i = 0; i < PLAIN_FAULTS; i++) {
                const PlainFault *f = &plain->faults[i];

                if (f->present && f->active && f->open && f->rules[0].cells[0].access == access &&
                    f->rules[0].cells[0].bit == bit) {
                        if (ret)
                                *ret = (PlainFault *) f;
                        return true;
                }
        }
        return false;
}

static const PlainFault *plain_decoder(const PlainCells *plain, unsigned access) {
        for (unsigned i = 0; i < PLAIN_FAULTS; i++) {
                const PlainFault *f = &plain->faults[i];

                if (f->present && f->active && f->decoder &&
                    ((access >= f->x && access < f->x + f->n) || (access >= f->y && access < f->y + f->n)))
                        return f;
        }
        return NULL;
}

static unsigned plain_reach(const PlainCells *plain, unsigned access, unsigned reached[2]) {
        const PlainFault *f = plain_decoder(plain, access);
        bool is_x = f && access >= f->x && access < f->x + f->n;
        unsigned x = is_x ? access : f ? access - f->y + f->x : 0, y = is_x ? access - f->x + f->y : access;

        reached[0] = access;
        if (!f)
                return 1;
        if (f->decoder == 'a' || (f->decoder == 'b' && is_x))
                return 0;
        if (f->decoder == 'c' || (f->decoder == 'd' && !is_x)) {
                reached[0] = y;
                return 1;
        }
        reached[0] = x;
        reached[1] = y;
        return 2;
}

static bool plain_has(const unsigned reached[2], unsigned n, unsigned access) {
        return (n > 0 && reached[0] == access) || (n > 1 && reached[1] == access);
}

/* All faults in the order of injection; calls EACH for their rules. */
static PlainFault *plain_next(PlainCells *plain, uint64_t *order) {
        PlainFault *next = NULL;

        for (unsigned i = 0; i < PLAIN_FAULTS; i++) {
                PlainFault *f = &plain->faults[i];

                if (f->present && f->order > *order && (!next || f->order < next->order))
                        next = f;
        }
        if (next)
                *order = next->order;
        return next;
}

static void plain_settle(PlainCells *plain) {
        bool changed = true;

        for (unsigned round = 0; changed; round++) {
                PlainFault *f;

                changed = false;
                for (uint64_t order = 0; (f = plain_next(plain, &order));)
                        for (unsigned k = 0; f->active && k < f->n_rules; k++) {
                                PlainRule *rule = &f->rules[k];
                                bool holds = rule->operated < 0;

                                for (unsigned c = 0; holds && c < rule->n_cells; c++)
                                        holds = rule->states[c] == PLAIN_ANY ||
                                                *plain_cell(plain, rule->cells[c]) == rule->states[c];
                                if (!holds || *plain_cell(plain, rule->cells[0]) == rule->becomes)
                                        continue;
                                *plain_cell(plain, rule->cells[0]) = (uint8_t) rule->becomes;
                                changed = true;
                        }
                if (round == PLAIN_ROUNDS) {
                        plain->restless = true;
                        return;
                }
        }
}

/* Whether the operation before was the first of the rule's two, in its cell, and did what it does in a good one. */
static bool plain_came_first(const PlainCells *plain, const PlainRule *rule, uint8_t before[][PLAIN_BITS]) {
        const PlainOperation *last = &plain->last;
        PlainCell c = rule->cells[rule->operated];

        if (!last->valid || !plain_has(last->reached, last->n_reached, c.access) || last->write != rule->writes[0])
                return false;
        for (unsigned i = 0; i < PLAIN_FAULTS; i++)
                if (last->open[i] && plain->faults[i].rules[0].cells[0].access == c.access &&
                    plain->faults[i].rules[0].cells[0].bit == c.bit)
                        return false;
        if (last->write && last->data[c.bit] != rule->data[0])
                return false;
        return last->before[c.access][c.bit] == rule->states[rule->operated] && before[c.access][c.bit] == rule->data[0];
}

/* Rule 2: is this operation the one that ends S? */
static bool plain_ends(const PlainCells *plain, const PlainRule *rule, bool write, const uint8_t data[PLAIN_BITS],
                       const unsigned reached[2], unsigned n, uint8_t before[][PLAIN_BITS]) {
        unsigned ends = rule->n_ops - 1;
        PlainCell c;

        if (rule->operated < 0)
                return false;
        c = rule->cells[rule->operated];
        if (!plain_has(reached, n, c.access) || plain_is_open(plain, c.access, c.bit, NULL) || write != rule->writes[ends] ||
            (write && data[c.bit] != rule->data[ends]))
                return false;
        return rule->n_ops == 2 ? plain_came_first(plain, rule, before) :
                                  before[c.access][c.bit] == rule->states[rule->operated];
}

/* DATA is written, or *DATA is what each reached access then gives. */
static void plain_operate(PlainCells *plain, unsigned address, bool write, const uint8_t data[PLAIN_BITS],
                          unsigned *ret_n, unsigned reached[2], uint8_t got[2][PLAIN_BITS]) {
        static uint8_t before[PLAIN_ACCESSES][PLAIN_BITS], written[PLAIN_ACCESSES][PLAIN_BITS];
        unsigned n = plain_reach(plain, address, reached);
        bool fires[PLAIN_FAULTS][PLAIN_RULES] = {};
        PlainFault *f, *open;

        memcpy(before, plain->holds, sizeof(before));

        /* What ends its S, with what all other cells held before. */
        for (unsigned i = 0; i < PLAIN_FAULTS; i++)
                for (unsigned k = 0; k < plain->faults[i].n_rules; k++) {
                        PlainRule *rule = &plain->faults[i].rules[k];
                        bool all = plain->faults[i].present && plain->faults[i].active &&
                                   plain_ends(plain, rule, write, data, reached, n, before);

                        for (unsigned c = 0; all && c < rule->n_cells; c++) {
                                PlainCell cell = rule->cells[c];
                                bool together = c == 0 && rule->operated != 0 && write && plain_has(reached, n, cell.access) &&
                                                !plain_is_open(plain, cell.access, cell.bit, NULL);

                                if ((int) c == rule->operated)
                                        continue;
                                if (together)
                                        all = !plain->faults[i].write_wins; /* looked at when it is written */
                                else
                                        all = rule->states[c] == PLAIN_ANY || before[cell.access][cell.bit] == rule->states[c];
                        }
                        fires[i][k] = all;
                }

        /* What it does in good cells. */
        for (unsigned k = 0; k < n; k++)
                for (unsigned bit = 0; bit < PLAIN_BITS; bit++) {
                        bool cut = plain_is_open(plain, reached[k], bit, &open);

                        if (write && !cut)
                                plain->holds[reached[k]][bit] = data[bit];
                        if (!write)
                                got[k][bit] = cut ? (uint8_t) open->latch : before[reached[k]][bit];
                }

        /* What the victims' own operations do … */
        for (uint64_t order = 0; (f = plain_next(plain, &order));)
                for (unsigned k = 0; k < f->n_rules; k++) {
                        PlainRule *rule = &f->rules[k];
                        PlainCell v = rule->cells[0];

                        if (!fires[f - plain->faults][k] || rule->operated != 0)
                                continue;
                        plain->holds[v.access][v.bit] = (uint8_t) rule->becomes;
                        for (unsigned r = 0; r < n && rule->reads >= 0; r++)
                                if (reached[r] == v.access)
                                        got[r][v.bit] = (uint8_t) rule->reads;
                }

        /* … and what those on other cells do. */
        memcpy(written, plain->holds, sizeof(written));
        for (uint64_t order = 0; (f = plain_next(plain, &order));)
                for (unsigned k = 0; k < f->n_rules; k++) {
                        PlainRule *rule = &f->rules[k];
                        PlainCell v = rule->cells[0];
                        bool together = write && plain_has(reached, n, v.access) && !plain_is_open(plain, v.access, v.bit, NULL);
                        uint8_t was = together ? written[v.access][v.bit] : before[v.access][v.bit];

                        if (!fires[f - plain->faults][k] || rule->operated == 0 ||
                            (together && rule->states[0] != PLAIN_ANY && was != rule->states[0]))
                                continue;
                        plain->holds[v.access][v.bit] = (uint8_t) (rule->becomes == PLAIN_TURNS ? !was : rule->becomes);
                }

        plain_settle(plain);
        plain->last.valid = true;
        plain->last.write = write;
        plain->last.n_reached = n;
        memcpy(plain->last.reached, reached, sizeof(plain->last.reached));
        if (write)
                memcpy(plain->last.data, data, PLAIN_BITS);
        memcpy(plain->last.before, before, sizeof(before));
        for (unsigned i = 0; i < PLAIN_FAULTS; i++)
                plain->last.open[i] = plain->faults[i].present && plain->faults[i].active && plain->faults[i].open;
        *ret_n = n;
}

static void plain_write(PlainCells *plain, unsigned address, const uint8_t data[PLAIN_BITS]) {
        unsigned n, reached[2];

        plain_operate(plain, address, true, data, &n, reached, NULL);
        for (unsigned k = 0; k < n; k++)
                memcpy(plain->meant[reached[k]], data, PLAIN_BITS);
}

static unsigned plain_line(const PlainCells *plain, unsigned access) {
        unsigned columns = plain->size[6], rows = plain->size[5];

        return access / (rows * columns) * columns + access % columns;
}

/* RET is what ECC gets, *MEANT what it takes for right. */
static void plain_get(PlainCells *plain, unsigned address, uint8_t ret[PLAIN_BITS], uint8_t meant[PLAIN_BITS]) {
        const PlainFault *decoder = plain_decoder(plain, address);
        uint8_t got[2][PLAIN_BITS];
        unsigned n, reached[2];

        plain_operate(plain, address, false, NULL, &n, reached, got);
        for (unsigned bit = 0; bit < PLAIN_BITS; bit++) {
                uint8_t a = n > 0 ? got[0][bit] : decoder->ones, b = n > 1 ? got[1][bit] : a;
                uint8_t c = n > 0 ? plain->meant[reached[0]][bit] : a, d = n > 1 ? plain->meant[reached[1]][bit] : c;

                ret[bit] = n > 1 && decoder->wired_or ? a | b : a & b;
                meant[bit] = n > 1 && decoder->wired_or ? c | d : c & d;
        }
        for (unsigned i = 0; i < PLAIN_FAULTS; i++) {
                PlainFault *f = &plain->faults[i];

                if (f->present && f->open && plain_line(plain, f->rules[0].cells[0].access) == plain_line(plain, address))
                        f->latch = ret[f->rules[0].cells[0].bit];
        }
}

/* Faults came or went: what a first operation was is not known of cells that nobody looked at. */
static void plain_changed(PlainCells *plain) {
        plain->last.valid = false;
        for (unsigned access = 0; access < plain->n; access++)
                for (unsigned bit = 0; bit < PLAIN_BITS; bit++) {
                        bool looked_at = false;

                        for (unsigned i = 0; i < PLAIN_FAULTS && !looked_at; i++)
                                for (unsigned k = 0; plain->faults[i].present && k < plain->faults[i].n_rules; k++)
                                        for (unsigned c = 0; c < plain->faults[i].rules[k].n_cells; c++)
                                                looked_at |= plain->faults[i].rules[k].cells[c].access == access &&
                                                             plain->faults[i].rules[k].cells[c].bit == bit;
                        if (!looked_at)
                                plain->meant[access][bit] = plain->holds[access][bit];
                }
}
