/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/judge-parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "checks/catalogue.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/statement/facts.h"
#include "daemon/record/statement/key-rotation.h"

bool judge_wrong(Judgement *judgement, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(judgement->wrong, sizeof(judgement->wrong), format, arguments);
        va_end(arguments);
        return false;
}

/* ---- a measurement ---- */

/* Other readers know doubles alone: an integer between two of them would be another number there. */
static bool is_double(const json_t *number) {
        json_int_t integer = json_integer_value(number); /* 0 of what is none */
        double nearest = (double) integer;

        return json_is_number(number) && nearest < 0x1p63 && (json_int_t) nearest == integer;
}

static bool number_holds(const char *type, double value, double limit) {
        if (strcmp(type, "NOT_EQUAL") == 0)
                return value != limit;
        if (strcmp(type, "LESS_THAN") == 0)
                return value < limit;
        if (strcmp(type, "GREATER_THAN") == 0)
                return value > limit;
        return limit_holds(limit_type_from_string(type), value, limit);
}

/* 1 holds, 0 does not, -EINVAL: it cannot be told, which is no reason to believe it. */
static int limit_judge(const json_t *value, const json_t *limit) {
        const json_t *bound = json_object_get(limit, "value");
        const char *type = text_of(limit, "type");

        if (strncmp(type, "REGEX", 5) == 0)
                return -EINVAL;
        if (json_is_number(value) && is_double(bound))
                return number_holds(type, json_number_value(value), json_number_value(bound));
        if (json_is_number(value) || (json_typeof(value) != json_typeof(bound) && !(json_is_boolean(value) && json_is_boolean(bound))))
                return -EINVAL;
        if (strcmp(type, "EQUAL") == 0)
                return json_equal(value, bound);
        if (strcmp(type, "NOT_EQUAL") == 0)
                return !json_equal(value, bound);
        return -EINVAL;
}

static bool judge_measurement(const json_t *measurement, const char *step, Verdict *evidence,
                              Judgement *judgement) {
        const json_t *limits = json_object_get(measurement, "limits"), *value = json_object_get(measurement, "value");
        const char *name = text_of(measurement, "name");
        bool holds = true;

        if (json_is_number(value) && !is_double(value))
                return judge_wrong(judgement, "%.40s: %.60s is no number that all readers know", step, name);
        for (size_t i = 0; i < json_array_size(limits); i++) {
                int r = limit_judge(value, json_array_get(limits, i));

                if (r < 0)
                        return judge_wrong(judgement, "%.40s: the limit of %.60s cannot be recomputed", step,
                                     name);
                holds = holds && r > 0;
        }
        if (json_array_size(limits) == 0 && judge_says(measurement, "result", "PASSED"))
                return judge_wrong(judgement, "%.40s: %.60s is called PASSED without a limit", step, name);
        if (json_array_size(limits) > 0 && json_object_get(measurement, "result") &&
            judge_says(measurement, "result", "PASSED") != holds)
                return judge_wrong(judgement, "%.40s: %.60s is called %s against its limit", step, name,
                             text_of(measurement, "result"));
        if (!holds || judge_says(measurement, "result", "FAILED"))
                verdict_raise(evidence, SEVERITY_WARN);
        return true;
}

bool judge_measurements(const json_t *measurements, const char *whose, Verdict *evidence, Judgement *judgement) {
        for (size_t i = 0; i < json_array_size(measurements); i++)
                if (!judge_measurement(json_array_get(measurements, i), whose, evidence, judgement))
                        return false;
        return true;
}

/* ---- a diagnosis ---- */

