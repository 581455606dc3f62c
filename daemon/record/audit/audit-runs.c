/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/audit/audit.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"

/* A chip's record in a run whose roll-up is still to come. */
typedef struct RunChip {
        uint64_t index;
        char id[RECORD_ID_HEX], subject[RECORD_ID_HEX];
        Location where;
        Result result;
        bool is_listed;
} RunChip;

typedef struct Run {
        char key[RECORD_RUN_BYTES]; /* its ID */
        bool is_started;
        uint64_t start;
        char where[LOCATION_STRING_MAX]; /* as its start says */
        char plan[64], plan_sha256[RECORD_ID_HEX];
        char challenge[RECORD_ID_HEX]; /* its digest; "": none */
        Location server;
        Stage stage;
        size_t n_chips, n_room;
        RunChip *chips;
} Run;

typedef struct Challenge {
        char key[RECORD_ID_HEX]; /* its digest */
        uint64_t index;
        uint64_t started_usec; /* the runs of one scan begin at one time, and answer one challenge */
} Challenge;

typedef struct Plan {
        char key[64];
        char sha256[RECORD_ID_HEX];
        uint64_t index;
} Plan;

typedef struct Repair {
        char key[RECORD_ID_HEX]; /* the chip's identity */
        uint64_t index;
} Repair;

#define CHIP_KEY (RECORD_ID_HEX + 64)

typedef struct Chip {
        char key[CHIP_KEY]; /* identity and plan */
        RecordAuditChip told;
        bool has_failed;
        uint64_t failed; /* and not passed since */
} Chip;

static void *add(RecordAudit *audit, AuditSet *set, const char *key, size_t size) {
        void *item = audit_set_add(set, key, size);

        if (!item)
                audit->error = -ENOMEM;
        return item;
}

static const char *plan_digest(const AuditRecord *record) {
        const json_t *plan = json_array_get(json_object_get(record->predicate, "configuration"), 0);

        return text_of(json_object_get(plan, "digest"), "sha256");
}

static const char *place_of(const AuditRecord *record, char text[static LOCATION_STRING_MAX]) {
        return record->verified->entry.subject.server[0] ? location_format(&record->verified->entry.subject, text) : record->subject;
}

/* ---- a run begins ---- */

/* The digest of what a run answers; "": it answers nothing. */
static const char *challenge_of(const AuditRecord *record, char hex[static DIGEST_HEX]) {
        const char *text = text_of(json_object_get(record->predicate, "run"), "challenge");
        uint8_t digest[DIGEST_BYTES];

        return *text && digest_sha256(text, strlen(text), digest) == 0 ? digest_to_hex(digest, hex) : "";
}

static void check_challenge(RecordAudit *audit, const AuditRecord *record, const char *digest) {
        const RecordEntry *entry = &record->verified->entry;
        Challenge *challenge;

        if (!*digest)
                return;
        challenge = add(audit, &audit->challenges, digest, sizeof(*challenge));
        if (!challenge)
                return;
        if (challenge->started_usec == 0) {
                challenge->index = entry->index;
                challenge->started_usec = entry->finished_usec;
        } else if (challenge->started_usec != entry->finished_usec)
                audit_find(audit, RECORD_AUDIT_CHALLENGE, challenge->index, entry->index,
                           "records %" PRIu64 " and %" PRIu64 " begin scans that answer one challenge", challenge->index, entry->index);
}

static void check_plan(RecordAudit *audit, const AuditRecord *record) {
        const RecordEntry *entry = &record->verified->entry;
        Plan *plan = add(audit, &audit->plans, entry->plan, sizeof(*plan));

        if (!plan)
                return;
        if (plan->sha256[0] && strcmp(plan->sha256, plan_digest(record)) != 0)
                audit_find(audit, RECORD_AUDIT_PLAN, plan->index, entry->index, "plan %s reads %.16s…, and %.16s… since record %" PRIu64,
                           entry->plan, plan->sha256, plan_digest(record), entry->index);
        plan->index = entry->index;
        (void) snprintf(plan->sha256, sizeof(plan->sha256), "%s", plan_digest(record));
}

