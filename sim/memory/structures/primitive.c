/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/structures/primitive.h"

#include <errno.h>
#include <stdio.h>

#include "checks/text/cleanup.h"
#include "checks/wire/wire.h"

#define TEXTS(...) ((const char *const[]) { __VA_ARGS__, NULL })

/* As the literature enumerates them; counts per class are checked by a test against its tables. */
static const PrimitiveClass classes[] = {
        { "SAF", "stuck-at", false, TEXTS("<x/0/->", "<x/1/->") },
        { "SF", "state", true, TEXTS("<0/1/->", "<1/0/->") },
        { "TF", "transition", true, TEXTS("<0w1/0/->", "<1w0/1/->") },
        { "WDF", "write-disturb", true, TEXTS("<0w0/1/->", "<1w1/0/->") },
        { "RDF", "read-destructive", true, TEXTS("<0r0/1/1>", "<1r1/0/0>") },
        { "DRDF", "deceptive-read", true, TEXTS("<0r0/1/0>", "<1r1/0/1>") },
        { "IRF", "incorrect-read", true, TEXTS("<0r0/0/1>", "<1r1/1/0>") },
        { "CFst", "coupling-state", true, TEXTS("<0;0/1/->", "<0;1/0/->", "<1;0/1/->", "<1;1/0/->") },
        { "CFds_wt", "coupling-disturb", true, TEXTS("<0w1;0/1/->", "<0w1;1/0/->", "<1w0;0/1/->", "<1w0;1/0/->") },
        { "CFds_wn", "coupling-disturb", true, TEXTS("<0w0;0/1/->", "<0w0;1/0/->", "<1w1;0/1/->", "<1w1;1/0/->") },
        { "CFds_r", "coupling-disturb", true, TEXTS("<0r0;0/1/->", "<0r0;1/0/->", "<1r1;0/1/->", "<1r1;1/0/->") },
        { "CFtr", "coupling-transition", true, TEXTS("<0;0w1/0/->", "<0;1w0/1/->", "<1;0w1/0/->", "<1;1w0/1/->") },
        { "CFwd", "coupling-write-disturb", true, TEXTS("<0;0w0/1/->", "<0;1w1/0/->", "<1;0w0/1/->",
          "<1;1w1/0/->") },
        { "CFrd", "coupling-read-destructive", true, TEXTS("<0;0r0/1/1>", "<0;1r1/0/0>", "<1;0r0/1/1>",
          "<1;1r1/0/0>") },
        { "CFdrd", "coupling-deceptive-read", true, TEXTS("<0;0r0/1/0>", "<0;1r1/0/1>", "<1;0r0/1/0>",
          "<1;1r1/0/1>") },
        { "CFir", "coupling-incorrect-read", true, TEXTS("<0;0r0/0/1>", "<0;1r1/1/0>", "<1;0r0/0/1>",
          "<1;1r1/1/0>") },
        { "CFid", "coupling-idempotent", false, TEXTS("<0w1;0/1/->", "<0w1;1/0/->", "<1w0;0/1/->", "<1w0;1/0/->") },
        { "CFin", "coupling-inversion", false, TEXTS("<0w1;x/!x/->", "<1w0;x/!x/->") },
        { "dRDF", "dynamic-read-destructive", false, TEXTS("<0w0r0/1/1>", "<0w1r1/0/0>", "<1w0r0/1/1>",
          "<1w1r1/0/0>") },
        { "dDRDF", "dynamic-deceptive-read", false, TEXTS("<0w0r0/1/0>", "<0w1r1/0/1>", "<1w0r0/1/0>",
          "<1w1r1/0/1>") },
        { "dIRF", "dynamic-incorrect-read", false, TEXTS("<0w0r0/0/1>", "<0w1r1/1/0>", "<1w0r0/0/1>",
          "<1w1r1/1/0>") },
        { "drrRDF", "dynamic-read-destructive", false, TEXTS("<0r0r0/1/1>", "<1r1r1/0/0>") },
        { "drrDRDF", "dynamic-deceptive-read", false, TEXTS("<0r0r0/1/0>", "<1r1r1/0/1>") },
        { "drrIRF", "dynamic-incorrect-read", false, TEXTS("<0r0r0/0/1>", "<1r1r1/1/0>") },
        { "dWW", "dynamic-write", false, TEXTS("<0w0w0/1/->", "<0w0w1/0/->", "<0w1w0/1/->", "<0w1w1/0/->",
          "<1w0w0/1/->", "<1w0w1/0/->", "<1w1w0/1/->", "<1w1w1/0/->") },
        { "dRW", "dynamic-read-write", false, TEXTS("<0r0w0/1/->", "<0r0w1/0/->", "<1r1w0/1/->", "<1r1w1/0/->") },
        { "dCFds", "dynamic-coupling-disturb", false, TEXTS("<0w0r0;0/1/->", "<0w0r0;1/0/->", "<0w1r1;0/1/->",
          "<0w1r1;1/0/->", "<1w0r0;0/1/->", "<1w0r0;1/0/->", "<1w1r1;0/1/->", "<1w1r1;1/0/->") },
        { "dCFrd", "dynamic-coupling-read-destructive", false, TEXTS("<0;0w0r0/1/1>", "<0;0w1r1/0/0>",
          "<0;1w0r0/1/1>", "<0;1w1r1/0/0>", "<1;0w0r0/1/1>", "<1;0w1r1/0/0>", "<1;1w0r0/1/1>", "<1;1w1r1/0/0>") },
        { "dCFdrd", "dynamic-coupling-deceptive-read", false, TEXTS("<0;0w0r0/1/0>", "<0;0w1r1/0/1>",
          "<0;1w0r0/1/0>", "<0;1w1r1/0/1>", "<1;0w0r0/1/0>", "<1;0w1r1/0/1>", "<1;1w0r0/1/0>", "<1;1w1r1/0/1>") },
        { "dCFir", "dynamic-coupling-incorrect-read", false, TEXTS("<0;0w0r0/0/1>", "<0;0w1r1/1/0>",
          "<0;1w0r0/0/1>", "<0;1w1r1/1/0>", "<1;0w0r0/0/1>", "<1;0w1r1/1/0>", "<1;1w0r0/0/1>", "<1;1w1r1/1/0>") },
};

