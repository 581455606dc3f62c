/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/judge.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/json.h"
#include "daemon/record/key-rotation.h"

static bool wrong(Judgement *judgement, const char *format, ...) __attribute__((format(printf, 2, 3)));

static bool wrong(Judgement *judgement, const char *format, ...) {
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(judgement->wrong, sizeof(judgement->wrong), format, arguments);
        va_end(arguments);
        return false;
}

static bool says(const json_t *object, const char *key, const char *word) {
        return strcmp(text_of(object, key), word) == 0;
}

/* ---- a measurement ---- */

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
        if (json_is_number(value) && json_is_number(bound))
                return number_holds(type, json_number_value(value), json_number_value(bound));
        if (json_typeof(value) != json_typeof(bound) && !(json_is_boolean(value) && json_is_boolean(bound)))
                return -EINVAL;
        if (strcmp(type, "EQUAL") == 0)
                return json_equal(value, bound);
        if (strcmp(type, "NOT_EQUAL") == 0)
                return !json_equal(value, bound);
        return -EINVAL;
}

static bool judge_measurement(const json_t *measurement, const char *step, Verdict *evidence,
                              Judgement *judgement) {
        const json_t *limits = json_object_get(measurement, "limits");
        const char *name = text_of(measurement, "name");
        bool holds = true;

        for (size_t i = 0; i < json_array_size(limits); i++) {
                int r = limit_judge(json_object_get(measurement, "value"), json_array_get(limits, i));

                if (r < 0)
                        return wrong(judgement, "%.40s: the limit of %.60s cannot be recomputed", step,
                                     name);
                holds = holds && r > 0;
        }
        if (json_array_size(limits) > 0 && json_object_get(measurement, "result") &&
            says(measurement, "result", "PASSED") != holds)
                return wrong(judgement, "%.40s: %.60s is called %s against its limit", step, name,
                             text_of(measurement, "result"));
        if (!holds || says(measurement, "result", "FAILED"))
                verdict_raise(evidence, SEVERITY_WARN);
        return true;
}

/* ---- a step ---- */

Verdict judge_step_verdict(const json_t *step) {
        bool is_inconclusive = says(step, "result", "INCONCLUSIVE");

        if (says(step, "status", "SKIP"))
                return is_inconclusive ? VERDICT_SKIPPED : _VERDICT_INVALID;
        if (says(step, "status", "ERROR"))
                return is_inconclusive ? VERDICT_ERROR : _VERDICT_INVALID;
        if (says(step, "result", "PASSED"))
                return VERDICT_PASSED;
        if (says(step, "result", "WARNED"))
                return VERDICT_WARNED;
        return is_inconclusive ? _VERDICT_INVALID : VERDICT_FAILED;
}

static bool judge_evidence(const json_t *step, Verdict *evidence, Judgement *judgement) {
        const json_t *measurements = json_object_get(step, "measurements");
        const json_t *diagnoses = json_object_get(step, "diagnoses");

        *evidence = VERDICT_PASSED;
        for (size_t i = 0; i < json_array_size(measurements); i++)
                if (!judge_measurement(json_array_get(measurements, i), text_of(step, "name"), evidence,
                                       judgement))
                        return false;
        for (size_t i = 0; i < json_array_size(diagnoses); i++) {
                const json_t *diagnosis = json_array_get(diagnoses, i);

                if (says(diagnosis, "type", "FAIL"))
                        verdict_raise(evidence, SEVERITY_FAIL);
                else if (says(diagnosis, "type", "UNKNOWN"))
                        verdict_raise(evidence, SEVERITY_WARN);
        }
        if (json_array_size(json_object_get(step, "errors")) > 0)
                verdict_raise(evidence, SEVERITY_WARN);
        return true;
}

static bool judge_step(const json_t *step, Verdict *ret, Judgement *judgement) {
        const char *name = text_of(step, "name");
        Verdict verdict = judge_step_verdict(step), evidence;
        bool is_open = verdict == VERDICT_SKIPPED || verdict == VERDICT_ERROR;

        if (verdict < 0)
                return wrong(judgement, "%.40s: status %s with result %s", name, text_of(step, "status"),
                             text_of(step, "result"));
        if (is_open != (json_object_get(step, "reason") != NULL))
                return wrong(judgement, "%.40s: a reason is %s", name,
                             is_open ? "missing" : "given for what was tested");
        if (!judge_evidence(step, &evidence, judgement))
                return false;
        if ((verdict == VERDICT_PASSED && evidence != VERDICT_PASSED) ||
            ((verdict == VERDICT_WARNED || verdict == VERDICT_SKIPPED) && evidence == VERDICT_FAILED))
                return wrong(judgement, "%.40s: called %s in the face of its own evidence", name,
                             text_of(step, "result"));
        if ((verdict == VERDICT_PASSED || verdict == VERDICT_WARNED) &&
            *text_of(json_object_get(step, "regions"), "failed"))
                return wrong(judgement, "%.40s: called %s although regions have failed", name, text_of(step, "result"));
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
                                (!json_is_object(item) || says(item, "reason", text_of(step, "reason")));
                }
                if (!found)
                        return wrong(judgement, "%s does not name %.60s", key, text_of(step, "name"));
        }
        return n == json_array_size(list) || wrong(judgement, "%s names what is no such step", key);
}

