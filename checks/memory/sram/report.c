/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/sram/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/param.h>

static const char *array_word(unsigned number) {
        return sram_array(number) == ARRAY_PSUM ? "PSUM" : "SBUF";
}

static const MemoryGeometry *geometry_of(const SramRun *run, unsigned number) {
        return &run->geometry[sram_array(number)];
}

static void core_of(const SramRun *run, unsigned number, Location *ret) {
        *ret = *step_unit(run->step);
        (void) location_append(ret, LOCATION_CORE, sram_core(number));
}

/* The byte of the array. */
static char *address_of(const SramRun *run, unsigned number, const uint16_t at[static _MEMORY_AXIS_MAX], char text[static 32]) {
        (void) snprintf(text, 32, "0x%" PRIx64,
                        (uint64_t) memory_geometry_linear(geometry_of(run, number), at) * MEMORY_ACCESS_BYTES);
        return text;
}

/* ---- the device ---- */

static int tell_engine(SramRun *run, unsigned number, unsigned n, const uint16_t *at, const char *message) {
        Evidence evidence = { .has_count = true, .count = n, .decided = { "sram_march_lies", n, 0 } };
        char address[32];
        Location where;

        core_of(run, number, &where);
        if (at)
                evidence.address = address_of(run, number, at, address);
        return step_finding(run->step, &run->verdict, "sram-comparator", &where, &evidence, "%s", message);
}

int sram_report_engine(SramRun *run, unsigned number) {
        const MarchOutcome *came = &run->outcomes[number];
        const MarchOutcome *first = sram_array(number) == ARRAY_SBUF ? NULL : &run->outcomes[sram_number(sram_core(number), ARRAY_SBUF)];
        char message[MARCH_LIE_MAX + 96];
        int r = 0;

        /* The engine is the core's, for both arrays. */
        if (came->n_blind > 0 && !(first && first->n_blind > 0)) {
                (void) snprintf(message, sizeof(message), "%s holds %u planted mismatches that the march did not report",
                                array_word(number), came->n_blind);
                r = tell_engine(run, number, came->n_blind, came->blind_at, message);
        }
        if (r >= 0 && came->n_lies > 0 && !(first && first->n_lies > 0)) {
                (void) snprintf(message, sizeof(message), "the march over %s answers what cannot be: %s", array_word(number),
                                came->lie);
                r = tell_engine(run, number, came->n_lies, NULL, message);
        }
        return r;
}

int sram_report_ecc(SramRun *run, unsigned number, const uint16_t *at, const char *message) {
        Evidence evidence = { .decided = { "sram_ecc_lies", 1, 0 } };
        char address[32];
        Location where;

        if (number < SRAM_ARRAYS)
                core_of(run, number, &where);
        else
                where = *step_unit(run->step);
        if (at) {
                sram_locate_bank(step_unit(run->step), number, at, &where);
                evidence.address = address_of(run, number, at, address);
        }
        return step_finding(run->step, &run->verdict, "sram-ecc", &where, &evidence, "%s", message);
}

/* ---- defects ---- */

static const char *const codes[_SRAM_DEFECT_KIND_MAX] = {
        [SRAM_DEFECT_ARRAY]     = "sram-array",
        [SRAM_DEFECT_PARTITION] = "sram-partition",
        [SRAM_DEFECT_DECODER]   = "sram-decoder",
        [SRAM_DEFECT_ROW]       = "sram-row",
        [SRAM_DEFECT_COLUMN]    = "sram-column",
        [SRAM_DEFECT_WORD]      = "sram-word",
        [SRAM_DEFECT_CELL]      = "sram-cell",
        [SRAM_DEFECT_SCATTERED] = "sram-scattered",
};