const PrimitiveClass *primitive_class_at(size_t index) {
        return index < ELEMENTS(classes) ? &classes[index] : NULL;
}

typedef struct Reader {
        const char *text, *p;
        const char *wrong;
} Reader;

static bool fail(Reader *reader, const char *wrong) {
        if (!reader->wrong)
                reader->wrong = wrong;
        return false;
}

static bool take(Reader *reader, char c, const char *wrong) {
        if (*reader->p != c)
                return fail(reader, wrong);
        reader->p++;
        return true;
}

static bool take_bit(Reader *reader, uint8_t *ret, const char *wrong) {
        if (*reader->p != '0' && *reader->p != '1')
                return fail(reader, wrong);
        *ret = (uint8_t) (*reader->p++ - '0');
        return true;
}

/* "0", "x", "0w1", "0w1r1": a state and the operations that begin in it. */
static bool take_cell(Reader *reader, PrimitiveCell *ret) {
        uint8_t holds;

        *ret = (PrimitiveCell) {};
        if (*reader->p == 'x') {
                ret->state = PRIMITIVE_ANY;
                reader->p++;
                return true;
        }
        if (!take_bit(reader, &ret->state, "expected the state of a cell: 0, 1 or x"))
                return false;

        holds = ret->state;
        while (*reader->p == 'r' || *reader->p == 'w') {
                bool write = *reader->p == 'w';
                uint8_t data;

                if (ret->n_ops == ELEMENTS(ret->ops))
                        return fail(reader, "at most two operations sensitise a fault");
                reader->p++;
                if (!take_bit(reader, &data, "expected 0 or 1 after r or w"))
                        return false;
                if (!write && data != holds) {
                        reader->p--;
                        return fail(reader, "a good cell does not read so here");
                }
                ret->ops[ret->n_ops++] = (uint8_t) ((write ? MARCH_WRITE : 0) | data);
                holds = data;
        }

        return true;
}

