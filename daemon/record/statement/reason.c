/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/reason.h"

#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#include "checks/vocabulary/measurements.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/encode/printer.h"
#include "daemon/record/encode/timestamp.h"
#include "daemon/record/statement/archive.h"
#include "daemon/record/statement/statement.h"

#define NAMES_MAX 4 /* in a line; the rest are a number */

/* Ended by a zero. Signed text goes to terminals and hooks, which take plain characters and no others. */
static int take_line(Printer *printer, char **ret) {
        printer_raw(printer, "", 1);
        if (printer->error < 0)
                return printer->error;
        for (char *c = printer->text; *c; c++)
                if (*c < 0x20 || *c > 0x7e)
                        *c = '?';
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
        if (*text && !place_is_unnamed(where))
                printer_format(printer, "%s%s", before, text);
}

static void print_more(Printer *printer, size_t n) {
        if (n > 0)
                printer_format(printer, " and %zu more", n);
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
        if (!diagnosis) {
                printer_format(printer, " %s: %s", find_step(chip, verdict), verdict_to_string(verdict));
                return;
        }
        printer_format(printer, " %s: %s", step->name, diagnosis->code);
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
                printer_format(printer, "%s%s", n > 1 ? ", " : "", chip->steps[i].name);
        }
        print_more(printer, n > NAMES_MAX ? n - NAMES_MAX : 0);
        printer_format(printer, " (%s)", why);
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

static void print_number(Printer *printer, double value) {
        char text[NUMBER_TEXT_MAX];
        int n = number_format(value, text);

        if (n < 0)
                printer->error = n;
        else
                printer_text(printer, text);
}

static void print_inconclusive(Printer *printer, const RecordHealth *chip) {
        if (print_untested(printer, chip, ": not tested: "))
                return;
        for (size_t i = 0; i < chip->n_promises; i++) {
                const RecordPromise *promise = &chip->promises[i];

                if (!promise_is_open(promise))
                        continue;
                printer_format(printer, ": %s reached ", promise->measurement);
                print_number(printer, promise->reached);
                printer_text(printer, " of ");
                print_number(printer, promise->promised);
                return;
        }
        printer_text(printer, ": nothing was tested");
}

/* ---- what was ---- */

/* What was tested region by region is not all of it: "hbm: 60 of 96 regions since 2026-11-21T13:05:00.000Z" */
static void print_tested(Printer *printer, const RecordStep *step) {
        const RecordRegions *regions = step->regions;
        uint64_t oldest = UINT64_MAX;
        char since[TIMESTAMP_MAX];
        RegionSet set;
        unsigned n = 0;

        if (!regions)
                return;

        for (size_t i = 0; i < regions->n_tests; i++) {
                n += region_set_parse(regions->tests[i].regions, REGIONS_MAX, &set) == 0 ? region_set_count(&set) : 0;
                oldest = MIN(oldest, regions->tests[i].usec);
        }
        printer_format(printer, ", %s: %u of %u regions", step->name, n, regions->total);
        if (oldest != UINT64_MAX && timestamp_format(oldest, since) == 0)
                printer_format(printer, " since %s", since);
}

/* What a step left out, which it names place by place: "neuronlink: 2 left out" */
static void print_left_out(Printer *printer, const RecordStep *step) {
        size_t n = reach_left_out(step);

        if (n > 0)
                printer_format(printer, ", %s: %zu left out", step->name, n);
}

/* Nobody can tell here what a pass of a later assayd's check is worth: ", not known here: coolant" */
static void print_unknown(Printer *printer, const RecordHealth *chip) {
        size_t n = 0, n_rows;

        for (size_t i = 0; i < chip->n_steps; i++)
                if (chip->steps[i].verdict == VERDICT_PASSED && !measurement_rows(chip->steps[i].check, &n_rows) && n++ < NAMES_MAX)
                        printer_format(printer, "%s%s", n > 1 ? ", " : ", not known here: ", chip->steps[i].name);
        print_more(printer, n > NAMES_MAX ? n - NAMES_MAX : 0);
}

static void print_passed(Printer *printer, const RecordHealth *chip) {
        size_t n = 0;

        for (size_t i = 0; i < chip->n_steps; i++)
                n += chip->steps[i].verdict == VERDICT_PASSED;
        printer_format(printer, ": %zu %s passed", n, n == 1 ? "test" : "tests");
        for (size_t i = 0; i < chip->n_steps; i++) {
                print_tested(printer, &chip->steps[i]);
                print_left_out(printer, &chip->steps[i]);
        }
        (void) print_untested(printer, chip, ", not tested: ");
        print_unknown(printer, chip);
}

