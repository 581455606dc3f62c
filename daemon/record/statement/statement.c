/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/encode/timestamp.h"
#include "daemon/record/statement/statement.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/statement/draft-check.h"
#include "daemon/record/statement/health-v2.h"

/* What the draft leaves open costs less than this, apart from the components of a roll-up. */
#define OPEN_BYTES 256

DraftGroup *draft_group_free(DraftGroup *group) {
        if (!group)
                return NULL;
        for (size_t i = 0; i < group->n_drafts; i++) {
                printer_done(&group->drafts[i].head);
                printer_done(&group->drafts[i].tail);
                printer_done(&group->drafts[i].component);
                places_done(&group->drafts[i].places);
        }
        free(group->entries);
        free(group->errand);
        free(group);
        return NULL;
}

DraftGroup *draft_group_new(size_t n_drafts) {
        DraftGroup *group;

        group = calloc(1, sizeof(*group) + n_drafts * sizeof(Draft));
        if (!group)
                return NULL;
        group->n_drafts = n_drafts;
        group->entries = calloc(n_drafts, sizeof(RecordEntry));
        return group->entries ? group : draft_group_free(group);
}

int draft_nothing(DraftGroup **ret) {
        *ret = draft_group_new(0);
        return *ret ? 0 : -ENOMEM;
}

static void print_digested(Printer *printer, const char *name, const char *sha256) {
        printer_open(printer, '{');
        printer_member(printer, "name", name);
        print_sha256(printer, "digest", sha256);
        printer_close(printer, '}');
}

/* Some failures of a chip show only together with another server, and are cleared only by a run that has that server as well. */
static void print_servers(Printer *printer, const RecordRun *run) {
        if (run->n_servers < 2)
                return;
        printer_member_open(printer, "servers", '[');
        for (size_t i = 0; i < run->n_servers; i++)
                printer_string(printer, run->servers[i]);
        printer_close(printer, ']');
}

void print_operator(Printer *printer, uint32_t uid, const char *name) {
        printer_member_open(printer, "operator", '{');
        printer_member_unsigned(printer, "uid", uid);
        printer_member(printer, "name", name);
        printer_close(printer, '}');
}

/* The operator, and the note that came with the request. */
static void print_order(Printer *printer, const RecordRun *run) {
        printer_member(printer, "note", run->note);
        if (run->has_operator)
                print_operator(printer, run->operator_uid, run->operator);
}

/* The chips that are to be tested, so that none of them is known by what was before if no record comes. All of a server are not named. */
static void print_begun(Printer *printer, const RecordRun *run) {
        if (run->chips == 0)
                return;
        printer_member_open(printer, "chips", '[');
        for (unsigned c = 0; c < RECORD_RUN_CHIPS_MAX; c++)
                if ((run->chips >> c) & 1)
                        printer_unsigned(printer, c);
        printer_close(printer, ']');
}

/* How much of a run a record tells: what is the same for all of its records stands in those of its server alone. */
typedef enum RunPart {
        RUN_BEGUN,   /* in the run-start */
        RUN_OF_CHIP,
        RUN_OF_SERVER,
} RunPart;

static void print_run(Printer *printer, const Station *station, const RecordRun *run, RunPart part) {
        printer_member_open(printer, "run", '{');
        printer_member(printer, "id", run->id);
        printer_member(printer, "stage", stage_to_string(run->stage));
        printer_member(printer, "challenge", run->challenge);
        timestamp_print(printer, "startedOn", run->started_usec);
        if (part != RUN_BEGUN) {
                timestamp_print(printer, "finishedOn", run->finished_usec);
                print_servers(printer, run);
        }
        if (part == RUN_OF_SERVER)
                print_clock(printer, station);
        if (part != RUN_OF_CHIP) {
                print_order(printer, run);
                printer_member_unsigned(printer, "seed", run->seed);
        }
        if (part == RUN_BEGUN)
                print_begun(printer, run);
        if (run->worker_sha256 && part != RUN_OF_CHIP) {
                printer_key(printer, "worker");
                print_digested(printer, "assay-run", run->worker_sha256);
        }
        printer_close(printer, '}');
}

