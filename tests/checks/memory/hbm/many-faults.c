/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Many faults in one chip, through the simulator, on the real geometry: what the hbm check says of each group of them against what was put
 * in. The truth is a list of places. A finding is right if its code and place are those of a fault; it is within, if its place
 * lies in that of a fault; else it names what is sound. Nothing here knows how the check decides.
 *
 * usage: many-faults [CASES [GROUP [EVERY]]]: EVERY: only each so many kinds of a group. Prints one line per kind:
 *
 *     GROUP CASES exact N first N missed N innocent N findings MEAN MAX cpu MSEC device SEC MAX
 *
 *  exact     every fault is named as itself, and nothing else is but a heap: hbm-scattered, hbm-spares-exhausted where there are enough
 *  first     the first finding names the first fault as itself; it is the larger
 *  missed    chips that passed
 *  innocent  findings that name what is sound
 *
 * TAP, and a failure, if something sound is named, more is told than FINDINGS_MAX, it takes more of the device's time than DEVICE_MAX, or a
 * group's promise is not kept.
 */

#include <stdlib.h>
#include <sys/param.h>
#include <time.h>

#include "checks/memory/hbm/report/parameters.h"
#include "checks/plan/plan.h"
#include "sim/hbm/place.h"
#include "tests/hall-device.h"

extern const Check check_hbm;

#define HEAD         "scenario: t\nseed: %u\ntopology: {ultraservers: 1}\nfaults:\n"
#define CHIP         "us0-1/chip3/"
#define FAULTS_MAX   512u
#define FINDINGS_MAX 48u /* 32 one by one, and some for the kinds of four stacks and for banks without spares */
#define SUBARRAY     512u
#define BUDGET_SEC   30.0 /* of preflight */
#define DEVICE_MAX   (2 * BUDGET_SEC / 3) /* half of the budget for marches over what is left, and some for single banks and cells */

static const MemoryShape shape = { .size = { 16, 2, 3, 4, 4, 16384, 32 }, .subarray_rows = SUBARRAY };

/* ---- the truth ---- */

typedef struct Place {
        unsigned stack;
        WireBox box;
        MemoryBits bits;
} Place;

typedef struct Truth {
        const char *code, *other; /* OTHER: as good, or NULL */
        unsigned n;
        Place places[2];
        char at[2][LOCATION_STRING_MAX]; /* without the chip */
        bool found;
} Truth;

typedef struct Crowd { /* the faults of one case */
        char text[FAULTS_MAX * 192];
        size_t length;
        Truth truths[FAULTS_MAX];
        unsigned n;
        bool many; /* cells: more than are told one by one */
} Crowd;

static uint64_t random_state;

static unsigned below(unsigned n) {
        random_state += UINT64_C(0x9e3779b97f4a7c15);
        uint64_t z = (random_state ^ random_state >> 30) * UINT64_C(0xbf58476d1ce4e5b9);

        z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
        return (unsigned) ((z ^ z >> 31) >> 33) % n;
}

static void place_read(const char *at, Place *place) {
        char text[LOCATION_STRING_MAX + 16];
        Location location;

        (void) snprintf(text, sizeof(text), CHIP "%s", at);
        if (location_parse(text, &location, NULL, NULL) < 0 || hbm_box_of(&shape, &location, &place->box) < 0) {
                fprintf(stderr, "no place: %s\n", text);
                exit(EXIT_FAILURE);
        }
        place->stack = (unsigned) location_index(&location, LOCATION_HBM);
        place->bits = hbm_place_bits(&location);
        if (location_index(&location, LOCATION_DQ) >= 0) {
                uint64_t lane = (uint64_t) 1 << location_index(&location, LOCATION_DQ);

                for (unsigned i = 0; i < 4; i++)
                        place->bits.w[i] = lane | lane << 32;
        }
}

static bool lies_in(const Place *inner, const Place *outer) {
        for (unsigned i = 0; i < 4; i++)
                if (inner->bits.w[i] & ~outer->bits.w[i])
                        return false;
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                if (inner->box.first[axis] < outer->box.first[axis] || inner->box.last[axis] > outer->box.last[axis])
                        return false;
        return inner->stack == outer->stack;
}

