/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/reason.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/judge.h"
#include "daemon/record/statement/reach.h"

#define NAMES_MAX 4 /* in a line; the rest are a number */

/* Signed text goes to terminals and hooks, which take plain characters and no others. */
static void print_text(Printer *printer, const char *text) {
        size_t start = printer->n;

        printer_text(printer, text);
        for (size_t i = start; i < printer->n && printer->error == 0; i++)
                if (printer->text[i] < 0x20 || printer->text[i] > 0x7e)
                        printer->text[i] = '?';
}

static void print_number(Printer *printer, double value) {
        char text[NUMBER_TEXT_MAX];
        int n = number_format(value, text);

        if (n < 0)
                printer->error = n;
        else
                printer_raw(printer, text, (size_t) n);
}

/* LOCATION without the part that stands at the line's begin already. */
static const char *below(const char *location, const char *subject) {
        size_t n = strlen(subject);

        if (strncmp(location, subject, n) != 0)
                return location;
        if (location[n] == '/')
                return location + n + 1;
        return location[n] == '\0' ? "" : location;
}

/* The first diagnosis of TYPE in the steps, and how many there are. */
static const json_t *find_diagnosis(const json_t *steps, const char *type, const json_t **ret_step,
                                    size_t *ret_n) {
        const json_t *first = NULL;

        *ret_n = 0;
        for (size_t i = 0; i < json_array_size(steps); i++) {
                const json_t *diagnoses = json_object_get(json_array_get(steps, i), "diagnoses");

                for (size_t k = 0; k < json_array_size(diagnoses); k++) {
                        if (strcmp(text_of(json_array_get(diagnoses, k), "type"), type) != 0)
                                continue;
                        if ((*ret_n)++ > 0)
                                continue;
                        first = json_array_get(diagnoses, k);
                        *ret_step = json_array_get(steps, i);
                }
        }
        return first;
}

static const json_t *find_step(const json_t *steps, Verdict verdict) {
        for (size_t i = 0; i < json_array_size(steps); i++) {
                const json_t *step = json_array_get(steps, i);

                if (judge_step_verdict(step) == verdict)
                        return step;
        }
        return NULL;
}

static void print_more(Printer *printer, size_t n) {
        if (n == 0)
                return;
        printer_text(printer, " and ");
        printer_digits(printer, n);
        printer_text(printer, " more");
}

static void print_diagnosis(Printer *printer, const json_t *predicate, const char *type, Verdict verdict,
                            const char *subject) {
        const json_t *steps = json_object_get(predicate, "steps"), *step = NULL, *diagnosis;
        const char *where;
        size_t n;

        diagnosis = find_diagnosis(steps, type, &step, &n);
        if (!diagnosis)
                step = find_step(steps, verdict);
        printer_text(printer, " ");
        print_text(printer, text_of(step, "name"));
        printer_text(printer, ": ");
        if (!diagnosis) {
                printer_text(printer, verdict_to_string(verdict));
                return;
        }
        print_text(printer, text_of(diagnosis, "verdict"));
        where = below(text_of(json_object_get(diagnosis, "component"), "location"), subject);
        if (*where) {
                printer_text(printer, " at ");
                print_text(printer, where);
        }
        print_more(printer, n - 1);
}

/* The message of its step, else the sentence for its reason. */
static const char *why_untested(const json_t *steps, const json_t *test) {
        for (size_t i = 0; i < json_array_size(steps); i++) {
                const json_t *step = json_array_get(steps, i);

                if (strcmp(text_of(step, "name"), text_of(test, "name")) == 0 && *text_of(step, "message"))
                        return text_of(step, "message");
        }
        return reason_to_words(reason_from_string(text_of(test, "reason"))) ?: text_of(test, "reason");
}

static bool is_told_before(const json_t *steps, const json_t *list, size_t index) {
        for (size_t i = 0; i < index; i++)
                if (strcmp(why_untested(steps, json_array_get(list, i)), why_untested(steps, json_array_get(list, index))) == 0)
                        return true;
        return false;
}