static bool take_fault(Reader *reader, Primitive *primitive) {
        if (*reader->p != '!')
                return take_bit(reader, &primitive->fault, "expected what the victim then holds: 0, 1 or !x");
        if (reader->p[1] != 'x' || primitive->victim.state != PRIMITIVE_ANY)
                return fail(reader, "!x needs a victim of state x");
        primitive->fault = PRIMITIVE_INVERT;
        reader->p += 2;
        return true;
}

static bool ends_with_read(const PrimitiveCell *cell) {
        return cell->n_ops > 0 && !(cell->ops[cell->n_ops - 1] & MARCH_WRITE);
}

static bool take_read(Reader *reader, Primitive *primitive) {
        bool reads = ends_with_read(&primitive->victim);

        if (*reader->p == '-') {
                if (reads)
                        return fail(reader, "S ends in a read of the victim: expected what is read");
                primitive->read = PRIMITIVE_NO_READ;
                reader->p++;
                return true;
        }
        if (!reads)
                return fail(reader, "expected - where S does not end in a read of the victim");
        return take_bit(reader, &primitive->read, "expected what is read: 0, 1 or -");
}

static bool read_primitive(Reader *reader, Primitive *primitive) {
        if (!take(reader, '<', "expected <") || !take_cell(reader, &primitive->victim))
                return false;

        if (*reader->p == ';') {
                reader->p++;
                primitive->pair = true;
                primitive->aggressor = primitive->victim;
                if (!take_cell(reader, &primitive->victim))
                        return false;
                if (primitive->aggressor.n_ops > 0 && primitive->victim.n_ops > 0)
                        return fail(reader, "only one of two cells can be operated on");
        }

        return take(reader, '/', "expected / behind what sensitises") && take_fault(reader, primitive) &&
               take(reader, '/', "expected / behind what the victim holds") && take_read(reader, primitive) &&
               take(reader, '>', "expected >") && (!*reader->p || fail(reader, "nothing may follow >"));
}

int primitive_parse(const char *text, Primitive *ret, const char **ret_wrong, size_t *ret_offset) {
        Reader reader = { .text = text, .p = text };
        Primitive primitive = {};

        if (!read_primitive(&reader, &primitive)) {
                if (ret_wrong)
                        *ret_wrong = reader.wrong;
                if (ret_offset)
                        *ret_offset = (size_t) (reader.p - reader.text);
                return -EINVAL;
        }

        *ret = primitive;
        return 0;
}

static char *format_cell(const PrimitiveCell *cell, char *p) {
        *p++ = "01x"[cell->state];
        for (unsigned i = 0; i < cell->n_ops; i++) {
                *p++ = cell->ops[i] & MARCH_WRITE ? 'w' : 'r';
                *p++ = cell->ops[i] & MARCH_DATA ? '1' : '0';
        }
        return p;
}

char *primitive_format(const Primitive *primitive, char text[static PRIMITIVE_TEXT_MAX]) {
        char *p = text;

        *p++ = '<';
        if (primitive->pair) {
                p = format_cell(&primitive->aggressor, p);
                *p++ = ';';
        }
        p = format_cell(&primitive->victim, p);
        (void) snprintf(p, PRIMITIVE_TEXT_MAX - (size_t) (p - text), "/%s/%c>",
                        primitive->fault == PRIMITIVE_INVERT ? "!x" : primitive->fault ? "1" : "0", "01-"[primitive->read]);
        return text;
}