/* ---- faults ---- */

typedef struct Spot { /* a random place, from which faults of all sizes are made */
        unsigned stack, channel, pc, sid, bg, ba, row, other_row, col, other_col, bit;
} Spot;

static Spot anywhere(void) {
        Spot s = {
                below(4), below(16), below(2), below(3), below(4), below(4), below(16382) + 1, 0, below(32), 0, below(256),
        };

        s.other_row = (s.row + 3 + below(16000)) % 16384;
        s.other_col = (s.col + 1 + below(30)) % 32;
        return s;
}

static char bank_text[64];

static const char *bank_of(const Spot *s) {
        (void) snprintf(bank_text, sizeof(bank_text), "hbm%u/ch%u/pc%u/sid%u/bg%u/ba%u", s->stack, s->channel, s->pc, s->sid, s->bg, s->ba);
        return bank_text;
}

static void append(Crowd *crowd, const char *text) {
        size_t n = strlen(text);

        if (crowd->length + n >= sizeof(crowd->text))
                abort();
        memcpy(crowd->text + crowd->length, text, n + 1);
        crowd->length += n;
}

static void __attribute__((format(printf, 6, 7))) add(Crowd *crowd, const char *code, const char *other, double p, const char *fault,
                                                      const char *format, ...) {
        Truth *truth = &crowd->truths[crowd->n++];
        va_list arguments;
        char share[64];

        *truth = (Truth) { .code = code, .other = other, .n = 1 };
        va_start(arguments, format);
        (void) vsnprintf(truth->at[0], sizeof(truth->at[0]), format, arguments);
        va_end(arguments);
        place_read(truth->at[0], &truth->places[0]);
        append(crowd, "  - {at: " CHIP);
        append(crowd, truth->at[0]);
        append(crowd, ", kind: ");
        append(crowd, fault);
        if (p < 1) {
                (void) snprintf(share, sizeof(share), ", persistence: intermittent, probability: %g", p);
                append(crowd, share);
        }
        append(crowd, "}\n");
}

/* Where else the newest may be told. */
static void __attribute__((format(printf, 2, 3))) or_at(Crowd *crowd, const char *format, ...) {
        Truth *truth = &crowd->truths[crowd->n - 1];
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(truth->at[truth->n], sizeof(truth->at[0]), format, arguments);
        va_end(arguments);
        place_read(truth->at[truth->n], &truth->places[truth->n]);
        truth->n++;
}

static void add_cell(Crowd *crowd, const Spot *s, double p) {
        static const char *const kinds[] = { "stuck-at, value: 0", "stuck-at, value: 1" };

        add(crowd, p < 1 ? "hbm-intermittent" : "hbm-cell", p < 1 ? "hbm-cell" : NULL, p, kinds[below(2)], "%s/row%u/col%u/bit%u", bank_of(s),
            s->row, s->col, s->bit);
}

typedef enum Kind {
        SUB_WORDLINE, ROW, BIT_LINE, COLUMN, DATA_LINE, BANK, PSEUDO_CHANNEL, CHANNEL, DIE, STACK, LANE, DATA_TSV, DECODER_ROW, DECODER_ACCESS,
        WORDLINE_SHORT, ADDRESS_TSV, _KIND_MAX,
} Kind;

static const char *const kind_words[] = {
        "sub-wordline", "row", "bit-line", "column", "data-line", "bank", "pseudo-channel", "channel", "die", "stack", "lane", "data-tsv",
        "decoder-row", "decoder-access", "wordline-short", "address-tsv",
};