/* Raises *evidence. What a code means is not for the record to say: it may only be worse. */
static bool judge_diagnosis(const json_t *diagnosis, Verdict *evidence, Judgement *judgement) {
        const CatalogueEntry *entry = catalogue_find(text_of(diagnosis, "verdict"));
        const json_t *reproduced = json_object_get(diagnosis, "reproduced"), *runs = json_object_get(diagnosis, "runs");

        if (json_is_integer(reproduced) && json_is_integer(runs) && json_integer_value(reproduced) > json_integer_value(runs))
                return judge_wrong(judgement, "%.60s was reproduced more often than it was looked for", text_of(diagnosis, "verdict"));
        if (entry)
                verdict_raise(evidence, entry->severity);
        if (judge_says(diagnosis, "type", "FAIL"))
                verdict_raise(evidence, SEVERITY_FAIL);
        else if (judge_says(diagnosis, "type", "UNKNOWN"))
                verdict_raise(evidence, SEVERITY_WARN);
        return true;
}

bool judge_diagnoses(const json_t *diagnoses, Verdict *evidence, Judgement *judgement) {
        for (size_t i = 0; i < json_array_size(diagnoses); i++)
                if (!judge_diagnosis(json_array_get(diagnoses, i), evidence, judgement))
                        return false;
        return true;
}

/* ---- a step ---- */

Verdict judge_step_verdict(const json_t *step) {
        bool is_inconclusive = judge_says(step, "result", "INCONCLUSIVE");

        if (judge_says(step, "status", "SKIP"))
                return is_inconclusive ? VERDICT_SKIPPED : _VERDICT_INVALID;
        if (judge_says(step, "status", "ERROR"))
                return is_inconclusive ? VERDICT_ERROR : _VERDICT_INVALID;
        if (judge_says(step, "result", "PASSED"))
                return VERDICT_PASSED;
        if (judge_says(step, "result", "WARNED"))
                return VERDICT_WARNED;
        return is_inconclusive ? _VERDICT_INVALID : VERDICT_FAILED;
}

static bool judge_evidence(const json_t *step, Verdict *evidence, Judgement *judgement) {
        *evidence = VERDICT_PASSED;
        if (!judge_measurements(json_object_get(step, "measurements"), text_of(step, "name"), evidence, judgement) ||
            !judge_diagnoses(json_object_get(step, "diagnoses"), evidence, judgement))
                return false;
        if (json_array_size(json_object_get(step, "errors")) > 0)
                verdict_raise(evidence, SEVERITY_WARN);
        return true;
}

static bool judge_step(const json_t *step, Verdict *ret, Judgement *judgement) {
        const char *name = text_of(step, "name");
        Verdict verdict = judge_step_verdict(step), evidence;
        bool is_open = verdict == VERDICT_SKIPPED || verdict == VERDICT_ERROR;
        Reason reason = reason_from_string(text_of(step, "reason"));

        if (verdict < 0)
                return judge_wrong(judgement, "%.40s: status %s with result %s", name, text_of(step, "status"),
                             text_of(step, "result"));
        if (is_open != (json_object_get(step, "reason") != NULL))
                return judge_wrong(judgement, "%.40s: a reason is %s", name,
                             is_open ? "missing" : "given for what was tested");
        if (is_open && reason >= 0 && !reason_fits(reason, verdict)) /* later ones are let through */
                return judge_wrong(judgement, "%.40s: %.40s is no reason for %s", name, text_of(step, "reason"),
                             text_of(step, "status"));
        if (!judge_evidence(step, &evidence, judgement))
                return false;
        if (!facts_verdict_stands(verdict, evidence))
                return judge_wrong(judgement, "%.40s: called %s in the face of its own evidence", name,
                             text_of(step, "result"));
        if ((verdict == VERDICT_PASSED || verdict == VERDICT_WARNED) &&
            *text_of(json_object_get(step, "regions"), "failed"))
                return judge_wrong(judgement, "%.40s: called %s although regions have failed", name, text_of(step, "result"));
        *ret = verdict;
        return true;
}

/* ---- a chip ---- */

/*
 * Whether LIST, of names or of objects with a name, holds exactly the names of the steps with one of the
 * verdicts.
 */
