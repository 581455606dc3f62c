/* SPDX-License-Identifier: Apache-2.0 */

/* Runs: what each began with, what its results tell, and what its roll-up makes of them. */

#include "daemon/record/audit/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"

/* The record that a roll-up's COMPONENT names. */
static uint64_t named_index(const json_t *component) {
        return memory_index(json_object_get(component, "annotations"), "logIndex");
}

static const json_t *plan_of(const AuditRecord *record) {
        return json_array_get(json_object_get(record->predicate, "configuration"), 0);
}

/* All records of a run tell what it began with, as far as they tell it: what is found out later does not change it. */
static const struct {
        const char *member;
        RecordAuditKind kind;
        bool is_optional; /* of a part, its server may be unknown; a chip leaves the rest to its server */
} begins[] = {
        { "server",    RECORD_AUDIT_RUN,   true  },
        { "stage",     RECORD_AUDIT_RUN,   false },
        { "challenge", RECORD_AUDIT_RUN,   false },
        { "plan",      RECORD_AUDIT_PLAN,  false },
        { "operator",  RECORD_AUDIT_RUN,   true  },
        { "note",      RECORD_AUDIT_RUN,   true  },
        { "servers",   RECORD_AUDIT_RUN,   true  },
        { "startedOn", RECORD_AUDIT_BEGIN, false },
        { "seed",      RECORD_AUDIT_BEGIN, true  },
};

static json_t *begin_of(const AuditRecord *record) {
        const char *server = record->entry->subject.server;
        const json_t *run = json_object_get(record->predicate, "run");

        return json_pack("{s:s*, s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:O*, s:O*}", "server", *server ? server : NULL, "stage", json_object_get(run, "stage"), "challenge",
                         json_object_get(run, "challenge"), "plan", plan_of(record), "startedOn", json_object_get(run, "startedOn"), "seed",
                         json_object_get(run, "seed"), "operator", json_object_get(json_object_get(run, "operator"), "uid"), "note", json_object_get(run, "note"), "servers",
                         json_object_get(run, "servers"), "numbers",
                         json_object_get(run, "chips"));
}

/* The run of RECORD, which began as its first record tells that is here; NULL: no memory. */
static json_t *run_of(RecordAudit *audit, const AuditRecord *record) {
        if (!memory_find(audit, "runs", record->entry->run))
                memory_keep(audit, "runs", record->entry->run, json_pack("{s:[], s:{}, s:o, s:o}", "chips", "slots", "first", audit_index_json(record), "begin", begin_of(record)));
        return memory_find(audit, "runs", record->entry->run);
}

/* Its roll-up is the last record of a run, and tells of all others: what comes behind it nobody would look at. */
static void check_ended(RecordAudit *audit, const AuditRecord *record) {
        const json_t *ended = memory_find(audit, "ended", record->entry->run);

        if (ended)
                audit_find(audit, RECORD_AUDIT_RUN, record->entry->index, record->entry->index, "its run ended in record %" PRIu64,
                           (uint64_t) json_integer_value(ended));
}

/* ---- a run begins ---- */

/* The runs of one scan begin at one time, and answer one challenge. */
static void check_challenge(RecordAudit *audit, const AuditRecord *record) {
        const json_t *run = json_object_get(record->predicate, "run"), *first;
        const char *challenge = text_of(run, "challenge"), *began = text_of(run, "startedOn");
        uint64_t index = record->entry->index;

        if (!*challenge)
                return;
        first = memory_find(audit, "challenges", challenge);
        if (!first)
                memory_keep(audit, "challenges", challenge, json_pack("{s:o, s:s}", "index", audit_index_json(record), "began", began));
        else if (strcmp(text_of(first, "began"), began) != 0)
                audit_find(audit, RECORD_AUDIT_CHALLENGE, memory_index(first, "index"), index,
                           "records %" PRIu64 " and %" PRIu64 " begin scans that answer one challenge", memory_index(first, "index"), index);
}

static void check_plan(RecordAudit *audit, const AuditRecord *record) {
        const char *name = record->entry->plan, *digest = text_of(json_object_get(plan_of(record), "digest"), "sha256");
        const json_t *before = memory_find(audit, "plans", name);
        uint64_t index = record->entry->index;

        if (before && strcmp(text_of(before, "sha256"), digest) != 0)
                audit_find(audit, RECORD_AUDIT_PLAN, memory_index(before, "index"), index, "plan %s reads %.16s…, and %.16s… since record %" PRIu64, name,
                           text_of(before, "sha256"), digest, index);
        memory_keep(audit, "plans", name, json_pack("{s:o, s:s}", "index", audit_index_json(record), "sha256", digest));
}

