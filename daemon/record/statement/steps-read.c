/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the steps of a verdict: what they measured and found. See health-read.h. */

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <sys/param.h>

#include "daemon/record/encode/timestamp.h"
#include "daemon/record/statement/reading.h"
#include "daemon/record/statement/statement.h"

void *reading_take(Reading *reading, size_t n, size_t size) {
        void *taken = reading->error < 0 ? NULL : arena_take(&reading->health->arena, n, size);

        if (!taken && reading->error == 0)
                reading->error = -ENOMEM;
        return taken;
}

/* ---- numbers, times, places ---- */

bool reading_is_double(const json_t *number) {
        json_int_t integer = json_integer_value(number); /* 0 of what is none */
        double nearest = (double) integer;

        return json_is_number(number) && nearest < 0x1p63 && (json_int_t) nearest == integer;
}

uint64_t reading_count(const json_t *object, const char *key) {
        const json_t *value = json_object_get(object, key);

        return json_is_string(value) ? strtoull(json_string_value(value), NULL, 10) : (uint64_t) MAX(json_integer_value(value), 0);
}

static double amount_of(const json_t *object, const char *key) {
        const json_t *value = json_object_get(object, key);

        return json_is_number(value) ? json_number_value(value) : -1;
}

/* UINT64_MAX: it is none. */
static uint64_t reading_time(Reading *reading, const json_t *object, const char *key) {
        uint64_t usec;

        if (timestamp_parse(text_of(object, key), &usec) == 0)
                return usec;
        (void) REFUSE(reading, "%.40s is no time", key);
        return UINT64_MAX;
}

Location reading_where(const Reading *reading, const json_t *from) {
        const json_t *component = json_object_get(from, "component");
        Location where;

        if (!component)
                return reading->subject;
        return location_parse(text_of(component, "location"), &where, NULL, NULL) < 0 ? PLACE_UNNAMED : where;
}

/* ---- measurements ---- */

/* A limit of a form that facts do not have: it holds or not, and nothing else of it counts. */
static void decide(Measurement *measurement, bool holds) {
        measurement->limit_type = LIMIT_EQUAL;
        measurement->limit = holds ? measurement->value : nextafter(measurement->value, HUGE_VAL);
}

/* 1 holds, 0 does not, -EINVAL: it cannot be told, which is no reason to believe it. */
static int judge_other_limit(const char *type, const json_t *value, const json_t *bound) {
        bool are_alike = value && bound && (json_typeof(value) == json_typeof(bound) || (json_is_boolean(value) && json_is_boolean(bound)));

        if (json_is_number(value) ? !reading_is_double(bound) : !are_alike)
                return -EINVAL;
        if (strcmp(type, "NOT_EQUAL") == 0)
                return json_is_number(value) ? json_number_value(value) != json_number_value(bound) : !json_equal(value, bound);
        if (!json_is_number(value))
                return strcmp(type, "EQUAL") == 0 ? json_equal(value, bound) : -EINVAL;
        if (strcmp(type, "LESS_THAN") == 0)
                return json_number_value(value) < json_number_value(bound);
        return strcmp(type, "GREATER_THAN") == 0 ? json_number_value(value) > json_number_value(bound) : -EINVAL;
}

static bool read_limit(Reading *reading, const json_t *value, const json_t *limit, const char *step, Measurement *ret) {
        const json_t *bound = json_object_get(limit, "value");
        int holds;

        ret->limit_type = limit_type_from_string(text_of(limit, "type"));
        ret->limit = json_number_value(bound);
        if (!json_is_number(value) || ret->limit_type < 0) {
                holds = judge_other_limit(text_of(limit, "type"), value, bound);
                if (holds < 0)
                        (void) REFUSE(reading, "%.40s: the limit of %.60s cannot be recomputed", step, ret->name);
                decide(ret, holds > 0);
        } else if (!reading_is_double(bound))
                (void) REFUSE(reading, "%.40s: the limit of %.60s cannot be recomputed", step, ret->name);
        return limit_holds(ret->limit_type, ret->value, ret->limit);
}