static void add_kind(Crowd *crowd, Kind kind, const Spot *s, double p) {
        static const char *const reads[] = { "zeros", "ones", "inverted" };
        char fault[96];
        const char *bank = bank_of(s);

#define DEAD(word) (snprintf(fault, sizeof(fault), word ", reads: %s", reads[below(3)]), fault)
#define LANE_OF(word) (snprintf(fault, sizeof(fault), word ", value: %u", below(2)), fault)
        switch (kind) {
        case SUB_WORDLINE:
                add(crowd, "hbm-sub-wordline", NULL, p, DEAD("sub-wordline"), "%s/row%u/swl%u", bank, s->row, s->bit / 16);
                break;
        case ROW:
                add(crowd, "hbm-row", NULL, p, DEAD("row-dead"), "%s/row%u", bank, s->row);
                break;
        case BIT_LINE:
                add(crowd, "hbm-bit-line", NULL, p, DEAD("bit-line"), "%s/sub%u/col%u/bit%u", bank, s->row / SUBARRAY, s->col, s->bit);
                break;
        case COLUMN:
                add(crowd, "hbm-column", NULL, p, DEAD("column-select"), "%s/col%u", bank, s->col);
                break;
        case DATA_LINE:
                add(crowd, "hbm-column", NULL, p, DEAD("column-select"), "%s/col%u/bit%u", bank, s->col, s->bit);
                break;
        case BANK:
                add(crowd, "hbm-bank", NULL, p, DEAD("bank-dead"), "%s", bank);
                break;
        case PSEUDO_CHANNEL:
                add(crowd, "hbm-pseudo-channel", NULL, p, DEAD("pseudo-channel-dead"), "hbm%u/ch%u/pc%u", s->stack, s->channel, s->pc);
                break;
        case CHANNEL:
                add(crowd, "hbm-channel", NULL, p, DEAD("channel-dead"), "hbm%u/ch%u", s->stack, s->channel);
                break;
        case DIE:
                add(crowd, "hbm-die", NULL, p, DEAD("die-dead"), "hbm%u/die%u", s->stack, 4 * s->sid + s->channel / 4);
                break;
        case STACK:
                add(crowd, "hbm-stack", NULL, p, DEAD("stack-dead"), "hbm%u", s->stack);
                break;
        case LANE:
                add(crowd, "hbm-lane", NULL, p, LANE_OF("lane-stuck"), "hbm%u/ch%u/pc%u/dq%u", s->stack, s->channel, s->pc, s->bit % 32);
                break;
        case DATA_TSV:
                add(crowd, "hbm-data-tsv", NULL, p, LANE_OF("data-tsv"), "hbm%u/ch%u/pc%u/sid%u/dq%u", s->stack, s->channel, s->pc, s->sid,
                    s->bit % 32);
                break;
        case DECODER_ROW:
                (void) snprintf(fault, sizeof(fault), "decoder, class: %s, partner: row%u", below(2) ? "c" : "d", s->other_row);
                add(crowd, "hbm-decoder", NULL, p, fault, "%s/row%u", bank, s->row);
                or_at(crowd, "%s/row%u", bank_of(s), s->other_row);
                break;
        case DECODER_ACCESS:
                (void) snprintf(fault, sizeof(fault), "decoder, class: %s, partner: col%u", below(2) ? "c" : "d", s->other_col);
                add(crowd, "hbm-decoder", NULL, p, fault, "%s/row%u/col%u", bank, s->row, s->col);
                or_at(crowd, "%s/row%u/col%u", bank_of(s), s->row, s->other_col);
                break;
        case WORDLINE_SHORT:
                (void) snprintf(fault, sizeof(fault), "wordline-short, reads: %s", below(2) ? "and" : "or");
                add(crowd, "hbm-wordline-short", NULL, p, fault, "%s/row%u", bank, s->row);
                or_at(crowd, "%s/row%u", bank_of(s), s->row + 1);
                break;
        case ADDRESS_TSV: {
                static const char *const lines[] = { "row3", "row13", "col0", "col4", "ba1", "bg0" };

                (void) snprintf(fault, sizeof(fault), "address-tsv, line: %s, value: %u", lines[below(ELEMENTS(lines))], below(2));
                add(crowd, "hbm-address-tsv", NULL, p, fault, "hbm%u/ch%u/pc%u/sid%u", s->stack, s->channel, s->pc, s->sid);
                break;
        }
        case _KIND_MAX:
                abort();
        }
}

