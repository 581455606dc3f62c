/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/reason.h"

#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/encode/printer.h"
#include "daemon/record/encode/timestamp.h"
#include "daemon/record/statement/archive.h"

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

/* Ended by a zero. */
static int take_line(Printer *printer, char **ret) {
        printer_raw(printer, "", 1);
        if (printer->error < 0)
                return printer->error;
        *ret = TAKE_PTR(printer->text);
        return 0;
}

/* WHERE without the part that stands at the line's begin already. */
static void print_below(Printer *printer, const char *before, const Location *where, const char *subject) {
        char path[LOCATION_STRING_MAX];
        const char *text = location_format(where, path);
        size_t n = strlen(subject);

        if (strncmp(text, subject, n) == 0 && (text[n] == '/' || text[n] == '\0'))
                text += n + (text[n] == '/');
        if (*text == '\0' || place_is_unnamed(where))
                return;
        printer_text(printer, before);
        print_text(printer, text);
}

static void print_more(Printer *printer, size_t n) {
        if (n == 0)
                return;
        printer_text(printer, " and ");
        printer_digits(printer, n);
        printer_text(printer, " more");
}

/* ---- what was found ---- */

/* The first diagnosis of SEVERITY in the steps, and how many there are. */
static const RecordDiagnosis *find_diagnosis(const RecordStep *steps, size_t n_steps, Severity severity, const RecordStep **ret_step, size_t *ret_n) {
        const RecordDiagnosis *first = NULL;

        *ret_n = 0;
        for (size_t i = 0; i < n_steps; i++)
                for (size_t k = 0; k < steps[i].n_diagnoses; k++) {
                        if (steps[i].diagnoses[k].severity != severity || (*ret_n)++ > 0)
                                continue;
                        first = &steps[i].diagnoses[k];
                        *ret_step = &steps[i];
                }
        return first;
}

static const char *find_step(const RecordHealth *chip, Verdict verdict) {
        for (size_t i = 0; i < chip->n_steps; i++)
                if (chip->steps[i].verdict == verdict)
                        return chip->steps[i].name;
        return "";
}

static void print_diagnosis(Printer *printer, const RecordHealth *chip, Severity severity, Verdict verdict, const char *subject) {
        const RecordStep *step = NULL;
        const RecordDiagnosis *diagnosis;
        size_t n;

        diagnosis = find_diagnosis(chip->steps, chip->n_steps, severity, &step, &n);
        printer_text(printer, " ");
        print_text(printer, diagnosis ? step->name : find_step(chip, verdict));
        printer_text(printer, ": ");
        print_text(printer, diagnosis ? diagnosis->code : verdict_to_string(verdict));
        if (!diagnosis)
                return;
        print_below(printer, " at ", &diagnosis->where, subject);
        print_more(printer, n - 1);
}

/* ---- what was not tested ---- */

/* The message of the step, else the sentence for its reason; NULL: it was tested. */
static const char *why_untested(const RecordStep *step) {
        if (verdict_is_judged(step->verdict))
                return NULL;
        return step->message && *step->message ? step->message : reason_to_words(step->reason) ?: "";
}

static bool is_alike(const RecordStep *step, const char *why) {
        return why_untested(step) && strcmp(why_untested(step), why) == 0;
}

static bool is_told_before(const RecordHealth *chip, size_t index) {
        for (size_t i = 0; i < index; i++)
                if (is_alike(&chip->steps[i], why_untested(&chip->steps[index])))
                        return true;
        return false;
}

/* All tests from INDEX on of which the same is said: "hbm, efa (the plan's device time was used up)" */
static void print_alike(Printer *printer, const RecordHealth *chip, size_t index) {
        const char *why = why_untested(&chip->steps[index]);
        size_t n = 0;

        for (size_t i = index; i < chip->n_steps; i++) {
                if (!is_alike(&chip->steps[i], why) || n++ >= NAMES_MAX)
                        continue;
                printer_text(printer, n > 1 ? ", " : "");
                print_text(printer, chip->steps[i].name);
        }
        print_more(printer, n > NAMES_MAX ? n - NAMES_MAX : 0);
        printer_text(printer, " (");
        print_text(printer, why);
        printer_text(printer, ")");
}