static bool judge_names(const json_t *predicate, const char *key, Verdict a, Verdict b,
                        Judgement *judgement) {
        const json_t *list = json_object_get(predicate, key), *steps = json_object_get(predicate, "steps");
        size_t n = 0;

        for (size_t i = 0; i < json_array_size(steps); i++) {
                const json_t *step = json_array_get(steps, i);
                Verdict verdict = judge_step_verdict(step);
                bool found = false;

                if (verdict != a && verdict != b)
                        continue;
                n++;
                for (size_t k = 0; k < json_array_size(list) && !found; k++) {
                        const json_t *item = json_array_get(list, k);

                        found = strcmp(json_string_value(item) ?: text_of(item, "name"),
                                       text_of(step, "name")) == 0 &&
                                (!json_is_object(item) || judge_says(item, "reason", text_of(step, "reason")));
                }
                if (!found)
                        return judge_wrong(judgement, "%s does not name %.60s", key, text_of(step, "name"));
        }
        return n == json_array_size(list) || judge_wrong(judgement, "%s names what is no such step", key);
}

static bool judge_steps(const json_t *steps, Fold *fold, Judgement *judgement) {
        for (size_t i = 0; i < json_array_size(steps); i++) {
                const json_t *step = json_array_get(steps, i);
                Verdict verdict = _VERDICT_INVALID;

                for (size_t k = 0; k < i; k++)
                        if (judge_says(json_array_get(steps, k), "name", text_of(step, "name")) ||
                            judge_says(json_array_get(steps, k), "id", text_of(step, "id")))
                                return judge_wrong(judgement, "two steps are called %.60s", text_of(step, "name"));
                if (!judge_step(step, &verdict, judgement))
                        return false;
                fold_step(fold, verdict, json_is_true(json_object_get(step, "required")));
        }
        return true;
}

bool judge_status(const json_t *predicate, Judgement *judgement) {
        if (!judge_says(predicate, "status", "COMPLETE") && !judge_says(predicate, "result", "INCONCLUSIVE"))
                return judge_wrong(judgement, "status %s with result %s", text_of(predicate, "status"),
                             text_of(predicate, "result"));
        return true;
}

/* The most that a step which ran to its end measured of the subject itself; 0 where none did. */
static double measured(const json_t *steps, const char *name) {
        double most = 0;

        for (size_t i = 0; i < json_array_size(steps); i++) {
                const json_t *step = json_array_get(steps, i), *measurements = json_object_get(step, "measurements");

                for (size_t k = 0; judge_says(step, "status", "COMPLETE") && k < json_array_size(measurements); k++) {
                        const json_t *measurement = json_array_get(measurements, k);
                        double value = json_number_value(json_object_get(measurement, "value"));

                        if (value > most && judge_says(measurement, "name", name) && !json_object_get(measurement, "component"))
                                most = value;
                }
        }
        return most;
}

static bool judge_coverage(const json_t *predicate, Fold *fold, Judgement *judgement) {
        const json_t *coverage = json_object_get(predicate, "coverage"), *steps = json_object_get(predicate, "steps");

        for (size_t i = 0; i < json_array_size(coverage); i++) {
                const json_t *promise = json_array_get(coverage, i);
                double reached = json_number_value(json_object_get(promise, "reached"));
                const char *name = text_of(promise, "name");

                if (!is_double(json_object_get(promise, "reached")) || !is_double(json_object_get(promise, "promised")))
                        return judge_wrong(judgement, "%.60s is no number that all readers know", name);
                for (size_t k = 0; k < i; k++)
                        if (judge_says(json_array_get(coverage, k), "name", name))
                                return judge_wrong(judgement, "%.60s is promised twice", name);
                if (reached > measured(steps, name))
                        return judge_wrong(judgement, "%.60s is called reached beyond what was measured", name);
                fold_coverage(fold, reached, json_number_value(json_object_get(promise, "promised")));
        }
        return true;
}