/* One for each of its limits. Returns how many. */
static size_t read_measurement(Reading *reading, const json_t *from, const char *step, Measurement *ret) {
        const json_t *limits = json_object_get(from, "limits"), *value = json_object_get(from, "value");
        size_t n = json_array_size(limits);
        bool holds = true;

        if (json_is_number(value) && !reading_is_double(value))
                (void) REFUSE(reading, "%.40s: %.60s is no number that all readers know", step, text_of(from, "name"));
        for (size_t i = 0; i < MAX(n, 1u); i++) {
                ret[i] = (Measurement) {
                        .name = text_of(from, "name"),
                        .value = json_number_value(value),
                        .unit = text_of(from, "unit"),
                        .where = reading_where(reading, from),
                        .series = { MAX(statistic_from_string(text_of(from, "statistic")), STATISTIC_NONE), reading_count(from, "count") },
                };
                if (n > 0 && !read_limit(reading, value, json_array_get(limits, i), step, &ret[i]))
                        holds = false;
        }
        if (n == 0 && json_object_get(from, "result"))
                (void) REFUSE(reading, "%.40s: %.60s is called %s without a limit", step, ret->name, text_of(from, "result"));
        if (n > 0 && json_object_get(from, "result") && reading_says(from, "result", "PASSED") != holds)
                (void) REFUSE(reading, "%.40s: %.60s is called %s against its limit", step, ret->name, text_of(from, "result"));
        if (n == 0 && reading_says(from, "result", "FAILED"))
                decide(ret, false);
        return MAX(n, 1u);
}

/* A value that is none stands among the errors of its step, and so does why the step could not judge, which is told by its reason. */
static size_t read_errors(const Reading *reading, const json_t *from, const char *reason, Measurement *ret) {
        const json_t *errors = json_object_get(from, "errors");
        size_t n = 0;

        for (size_t i = 0; i < json_array_size(errors); i++) {
                const json_t *error = json_array_get(errors, i);
                bool is_value = reading_says(error, "symptom", ERROR_NOT_A_NUMBER);

                if (is_value || !*reason || !reading_says(error, "symptom", reason))
                        ret[n++] = (Measurement) { .name = text_of(error, is_value ? "message" : "symptom"), .value = NAN, .where = reading->subject };
        }
        return n;
}

void read_measurements(Reading *reading, const json_t *from, const char *name, const char *reason, RecordStep *ret) {
        const json_t *all = json_object_get(from, "measurements");
        size_t n = json_array_size(all) + json_array_size(json_object_get(from, "errors"));
        Measurement *measurements;
        const char **counts;
        size_t n_counts = 0;

        for (size_t i = 0; i < json_array_size(all); i++)
                n += json_array_size(json_object_get(json_array_get(all, i), "limits"));
        measurements = reading_take(reading, n, sizeof(*measurements));
        counts = reading_take(reading, json_array_size(all) + 1, sizeof(*counts));
        for (size_t i = 0; i < json_array_size(all) && reading->error == 0; i++) {
                const json_t *one = json_array_get(all, i);

                ret->n_measurements += read_measurement(reading, one, name, &measurements[ret->n_measurements]);
                if (json_is_true(json_object_get(one, "isCoverage")))
                        counts[n_counts++] = text_of(one, "name");
        }
        if (reading->error == 0)
                ret->n_measurements += read_errors(reading, from, reason, &measurements[ret->n_measurements]);
        ret->measurements = measurements;
        ret->counts = counts;
}

/* ---- diagnoses ---- */

static Severity severity_of(const char *type) {
        Severity severity = SEVERITY_INFO;

        while (severity < SEVERITY_FAIL && strcmp(severity_to_ocp(severity), type) != 0)
                severity++;
        return severity;
}

static void read_diagnosis(const Reading *reading, const json_t *from, RecordDiagnosis *ret) {
        const json_t *notes = json_object_get(from, "annotations");

        *ret = (RecordDiagnosis) {
                .code = text_of(from, "verdict"),
                .severity = severity_of(text_of(from, "type")),
                .where = reading_where(reading, from),
                .message = json_string_value(json_object_get(from, "message")),
                .action = json_string_value(json_object_get(notes, "action")),
                .address = json_string_value(json_object_get(notes, "address")),
                .expected = json_string_value(json_object_get(notes, "expected")),
                .actual = json_string_value(json_object_get(notes, "actual")),
                .far_end = json_string_value(json_object_get(notes, "farEnd")),
                .replaceable = json_string_value(json_object_get(notes, "replaceable")),
                .count = amount_of(notes, "count"),
                .confidence = amount_of(notes, "confidence"),
                .reproduced = (unsigned) MIN(reading_count(from, "reproduced"), (uint64_t) UINT_MAX),
                .runs = (unsigned) MIN(reading_count(from, "runs"), (uint64_t) UINT_MAX),
        };
}

void read_diagnoses(Reading *reading, const json_t *from, RecordStep *ret) {
        size_t n = json_array_size(from);
        RecordDiagnosis *diagnoses = reading_take(reading, n, sizeof(*diagnoses));

        for (; ret->n_diagnoses < n && reading->error == 0; ret->n_diagnoses++)
                read_diagnosis(reading, json_array_get(from, ret->n_diagnoses), &diagnoses[ret->n_diagnoses]);
        ret->diagnoses = diagnoses;
}

/* ---- steps ---- */

