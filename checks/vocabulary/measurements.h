/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Measurements
 *
 * Every value that a check says: of what unit it is, against which limit it is held and what a step is called where it lies beyond; or, of
 * a value without a limit, why it needs none. So a verdict can be worked out again from the values of its own record:
 *
 *     FAILED   a value lies beyond a limit of severity FAIL
 *     WARNED   one lies beyond a limit of severity WARN, and none as above
 *     PASSED   none lies beyond its limit, one at least has a limit, and all that each step of this check says is there
 *
 * A step that was skipped or could not be judged may have values of any sort: what they come to was left open, for the reason that it gives.
 * Of a step on a server each chip has the values that lie in it, and what lies in none is the server's own.
 *
 * Names never change their meaning. They are read by the vocabulary and by records, which link no check. Whoever reads a record holds it against this table
 * (daemon/record/statement/judge.h), records of earlier and of later assayds too. So of a row that was once released unit, limit and check stay; it stays
 * EACH if it was, or it would be missed later, and never becomes so, since it was not there before. What is to be judged otherwise gets another name, ASKED.
 */

#include <math.h>
#include <stdbool.h>
#include <stddef.h>

#include "checks/vocabulary/location.h"
#include "checks/vocabulary/verdict.h"

typedef struct Measurement {
        const char *name; /* snake_case, prefixed with the check's word: hbm_bytes_tested */
        double value;     /* finite, in a stream; in a record what is none stands among the errors of its step */
        const char *unit; /* UCUM: By, s, 1, {error}, GBy/s */
        LimitType limit_type;
        double limit;
        Location where;
        Series series; /* what it sums up */
} Measurement;

typedef enum MeasurementDuty {
        MEASUREMENT_EACH,   /* each step that passed or warned says it, of its unit or of parts of it; on a server, of each chip */
        MEASUREMENT_ASKED,  /* said where the plan asks for it, or where there is something to say */
        MEASUREMENT_BEYOND, /* said only beyond its limit: it is what a finding rests on */
        _MEASUREMENT_DUTY_MAX,
} MeasurementDuty;

/* All strings are static. */
typedef struct MeasurementRow {
        const char *check;      /* the one word of the check that says it; "device": what the worker finds in a step of any check */
        const char *name;       /* or a family of names, see measurement_matches() */
        const char *unit;       /* UCUM */
        LimitType limit_type;   /* LIMIT_NONE: it has no limit, and WHY says why */
        double limit;           /* NAN: it is not always the same, and WHY says what it is */
        double least, most;     /* what it can be: what parameters of the plan allow, where it follows from one. Without a limit LEAST is the value's own, 0: any */
        Statistic statistic;    /* of a value that has a limit: what it is of the many that it sums up, one at least */
        MeasurementDuty duty;
        Severity beyond;        /* what a step is called where the value lies beyond its limit; SEVERITY_INFO without a limit */
        const char *why;        /* a sentence without its full stop */
        const char *unlimited;  /* NULL, or where it has no limit all the same, a sentence as well */
} MeasurementRow;

/* NULL where CHECK, and the worker in its place, says no such value. */
const MeasurementRow *measurement_find(const char *check, const char *name);
const MeasurementRow *measurement_at(size_t index); /* NULL past the end */
#define MEASUREMENTS_OF_CHECK_MAX 64
/* The rows of CHECK, *RET_N of them, which stand together; NULL and 0 where it has none. */
const MeasurementRow *measurement_rows(const char *check, size_t *ret_n);
/* The same by the name alone, which only one check may say. */
const MeasurementRow *measurement_named(const char *name);

/*
 * Whether NAME is of a family: `#` stands for a decimal number without leading zeros, of 10 digits at most, `<a|b>` for one of these words, and
 * `@` for the word of CHECK with `_` for `-`; all else for itself.
 */
bool measurement_matches(const char *family, const char *check, const char *name);

/* Says in a static sentence why a value may not have this unit or this limit (LIMIT_NONE: none). NULL: it may. */
const char *measurement_wrong(const MeasurementRow *row, const char *unit, LimitType type, double limit);
/*
 * The same of what no value of this unit can be, and of another statistic: none is fewer than none and colder than absolute zero (-273.15 Cel). A
 * ratio (1) may be a logarithm, and a rise (K) a fall.
 */
const char *measurement_impossible(const MeasurementRow *row, double value, Statistic statistic);