static Location defect_location(const SramRun *run, const SramDefect *defect) {
        const Location *unit = step_unit(run->step);
        Location where;

        switch (defect->kind) {
        case SRAM_DEFECT_ARRAY:
                sram_locate_bank(unit, defect->number, defect->at, &where);
                break;
        case SRAM_DEFECT_PARTITION:
        case SRAM_DEFECT_DECODER:
                sram_locate_partition(unit, defect->number, defect->at, &where);
                break;
        case SRAM_DEFECT_COLUMN:
                sram_locate_partition(unit, defect->number, defect->at, &where);
                (void) location_append(&where, LOCATION_SRAM_BIT, (unsigned) defect->bit);
                break;
        case SRAM_DEFECT_ROW:
        case SRAM_DEFECT_WORD:
                sram_locate_row(unit, defect->number, defect->at, &where);
                break;
        case SRAM_DEFECT_CELL:
                sram_locate_row(unit, defect->number, defect->at, &where);
                (void) location_append(&where, LOCATION_SRAM_BIT, (unsigned) defect->bit);
                break;
        case SRAM_DEFECT_SCATTERED:
        case _SRAM_DEFECT_KIND_MAX:
                core_of(run, defect->number, &where);
        }

        return where;
}

static unsigned defect_actual(const SramDefect *defect) {
        unsigned bit = (unsigned) MAX(defect->bit, 0);

        return defect->actual.bytes[bit / 8] >> bit % 8 & 1;
}

static char *defect_message(const SramRun *run, const SramDefect *defect, char *text, size_t size) {
        uint32_t rows = sram_rows(geometry_of(run, defect->number));

        switch (defect->kind) {
        case SRAM_DEFECT_ARRAY:
                (void) snprintf(text, size, "%" PRIu64 " rows fail, in most of its partitions", defect->n_accesses);
                break;
        case SRAM_DEFECT_PARTITION:
                (void) snprintf(text, size, "%" PRIu64 " of %u rows fail, in most of their bits", defect->n_accesses, rows);
                break;
        case SRAM_DEFECT_DECODER:
                (void) snprintf(text, size, "rows %u and %u give back what the other was given", defect->at[SRAM_ROW], defect->other);
                break;
        case SRAM_DEFECT_ROW:
                (void) snprintf(text, size, "most bits of row %u fail, in %" PRIu64 " reads", defect->at[SRAM_ROW], defect->n_reads);
                break;
        case SRAM_DEFECT_COLUMN:
                (void) snprintf(text, size, "bit %d fails in %" PRIu64 " rows of the partition", defect->bit, defect->n_accesses);
                break;
        case SRAM_DEFECT_WORD:
                (void) snprintf(text, size, "several bits of one row fail, in %" PRIu64 " reads", defect->n_reads);
                break;
        case SRAM_DEFECT_CELL:
                (void) snprintf(text, size, "bit %d reads %u where %u was written, in %" PRIu64 " reads", defect->bit,
                                defect_actual(defect), !defect_actual(defect), defect->n_reads);
                break;
        case SRAM_DEFECT_SCATTERED:
                (void) snprintf(text, size, "%" PRIu64 " rows of %s fail and share no row, bit line or partition", defect->n_accesses,
                                array_word(defect->number));
                break;
        case _SRAM_DEFECT_KIND_MAX:
                text[0] = '\0';
        }

        return text;
}

int sram_report_defect(SramRun *run, const SramDefect *defect) {
        char expected[MEMORY_DATA_TEXT_MAX], actual[MEMORY_DATA_TEXT_MAX], address[32], message[160];
        Location where = defect_location(run, defect);
        Evidence evidence = {
                .address   = address_of(run, defect->number, defect->first, address),
                .expected  = memory_data_hex(&defect->expected, expected),
                .actual    = memory_data_hex(&defect->actual, actual),
                .has_count = true,
                .count     = (double) MAX(defect->n_accesses, defect->n_reads),
                .decided   = { "sram_mismatches", (double) MAX(MAX(defect->n_accesses, defect->n_reads), 1u), 0 },
        };

        return step_finding(run->step, &run->verdict, codes[defect->kind], &where, &evidence, "%s",
                            defect_message(run, defect, message, sizeof(message)));
}

int sram_report_unexplained(SramRun *run, unsigned number, uint64_t n) {
        Evidence evidence = { .has_count = true, .count = (double) n, .decided = { "sram_mismatches", (double) n, 0 } };
        Location where;

        core_of(run, number, &where);
        return step_finding(run->step, &run->verdict, "sram-scattered", &where, &evidence,
                            "%" PRIu64 " mismatches of %s were counted that leave no trace", n, array_word(number));
}