/* The plan is always the first. */
static void print_configuration(Printer *printer, const RecordRun *run, RunPart part) {
        char limits[sizeof(((RecordEntry *) NULL)->plan) + sizeof("/limits")];

        printer_member_open(printer, "configuration", '[');
        print_digested(printer, run->plan, run->plan_sha256);
        if (run->limits_sha256 && part != RUN_OF_CHIP) {
                (void) snprintf(limits, sizeof(limits), "%s/limits", run->plan);
                print_digested(printer, limits, run->limits_sha256);
        }
        printer_close(printer, ']');
}

static void print_evidence(Printer *printer, const RecordRun *run) {
        printer_member_open(printer, "evidence", '[');
        printer_open(printer, '{');
        printer_member(printer, "name", run->evidence_name);
        print_sha256(printer, "digest", run->evidence_sha256);
        printer_member(printer, "mediaType", "application/jsonl");
        printer_member_open(printer, "annotations", '{');
        printer_member_unsigned(printer, "size", run->evidence_bytes);
        printer_close(printer, '}');
        printer_close(printer, '}');
        printer_close(printer, ']');
}

static void print_run_context(Printer *printer, const Station *station, const RecordRun *run, RunPart part) {
        print_run(printer, station, run, part);
        print_configuration(printer, run, part);
        if (part == RUN_OF_SERVER && run->evidence_name)
                print_evidence(printer, run);
}

static bool is_told(const char *text) {
        return text && *text;
}

static void print_version(Printer *printer, const char *name, const char *version, const char *build) {
        if (!is_told(version) && !is_told(build))
                return;
        printer_open(printer, '{');
        printer_member(printer, "name", name);
        printer_member(printer, "version", version);
        printer_member(printer, "build", build);
        printer_close(printer, '}');
}

static void print_environment(Printer *printer, const RecordSubject *subject) {
        size_t began = printer_member_open(printer, "environment", '[');

        print_version(printer, "firmware", subject->firmware, subject->firmware_build);
        print_version(printer, "part-number", subject->part_number, NULL);
        printer_close_unless_empty(printer, began, ']');
}

/* Where the subject sits and what about it may change: none of it belongs to its identity. */
static void print_place(Printer *printer, const RecordSubject *subject) {
        char path[LOCATION_STRING_MAX];

        printer_member_open(printer, "location", '{');
        printer_member(printer, "path", location_format(&subject->where, path));
        printer_member(printer, "pciAddress", subject->pci_address);
        printer_member(printer, "tray", subject->tray);
        if (!identity_serial_is_valid(subject->serial))
                printer_member(printer, "reportedSerial", subject->serial);
        printer_close(printer, '}');
        print_environment(printer, subject);
}

/* The statement up to the log's index. */
void draft_print_head(Draft *draft, const Station *station) {
        const Printer *producer = record_type_is_health(draft->entry.type) ? &station->producer : &station->whole_producer;
        Printer *head = &draft->head;

        printer_text(head, "{\"_type\":\"" STATEMENT_TYPE "\",\"subject\":[");
        identity_print_open(head, &draft->identity, draft->identity.name);
        printer_text(head, "}],");
        printer_member(head, "predicateType", draft->entry.type);
        printer_text(head, ",\"predicate\":{\"producer\":");
        printer_raw(head, producer->text, producer->n);
        printer_text(head, ",\"log\":{");
        printer_member(head, "origin", station->origin);
        printer_key(head, "index");
}

/* Fills entry, identity and head, and the tail up to the location. */
static int draft_open(Draft *draft, const Station *station, const char *type, const RecordRun *run,
                      const RecordSubject *subject, const RecordSubject *server, const Printer *context) {
        int r;

        draft->entry = (RecordEntry) {
                .subject = subject->where,
                .result = RESULT_INCONCLUSIVE,
                .finished_usec = run->started_usec,
        };
        (void) snprintf(draft->entry.type, sizeof(draft->entry.type), "%s", type);
        (void) snprintf(draft->entry.plan, sizeof(draft->entry.plan), "%s", run->plan);
        (void) snprintf(draft->entry.run, sizeof(draft->entry.run), "%s", run->id);
        r = identity_of(&station->issuer, subject, server, &draft->identity);
        if (r < 0)
                return r;

        draft_print_head(draft, station);
        printer_raw(&draft->tail, context->text, context->n);
        print_place(&draft->tail, subject);
        return 0;
}