/* Whether there are any. BEFORE: the first. */
static bool print_untested(Printer *printer, const RecordHealth *chip, const char *before) {
        size_t n = 0;

        for (size_t i = 0; i < chip->n_steps; i++) {
                if (!why_untested(&chip->steps[i]) || is_told_before(chip, i) || n++ >= NAMES_MAX)
                        continue;
                printer_text(printer, n > 1 ? ", " : before);
                print_alike(printer, chip, i);
        }
        print_more(printer, n > NAMES_MAX ? n - NAMES_MAX : 0);
        return n > 0;
}

static void print_inconclusive(Printer *printer, const RecordHealth *chip) {
        if (print_untested(printer, chip, ": not tested: "))
                return;
        for (size_t i = 0; i < chip->n_promises; i++) {
                const RecordPromise *promise = &chip->promises[i];

                if (promise->reached >= promise->promised)
                        continue;
                printer_text(printer, ": ");
                print_text(printer, promise->measurement);
                printer_text(printer, " reached ");
                print_number(printer, promise->reached);
                printer_text(printer, " of ");
                print_number(printer, promise->promised);
                return;
        }
        printer_text(printer, ": nothing was tested");
}

/* ---- what was ---- */

/* ", hbm: 60" */
static void print_count(Printer *printer, const char *step, size_t n) {
        printer_text(printer, ", ");
        print_text(printer, step);
        printer_text(printer, ": ");
        printer_digits(printer, n);
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
static void print_regions(Printer *printer, const RecordStep *step) {
        const RecordRegions *regions = step->regions;
        uint64_t oldest = UINT64_MAX;
        char since[TIMESTAMP_MAX];
        size_t n = 0;

        if (!regions)
                return;

        for (size_t i = 0; i < regions->n_tests; i++) {
                n += count_regions(regions->tests[i].regions);
                oldest = MIN(oldest, regions->tests[i].usec);
        }
        print_count(printer, step->name, n);
        printer_text(printer, " of ");
        printer_digits(printer, regions->total);
        printer_text(printer, " regions");
        if (oldest != UINT64_MAX && timestamp_format(oldest, since) == 0) {
                printer_text(printer, " since ");
                printer_text(printer, since);
        }
}

/* What a step left out, which it names place by place: "neuronlink: 2 left out" */
static void print_left_out(Printer *printer, const RecordStep *step) {
        size_t n = reach_left_out(step);

        if (n == 0)
                return;
        print_count(printer, step->name, n);
        printer_text(printer, " left out");
}

static void print_passed(Printer *printer, const RecordHealth *chip) {
        size_t n = 0;

        for (size_t i = 0; i < chip->n_steps; i++)
                n += chip->steps[i].verdict == VERDICT_PASSED;
        printer_text(printer, ": ");
        printer_digits(printer, n);
        printer_text(printer, n == 1 ? " test passed" : " tests passed");
        for (size_t i = 0; i < chip->n_steps; i++) {
                print_regions(printer, &chip->steps[i]);
                print_left_out(printer, &chip->steps[i]);
        }
        (void) print_untested(printer, chip, ", not tested: ");
}

/* Who repaired the chip looks for the failure that this record clears: ", after the failure in record 7" */
static void print_standing(Printer *printer, const RecordHealth *chip) {
        if (!chip->standing.is_told || (chip->result != RESULT_PASSED && chip->result != RESULT_WARNED))
                return;
        printer_text(printer, ", after the failure in record ");
        printer_digits(printer, chip->standing.index);
}

static void print_chip(Printer *printer, const RecordHealth *chip, const char *subject) {
        switch (chip->result) {
        case RESULT_FAILED:
                print_diagnosis(printer, chip, SEVERITY_FAIL, VERDICT_FAILED, subject);
                break;
        case RESULT_WARNED:
                print_diagnosis(printer, chip, SEVERITY_WARN, VERDICT_WARNED, subject);
                for (size_t i = 0; i < chip->n_steps; i++)
                        print_left_out(printer, &chip->steps[i]);
                break;
        case RESULT_PASSED:
                print_passed(printer, chip);
                break;
        case RESULT_INCONCLUSIVE:
        case _RESULT_MAX:
        case _RESULT_INVALID:
                print_inconclusive(printer, chip);
                break;
        }
        print_standing(printer, chip);
}

/* ---- a roll-up ---- */

/* ", 2 FAILED (chip3, chip5)" */
static void print_chips(Printer *printer, const RecordScan *scan, Result result, const char *subject) {
        size_t n = 0, n_told = 0;

        for (size_t i = 0; i < scan->n_chips; i++)
                n += scan->chips[i].result == result;
        if (n == 0)
                return;
        printer_text(printer, ", ");
        printer_digits(printer, n);
        printer_text(printer, " ");
        printer_text(printer, result_to_string(result));
        if (result == RESULT_PASSED)
                return;

        printer_text(printer, " (");
        for (size_t i = 0; i < scan->n_chips; i++)
                if (scan->chips[i].result == result && n_told++ < NAMES_MAX)
                        print_below(printer, n_told > 1 ? ", " : "", &scan->chips[i].subject.where, subject);
        printer_text(printer, n > NAMES_MAX ? ", ...)" : ")");
}

/* "us0-2: 16 chips, 13 PASSED, 2 FAILED (chip3, chip5), 1 INCONCLUSIVE (chip9); efa-plane" */
static void print_rollup(Printer *printer, const RecordScan *scan, const char *subject) {
        const char *first = NULL;
        size_t n = 0;

        printer_text(printer, ": ");
        printer_digits(printer, scan->n_chips);
        printer_text(printer, scan->n_chips == 1 ? " chip" : " chips");
        for (Result result = 0; result < _RESULT_MAX; result++)
                print_chips(printer, scan, result, subject);
        for (size_t i = 0; i < scan->n_steps; i++) {
                n += scan->steps[i].n_diagnoses;
                if (!first && scan->steps[i].n_diagnoses > 0)
                        first = scan->steps[i].diagnoses[0].code;
        }
        if (first) {
                printer_text(printer, "; ");
                print_text(printer, first);
                print_more(printer, n - 1);
        }
}

int reason_of_server(const Health *health, Result result, char **ret) {
        const RecordScan *scan = &health->scan;
        char subject[LOCATION_STRING_MAX];
        _cleanup_printer_ Printer reason = {};
        const RecordDiagnosis *first;
        const RecordStep *step;
        size_t n;

        first = find_diagnosis(scan->steps, scan->n_steps, result == RESULT_FAILED ? SEVERITY_FAIL : SEVERITY_WARN, &step, &n);
        print_text(&reason, location_format(&scan->server.where, subject));
        if (first) {
                printer_text(&reason, " ");
                print_text(&reason, step->name);
                printer_text(&reason, ": ");
                print_text(&reason, first->code);
                print_more(&reason, n - 1);
        } else
                printer_text(&reason, result == RESULT_PASSED ? ": nothing outside of its chips" : ": a value outside of its chips is beyond its limit");
        return take_line(&reason, ret);
}

int reason_of_older(const Health *health, const char *wrong, char **ret) {
        const Location *where = health->is_rollup ? &health->scan.server.where : &health->chip.subject.where;
        char subject[LOCATION_STRING_MAX];
        _cleanup_printer_ Printer reason = {};

        print_text(&reason, location_format(where, subject));
        printer_text(&reason, ": signed under older rules: ");
        print_text(&reason, wrong);
        return take_line(&reason, ret);
}

/* ---- records that are no verdicts ---- */

/* "https://example.com/us0: started, boot 0f3c…" */
static void print_heartbeat(Printer *printer, const json_t *predicate) {
        const json_t *producer = json_object_get(predicate, "producer");
        const char *boot = text_of(producer, "bootId");

        print_text(printer, text_of(producer, "id"));
        printer_text(printer, strcmp(text_of(predicate, "cause"), "start") == 0 ? ": started" : ": alive");
        printer_text(printer, *boot ? ", boot " : "");
        print_text(printer, boot);
}

/* "https://example.com/us0: key SHA256:… after SHA256:…" */
static void print_rotation(Printer *printer, const json_t *predicate) {
        print_text(printer, text_of(json_object_get(predicate, "producer"), "id"));
        printer_text(printer, ": key ");
        print_text(printer, text_of(predicate, "keyid"));
        printer_text(printer, " after ");
        print_text(printer, text_of(json_object_get(predicate, "replaces"), "keyid"));
}

/* "https://example.com/us0: went on from 3 records after 5 were signed, records-lost, as uid 0 decided: NOTE" */
static void print_decision(Printer *printer, const json_t *predicate) {
        const json_t *kept = json_object_get(predicate, "kept"), *signed_ = json_object_get(predicate, "signed");

        print_text(printer, text_of(json_object_get(predicate, "producer"), "id"));
        printer_text(printer, ": went on from ");
        printer_digits(printer, (uint64_t) json_integer_value(json_object_get(kept, "size")));
        printer_text(printer, " records");
        if (signed_) {
                printer_text(printer, " after ");
                printer_digits(printer, (uint64_t) json_integer_value(json_object_get(signed_, "size")));
                printer_text(printer, " were signed");
        }
        printer_text(printer, ", ");
        print_text(printer, text_of(predicate, "cause"));
        printer_text(printer, ", as uid ");
        printer_digits(printer, (uint64_t) json_integer_value(json_object_get(json_object_get(predicate, "operator"), "uid")));
        printer_text(printer, " decided: ");
        print_text(printer, text_of(predicate, "note"));
}

/* "https://example.com/us0: records 256-511 archived, 241 of them dropped" */
static void print_archive(Printer *printer, const json_t *predicate) {
        Archive archive;

        print_text(printer, text_of(json_object_get(predicate, "producer"), "id"));
        if (archive_parse(predicate, &archive) < 0)
                return;
        printer_text(printer, ": records ");
        printer_digits(printer, archive.first);
        printer_text(printer, "-");
        printer_digits(printer, archive.first + RECORD_ARCHIVE_RECORDS - 1);
        printer_text(printer, " archived, ");
        printer_digits(printer, region_set_count(&archive.dropped));
        printer_text(printer, " of them dropped");
}

int reason_of(const json_t *statement, const char *predicate_type, const Health *health, char **ret) {
        const json_t *predicate = json_object_get(statement, "predicate");
        const char *path = text_of(json_object_get(predicate, "location"), "path");
        const char *subject = *path ? path : text_of(json_array_get(json_object_get(statement, "subject"), 0), "uri");
        _cleanup_printer_ Printer reason = {};

        if (strcmp(predicate_type, RECORD_TYPE_HEARTBEAT) == 0)
                print_heartbeat(&reason, predicate);
        else if (strcmp(predicate_type, RECORD_TYPE_ROTATION) == 0)
                print_rotation(&reason, predicate);
        else if (strcmp(predicate_type, RECORD_TYPE_DECISION) == 0)
                print_decision(&reason, predicate);
        else if (strcmp(predicate_type, RECORD_TYPE_ARCHIVE) == 0)
                print_archive(&reason, predicate);
        else
                print_text(&reason, subject);
        if (record_type_is_health(predicate_type))
                print_chip(&reason, &health->chip, subject);
        else if (strcmp(predicate_type, RECORD_TYPE_SUMMARY) == 0)
                print_rollup(&reason, &health->scan, subject);
        else if (strcmp(predicate_type, RECORD_TYPE_RUN_START) == 0) {
                printer_text(&reason, ": run started, plan ");
                print_text(&reason, text_of(json_array_get(json_object_get(predicate, "configuration"), 0), "name"));
        }
        return take_line(&reason, ret);
}