/* The technician who repaired the chip looks for the failure that this record clears; one record cannot prove which it was: ", after the failure in record 7, as it says" */
static void print_standing(Printer *printer, const RecordHealth *chip) {
        if (!chip->standing.is_told || (chip->result != RESULT_PASSED && chip->result != RESULT_WARNED))
                return;
        printer_text(printer, ", after the failure in record ");
        printer_digits(printer, chip->standing.index);
        printer_text(printer, ", as it says");
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
        printer_format(printer, ", %zu %s", n, result_to_string(result));
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

        printer_format(printer, ": %zu %s", scan->n_chips, scan->n_chips == 1 ? "chip" : "chips");
        for (Result result = 0; result < _RESULT_MAX; result++)
                print_chips(printer, scan, result, subject);
        for (size_t i = 0; i < scan->n_steps; i++) {
                n += scan->steps[i].n_diagnoses;
                if (!first && scan->steps[i].n_diagnoses > 0)
                        first = scan->steps[i].diagnoses[0].code;
        }
        if (first) {
                printer_format(printer, "; %s", first);
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
        printer_text(&reason, location_format(&scan->server.where, subject));
        if (first) {
                printer_format(&reason, " %s: %s", step->name, first->code);
                print_more(&reason, n - 1);
        } else
                printer_text(&reason, result == RESULT_PASSED ? ": nothing outside of its chips" : ": a value outside of its chips is beyond its limit");
        return take_line(&reason, ret);
}

int reason_of_older(const Location *where, const char *wrong, char **ret) {
        char subject[LOCATION_STRING_MAX];
        _cleanup_printer_ Printer reason = {};

        printer_format(&reason, "%s: signed under older rules: %s", location_format(where, subject), wrong);
        return take_line(&reason, ret);
}

/* ---- records that are no verdicts ---- */

/* "started, boot 0f3c…" */
static void print_heartbeat(Printer *printer, const json_t *predicate) {
        const char *boot = text_of(json_object_get(predicate, "producer"), "bootId");

        printer_format(printer, "%s%s%s", strcmp(text_of(predicate, "cause"), "start") == 0 ? "started" : "alive", *boot ? ", boot " : "", boot);
}

/* "key SHA256:… after SHA256:…" */
static void print_rotation(Printer *printer, const json_t *predicate) {
        printer_format(printer, "key %s after %s", text_of(predicate, "keyid"), text_of(json_object_get(predicate, "replaces"), "keyid"));
}

static json_int_t integer_of(const json_t *object, const char *key) {
        return json_integer_value(json_object_get(object, key));
}

/* "went on from 3 records after 5 were signed, records-lost, as uid 0 decided: NOTE" */
static void print_decision(Printer *printer, const json_t *predicate) {
        const json_t *before = json_object_get(predicate, "signed");

        printer_format(printer, "went on from %" JSON_INTEGER_FORMAT " records", integer_of(json_object_get(predicate, "kept"), "size"));
        if (before)
                printer_format(printer, " after %" JSON_INTEGER_FORMAT " were signed", integer_of(before, "size"));
        printer_format(printer, ", %s, as uid %" JSON_INTEGER_FORMAT " decided: %s", text_of(predicate, "cause"), integer_of(json_object_get(predicate, "operator"), "uid"),
                       text_of(predicate, "note"));
}

/* "records 256-511 archived, 241 of them dropped" */
static void print_archive(Printer *printer, const json_t *predicate) {
        Archive archive;

        if (archive_parse(predicate, &archive) == 0)
                printer_format(printer, "records %" PRIu64 "-%" PRIu64 " archived, %u of them dropped", archive.first, archive.first + RECORD_ARCHIVE_RECORDS - 1,
                               region_set_count(&archive.dropped));
}

/* Of the log itself: "https://example.com/us0: …". False: PREDICATE is of a part. */
static bool print_of_log(Printer *printer, const json_t *predicate, const char *predicate_type) {
        static const struct {
                const char *type;
                void (*print)(Printer *printer, const json_t *predicate);
        } printers[] = {
                { RECORD_TYPE_HEARTBEAT, print_heartbeat },
                { RECORD_TYPE_ROTATION,  print_rotation  },
                { RECORD_TYPE_DECISION,  print_decision  },
                { RECORD_TYPE_ARCHIVE,   print_archive   },
        };

        for (size_t i = 0; i < ELEMENTS(printers); i++)
                if (strcmp(predicate_type, printers[i].type) == 0) {
                        printer_format(printer, "%s: ", text_of(json_object_get(predicate, "producer"), "id"));
                        printers[i].print(printer, predicate);
                        return true;
                }
        return false;
}

int reason_of(const json_t *statement, const char *predicate_type, const Health *health, char **ret) {
        const json_t *predicate = json_object_get(statement, "predicate");
        const char *path = text_of(json_object_get(predicate, "location"), "path");
        const char *subject = *path ? path : text_of(json_array_get(json_object_get(statement, "subject"), 0), "uri");
        _cleanup_printer_ Printer reason = {};

        if (print_of_log(&reason, predicate, predicate_type))
                return take_line(&reason, ret);
        printer_text(&reason, subject);
        if (record_type_is_health(predicate_type))
                print_chip(&reason, &health->chip, subject);
        else if (strcmp(predicate_type, RECORD_TYPE_SUMMARY) == 0)
                print_rollup(&reason, &health->scan, subject);
        else if (strcmp(predicate_type, RECORD_TYPE_RUN_START) == 0)
                printer_format(&reason, ": run started, plan %s", text_of(json_array_get(json_object_get(predicate, "configuration"), 0), "name"));
        return take_line(&reason, ret);
}