/* ---- the judge ---- */

typedef struct Score {
        unsigned cases, exact, first, missed, innocent;
        unsigned findings, findings_max;
        double cpu_sec, device_sec, device_max;
} Score;

static bool verbose;
static char lines[4u << 20];
static size_t n_lines;
static unsigned n_findings;

static int take_lines(void *userdata, const char *text) {
        size_t n = strlen(text);

        if (n_lines + n + 1 < sizeof(lines)) {
                memcpy(lines + n_lines, text, n + 1);
                n_lines += n;
        }
        return 0;
}

static void scan(const char *text, Score *score) {
        HbmParameters parameters = *(const HbmParameters *) *check_word_find("hbm")->parameters_defaults;
        Device *device = hall_device(text, "us0-1", 3, 1 << 20);
        StepServer servers[1] = { { .device = device, .included = 0xffff, .name = "us0-1" } };
        StepSettings settings = {
                .name = "hbm", .n_servers = 1, .servers = servers, .parameters = &parameters, .seed = below(1u << 30), .budget_sec = BUDGET_SEC,
                .required = true, .write = take_lines, .unit = { .server = "us0-1" },
        };
        StepEnd end = { .verdict = _VERDICT_INVALID };
        struct timespec before, after;
        Step *step = NULL;

        n_lines = 0;
        lines[0] = '\0';
        if (!device)
                exit(EXIT_FAILURE);
        (void) location_append(&settings.unit, LOCATION_CHIP, 3);
        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
        if (step_new(&settings, &step) < 0)
                exit(EXIT_FAILURE);
        step_run(step, &check_hbm, &end);
        (void) clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
        score->cpu_sec += (double) (after.tv_sec - before.tv_sec) + 1e-9 * (double) (after.tv_nsec - before.tv_nsec);
        score->device_sec += (double) device_nsec(device) / 1e9;
        score->device_max = MAX(score->device_max, (double) device_nsec(device) / 1e9);
        if (end.verdict != VERDICT_FAILED && end.verdict != VERDICT_WARNED)
                score->missed++;
        if (end.message)
                printf("# %s\n", end.message);
        (void) step_free(step);
        (void) device_free(device);
}

/* The value of the string member NAME of a line. */
static bool member(const char *line, const char *name, char *ret, size_t size) {
        char wanted[64];
        const char *at, *end;

        (void) snprintf(wanted, sizeof(wanted), "\"%s\":\"", name);
        at = strstr(line, wanted);
        if (!at)
                return false;
        at += strlen(wanted);
        end = strchr(at, '"');
        if (!end || (size_t) (end - at) >= size)
                return false;
        memcpy(ret, at, (size_t) (end - at));
        ret[end - at] = '\0';
        return true;
}

/* A heap is told at a place that holds most of what it counts. */
static bool is_heap(const Crowd *crowd, const char *code, const Place *place) {
        unsigned within = 0;

        if (strcmp(code, "hbm-scattered") != 0 && strcmp(code, "hbm-spares-exhausted") != 0)
                return false;
        for (unsigned i = 0; i < crowd->n; i++)
                within += lies_in(&crowd->truths[i].places[0], place);
        return within > (code[4] == 's' && code[5] == 'p' ? 4u : 32u);
}

