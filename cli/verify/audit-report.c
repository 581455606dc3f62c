/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/verify/audit-report.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/terminal/options.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/say.h"
#include "cli/terminal/table.h"

static const char *const verdicts[_RESULT_MAX] = {
        [RESULT_PASSED] = "holds",
        [RESULT_WARNED] = "holds",
        [RESULT_INCONCLUSIVE] = "cannot tell",
        [RESULT_FAILED] = "does not hold",
};

static const char *const weights[] = {
        [RECORD_AUDIT_ODD] = "odd",
        [RECORD_AUDIT_OPEN] = "open",
        [RECORD_AUDIT_BROKEN] = "broken",
};

static const char *weight_of(RecordAuditKind kind) {
        return weights[record_audit_kind_weight(kind)];
}

/* "" for 0. */
static const char *time_text(uint64_t usec, char text[static 32]) {
        time_t sec = (time_t) (usec / 1000000);
        struct tm tm;

        text[0] = '\0';
        if (usec > 0 && gmtime_r(&sec, &tm))
                (void) strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm);
        return text;
}

/* ---- for programs ---- */

static json_t *index_json(uint64_t index) {
        return index == RECORD_AUDIT_NO_RECORD ? json_null() : json_integer((json_int_t) index);
}

static json_t *finding_json(const RecordAuditFinding *finding) {
        return json_pack("{s:s, s:s, s:o, s:o, s:s}", "kind", record_audit_kind_to_string(finding->kind), "weight", weight_of(finding->kind),
                         "first", index_json(finding->first), "last", index_json(finding->last), "text", finding->text);
}

static json_t *chip_json(const RecordAuditChip *chip) {
        json_t *object = json_pack("{s:s, s:s, s:s, s:I}", "chip", chip->where, "subject", chip->subject, "plan", chip->plan, "newest",
                                   (json_int_t) chip->newest);

        for (Result result = 0; result < _RESULT_MAX; result++)
                (void) json_object_set_new(object, result_to_string(result), json_integer((json_int_t) chip->n_results[result]));
        return object;
}

static json_t *counts_json(const RecordAuditReport *report) {
        json_t *counts = json_object();

        for (RecordAuditKind kind = 0; kind < _RECORD_AUDIT_KIND_MAX; kind++)
                if (report->n_of_kind[kind] > 0)
                        (void) json_object_set_new(counts, record_audit_kind_to_string(kind), json_integer((json_int_t) report->n_of_kind[kind]));
        return counts;
}

static int print_json(const RecordAuditReport *report) {
        json_t *findings = json_array(), *chips = json_array(), *object;
        char first[32], last[32], witnessed[32];
        int r;

        for (size_t i = 0; i < report->n_findings; i++)
                (void) json_array_append_new(findings, finding_json(&report->findings[i]));
        for (size_t i = 0; i < report->n_chips; i++)
                (void) json_array_append_new(chips, chip_json(&report->chips[i]));
        object = json_pack("{s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:s, s:s, s:I, s:{s:I, s:i, s:s}, s:o, s:o, s:o}", "origin",
                           report->origin, "verdict", verdicts[report->verdict], "size", (json_int_t) report->size, "verified",
                           (json_int_t) report->n_verified, "unknown", (json_int_t) report->n_unknown, "refused",
                           (json_int_t) report->n_refused, "pruned", (json_int_t) report->n_pruned, "withheld", (json_int_t) report->n_withheld, "runs", (json_int_t) report->n_starts,
                           "boots", (json_int_t) report->n_boots, "heartbeats", (json_int_t) report->n_heartbeats, "rotations",
                           (json_int_t) report->n_rotations, "firstOn", time_text(report->first_usec, first), "lastOn",
                           time_text(report->last_usec, last), "seenSize", (json_int_t) report->seen_size, "checkpoint", "size", (json_int_t) report->checkpoint_size, "witnesses",
                           (int) report->n_witnesses, "witnessedOn", time_text(report->witnessed_usec, witnessed), "counts",
                           counts_json(report), "findings", findings, "chips", chips);
        r = object ? json_dumpf(object, stdout, JSON_INDENT(2)) : -1;
        json_decref(object);
        putchar('\n');
        return r < 0 ? complain(STATUS_CANNOT_TELL, "out of memory") : 0;
}

/* ---- for people ---- */

static void print_count(uint64_t n, const char *word) {
        if (n > 0)
                printf(", %s %" PRIu64, word, n);
}