/* All tests from INDEX on of which the same is said: "hbm, efa (the plan's device time was used up)" */
static void print_alike(Printer *printer, const json_t *steps, const json_t *list, size_t index) {
        const char *why = why_untested(steps, json_array_get(list, index));
        size_t n = 0;

        for (size_t i = index; i < json_array_size(list); i++) {
                const json_t *test = json_array_get(list, i);

                if (strcmp(why_untested(steps, test), why) != 0 || n++ >= NAMES_MAX)
                        continue;
                printer_text(printer, n > 1 ? ", " : "");
                print_text(printer, text_of(test, "name"));
        }
        print_more(printer, n > NAMES_MAX ? n - NAMES_MAX : 0);
        printer_text(printer, " (");
        print_text(printer, why);
        printer_text(printer, ")");
}

static void print_untested(Printer *printer, const json_t *predicate) {
        const json_t *list = json_object_get(predicate, "untestedTests"), *steps = json_object_get(predicate, "steps");
        size_t n = 0;

        for (size_t i = 0; i < json_array_size(list); i++) {
                if (is_told_before(steps, list, i) || n++ >= NAMES_MAX)
                        continue;
                printer_text(printer, n > 1 ? ", " : "not tested: ");
                print_alike(printer, steps, list, i);
        }
        print_more(printer, n > NAMES_MAX ? n - NAMES_MAX : 0);
}

static void print_inconclusive(Printer *printer, const json_t *predicate) {
        const json_t *coverage = json_object_get(predicate, "coverage");

        printer_text(printer, ": ");
        if (json_array_size(json_object_get(predicate, "untestedTests")) > 0) {
                print_untested(printer, predicate);
                return;
        }
        for (size_t i = 0; i < json_array_size(coverage); i++) {
                const json_t *promise = json_array_get(coverage, i);
                double reached = json_number_value(json_object_get(promise, "reached"));
                double promised = json_number_value(json_object_get(promise, "promised"));

                if (reached >= promised)
                        continue;
                print_text(printer, text_of(promise, "name"));
                printer_text(printer, " reached ");
                print_number(printer, reached);
                printer_text(printer, " of ");
                print_number(printer, promised);
                return;
        }
        printer_text(printer, "nothing was tested");
}

/* "0-12,40": 14 */
static size_t count_regions(const char *text) {
        size_t n = 0;

        while (*text) {
                char *end;
                unsigned long first = strtoul(text, &end, 10), last = first;

                if (end == text)
                        break;
                if (*end == '-')
                        last = strtoul(end + 1, &end, 10);
                n += last >= first && last < REGIONS_MAX ? last - first + 1 : 0;
                if (*end != ',')
                        break;
                text = end + 1;
        }
        return n;
}

/* What was tested region by region is not all of it: "hbm: 60 of 96 regions since 2026-11-21T13:05:00.000Z" */
static void print_regions(Printer *printer, const json_t *step) {
        const json_t *regions = json_object_get(step, "regions"), *tested = json_object_get(regions, "tested");
        const char *oldest = NULL;
        size_t n = 0;

        if (!regions)
                return;

        for (size_t i = 0; i < json_array_size(tested); i++) {
                const char *on = text_of(json_array_get(tested, i), "on");

                n += count_regions(text_of(json_array_get(tested, i), "regions"));
                if (!oldest || strcmp(on, oldest) < 0)
                        oldest = on;
        }
        printer_text(printer, ", ");
        print_text(printer, text_of(step, "name"));
        printer_text(printer, ": ");
        printer_digits(printer, n);
        printer_text(printer, " of ");
        printer_digits(printer, (size_t) json_integer_value(json_object_get(regions, "total")));
        printer_text(printer, " regions");
        if (oldest) {
                printer_text(printer, " since ");
                print_text(printer, oldest);
        }
}