/* One finding against the truth. */
static void judge_finding(Crowd *crowd, const char *line, Score *score, bool *exact, bool *first) {
        char code[64], at[LOCATION_STRING_MAX];
        bool right = false, within = false;
        Place place = {};

        if (!member(strstr(line, "\"diagnosis\""), "verdict", code, sizeof(code)))
                return;
        if (!member(line, "location", at, sizeof(at)) || strncmp(at, CHIP, strlen(CHIP)) != 0) {
                score->innocent++;
                *exact = false;
                return;
        }
        place_read(at + strlen(CHIP), &place);
        for (unsigned i = 0; i < crowd->n; i++) {
                Truth *truth = &crowd->truths[i];

                for (unsigned k = 0; k < truth->n; k++) {
                        bool here = strcmp(truth->at[k], at + strlen(CHIP)) == 0 &&
                                    (strcmp(truth->code, code) == 0 || (truth->other && strcmp(truth->other, code) == 0));

                        within |= lies_in(&place, &truth->places[k]);
                        right |= here;
                        truth->found |= here;
                        *first |= here && n_findings == 0 && i == 0;
                }
        }
        *exact &= right || is_heap(crowd, code, &place);
        if (!right && !within && !is_heap(crowd, code, &place)) {
                score->innocent++;
                if (verbose || score->innocent <= 3)
                        printf("#   %s at %s\n", code, at);
        } else if (verbose)
                printf("#   %s %s at %s\n", right ? "right" : "within", code, at);
}

static void judge(Crowd *crowd, Score *score) {
        static char text[sizeof(crowd->text) + 256];
        unsigned missed = score->missed, innocent = score->innocent;
        bool exact = true, first = false;

        (void) snprintf(text, sizeof(text), HEAD "%s", below(1u << 30), crowd->text);
        scan(text, score);
        n_findings = 0;
        for (char *line = lines, *end; (end = strchr(line, '\n')); line = end + 1) {
                *end = '\0';
                if (!strstr(line, "\"diagnosis\""))
                        continue;
                judge_finding(crowd, line, score, &exact, &first);
                n_findings++;
        }
        for (unsigned i = 0; i < crowd->n; i++)
                exact &= crowd->truths[i].found;

        score->cases++;
        score->exact += exact;
        score->first += first;
        score->findings += n_findings;
        score->findings_max = MAX(score->findings_max, n_findings);
        if (score->innocent > innocent || (verbose && !exact))
                printf("# %u findings, of:\n%s%s", n_findings, crowd->n > 12 ? "# many\n" : crowd->text, missed < score->missed ? "# passed\n" : "");
}

/* ---- groups ---- */

static const double shares[] = { 0.02, 0.05, 0.1, 0.2, 0.5, 1 };

/* Two cells of one bit position, in rows side by side. */
static void make_adjacent(Crowd *crowd, unsigned nth, unsigned which) {
        Spot s = anywhere();

        s.bit = nth * 37 % 256;
        for (unsigned i = 0; i < 2; i++, s.row++)
                add_cell(crowd, &s, 1);
}

static const unsigned counts[] = { 2, 5, 10, 20, 32, 50, 100, 200, 500 };

static void make_cells(Crowd *crowd, const unsigned n, bool bank, double p) {
        Spot all = anywhere();

        for (unsigned i = 0; i < n; i++) {
                Spot s = anywhere();

                if (bank) {
                        s.stack = all.stack, s.channel = all.channel, s.pc = all.pc;
                        s.sid = all.sid, s.bg = all.bg, s.ba = all.ba;
                }
                add_cell(crowd, &s, p);
        }
        crowd->many = n > 32;
}

static void make_bank_cells(Crowd *crowd, unsigned nth, unsigned which) {
        make_cells(crowd, counts[which], true, 1);
}

static void make_chip_cells(Crowd *crowd, unsigned nth, unsigned which) {
        make_cells(crowd, counts[which], false, 1);
}

static void make_shaky_cells(Crowd *crowd, unsigned nth, unsigned which) {
        make_cells(crowd, counts[which], true, 0.5);
}

static void make_one(Crowd *crowd, unsigned nth, unsigned which) {
        Spot s = anywhere();

        add_kind(crowd, (Kind) (which / ELEMENTS(shares)), &s, shares[which % ELEMENTS(shares)]);
}