static void take_start(RecordAudit *audit, const AuditRecord *record) {
        const RecordEntry *entry = &record->verified->entry;
        Run *run = add(audit, &audit->runs, entry->run, sizeof(*run));
        char where[LOCATION_STRING_MAX], hex[DIGEST_HEX];
        const char *challenge = challenge_of(record, hex);

        audit->report.n_starts++;
        check_challenge(audit, record, challenge);
        check_plan(audit, record);
        if (!run)
                return;
        if (run->is_started)
                audit_find(audit, RECORD_AUDIT_RUN, entry->index, entry->index, "the run of record %" PRIu64 " begins again", run->start);
        run->is_started = true;
        run->start = entry->index;
        run->server = entry->subject;
        run->stage = record->verified->stage;
        (void) strcpy(run->challenge, challenge);
        (void) snprintf(run->where, sizeof(run->where), "%s", place_of(record, where));
        (void) snprintf(run->plan, sizeof(run->plan), "%s", entry->plan);
        (void) snprintf(run->plan_sha256, sizeof(run->plan_sha256), "%s", plan_digest(record));
}

/* What a run was begun with, its results tell too: what is found out later does not change it. */
static void check_run(RecordAudit *audit, const Run *run, const AuditRecord *record) {
        const RecordEntry *entry = &record->verified->entry;
        const Location *where = &entry->subject;
        char hex[DIGEST_HEX];
        const char *wrong = NULL;

        if (!run->is_started)
                return;
        if (strcmp(run->plan, entry->plan) != 0 || strcmp(run->plan_sha256, plan_digest(record)) != 0)
                audit_find(audit, RECORD_AUDIT_PLAN, run->start, entry->index, "the run of record %" PRIu64 " began with another plan than %s",
                           run->start, entry->plan);
        if (run->stage != record->verified->stage)
                wrong = "at another stage";
        else if (strcmp(run->challenge, challenge_of(record, hex)) != 0)
                wrong = "with another challenge";
        else if (run->server.server[0] && where->server[0] && strcmp(run->server.server, where->server) != 0)
                wrong = "on another server";
        if (wrong)
                audit_find(audit, RECORD_AUDIT_RUN, entry->index, entry->index, "the run of record %" PRIu64 " began %s", run->start, wrong);
}

/* ---- a chip ---- */

static void keep_chip(RecordAudit *audit, Run *run, const AuditRecord *record) {
        const RecordEntry *entry = &record->verified->entry;
        RunChip *chip;

        if (run->n_chips == run->n_room) {
                size_t n = run->n_room > 0 ? 2 * run->n_room : 16;
                RunChip *chips = reallocarray(run->chips, n, sizeof(*chips));

                if (!chips) {
                        audit->error = -ENOMEM;
                        return;
                }
                run->chips = chips;
                run->n_room = n;
        }
        chip = &run->chips[run->n_chips++];
        *chip = (RunChip) { .index = entry->index, .where = entry->subject, .result = entry->result };
        (void) strcpy(chip->id, entry->id);
        (void) strcpy(chip->subject, record->subject);
}

static bool is_repaired(const RecordAudit *audit, const AuditRecord *record, uint64_t since) {
        const Repair *repair = audit_set_find(&audit->repairs, record->subject);

        return repair && repair->index > since;
}

/* How often it was tried under this plan. A failure that a pass follows is what somebody who wants a pass makes. */
static void count_chip(RecordAudit *audit, const AuditRecord *record) {
        const RecordEntry *entry = &record->verified->entry;
        char key[CHIP_KEY], where[LOCATION_STRING_MAX];
        Chip *chip;

        (void) snprintf(key, sizeof(key), "%s%s", record->subject, entry->plan);
        chip = add(audit, &audit->chips, key, sizeof(*chip));
        if (!chip)
                return;
        (void) snprintf(chip->told.subject, sizeof(chip->told.subject), "%s", record->subject);
        (void) snprintf(chip->told.where, sizeof(chip->told.where), "%s", place_of(record, where));
        (void) snprintf(chip->told.plan, sizeof(chip->told.plan), "%s", entry->plan);
        (void) audit_plain(chip->told.plan);
        chip->told.n_results[entry->result]++;
        chip->told.newest = entry->index;

        if (entry->result == RESULT_FAILED) {
                chip->has_failed = true;
                chip->failed = entry->index;
        } else if (entry->result != RESULT_INCONCLUSIVE && chip->has_failed) {
                if (!is_repaired(audit, record, chip->failed))
                        audit_find(audit, RECORD_AUDIT_RERUN, chip->failed, entry->index,
                                   "%s failed %s in record %" PRIu64 " and %s it in record %" PRIu64 ", not repaired between", chip->told.where,
                                   entry->plan, chip->failed, entry->result == RESULT_PASSED ? "passed" : "passed with a warning", entry->index);
                chip->has_failed = false;
        }
}

