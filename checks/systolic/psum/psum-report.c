/* SPDX-License-Identifier: Apache-2.0 */

#include <stdio.h>

#include "checks/systolic/psum/examination.h"

#define PARTITIONS_MAX 8u   /* of a bank that are named one by one */
#define RUNS_SURE      3u   /* whole runs that one bank must have lost before that is its own affair … */
#define RUNS_OTHERS    4u   /* … where all others together lost less than a part of these */

/* ---- whose elements they are ---- */

/* The bank that alone loses whole runs of a partition, or -1. */
static int losing_bank(const Examination *examination, unsigned partition) {
        unsigned sum = 0, bank = 0;

        for (unsigned i = 0; i < PSUM_BANKS; i++) {
                sum += examination->runs[i][partition];
                bank = examination->runs[i][partition] > examination->runs[bank][partition] ? i : bank;
        }

        if (examination->runs[bank][partition] < RUNS_SURE)
                return -1;
        return (sum - examination->runs[bank][partition]) * RUNS_OTHERS <= examination->runs[bank][partition] ? (int) bank : -1;
}

/* What the array does to a partition comes back in another bank, in the same vector. */
static bool is_own(const Examination *examination, unsigned bank, unsigned partition, unsigned element) {
        int losing = losing_bank(examination, partition);
        unsigned banks = examination->banks[partition][element % 128];

        if ((int) bank == losing)
                return true;
        for (unsigned i = 0; i < PSUM_BANKS; i++)
                if (examination->runs[i][partition] > 0 && (int) i != losing)
                        return false;
        return __builtin_popcount(losing < 0 ? banks : banks & ~(1u << losing)) == 1;
}

typedef struct Part { /* of a bank */
        unsigned partition, element; /* the first one */
        unsigned n_elements;
        Element bits; /* of all of them */
        uint8_t rounds;
} Part;

static unsigned parts_gather(const Examination *examination, unsigned bank, Part parts[static PE_COLUMNS]) {
        unsigned n = 0;

        for (unsigned m = 0; m < PE_COLUMNS; m++) {
                Part part = { .partition = m, .rounds = examination->wrong_in[bank][m] };

                for (unsigned e = 0; e < PSUM_ELEMENTS; e++) {
                        const Element *element = &examination->elements[bank][m][e];

                        if (!(element->rose | element->fell) || !is_own(examination, bank, m, e))
                                continue;
                        if (part.n_elements++ == 0)
                                part.element = e;
                        part.bits.rose |= element->rose;
                        part.bits.fell |= element->fell;
                }
                if (part.n_elements > 0)
                        parts[n++] = part;
        }
        return n;
}

/* ---- words ---- */

/* ROUNDS: in which it was wrong, as a mask, beside the run that led to this. */
static int find(const Report *report, int bank, int partition, uint8_t rounds, const char *text) {
        Evidence evidence = { .seen = 1 + (unsigned) __builtin_popcount(rounds), .tried = 1 + report->examination->round,
                              .decided = { "systolic_psum_faulty_cores", 1, 0 } };
        Location where = *step_unit(report->step);
        int r;

        report->result->faulty |= 1u << report->core;
        r = location_append(&where, LOCATION_CORE, report->core);
        if (r >= 0 && bank >= 0)
                r = location_append(&where, LOCATION_PSUM, (unsigned) bank);
        if (r >= 0 && partition >= 0)
                r = location_append(&where, LOCATION_PSUM_PARTITION, (unsigned) partition);
        return r < 0 ? r : step_finding(report->step, report->verdict, "systolic-psum", &where, &evidence, "%s", text);
}

static int report_part(const Report *report, unsigned bank, const Part *part) {
        uint32_t bits = part->bits.rose | part->bits.fell;
        char what[96], text[256];

        if (__builtin_popcount(bits) == 1)
                (void) snprintf(what, sizeof(what), "bit %d %s", __builtin_ctz(bits),
                                part->bits.rose & part->bits.fell ? "is wrong" : part->bits.rose ? "is stuck at 1" : "is stuck at 0");
        else
                (void) snprintf(what, sizeof(what), "%d bits are wrong, 0x%08x", __builtin_popcount(bits), bits);

        if (part->n_elements == 1)
                (void) snprintf(text, sizeof(text), "core%u: PSUM bank %u, partition %u, element %u: %s", report->core, bank, part->partition,
                                part->element, what);
        else
                (void) snprintf(text, sizeof(text), "core%u: PSUM bank %u, partition %u: %u elements from %u on: %s", report->core, bank,
                                part->partition, part->n_elements, part->element, what);
        return find(report, (int) bank, (int) part->partition, part->rounds, text);
}