/* Cells in the stack of a structure, half of them in its pseudo-channel, outside of it. */
static void make_company(Crowd *crowd, unsigned nth, unsigned which) {
        static const double some[] = { 0.1, 0.5, 1 };
        Spot s = anywhere();

        add_kind(crowd, (Kind) (which / ELEMENTS(some)), &s, some[which % ELEMENTS(some)]);
        for (unsigned i = 0; i < 4; i++) {
                Spot cell = anywhere();

                cell.stack = s.stack;
                if (i < 2) {
                        cell.channel = s.channel, cell.pc = s.pc, cell.sid = (s.sid + 1) % 3;
                }
                if (i == 2 && which / ELEMENTS(some) < BANK) {
                        cell.channel = s.channel, cell.pc = s.pc, cell.sid = s.sid, cell.bg = s.bg, cell.ba = s.ba;
                }
                add_cell(crowd, &cell, 1);
                if (lies_in(&crowd->truths[crowd->n - 1].places[0], &crowd->truths[0].places[0])) {
                        /* It can be seen by nobody: the line of the text goes too. */
                        crowd->n--;
                        crowd->text[--crowd->length] = '\0';
                        while (crowd->length > 0 && crowd->text[crowd->length - 1] != '\n')
                                crowd->text[--crowd->length] = '\0';
                }
        }
}

static void make_two(Crowd *crowd, unsigned nth, unsigned which) {
        Kind kinds[2] = { (Kind) below(_KIND_MAX), (Kind) below(_KIND_MAX) };
        Spot a = anywhere(), b = anywhere();

        b.stack = a.stack;
        b.channel = (a.channel + 4 + below(9)) % 16; /* of another die */
        if (kinds[0] < kinds[1]) {
                Kind larger = kinds[1];

                kinds[1] = kinds[0], kinds[0] = larger;
        }
        if (kinds[0] == STACK || kinds[1] == STACK)
                b.stack = (a.stack + 1) % 4;
        for (unsigned i = 0; i < 2; i++)
                add_kind(crowd, kinds[i], i ? &b : &a, shares[which]);
}

/* One behind the other. */
static void make_behind(Crowd *crowd, unsigned nth, unsigned which) {
        static const Kind behind[] = { DECODER_ROW, ROW, BANK, BIT_LINE, WORDLINE_SHORT, SUB_WORDLINE, COLUMN, DECODER_ACCESS };
        Spot s = anywhere();

        add_kind(crowd, LANE, &s, which % 2 ? 1 : 0.3);
        s.bit = (s.bit + 1 + below(30)) % 256; /* not in the lane, where nobody could see it */
        add_kind(crowd, behind[which / 2], &s, 1);
}

static const unsigned dead_counts[] = { 2, 4, 8, 12, 16 };

/* Dead banks of one pseudo-channel, fewer than half of it; the later ones of a whole stack. */
static void make_banks(Crowd *crowd, unsigned nth, unsigned which) {
        unsigned wanted = dead_counts[which % ELEMENTS(dead_counts)];
        Spot all = anywhere();

        while (crowd->n < wanted) {
                Spot s = anywhere();
                bool there = false;

                s.stack = all.stack;
                if (which < ELEMENTS(dead_counts))
                        s.channel = all.channel, s.pc = all.pc;
                for (unsigned i = 0; i < crowd->n; i++)
                        there |= strcmp(crowd->truths[i].at[0], bank_of(&s)) == 0;
                if (!there)
                        add_kind(crowd, BANK, &s, nth % 2 ? 1 : 0.5);
        }
}

/* Of all sizes below a bank, anywhere on the chip. */
static void make_mixture(Crowd *crowd, unsigned nth, unsigned which) {
        static const Kind kinds[] = { SUB_WORDLINE, ROW, BIT_LINE, COLUMN, DATA_LINE, DECODER_ACCESS, WORDLINE_SHORT };
        unsigned n_structures = MIN(counts[which] / 4, 60u);

        for (unsigned i = 0; i < counts[which]; i++) {
                Spot s = anywhere();

                if (i < n_structures)
                        add_kind(crowd, kinds[below(ELEMENTS(kinds))], &s, 1);
                else
                        add_cell(crowd, &s, 1);
        }
        crowd->many = true;
}