static void read_region_tests(Reading *reading, const json_t *from, RecordRegions *ret) {
        RecordRegionTest *tests = reading_take(reading, json_array_size(from), sizeof(*tests));

        for (; ret->n_tests < json_array_size(from) && reading->error == 0; ret->n_tests++) {
                const json_t *test = json_array_get(from, ret->n_tests);

                tests[ret->n_tests] = (RecordRegionTest) { text_of(test, "run"), reading_time(reading, test, "on"), text_of(test, "regions") };
        }
        ret->tests = tests;
}

static const RecordRegions *read_regions(Reading *reading, const json_t *from) {
        bool has_sets = json_is_string(json_object_get(from, "occupied")) && json_is_string(json_object_get(from, "failed")); /* a missing one is not empty */
        RecordRegions *regions = from ? reading_take(reading, 1, sizeof(*regions)) : NULL;

        if (!regions)
                return NULL;
        *regions = (RecordRegions) {
                .partition = has_sets ? text_of(from, "partition") : "",
                .total = (unsigned) json_integer_value(json_object_get(from, "total")),
                .position = (unsigned) json_integer_value(json_object_get(from, "position")),
                .since_usec = reading_time(reading, from, "since"),
                .occupied = text_of(from, "occupied"),
                .unproven = json_string_value(json_object_get(from, "unproven")),
                .because = json_string_value(json_object_get(from, "because")),
                .altered = json_string_value(json_object_get(from, "altered")),
                .suspicious = json_string_value(json_object_get(from, "suspicious")),
                .joined = json_string_value(json_object_get(from, "joined")),
                .together = json_string_value(json_object_get(from, "together")),
                .failed = text_of(from, "failed"),
        };
        read_region_tests(reading, json_object_get(from, "tested"), regions);
        return regions;
}

static Verdict verdict_of(const json_t *step) {
        for (Verdict verdict = 0; verdict < _VERDICT_MAX; verdict++)
                if (reading_says(step, "status", health_step_status(verdict)) && reading_says(step, "result", health_step_result(verdict)))
                        return verdict;
        return _VERDICT_INVALID;
}

/* Since the run began, which it did not outlive, where no clock was set meanwhile. */
static void read_span(Reading *reading, const json_t *span, RecordStep *ret) {
        uint64_t begin = (uint64_t) json_integer_value(json_array_get(span, 0)), end = (uint64_t) json_integer_value(json_array_get(span, 1));
        bool is_span = json_is_integer(json_array_get(span, 0)) && json_is_integer(json_array_get(span, 1));
        const RecordRun *run = &reading->health->scan.run;

        if (!span)
                return;
        if (!is_span || begin > end || end > UINT32_MAX || (run->finished_usec >= run->started_usec && end > (run->finished_usec - run->started_usec) / 1000))
                (void) REFUSE(reading, "%.40s: it began or ended when it cannot have", ret->name);
        ret->began_usec = run->started_usec + begin * 1000;
        ret->ended_usec = run->started_usec + end * 1000;
}

static void read_step(Reading *reading, const json_t *from, RecordStep *ret) {
        const char *name = text_of(from, "name"), *reason = text_of(from, "reason");

        *ret = (RecordStep) {
                .name = name,
                .check = text_of(from, "check"),
                .verdict = verdict_of(from),
                .reason = reason_from_string(reason), /* of a later one: _REASON_INVALID */
                .message = json_string_value(json_object_get(from, "message")) ?: (reason_from_string(reason) < 0 ? reason : NULL),
                .required = json_is_true(json_object_get(from, "required")),
                .seed = reading_count(from, "seed"),
                .device_nsec = reading_count(from, "deviceNanoseconds"),
                .regions = read_regions(reading, json_object_get(from, "regions")),
        };
        if (ret->verdict < 0)
                (void) REFUSE(reading, "%.40s: status %s with result %s", name, text_of(from, "status"), text_of(from, "result"));
        read_span(reading, json_object_get(from, "ms"), ret);
        read_measurements(reading, from, name, reason, ret);
        read_diagnoses(reading, json_object_get(from, "diagnoses"), ret);
}

void read_steps(Reading *reading, const json_t *steps) {
        RecordHealth *chip = &reading->health->chip;
        size_t n = json_array_size(steps);

        chip->steps = reading->health->steps = reading_take(reading, n, sizeof(RecordStep));
        for (; chip->n_steps < n && reading->error == 0; chip->n_steps++) {
                const json_t *step = json_array_get(steps, chip->n_steps);

                for (size_t k = 0; k < chip->n_steps; k++)
                        if (reading_says(json_array_get(steps, k), "id", text_of(step, "id")))
                                (void) REFUSE(reading, "two steps are called %.60s", text_of(step, "name"));
                read_step(reading, step, &reading->health->steps[chip->n_steps]);
        }
}
