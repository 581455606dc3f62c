/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Sound: the values that a step of a check must say to have passed, as the table of measurements has them. */

#include "checks/stream/stream.h"
#include "checks/vocabulary/measurements.h"

/* The next one of CHECK at WHERE; *CURSOR begins at 0. False: there are no more. */
static inline bool sound_value(const char *check, const Location *where, size_t *cursor, Measurement *ret) {
        size_t n;
        const MeasurementRow *rows = measurement_rows(check, &n);

        while (*cursor < n && rows[*cursor].duty != MEASUREMENT_EACH)
                (*cursor)++;
        if (*cursor < n) {
                const MeasurementRow *row = &rows[(*cursor)++];
                double limit = isnan(row->limit) ? 7 : row->limit;

                *ret = (Measurement) { .name = row->name, .value = limit, .unit = row->unit, .limit_type = row->limit_type, .limit = limit, .where = *where,
                                        .series = { row->statistic, row->statistic != STATISTIC_NONE } };
                return true;
        }
        return false;
}