/* What a step left out, which it names place by place: "neuronlink: 2 left out" */
static void print_left_out(Printer *printer, const json_t *step) {
        const json_t *measurements = json_object_get(step, "measurements");
        size_t n = 0;

        for (size_t i = 0; i < json_array_size(measurements); i++) {
                const json_t *measurement = json_array_get(measurements, i);

                n += strstr(text_of(measurement, "name"), REACH_UNTESTED) && json_number_value(json_object_get(measurement, "value")) > 0;
        }
        if (n == 0)
                return;

        printer_text(printer, ", ");
        print_text(printer, text_of(step, "name"));
        printer_text(printer, ": ");
        printer_digits(printer, n);
        printer_text(printer, " left out");
}

static void print_passed(Printer *printer, const json_t *predicate) {
        const json_t *steps = json_object_get(predicate, "steps");
        size_t n = json_array_size(json_object_get(predicate, "passedTests"));

        printer_text(printer, ": ");
        printer_digits(printer, n);
        printer_text(printer, n == 1 ? " test passed" : " tests passed");
        for (size_t i = 0; i < json_array_size(steps); i++) {
                print_regions(printer, json_array_get(steps, i));
                print_left_out(printer, json_array_get(steps, i));
        }
        if (json_array_size(json_object_get(predicate, "untestedTests")) > 0) {
                printer_text(printer, ", ");
                print_untested(printer, predicate);
        }
}

static void print_health_reason(Printer *printer, const json_t *predicate, const char *subject) {
        const json_t *steps = json_object_get(predicate, "steps");

        switch (result_from_string(text_of(predicate, "result"))) {
        case RESULT_FAILED:
                print_diagnosis(printer, predicate, "FAIL", VERDICT_FAILED, subject);
                break;
        case RESULT_WARNED:
                print_diagnosis(printer, predicate, "UNKNOWN", VERDICT_WARNED, subject);
                for (size_t i = 0; i < json_array_size(steps); i++)
                        print_left_out(printer, json_array_get(steps, i));
                break;
        case RESULT_PASSED:
                print_passed(printer, predicate);
                break;
        case RESULT_INCONCLUSIVE:
        case _RESULT_MAX:
        case _RESULT_INVALID:
                print_inconclusive(printer, predicate);
                break;
        }
}

/* "us0-2: FAILED, of 16 chips 2 FAILED (chip3, chip5), 1 INCONCLUSIVE (chip9)" */
static void print_chips(Printer *printer, const json_t *components, Result result, const char *subject) {
        size_t n = 0;

        for (size_t i = 0; i < json_array_size(components); i++) {
                const json_t *annotations = json_object_get(json_array_get(components, i), "annotations");

                n += strcmp(text_of(annotations, "result"), result_to_string(result)) == 0;
        }
        if (n == 0)
                return;
        printer_text(printer, ", ");
        printer_digits(printer, n);
        printer_text(printer, " ");
        printer_text(printer, result_to_string(result));
        if (result == RESULT_PASSED)
                return;

        printer_text(printer, " (");
        n = 0;
        for (size_t i = 0; i < json_array_size(components) && n <= NAMES_MAX; i++) {
                const json_t *annotations = json_object_get(json_array_get(components, i), "annotations");

                if (strcmp(text_of(annotations, "result"), result_to_string(result)) != 0)
                        continue;
                printer_text(printer, n > 0 ? ", " : "");
                print_text(printer, n == NAMES_MAX ? "..." : below(text_of(annotations, "slot"), subject));
                n++;
        }
        printer_text(printer, ")");
}

static void print_summary_reason(Printer *printer, const json_t *predicate, const char *subject) {
        const json_t *components = json_object_get(predicate, "components"), *diagnoses = json_object_get(predicate, "diagnoses");

        printer_text(printer, ": ");
        printer_digits(printer, json_array_size(components));
        printer_text(printer, json_array_size(components) == 1 ? " chip" : " chips");
        for (Result result = 0; result < _RESULT_MAX; result++)
                print_chips(printer, components, result, subject);
        if (json_array_size(diagnoses) > 0) {
                printer_text(printer, "; ");
                print_text(printer, text_of(json_array_get(diagnoses, 0), "verdict"));
                print_more(printer, json_array_size(diagnoses) - 1);
        }
}