static void check_begin(RecordAudit *audit, const json_t *run, const AuditRecord *record) {
        _cleanup_json_ json_t *begin = begin_of(record);
        const json_t *began = json_object_get(run, "begin");
        uint64_t index = record->entry->index, first = memory_index(run, "first");

        if (!begin)
                audit->error = -ENOMEM;
        for (size_t i = 0; i < ELEMENTS(begins); i++) {
                const json_t *then = json_object_get(began, begins[i].member), *now = json_object_get(begin, begins[i].member);

                if (then != now && !json_equal(then, now) && !(begins[i].is_optional && (!then || !now)))
                        audit_find(audit, begins[i].kind, begins[i].kind == RECORD_AUDIT_PLAN ? first : index, index,
                                   "the run of record %" PRIu64 " began with another %s", first, begins[i].member);
        }
}

int audit_start_take(RecordAudit *audit, const AuditRecord *record) {
        json_t *run = run_of(audit, record);
        char where[LOCATION_STRING_MAX];

        audit->report.n_starts++;
        check_ended(audit, record);
        check_challenge(audit, record);
        check_plan(audit, record);
        if (json_object_get(run, "start"))
                audit_find(audit, RECORD_AUDIT_RUN, record->entry->index, record->entry->index, "the run of record %" PRIu64 " begins again",
                           memory_index(run, "start"));
        if (json_array_size(json_object_get(run, "chips")) > 0)
                audit_find(audit, RECORD_AUDIT_RUN, record->entry->index, record->entry->index, "its run has a result in record %" PRIu64 " already",
                           named_index(json_array_get(json_object_get(run, "chips"), 0)));
        memory_set(audit, run, "start", audit_index_json(record));
        memory_set(audit, run, "where", json_string(audit_place_text(record, where)));
        return audit->error;
}

/* ---- a chip ---- */

/* As a roll-up has to name it. */
static void keep_chip(RecordAudit *audit, const json_t *run, const AuditRecord *record) {
        const RecordEntry *entry = record->entry;
        json_t *chip = json_pack("{s:s, s:{s:s}, s:{s:o, s:s, s:s, s:O*}, s:O*}", "uri", record->uri, "digest", "sha256", record->subject, "annotations", "logIndex", audit_index_json(record),
                                 "recordSha256", entry->id, "result", result_to_string(entry->result), "slot",
                                 json_object_get(json_object_get(record->predicate, "location"), "path"), "host", json_object_get(record->predicate, "host"));

        if (json_array_append_new(json_object_get(run, "chips"), chip) < 0)
                audit->error = -ENOMEM;
}

/* A run-start that does not name its chips is of all of its server. */
static void check_number(RecordAudit *audit, const json_t *run, const AuditRecord *record) {
        const json_t *numbers = json_object_get(json_object_get(run, "begin"), "numbers"), *number;
        const Location *where = &record->entry->subject;
        size_t i;

        json_array_foreach(numbers, i, number)
                if (json_integer_value(number) == where->parts[0].index)
                        return;
        if (numbers && where->n_parts > 0)
                audit_find(audit, RECORD_AUDIT_RUN, record->entry->index, record->entry->index, "the run of record %" PRIu64 " began without this chip",
                           memory_index(run, "first"));
}

/* A second result of a chip is told by nobody where the run has no roll-up, and would be the newest of its place. */
static void check_once(RecordAudit *audit, const json_t *run, const AuditRecord *record) {
        const char *slot = text_of(json_object_get(record->predicate, "location"), "path");
        json_t *slots = json_object_get(run, "slots");
        uint64_t index = record->entry->index;

        if (!*slot)
                return;
        if (json_object_get(slots, slot))
                audit_find(audit, RECORD_AUDIT_RUN, index, index, "its run has a result of this chip in record %" PRIu64 " already", memory_index(slots, slot));
        memory_set(audit, slots, slot, audit_index_json(record));
}

int audit_chip_take(RecordAudit *audit, const AuditRecord *record) {
        const json_t *run = run_of(audit, record);

        check_once(audit, run, record);
        keep_chip(audit, run, record);
        check_ended(audit, record);
        check_begin(audit, run, record);
        check_number(audit, run, record);
        audit_part_take(audit, record);
        return audit->error;
}

/* ---- a roll-up ---- */

/* What it tells of a chip, and that chip's record of itself: a part has its name with and without a digest of it. */
static const struct {
        const char *of, *member; /* NULL: of the chip itself */
        const char *word;
} parts[] = {
        { "annotations", "recordSha256", "ID"       },
        { "annotations", "slot",         "place"    },
        { "annotations", "result",       "result"   },
        { "digest",      "sha256",       "identity" },
        { NULL,          "uri",          "identity" },
};

static const char *part_of(const json_t *chip, size_t i) {
        return text_of(parts[i].of ? json_object_get(chip, parts[i].of) : chip, parts[i].member);
}

static void compare(RecordAudit *audit, const AuditRecord *record, uint64_t index, const char *word, const char *told, const char *is) {
        if (strcmp(told, is) != 0)
                audit_find(audit, RECORD_AUDIT_ROLL_UP, record->entry->index, record->entry->index, "it tells another %s of record %" PRIu64 " than that: %s, not %s", word,
                           index, *told ? told : "none", *is ? is : "none");
}