/* What an untested step leaves open, nobody else has reached. */
static bool judge_untested(const json_t *predicate, Judgement *judgement) {
        const json_t *untested = json_object_get(predicate, "untestedTests"), *coverage = json_object_get(predicate, "coverage");

        for (size_t i = 0; i < json_array_size(untested); i++) {
                const json_t *names = json_object_get(json_array_get(untested, i), "coverage");

                for (size_t k = 0; k < json_array_size(names); k++) {
                        const char *name = json_string_value(json_array_get(names, k));
                        bool is_open = false;

                        for (size_t c = 0; c < json_array_size(coverage) && !is_open; c++) {
                                const json_t *promise = json_array_get(coverage, c);

                                is_open = judge_says(promise, "name", name) &&
                                          json_number_value(json_object_get(promise, "reached")) <
                                                          json_number_value(json_object_get(promise, "promised"));
                        }
                        if (!is_open)
                                return judge_wrong(judgement, "%.60s is called open and is not", name);
                }
        }
        return true;
}

static bool judge_health(const json_t *predicate, Judgement *judgement) {
        Fold fold = {};

        if (!judge_status(predicate, judgement) ||
            !judge_steps(json_object_get(predicate, "steps"), &fold, judgement) ||
            !judge_coverage(predicate, &fold, judgement) || !judge_untested(predicate, judgement))
                return false;
        if (!judge_says(predicate, "result", result_to_string(fold_result(&fold))))
                return judge_wrong(judgement, "the result is called %s, its steps and coverage come to %s",
                             text_of(predicate, "result"), result_to_string(fold_result(&fold)));

        return judge_names(predicate, "passedTests", VERDICT_PASSED, VERDICT_PASSED, judgement) &&
               judge_names(predicate, "warnedTests", VERDICT_WARNED, VERDICT_WARNED, judgement) &&
               judge_names(predicate, "failedTests", VERDICT_FAILED, VERDICT_FAILED, judgement) &&
               judge_names(predicate, "untestedTests", VERDICT_SKIPPED, VERDICT_ERROR, judgement);
}

/* ---- any record ---- */

static bool judge_rotation(const json_t *predicate, Judgement *judgement) {
        KeyRotation rotation;
        bool is_new;

        if (key_rotation_parse(predicate, &rotation) < 0)
                return judge_wrong(judgement, "a key is not what its ID and algorithm say");
        is_new = strcmp(rotation.new.id, rotation.old.id) != 0;
        key_rotation_done(&rotation);
        return is_new || judge_wrong(judgement, "the key replaces itself");
}

/* The subject of a record is where it says it is. */
static bool judge_place(const json_t *predicate, bool is_server, Judgement *judgement) {
        const char *path = text_of(json_object_get(predicate, "location"), "path");
        Location where;

        if (*path && location_parse(path, &where, NULL, NULL) == 0 && (location_kind(&where) == LOCATION_SERVER) != is_server)
                return judge_wrong(judgement, "%.80s is %s server", path, is_server ? "no" : "a");
        return true;
}

bool judge_predicate(const json_t *predicate, const char *predicate_type, const char *uri, Judgement *ret) {
        bool is_first = json_integer_value(json_object_get(json_object_get(predicate, "log"), "index")) == 0;

        *ret = (Judgement) {};
        if (is_first != (json_object_get(predicate, "previous") == NULL))
                return judge_wrong(ret, "the previous record is %s", is_first ? "named in the first" : "missing");
        if (strcmp(predicate_type, RECORD_TYPE_HEALTH) == 0)
                return judge_place(predicate, false, ret) && judge_health(predicate, ret);
        if (strcmp(predicate_type, RECORD_TYPE_SUMMARY) == 0)
                return judge_place(predicate, true, ret) && judge_summary(predicate, uri, ret);
        if (strcmp(predicate_type, RECORD_TYPE_ROTATION) == 0)
                return judge_rotation(predicate, ret);
        return true;
}
