/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Held: what a check says in a test is held against the table of measurements, whatever else the test is about. Every value has its row, and
 * every finding that warns or fails follows from a value that lies beyond its limit and makes the step no less.
 */

#include <stdio.h>
#include <stdlib.h>

#include "checks/stream/stream.h"
#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/measurements.h"

/* Raises *beyond by a value that the step itself says. */
static inline void held_value(const char *name, const char *unit, double value, LimitType type, double limit, Verdict *beyond) {
        const MeasurementRow *row = measurement_named(name);
        const char *wrong = row ? measurement_wrong(row, unit, type, limit) : "no row has this name";

        if (wrong) {
                fprintf(stderr, "%s %s: %s\n", name, unit, wrong);
                abort();
        }
        if (type != LIMIT_NONE && !limit_holds(type, value, limit))
                verdict_raise(beyond, row->beyond);
}

static inline void held_finding(const char *code, const Decided *decided, Verdict beyond) {
        const MeasurementRow *row = decided && decided->measurement ? measurement_named(decided->measurement) : NULL;
        Verdict finding = VERDICT_PASSED;

        verdict_raise(&finding, catalogue_find(code)->severity);
        if (row)
                held_value(row->name, row->unit, decided->value, row->limit_type, decided->limit, &beyond);
        if (beyond >= finding)
                return;
        fprintf(stderr, "%s follows from no value beyond a limit: %s %.17g, limit %.17g\n", code, row ? row->name : "none", row ? decided->value : 0,
                row ? decided->limit : 0);
        abort();
}

/* For a reader of the lines of one step. */
static inline int held_event(const Event *event, void *userdata) {
        const Measurement *value = &event->measurement;

        if (event->type == EVENT_MEASUREMENT)
                held_value(value->name, value->unit, value->value, value->limit_type, value->limit, userdata);
        if (event->type == EVENT_FINDING)
                held_finding(event->finding.code, &event->finding.evidence.decided, *(Verdict *) userdata);
        return 0;
}