/* Chips name the server that they were scanned in: by its URI, and by its digest too in version 1. One that names none may be of any. */
static void check_host(RecordAudit *audit, const AuditRecord *record, const json_t *chip, uint64_t index) {
        const json_t *host = json_object_get(chip, "host");
        const char *uri = text_of(host, "uri"), *sha256 = text_of(json_object_get(host, "digest"), "sha256");

        if (*uri)
                compare(audit, record, index, "server", record->uri, uri);
        if (*sha256 || !*uri)
                compare(audit, record, index, "server", record->subject, sha256);
}

static void check_component(RecordAudit *audit, const AuditRecord *record, const json_t *run, const json_t *component) {
        const json_t *annotations = json_object_get(component, "annotations"), *chip;
        uint64_t index = named_index(component), own = record->entry->index;
        json_t *chips = json_object_get(run, "chips");
        size_t k = 0;

        while (k < json_array_size(chips) && named_index(json_array_get(chips, k)) != index)
                k++;
        chip = json_array_get(chips, k);
        if (!chip) {
                if (result_from_string(text_of(annotations, "result")) == RESULT_FAILED)
                        audit_need(audit, index, own);
                /* A record that is not here cannot contradict it, but where the run began later. */
                if (!audit_is_unread(audit, index) || (json_object_get(run, "start") && index <= memory_index(run, "start")))
                        audit_find(audit, RECORD_AUDIT_ROLL_UP, own, own, "it names record %" PRIu64 ", which is none of a chip in this run", index);
                return;
        }
        for (size_t i = 0; i < ELEMENTS(parts); i++)
                compare(audit, record, index, parts[i].word, part_of(component, i), part_of(chip, i));
        check_host(audit, record, chip, index);
        (void) json_array_remove(chips, k);
}

/* Chips that tell one serial fail the check of identities; a plan without it passes them, and who shows one sound chip sixteen times has such records, too. */
static void check_twins(RecordAudit *audit, const AuditRecord *record, const json_t *components) {
        _cleanup_json_ json_t *seen = json_object();
        uint64_t own = record->entry->index;
        const json_t *chip;
        size_t i;

        json_array_foreach(components, i, chip) {
                const char *sha256 = text_of(json_object_get(chip, "digest"), "sha256"), *slot = text_of(json_object_get(chip, "annotations"), "slot");
                const char *other = text_of(seen, sha256);

                if (*other)
                        audit_find(audit, RECORD_AUDIT_TWINS, own, own, "%s and %s are one chip by their identities", other, slot);
                else if (*sha256)
                        memory_set(audit, seen, sha256, json_string(slot));
        }
}

int audit_roll_up_take(RecordAudit *audit, const AuditRecord *record) {
        const json_t *components = json_object_get(record->predicate, "components"), *run = run_of(audit, record), *chips = json_object_get(run, "chips");
        uint64_t index = record->entry->index, first = index;
        const json_t *chip;
        size_t i;

        check_ended(audit, record);
        check_begin(audit, run, record);
        if (json_array_size(chips) > 0)
                first = named_index(json_array_get(chips, 0));
        if (!json_object_get(run, "start") && audit->unseen == 0)
                audit_find(audit, RECORD_AUDIT_UNSTARTED, first, index, "the run %s has results and no beginning", record->entry->run);
        json_array_foreach(components, i, chip)
                check_component(audit, record, run, chip);
        check_twins(audit, record, components);
        json_array_foreach(chips, i, chip)
                audit_find(audit, RECORD_AUDIT_ROLL_UP, index, index, "it leaves out the chip of record %" PRIu64, named_index(chip));
        memory_forget(audit, "runs", record->entry->run);
        memory_keep(audit, "ended", record->entry->run, audit_index_json(record));
        return audit->error;
}

/* ---- the end ---- */

static void tell_unfinished(RecordAudit *audit, const json_t *run) {
        const json_t *chips = json_object_get(run, "chips");
        size_t n = json_array_size(chips);

        if (json_object_get(run, "start"))
                audit_find(audit, RECORD_AUDIT_UNFINISHED, memory_index(run, "start"), memory_index(run, "start"), "%s: %s has begun and no result follows",
                           text_of(run, "where"), text_of(json_object_get(json_object_get(run, "begin"), "plan"), "name"));
        else if (n > 0)
                audit_find(audit, RECORD_AUDIT_UNFINISHED, named_index(json_array_get(chips, 0)), named_index(json_array_get(chips, n - 1)),
                           "results of %zu chips and no roll-up of their server", n);
}

void audit_runs_end(RecordAudit *audit) {
        const char *id;
        json_t *run;

        json_object_foreach(json_object_get(audit->memory, "runs"), id, run)
                tell_unfinished(audit, run);
}