typedef struct Group {
        const char *name;
        unsigned n; /* kinds of cases */
        void (*make)(Crowd *crowd, unsigned nth, unsigned which);
        bool exact; /* what is met is promised to be named as itself, and nothing else */
} Group;

static const Group groups[] = {
        { "adjacent-cells", 1, make_adjacent, true },
        { "cells-in-bank", ELEMENTS(counts), make_bank_cells, false },
        { "cells-in-chip", ELEMENTS(counts), make_chip_cells, false },
        { "shaky-cells", 4, make_shaky_cells, false },
        { "one", (unsigned) _KIND_MAX * ELEMENTS(shares), make_one, true },
        { "company", (unsigned) _KIND_MAX * 3, make_company, false },
        { "two", ELEMENTS(shares), make_two, false },
        { "behind", 16, make_behind, false },
        { "banks", 2 * ELEMENTS(dead_counts), make_banks, true },
        { "mixture", ELEMENTS(counts), make_mixture, false },
};

static void name_case(const Group *group, unsigned which, char name[static 64]) {
        static const double some[] = { 0.1, 0.5, 1 };

        if (group->make == make_one)
                (void) snprintf(name, 64, "%s %s %g", group->name, kind_words[which / ELEMENTS(shares)], shares[which % ELEMENTS(shares)]);
        else if (group->make == make_company)
                (void) snprintf(name, 64, "%s %s %g", group->name, kind_words[which / 3], some[which % 3]);
        else if (group->make == make_two)
                (void) snprintf(name, 64, "%s %g", group->name, shares[which]);
        else if (group->make == make_banks)
                (void) snprintf(name, 64, "%s %u in a %s", group->name, dead_counts[which % ELEMENTS(dead_counts)],
                                which < ELEMENTS(dead_counts) ? "pseudo-channel" : "stack");
        else if (group->make == make_adjacent || group->make == make_behind)
                (void) snprintf(name, 64, "%s %u", group->name, which);
        else
                (void) snprintf(name, 64, "%s %u", group->name, counts[which]);
}

static bool run_group(const Group *group, unsigned cases, const char *only, unsigned every) {
        bool well = true;

        for (unsigned which = 0; which < group->n; which += every) {
                Score score = {};
                char name[64];

                name_case(group, which, name);
                if (only && !strstr(name, only))
                        continue;
                for (unsigned i = 0; i < cases; i++) {
                        static Crowd crowd;

                        crowd.n = 0;
                        crowd.length = 0;
                        random_state = UINT64_C(1000003) * i + 101 * which + (uint64_t) (group - groups) * 65537;
                        group->make(&crowd, i, which);
                        judge(&crowd, &score);
                }
                printf("# %-28s %4u exact %4u first %4u missed %3u innocent %4u findings %5.1f %4u cpu %6.1f device %.2f %.2f\n", name, score.cases,
                       score.exact, score.first, score.missed, score.innocent, (double) score.findings / score.cases, score.findings_max,
                       1e3 * score.cpu_sec / score.cases, score.device_sec / score.cases, score.device_max);
                (void) fflush(stdout);
                well &= score.innocent == 0 && score.findings_max <= FINDINGS_MAX && score.device_max <= DEVICE_MAX &&
                        (!group->exact || score.exact + score.missed == score.cases);
        }
        return well;
}

int main(int argc, char *argv[]) {
        unsigned cases = argc > 1 ? (unsigned) atoi(argv[1]) : 10;
        const char *only = argc > 2 ? argv[2] : NULL;
        unsigned every = argc > 3 ? (unsigned) atoi(argv[3]) : 1;
        bool all = true;

        verbose = getenv("MANY_VERBOSE") != NULL;
        printf("1..%zu\n", ELEMENTS(groups));
        for (size_t i = 0; i < ELEMENTS(groups); i++) {
                bool well = run_group(&groups[i], cases, only, every);

                printf("%sok %zu - %s\n", well ? "" : "not ", i + 1, groups[i].name);
                all &= well;
        }
        return all ? EXIT_SUCCESS : EXIT_FAILURE;
}
