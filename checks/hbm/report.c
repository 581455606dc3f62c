/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/report.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/param.h>

/* The location of AT within its stack, as far as axis LAST; of the stack where the grammar has no such place. */
static Location locate(const HbmRun *run, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX],
                       MemoryAxis last) {
        static const LocationKind kinds[_MEMORY_AXIS_MAX] = {
                LOCATION_CHANNEL, LOCATION_PSEUDO_CHANNEL, LOCATION_SID, LOCATION_BANK_GROUP, LOCATION_BANK,
                LOCATION_ROW, LOCATION_COLUMN,
        };
        Location location = *step_unit(run->step), whole;

        (void) location_append(&location, LOCATION_HBM, stack);
        whole = location;
        for (unsigned axis = 0; axis <= (unsigned) last; axis++)
                if (location_append(&location, kinds[axis],
                                    memory_geometry_absolute(&run->geometry, (MemoryAxis) axis, at)) < 0)
                        return whole;
        return location;
}

static char *hex(const MemoryData *data, char text[static 2 * MEMORY_ACCESS_BYTES + 1]) {
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                (void) snprintf(text + 2 * i, 3, "%02x", data->bytes[i]);
        return text;
}

static const struct {
        const char *code;
        MemoryAxis last; /* of the location */
} defect_words[_HBM_DEFECT_KIND_MAX] = {
        [HBM_DEFECT_LANE]           = { "hbm-lane", HBM_PSEUDO_CHANNEL },
        [HBM_DEFECT_PSEUDO_CHANNEL] = { "hbm-pseudo-channel", HBM_PSEUDO_CHANNEL },
        [HBM_DEFECT_BANK]           = { "hbm-bank", HBM_BANK },
        [HBM_DEFECT_ROW]            = { "hbm-row", HBM_ROW },
        [HBM_DEFECT_COLUMN]         = { "hbm-column", HBM_BANK },
        [HBM_DEFECT_WORD]           = { "hbm-word", HBM_COLUMN },
        [HBM_DEFECT_CELL]           = { "hbm-cell", HBM_COLUMN },
        [HBM_DEFECT_SCATTERED]      = { "hbm-scattered", HBM_CHANNEL },
};

static Location defect_location(const HbmRun *run, const HbmDefect *defect) {
        Location where = locate(run, defect->stack, defect->at, defect_words[defect->kind].last);

        if (defect->kind == HBM_DEFECT_LANE)
                (void) location_append(&where, LOCATION_DQ, (unsigned) defect->bit);
        if (defect->kind == HBM_DEFECT_CELL)
                (void) location_append(&where, LOCATION_BIT, (unsigned) defect->bit);
        if (defect->kind == HBM_DEFECT_SCATTERED)
                (void) location_truncate(&where, LOCATION_HBM);
        return where;
}

static unsigned defect_actual(const HbmDefect *defect) {
        unsigned bit = (unsigned) MAX(defect->bit, 0);

        return defect->actual.bytes[bit / 8] >> bit % 8 & 1;
}

static char *defect_message(const HbmRun *run, const HbmDefect *defect, char *text, size_t size) {
        uint32_t columns = run->geometry.size[HBM_COLUMN];

        switch (defect->kind) {
        case HBM_DEFECT_LANE:
                (void) snprintf(text, size, "lane %d stays at %u in reads of its pseudo-channel, %" PRIu64 " accesses fail",
                                defect->bit, defect->value, defect->n_accesses);
                break;
        case HBM_DEFECT_PSEUDO_CHANNEL:
        case HBM_DEFECT_BANK:
                (void) snprintf(text, size, "%" PRIu64 " accesses fail, all over it", defect->n_accesses);
                break;
        case HBM_DEFECT_ROW:
                (void) snprintf(text, size, "%" PRIu64 " of %u columns of row %u fail", defect->n_accesses, columns,
                                memory_geometry_absolute(&run->geometry, HBM_ROW, defect->at));
                break;
        case HBM_DEFECT_COLUMN:
                if (defect->bit >= 0)
                        (void) snprintf(text, size, "column %u, bit %d fails in %" PRIu64 " rows", defect->at[HBM_COLUMN],
                                        defect->bit, defect->n_accesses);
                else
                        (void) snprintf(text, size, "column %u fails in several bits of %" PRIu64 " rows",
                                        defect->at[HBM_COLUMN], defect->n_accesses);
                break;
        case HBM_DEFECT_WORD:
                (void) snprintf(text, size, "several bits of one access fail, in %" PRIu64 " reads", defect->n_reads);
                break;
        case HBM_DEFECT_CELL:
                (void) snprintf(text, size, "bit %d reads %u where %u was written, in %" PRIu64 " reads", defect->bit,
                                defect_actual(defect), !defect_actual(defect), defect->n_reads);
                break;
        case HBM_DEFECT_SCATTERED:
                (void) snprintf(text, size, "%" PRIu64 " accesses fail and share no row, column or bank",
                                defect->n_accesses);
                break;
        case _HBM_DEFECT_KIND_MAX:
                text[0] = '\0';
        }

        return text;
}

static bool shows_lane(const HbmDefect *defect) {
        unsigned first = (unsigned) defect->bit / 8;

        for (unsigned i = first; i < MEMORY_ACCESS_BYTES; i += 4)
                if ((defect->expected.bytes[i] ^ defect->actual.bytes[i]) >> (defect->bit % 8) & 1)
                        return true;
        return false;
}

int hbm_report_defect(HbmRun *run, const HbmDefect *defect) {
        char expected[2 * MEMORY_ACCESS_BYTES + 1], actual[2 * MEMORY_ACCESS_BYTES + 1], address[MEMORY_ADDRESS_TEXT_MAX], message[160];
        Location where = defect_location(run, defect);
        Evidence evidence = {
                .address   = memory_map_format(&run->map, defect->stack, defect->first, address),
                .expected  = hex(&defect->expected, expected),
                .actual    = hex(&defect->actual, actual),
                .has_count = true,
                .count     = (double) MAX(defect->n_accesses, defect->n_reads),
        };

        /* Of two stuck lanes the first difference may show the other alone. */
        if (defect->kind == HBM_DEFECT_LANE && !shows_lane(defect))
                evidence.expected = evidence.actual = NULL;

        return step_finding(run->step, &run->verdict, defect_words[defect->kind].code, &where, &evidence, "%s",
                            defect_message(run, defect, message, sizeof(message)));
}

int hbm_report_unexplained(HbmRun *run, unsigned stack, uint64_t n) {
        Location where = *step_unit(run->step);
        Evidence evidence = { .has_count = true, .count = (double) n };

        (void) location_append(&where, LOCATION_HBM, stack);
        return step_finding(run->step, &run->verdict, "hbm-scattered", &where, &evidence,
                            "%" PRIu64 " mismatches were counted that leave no trace", n);
}