static int report_bank(const Report *report, unsigned bank, const Part *parts, unsigned n) {
        char text[256];
        int r = 0;

        if (n > PARTITIONS_MAX) {
                unsigned n_elements = 0;
                uint8_t rounds = 0;

                for (unsigned i = 0; i < n; i++) {
                        n_elements += parts[i].n_elements;
                        rounds |= parts[i].rounds;
                }
                (void) snprintf(text, sizeof(text), "core%u: PSUM bank %u: %u elements of %u partitions are wrong", report->core, bank, n_elements,
                                n);
                return find(report, (int) bank, -1, rounds, text);
        }
        for (unsigned i = 0; i < n && r >= 0; i++)
                r = report_part(report, bank, &parts[i]);
        return r;
}

int psum_report_lines(const Report *report) {
        const Examination *examination = report->examination;
        char text[256];
        int r = 0;

        for (unsigned bit = 0; bit < ADDRESS_BITS && r >= 0; bit++) {
                if (examination->lines[bit] == 0)
                        continue;
                (void) snprintf(text, sizeof(text),
                                "core%u: line %u of the PSUM address (bit %u of the %s) does not tell places apart: %zu of them gave what was "
                                "stored at the other one", report->core, bit, bit < 9 ? bit : bit - 9, bit < 9 ? "element" : "bank",
                                examination->lines[bit]);
                report->result->spoilt |= 1u << report->core;
                r = find(report, -1, -1, examination->lines_in[bit], text);
        }
        return r;
}

int psum_report_flag(const Report *report, int accumulates) {
        char text[256];

        (void) snprintf(text, sizeof(text), "core%u: matmuls %s, though told to %s: the accumulate flag is stuck%s", report->core,
                        accumulates ? "add to PSUM" : "overwrite PSUM", accumulates ? "overwrite it" : "add to it",
                        report->examination->flag_at_times ? " at times" : "");
        report->result->spoilt |= 1u << report->core;
        return find(report, -1, -1, report->examination->sequence_in, text);
}

int psum_report_loaded(Step *step, unsigned core, int line, bool accumulates, unsigned seen, unsigned tried, Verdict *verdict, PsumResult *result) {
        Evidence evidence = { .seen = seen, .tried = tried, .decided = { "systolic_psum_faulty_cores", 1, 0 } };
        Location where = *step_unit(step);
        int r;

        result->faulty |= 1u << core;
        r = location_append(&where, LOCATION_CORE, core);
        if (r < 0)
                return r;
        if (line < 0)
                return step_finding(step, verdict, "systolic-psum", &where, &evidence,
                                    "core%u: under full load matmuls %s, though told to %s: the accumulate flag is stuck then", core,
                                    accumulates ? "add to PSUM" : "overwrite PSUM", accumulates ? "overwrite it" : "add to it");
        return step_finding(step, verdict, "systolic-psum", &where, &evidence,
                            "core%u: under full load line %d of the PSUM address (bit %d of the %s) does not tell places apart", core, line,
                            line < 9 ? line : line - 9, line < 9 ? "element" : "bank");
}

int psum_report_elements(const Report *report) {
        static Part parts[PE_COLUMNS];
        int r = 0;

        for (unsigned bank = 0; bank < PSUM_BANKS && r >= 0; bank++) {
                unsigned n = parts_gather(report->examination, bank, parts);

                if (n == 0)
                        continue;
                report->result->banks[report->core] &= (uint8_t) ~(1u << bank);
                r = report_bank(report, bank, parts, n);
        }
        return r;
}

int psum_report_told(const Report *report) {
        char text[256];

        (void) snprintf(text, sizeof(text), "core%u: reads of PSUM told of errors that its code could not correct; no number was wrong",
                        report->core);
        return find(report, -1, -1, 0, text);
}