int draft_check(const Draft *draft) {
        int error = draft->head.error ?: draft->tail.error ?: draft->component.error;

        if (error == 0 && draft->head.n + draft->tail.n + OPEN_BYTES > RECORD_ENVELOPE_MAX / 4 * 3 - OPEN_BYTES)
                return -E2BIG;
        return error;
}

int draft_start(const Station *station, const RecordRun *run, const RecordSubject *server,
                DraftGroup **ret) {
        _cleanup_(draft_group_freep) DraftGroup *group = NULL;
        _cleanup_printer_ Printer context = {};
        Judgement judgement;
        int r;

        if (!draft_check_run(run, &judgement))
                return -EINVAL;
        group = draft_group_new(1);
        if (!group)
                return -ENOMEM;
        print_run_context(&context, station, run, RUN_BEGUN);
        if (context.error < 0)
                return context.error;

        r = draft_open(&group->drafts[0], station, RECORD_TYPE_RUN_START, run, server, server, &context);
        if (r == 0)
                r = draft_check(&group->drafts[0]);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(group);
        return 0;
}

/* The chip's descriptor in the roll-up; its index and record ID follow. */
static void print_component(Draft *draft, const RecordHealth *health) {
        Printer *p = &draft->component;
        char path[LOCATION_STRING_MAX];

        identity_print_open(p, &draft->identity, draft->identity.name);
        printer_member_open(p, "annotations", '{');
        printer_member(p, "slot", location_format(&health->subject.where, path));
        printer_member(p, "result", result_to_string(health->result));
        printer_key(p, "logIndex");
}

static void print_host(Draft *draft, const Station *station, const RecordSubject *host) {
        Identity identity;

        identity_name(&station->issuer, host, host, &identity);
        printer_member_open(&draft->tail, "host", '{');
        printer_member(&draft->tail, "uri", identity.uri);
        printer_close(&draft->tail, '}');
}

static int draft_chip(Draft *draft, const Station *station, const RecordScan *scan, const RecordHealth *health, const Printer *context) {
        int r;

        r = draft_open(draft, station, RECORD_TYPE_HEALTH_V2, &scan->run, &health->subject, &health->host, context);
        if (r == 0)
                r = places_of_health(&scan->run, health, &draft->places);
        if (r < 0)
                return r;
        draft->has_places = true;
        draft->entry.result = health->result;
        draft->entry.finished_usec = scan->run.finished_usec;
        for (size_t i = 0; i < health->n_steps; i++)
                draft->has_regions = draft->has_regions || health->steps[i].regions;
        print_host(draft, station, &health->host);
        print_chip_particulars(&draft->tail, &health->subject);
        health_v2_print(&draft->tail, &scan->run, health);
        print_component(draft, health);
        return draft_check(draft);
}

static const char *scan_status(const RecordScan *scan) {
        const char *status = scan->n_chips > 0 ? "COMPLETE" : "ERROR";

        if (scan->result != RESULT_INCONCLUSIVE)
                return "COMPLETE";
        for (size_t i = 0; i < scan->n_chips; i++)
                if (strcmp(health_status(&scan->chips[i]), "COMPLETE") != 0)
                        status = health_status(&scan->chips[i]);
        return status;
}

/* Its steps are told by what they measured and found; where one did not look is told here, since a failure there still stands. */
static void print_left_out(Printer *printer, const Places *places) {
        size_t began = printer_member_open(printer, "untested", '[');

        for (size_t i = 0; i < places->n_untested; i++) {
                printer_open(printer, '{');
                printer_member(printer, "step", places->untested[i].step);
                print_where(printer, &places->untested[i].where);
                printer_close(printer, '}');
        }
        printer_close_unless_empty(printer, began, ']');
}

static void print_counts(Printer *printer, const Reach *reach) {
        size_t began = printer_member_open(printer, "coverage", '[');

        for (size_t i = 0; i < reach->n_counts; i++) {
                printer_open(printer, '{');
                printer_member(printer, "name", reach->counts[i].name);
                printer_member_number(printer, "reached", reach->counts[i].reached);
                printer_member_number(printer, "promised", reach->counts[i].promised);
                printer_close(printer, '}');
        }
        printer_close_unless_empty(printer, began, ']');
}