static void take_chip(RecordAudit *audit, const AuditRecord *record) {
        const RecordEntry *entry = &record->verified->entry;
        Run *run = add(audit, &audit->runs, entry->run, sizeof(*run));
        Repair *repair;

        if (run) {
                keep_chip(audit, run, record);
                check_run(audit, run, record);
        }
        if (record->verified->stage == STAGE_REPAIR) {
                repair = add(audit, &audit->repairs, record->subject, sizeof(*repair));
                if (repair)
                        repair->index = entry->index;
        }
        count_chip(audit, record);
}

/* ---- a roll-up ---- */

static RunChip *find_chip(const Run *run, uint64_t index) {
        for (size_t i = 0; i < run->n_chips; i++)
                if (run->chips[i].index == index)
                        return &run->chips[i];
        return NULL;
}

/* Whether the part that COMPONENT tells of is the one whose record it names. */
static bool is_part(const RunChip *chip, const json_t *component) {
        const char *digest = text_of(json_object_get(component, "digest"), "sha256");
        Location slot;

        if (*digest && strcmp(digest, chip->subject) != 0)
                return false;
        return !chip->where.server[0] ||
               (location_parse(text_of(json_object_get(component, "annotations"), "slot"), &slot, NULL, NULL) == 0 &&
                location_equal(&slot, &chip->where));
}

static void check_component(RecordAudit *audit, const RecordEntry *entry, const Run *run, const json_t *component) {
        const json_t *annotations = json_object_get(component, "annotations");
        uint64_t index = (uint64_t) json_integer_value(json_object_get(annotations, "logIndex"));
        RunChip *chip = find_chip(run, index);

        if (!chip) {
                if (result_from_string(text_of(annotations, "result")) == RESULT_FAILED)
                        audit_need(audit, index, entry->index);
                /* A record that is not here cannot contradict it, but where the run began later. */
                if (index >= audit->unseen || (run->is_started && index <= run->start))
                        audit_find(audit, RECORD_AUDIT_ROLL_UP, entry->index, entry->index,
                                   "it names record %" PRIu64 ", which is none of a chip in this run", index);
                return;
        }
        if (chip->is_listed)
                audit_find(audit, RECORD_AUDIT_ROLL_UP, entry->index, entry->index, "it names record %" PRIu64 " twice", index);
        chip->is_listed = true;
        if (strcmp(chip->id, text_of(annotations, "recordSha256")) != 0)
                audit_find(audit, RECORD_AUDIT_ROLL_UP, entry->index, entry->index, "it names another record than the one at %" PRIu64, index);
        if (!is_part(chip, component))
                audit_find(audit, RECORD_AUDIT_ROLL_UP, entry->index, entry->index, "it calls record %" PRIu64 " that of %s, which it is not", index,
                           text_of(annotations, "slot"));
        if (chip->result != result_from_string(text_of(annotations, "result")))
                audit_find(audit, RECORD_AUDIT_ROLL_UP, entry->index, entry->index, "it calls record %" PRIu64 " %s, which is %s", index,
                           text_of(annotations, "result"), result_to_string(chip->result));
}

static void drop_run(RecordAudit *audit, Run *run) {
        free(run->chips);
        audit_set_remove(&audit->runs, run);
}

static void take_roll_up(RecordAudit *audit, const AuditRecord *record) {
        const json_t *components = json_object_get(record->predicate, "components");
        const RecordEntry *entry = &record->verified->entry;
        Run *run = add(audit, &audit->runs, entry->run, sizeof(*run));

        if (!run)
                return;
        check_run(audit, run, record);
        if (!run->is_started && audit->unseen == 0)
                audit_find(audit, RECORD_AUDIT_UNSTARTED, run->n_chips > 0 ? run->chips[0].index : entry->index, entry->index,
                           "the run %s has results and no beginning", entry->run);
        for (size_t i = 0; i < json_array_size(components); i++)
                check_component(audit, entry, run, json_array_get(components, i));
        for (size_t i = 0; i < run->n_chips; i++)
                if (!run->chips[i].is_listed)
                        audit_find(audit, RECORD_AUDIT_ROLL_UP, entry->index, entry->index, "it leaves out the chip of record %" PRIu64,
                                   run->chips[i].index);
        drop_run(audit, run);
}