static bool judge_steps(const json_t *steps, Fold *fold, Judgement *judgement) {
        for (size_t i = 0; i < json_array_size(steps); i++) {
                const json_t *step = json_array_get(steps, i);
                Verdict verdict = _VERDICT_INVALID;

                for (size_t k = 0; k < i; k++)
                        if (says(json_array_get(steps, k), "name", text_of(step, "name")))
                                return wrong(judgement, "two steps are called %.60s", text_of(step, "name"));
                if (!judge_step(step, &verdict, judgement))
                        return false;
                fold_step(fold, verdict, json_is_true(json_object_get(step, "required")));
        }
        return true;
}

static bool judge_status(const json_t *predicate, Judgement *judgement) {
        if (!says(predicate, "status", "COMPLETE") && !says(predicate, "result", "INCONCLUSIVE"))
                return wrong(judgement, "status %s with result %s", text_of(predicate, "status"),
                             text_of(predicate, "result"));
        return true;
}

static bool judge_health(const json_t *predicate, Judgement *judgement) {
        const json_t *coverage = json_object_get(predicate, "coverage");
        Fold fold = {};

        if (!judge_status(predicate, judgement) ||
            !judge_steps(json_object_get(predicate, "steps"), &fold, judgement))
                return false;
        for (size_t i = 0; i < json_array_size(coverage); i++) {
                const json_t *promise = json_array_get(coverage, i);

                fold_coverage(&fold, json_number_value(json_object_get(promise, "reached")),
                              json_number_value(json_object_get(promise, "promised")));
        }
        if (!says(predicate, "result", result_to_string(fold_result(&fold))))
                return wrong(judgement, "the result is called %s, its steps and coverage come to %s",
                             text_of(predicate, "result"), result_to_string(fold_result(&fold)));

        return judge_names(predicate, "passedTests", VERDICT_PASSED, VERDICT_PASSED, judgement) &&
               judge_names(predicate, "warnedTests", VERDICT_WARNED, VERDICT_WARNED, judgement) &&
               judge_names(predicate, "failedTests", VERDICT_FAILED, VERDICT_FAILED, judgement) &&
               judge_names(predicate, "untestedTests", VERDICT_SKIPPED, VERDICT_ERROR, judgement);
}

/* ---- a server ---- */

/* What lies in none of the chips. */
static Result judge_diagnoses(const json_t *diagnoses) {
        Result worst = RESULT_PASSED;

        for (size_t i = 0; i < json_array_size(diagnoses); i++) {
                const json_t *diagnosis = json_array_get(diagnoses, i);

                if (says(diagnosis, "type", "FAIL"))
                        worst = result_worst(worst, RESULT_FAILED);
                else if (says(diagnosis, "type", "UNKNOWN"))
                        worst = result_worst(worst, RESULT_WARNED);
        }
        return worst;
}

static bool judge_summary(const json_t *predicate, Judgement *judgement) {
        const json_t *components = json_object_get(predicate, "components");
        Result worst = json_array_size(components) > 0 ? RESULT_PASSED : RESULT_INCONCLUSIVE;
        Result result = result_from_string(text_of(predicate, "result"));

        if (!judge_status(predicate, judgement))
                return false;
        for (size_t i = 0; i < json_array_size(components); i++) {
                const json_t *annotations = json_object_get(json_array_get(components, i), "annotations");

                worst = result_worst(worst, result_from_string(text_of(annotations, "result")));
        }
        worst = result_worst(worst, judge_diagnoses(json_object_get(predicate, "diagnoses")));
        if (result_worst(result, worst) != result)
                return wrong(judgement, "the result is called %s, its chips and diagnoses come to %s",
                             text_of(predicate, "result"), result_to_string(worst));
        return true;
}

static bool judge_rotation(const json_t *predicate, Judgement *judgement) {
        KeyRotation rotation;
        bool is_new;

        if (key_rotation_parse(predicate, &rotation) < 0)
                return wrong(judgement, "a key is not what its ID and algorithm say");
        is_new = strcmp(rotation.new.id, rotation.old.id) != 0;
        key_rotation_done(&rotation);
        return is_new || wrong(judgement, "the key replaces itself");
}

bool judge_predicate(const json_t *predicate, const char *predicate_type, Judgement *ret) {
        bool is_first = json_integer_value(json_object_get(json_object_get(predicate, "log"), "index")) == 0;

        *ret = (Judgement) {};
        if (is_first != (json_object_get(predicate, "previous") == NULL))
                return wrong(ret, "the previous record is %s", is_first ? "named in the first" : "missing");
        if (strcmp(predicate_type, RECORD_TYPE_HEALTH) == 0)
                return judge_health(predicate, ret);
        if (strcmp(predicate_type, RECORD_TYPE_SUMMARY) == 0)
                return judge_summary(predicate, ret);
        if (strcmp(predicate_type, RECORD_TYPE_ROTATION) == 0)
                return judge_rotation(predicate, ret);
        return true;
}