/* Which steps the plan had, and how much each of them tested of every chip: what a later plan no longer has, it does not clear. */
static void print_tests(Printer *printer, const Places *places) {
        printer_member_open(printer, "tests", '[');
        for (size_t i = 0; i < places->n_reaches; i++) {
                const Reach *reach = &places->reaches[i];

                printer_open(printer, '{');
                printer_member(printer, "name", reach->step);
                printer_member(printer, "check", reach->check);
                if (reach->n_left_out > 0)
                        printer_member_unsigned(printer, "leftOut", reach->n_left_out);
                print_counts(printer, reach);
                printer_close(printer, '}');
        }
        printer_close(printer, ']');
}

static int draft_summary(Draft *draft, const Station *station, const RecordScan *scan,
                         const Printer *context) {
        int r;

        r = draft_open(draft, station, RECORD_TYPE_SUMMARY, &scan->run, &scan->server, &scan->server, context);
        if (r == 0)
                r = places_of_scan(scan, &draft->places);
        if (r == 0)
                r = print_server_particulars(&draft->tail, scan);
        if (r < 0)
                return r;
        draft->has_places = true;
        draft->entry.result = scan->result;
        draft->entry.finished_usec = scan->run.finished_usec;
        printer_member(&draft->tail, "status", scan_status(scan));
        printer_member(&draft->tail, "result", result_to_string(scan->result));
        if (scan->n_chips_of_server > 0) {
                printer_member_unsigned(&draft->tail, "chipCount", scan->n_chips_of_server);
        }
        print_measurements(&draft->tail, scan->steps, scan->n_steps, &scan->server.where);
        print_diagnoses(&draft->tail, scan->steps, scan->n_steps, true);
        print_left_out(&draft->tail, &draft->places);
        print_tests(&draft->tail, &draft->places);
        return draft_check(draft);
}

int draft_scan(const Station *station, const RecordScan *scan, DraftGroup **ret) {
        _cleanup_(draft_group_freep) DraftGroup *group = NULL;
        _cleanup_printer_ Printer context = {}, server_context = {};
        Judgement judgement;
        int r;

        if (!draft_check_scan(scan, &judgement))
                return -EINVAL;
        group = draft_group_new(scan->n_chips + 1);
        if (!group)
                return -ENOMEM;
        print_run_context(&context, station, &scan->run, RUN_OF_CHIP);
        print_run_context(&server_context, station, &scan->run, RUN_OF_SERVER);
        if (context.error < 0 || server_context.error < 0)
                return -ENOMEM;

        for (size_t i = 0; i < scan->n_chips; i++) {
                r = draft_chip(&group->drafts[i], station, scan, &scan->chips[i], &context);
                if (r < 0)
                        return r;
        }
        r = draft_summary(&group->drafts[scan->n_chips], station, scan, &server_context);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(group);
        return 0;
}

static void print_components(Printer *payload, const DraftGroup *group, size_t n, uint64_t first,
                             const Signed *records) {
        char hex[DIGEST_HEX];

        printer_member_open(payload, "components", '[');
        for (size_t i = 0; i < n; i++) {
                const Printer *component = &group->drafts[i].component;

                if (i > 0)
                        printer_text(payload, ",");
                printer_raw(payload, component->text, component->n);
                printer_unsigned(payload, first + i);
                printer_member(payload, "recordSha256", digest_to_hex(records[i].envelope.id, hex));
                printer_text(payload, "}}");
        }
        printer_close(payload, ']');
}

void statement_print(Printer *payload, const DraftGroup *group, size_t k, uint64_t index,
                     const uint8_t previous[static DIGEST_BYTES], const Signed *records) {
        const Draft *draft = &group->drafts[k];
        char hex[DIGEST_HEX];

        printer_raw(payload, draft->head.text, draft->head.n);
        printer_unsigned(payload, index);
        printer_text(payload, "}");
        if (index > 0)
                print_sha256(payload, "previous", digest_to_hex(previous, hex));
        printer_text(payload, ",");
        printer_raw(payload, draft->tail.text, draft->tail.n);
        if (strcmp(draft->entry.type, RECORD_TYPE_SUMMARY) == 0)
                print_components(payload, group, k, index - k, records);
        printer_text(payload, "}}");
}