static void print_summary(const RecordAuditReport *report) {
        char first[32], last[32], witnessed[32];

        printf("  records     %" PRIu64 ", verified %" PRIu64, report->size, report->n_verified);
        print_count(report->n_pruned, "pruned");
        print_count(report->n_withheld, "withheld");
        print_count(report->n_unknown, "unknown");
        print_count(report->n_refused, "refused");
        putchar('\n');
        if (report->has_checkpoint) {
                printf("  checkpoint  of %" PRIu64 " records, witnesses %u%s%s\n", report->checkpoint_size, report->n_witnesses,
                       report->n_witnesses > 0 ? ", the last on " : "", time_text(report->witnessed_usec, witnessed));
        }
        if (report->seen_size > 0)
                printf("  seen        before, and has grown out of the %" PRIu64 " records it had\n", report->seen_size);
        if (report->first_usec > 0)
                printf("  time        %s to %s by the log's own clock\n", time_text(report->first_usec, first),
                       time_text(report->last_usec, last));
        printf("  runs        %" PRIu64, report->n_starts);
        print_count(report->n_of_kind[RECORD_AUDIT_UNFINISHED], "without a result");
        print_count(report->n_boots, "boots");
        print_count(report->n_heartbeats, "heartbeats");
        print_count(report->n_rotations, "key rotations");
        puts(report->n_verified < report->size ? ", of the records that are here" : "");
}

static int add_finding(Table *table, const RecordAuditFinding *finding) {
        char records[48] = "-";

        if (finding->first == finding->last && finding->first != RECORD_AUDIT_NO_RECORD)
                (void) snprintf(records, sizeof(records), "%" PRIu64, finding->first);
        else if (finding->first != finding->last)
                (void) snprintf(records, sizeof(records), "%" PRIu64 "-%" PRIu64, finding->first, finding->last);
        return table_row(table, (const char *[]) { weight_of(finding->kind), record_audit_kind_to_string(finding->kind), records, finding->text });
}

/* What breaks the log first. */
static int print_findings(const RecordAuditReport *report) {
        static const TableColumn columns[] = {
                { "WEIGHT",  "weight",  false, false },
                { "KIND",    "kind",    false, false },
                { "RECORDS", "records", false, false },
                { "WHAT",    "what",    false, true  },
                {},
        };
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        if (report->n_findings == 0)
                return 0;
        r = table_new(columns, &table);
        for (size_t weight = ELEMENTS(weights); weight-- > 0;)
                for (size_t i = 0; i < report->n_findings && r >= 0; i++)
                        if (record_audit_kind_weight(report->findings[i].kind) == weight)
                                r = add_finding(table, &report->findings[i]);
        if (r < 0)
                return r;
        putchar('\n');
        r = table_print(table);
        for (RecordAuditKind kind = 0; kind < _RECORD_AUDIT_KIND_MAX; kind++)
                if (report->n_of_kind[kind] > RECORD_AUDIT_KEPT)
                        printf("and %" PRIu64 " more %s\n", report->n_of_kind[kind] - RECORD_AUDIT_KEPT, record_audit_kind_to_string(kind));
        return r;
}

static int add_chip(Table *table, const RecordAuditChip *chip) {
        const char *cells[3 + _RESULT_MAX];
        char numbers[1 + _RESULT_MAX][24];

        cells[0] = chip->where;
        cells[1] = chip->plan;
        for (Result result = 0; result < _RESULT_MAX; result++) {
                (void) snprintf(numbers[result], sizeof(numbers[result]), "%" PRIu64, chip->n_results[result]);
                cells[2 + result] = numbers[result];
        }
        (void) snprintf(numbers[_RESULT_MAX], sizeof(numbers[_RESULT_MAX]), "%" PRIu64, chip->newest);
        cells[2 + _RESULT_MAX] = numbers[_RESULT_MAX];
        return table_row(table, cells);
}

static int print_chips(const RecordAuditReport *report) {
        static const TableColumn columns[] = {
                { "CHIP",         "chip",         false, false },
                { "PLAN",         "plan",         false, false },
                { "PASSED",       "passed",       true,  false },
                { "WARNED",       "warned",       true,  false },
                { "FAILED",       "failed",       true,  false },
                { "INCONCLUSIVE", "inconclusive", true,  false },
                { "NEWEST",       "newest",       true,  false },
                {},
        };
        _cleanup_(table_freep) Table *table = NULL;
        int r;

        if (report->n_chips == 0)
                return 0;
        r = table_new(columns, &table);
        for (size_t i = 0; i < report->n_chips && r >= 0; i++)
                r = add_chip(table, &report->chips[i]);
        if (r < 0)
                return r;
        putchar('\n');
        return table_print(table);
}

static int print_text(const RecordAuditReport *report) {
        int r;

        if (!options.quiet)
                pager_open();
        say(stdout, "%s: %s\n", report->origin[0] ? report->origin : "a log", verdicts[report->verdict]);
        if (options.quiet)
                return 0;
        print_summary(report);
        r = print_findings(report);
        if (r >= 0 && options.chips)
                r = print_chips(report);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(-r)) : 0;
}

/* ---- either ---- */

static int status_of(const RecordAuditReport *report) {
        if (report->verdict == RESULT_FAILED)
                return STATUS_REFUSED;
        if (report->verdict == RESULT_INCONCLUSIVE)
                return STATUS_CANNOT_TELL;
        return result_to_status(report->n_findings > 0 ? RESULT_WARNED : RESULT_PASSED, options.strict);
}

int audit_report_print(const RecordAuditReport *report) {
        int r;

        r = options.json ? print_json(report) : print_text(report);
        return r != 0 ? r : status_of(report);
}