/* ---- all of them ---- */

static const struct {
        const char *type;
        void (*take)(RecordAudit *audit, const AuditRecord *record);
} types[] = {
        { RECORD_TYPE_RUN_START, take_start   },
        { RECORD_TYPE_HEALTH,    take_chip    },
        { RECORD_TYPE_HEALTH_V2, take_chip    },
        { RECORD_TYPE_SUMMARY,   take_roll_up },
};

void audit_runs_take(RecordAudit *audit, const AuditRecord *record) {
        for (size_t i = 0; i < ELEMENTS(types); i++)
                if (strcmp(types[i].type, record->verified->entry.type) == 0)
                        types[i].take(audit, record);
}

static void tell_unfinished(RecordAudit *audit, const Run *run) {
        if (run->is_started)
                audit_find(audit, RECORD_AUDIT_UNFINISHED, run->start, run->start, "%s: %s has begun and no result follows", run->where,
                           run->plan);
        else if (run->n_chips > 0)
                audit_find(audit, RECORD_AUDIT_UNFINISHED, run->chips[0].index, run->chips[run->n_chips - 1].index,
                           "results of %zu chips and no roll-up of their server", run->n_chips);
}

static void count_item(void *item, void *userdata) {
        (*(size_t *) userdata)++;
}

static void list_run(void *item, void *userdata) {
        const Run ***end = userdata;

        *(*end)++ = item;
}

static uint64_t first_record(const Run *run) {
        return run->is_started || run->n_chips == 0 ? run->start : run->chips[0].index;
}

static int compare_runs(const void *a, const void *b) {
        uint64_t x = first_record(*(const Run *const *) a), y = first_record(*(const Run *const *) b);

        return (x > y) - (x < y);
}

/* The set has them by their IDs, which are random. */
static void end_runs(RecordAudit *audit) {
        _cleanup_free_ const Run **runs = NULL;
        const Run **end;
        size_t n = 0;

        audit_set_each(&audit->runs, count_item, &n);
        if (n == 0)
                return;
        end = runs = calloc(n, sizeof(const Run *));
        if (!runs) {
                audit->error = -ENOMEM;
                return;
        }
        audit_set_each(&audit->runs, list_run, &end);
        qsort(runs, n, sizeof(const Run *), compare_runs);
        for (size_t i = 0; i < n; i++)
                tell_unfinished(audit, runs[i]);
}

static void end_chip(void *item, void *userdata) {
        RecordAuditReport *report = userdata;

        report->chips[report->n_chips++] = ((const Chip *) item)->told;
}

static int compare_chips(const void *a, const void *b) {
        const RecordAuditChip *x = a, *y = b;
        int r = strverscmp(x->where, y->where);

        if (r == 0)
                r = strcmp(x->plan, y->plan);
        return r != 0 ? r : strcmp(x->subject, y->subject);
}

void audit_runs_end(RecordAudit *audit) {
        RecordAuditReport *report = &audit->report;
        size_t n = 0;

        end_runs(audit);
        audit_set_each(&audit->chips, count_item, &n);
        if (n == 0)
                return;
        report->chips = calloc(n, sizeof(*report->chips));
        if (!report->chips) {
                audit->error = -ENOMEM;
                return;
        }
        audit_set_each(&audit->chips, end_chip, report);
        qsort(report->chips, n, sizeof(*report->chips), compare_chips);
}

static void free_chips(void *item, void *userdata) {
        free(((Run *) item)->chips);
}

void audit_runs_done(RecordAudit *audit) {
        audit_set_each(&audit->runs, free_chips, NULL);
        audit_set_done(&audit->runs);
        audit_set_done(&audit->challenges);
        audit_set_done(&audit->plans);
        audit_set_done(&audit->chips);
        audit_set_done(&audit->repairs);
}