/* "https://example.com/us0: started, boot 0f3c…" */
static void print_heartbeat_reason(Printer *printer, const json_t *predicate) {
        const json_t *producer = json_object_get(predicate, "producer");
        const char *boot = text_of(producer, "bootId");

        print_text(printer, text_of(producer, "id"));
        printer_text(printer, strcmp(text_of(predicate, "cause"), "start") == 0 ? ": started" : ": alive");
        printer_text(printer, *boot ? ", boot " : "");
        print_text(printer, boot);
}

/* "https://example.com/us0: key SHA256:… after SHA256:…" */
static void print_rotation_reason(Printer *printer, const json_t *predicate) {
        print_text(printer, text_of(json_object_get(predicate, "producer"), "id"));
        printer_text(printer, ": key ");
        print_text(printer, text_of(predicate, "keyid"));
        printer_text(printer, " after ");
        print_text(printer, text_of(json_object_get(predicate, "replaces"), "keyid"));
}

void reason_print(Printer *printer, const json_t *predicate, const char *predicate_type, const char *uri) {
        const char *path = text_of(json_object_get(predicate, "location"), "path");
        const char *subject = *path ? path : uri;

        if (strcmp(predicate_type, RECORD_TYPE_HEARTBEAT) == 0) {
                print_heartbeat_reason(printer, predicate);
                return;
        }
        if (strcmp(predicate_type, RECORD_TYPE_ROTATION) == 0) {
                print_rotation_reason(printer, predicate);
                return;
        }
        print_text(printer, subject);
        if (strcmp(predicate_type, RECORD_TYPE_HEALTH) == 0)
                print_health_reason(printer, predicate, subject);
        else if (strcmp(predicate_type, RECORD_TYPE_SUMMARY) == 0)
                print_summary_reason(printer, predicate, subject);
        else {
                printer_text(printer, ": run started, plan ");
                print_text(printer,
                           text_of(json_array_get(json_object_get(predicate, "configuration"), 0), "name"));
        }
}

int reason_of(const json_t *statement, const char *predicate_type, char **ret) {
        const json_t *subject = json_array_get(json_object_get(statement, "subject"), 0);
        _cleanup_printer_ Printer reason = {};

        reason_print(&reason, json_object_get(statement, "predicate"), predicate_type, text_of(subject, "uri"));
        printer_raw(&reason, "", 1);
        if (reason.error < 0)
                return reason.error;
        *ret = TAKE_PTR(reason.text);
        return 0;
}

int reason_of_server(const json_t *predicate, const char *subject, Result result, char **ret) {
        const char *type = severity_to_ocp(result == RESULT_FAILED ? SEVERITY_FAIL : SEVERITY_WARN);
        const json_t *diagnoses = json_object_get(predicate, "diagnoses"), *first = NULL;
        _cleanup_printer_ Printer reason = {};
        size_t n = 0;

        for (size_t i = 0; i < json_array_size(diagnoses); i++)
                if (strcmp(text_of(json_array_get(diagnoses, i), "type"), type) == 0 && n++ == 0)
                        first = json_array_get(diagnoses, i);
        print_text(&reason, subject);
        if (first) {
                printer_text(&reason, " ");
                print_text(&reason, text_of(first, "step"));
                printer_text(&reason, ": ");
                print_text(&reason, text_of(first, "verdict"));
                print_more(&reason, n - 1);
        } else
                printer_text(&reason, result == RESULT_PASSED ? ": nothing outside of its chips" : ": a value outside of its chips is beyond its limit");
        printer_raw(&reason, "", 1);
        if (reason.error < 0)
                return reason.error;
        *ret = TAKE_PTR(reason.text);
        return 0;
}
