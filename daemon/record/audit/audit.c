/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/audit/audit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/keys/leaf.h"
#include "daemon/record/statement/key-rotation.h"
#include "daemon/record/verify/verify.h"

static const struct {
        const char *word;
        RecordAuditWeight weight;
} kinds[_RECORD_AUDIT_KIND_MAX] = {
        [RECORD_AUDIT_REFUSED] = { "record-refused", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_MISSING] = { "records-missing", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_MISPLACED] = { "record-misplaced", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_PREVIOUS] = { "previous-wrong", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_ORIGIN] = { "origin-foreign", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_LEAF] = { "leaf-wrong", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_CHECKPOINT] = { "checkpoint-refused", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_ROOT] = { "tree-wrong", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_ROLLED_BACK] = { "rolled-back", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_REWRITTEN] = { "rewritten", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_ROLL_UP] = { "roll-up-wrong", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_RUN] = { "run-differs", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_KEY] = { "key-changed", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_TILE] = { "tile-wrong", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_ARCHIVE] = { "archive-wrong", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_EARLIER] = { "earlier-wrong", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_VERSION] = { "version-older", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_UNKNOWN] = { "record-unknown", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_NO_CHECKPOINT] = { "checkpoint-unknown", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_UNSIGNED] = { "records-unsigned", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_NO_WITNESS] = { "witness-missing", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_WITHHELD] = { "records-withheld", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_TILE_MISSING] = { "tile-missing", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_NOTHING] = { "nothing-checked", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_UNFINISHED] = { "run-unfinished", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_UNSTARTED] = { "run-unstarted", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_RERUN] = { "passed-after-failed", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_PLAN] = { "plan-differs", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_BEGIN] = { "begin-differs", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_CHALLENGE] = { "challenge-twice", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_SILENCE] = { "silence", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_CLOCK] = { "clock-backwards", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_DECISION] = { "log-continued", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_TWINS] = { "identity-twice", RECORD_AUDIT_ODD },
};

const char *record_audit_kind_to_string(RecordAuditKind kind) {
        return kind >= 0 && kind < _RECORD_AUDIT_KIND_MAX ? kinds[kind].word : NULL;
}

RecordAuditWeight record_audit_kind_weight(RecordAuditKind kind) {
        return kinds[kind].weight;
}

int audit_grow(void **list, size_t n, size_t size) {
        void *grown;

        if (n > 0 && (n & (n - 1)) != 0)
                return 0;
        grown = reallocarray(*list, n > 0 ? 2 * n : 1, size);
        if (!grown)
                return -ENOMEM;
        *list = grown;
        return 0;
}

char *audit_plain(char *text) {
        for (char *p = text; *p; p++)
                if (*p < 0x20 || *p > 0x7e)
                        *p = '?';
        return text;
}

void audit_find(RecordAudit *audit, RecordAuditKind kind, uint64_t first, uint64_t last, const char *format, ...) {
        RecordAuditReport *report = &audit->report;
        RecordAuditFinding *finding;
        va_list arguments;

        if (report->n_of_kind[kind]++ >= RECORD_AUDIT_KEPT)
                return;
        if (audit_grow((void **) &report->findings, report->n_findings, sizeof(*report->findings)) < 0) {
                audit->error = -ENOMEM;
                return;
        }
        finding = &report->findings[report->n_findings++];
        *finding = (RecordAuditFinding) { .kind = kind, .first = first, .last = last };
        va_start(arguments, format);
        (void) vsnprintf(finding->text, sizeof(finding->text), format, arguments);
        va_end(arguments);
        (void) audit_plain(finding->text);
}

void audit_lose(RecordAudit *audit, uint64_t end) {
        audit->unseen = end;
        audit->id[0] = '\0';
}

int record_audit_new(const RecordAuditOptions *options, RecordAudit **ret) {
        _cleanup_(record_audit_freep) RecordAudit *audit = NULL;
        int r;

        assert(options && options->keyring);
        assert(ret);

        audit = calloc(1, sizeof(*audit));
        if (!audit)
                return -ENOMEM;
        audit->options = *options;
        audit->memory = audit_memory_new();
        r = audit->memory ? audit_checkpoint(audit) : -ENOMEM;
        if (r < 0)
                return r;
        *ret = TAKE_PTR(audit);
        return 0;
}

RecordAudit *record_audit_free(RecordAudit *audit) {
        if (!audit)
                return NULL;
        json_decref(audit->memory);
        free(audit->report.findings);
        free(audit->report.chips);
        free(audit->holes);
        free(audit);
        return NULL;
}

/* A mark of N bytes in place of record INDEX, of ID: what follows must fit it. */
static int take_mark(RecordAudit *audit, uint64_t index, const uint8_t id[static DIGEST_BYTES], size_t n) {
        int r;

        r = audit_spend(audit, n);
        if (r < 0)
                return r;
        r = audit_reach(audit, index);
        if (r <= 0)
                return r;
        r = audit_fill(audit);
        if (r != 0)
                return r < 0 ? r : 0;
        r = audit_place(audit, NULL);
        if (r < 0)
                return r;
        if (r > 0) {
                audit->first_untold = audit->n_untold++ == 0 ? index : audit->first_untold;
                audit->last_untold = index;
        }
        audit_hole(audit, index);
        (void) digest_to_hex(id, audit->id);
        return 0;
}

/* ---- records ---- */

/* The key that signs this names who signs from the next record on. */
static int take_rotation(RecordAudit *audit, const AuditRecord *record) {
        const char *key_id = record->verified->key_id;
        uint64_t index = record->entry->index;
        KeyRotation rotation;
        int r;

        r = key_rotation_parse(record->predicate, &rotation);
        if (r < 0)
                return r;
        audit->report.n_rotations++;
        if (strcmp(rotation.old.id, key_id) != 0)
                audit_find(audit, RECORD_AUDIT_KEY, index, index, "it ends %s and is signed with %s", rotation.old.id, key_id);
        (void) strcpy(audit->successor, rotation.new.id);
        key_rotation_done(&rotation);
        return 0;
}

/* What records of a type tell beyond how each follows the one before. */
static const struct {
        const char *type;
        int (*take)(RecordAudit *audit, const AuditRecord *record);
} types[] = {
        { RECORD_TYPE_RUN_START, audit_start_take    },
        { RECORD_TYPE_HEALTH,    audit_chip_take     },
        { RECORD_TYPE_HEALTH_V2, audit_chip_take     },
        { RECORD_TYPE_SUMMARY,   audit_roll_up_take  },
        { RECORD_TYPE_ROTATION,  take_rotation       },
        { RECORD_TYPE_ARCHIVE,   audit_archive_take  },
        { RECORD_TYPE_DECISION,  audit_decision_take },
};

static int take_type(RecordAudit *audit, const AuditRecord *record) {
        if (record->entry->result == RESULT_FAILED)
                audit_failed(audit, record->entry->index);
        for (size_t i = 0; i < ELEMENTS(types); i++)
                if (strcmp(types[i].type, record->entry->type) == 0)
                        return types[i].take(audit, record);
        return 0;
}

/* Whoever signs is told by the one who signed before. */
static void check_key(RecordAudit *audit, const AuditRecord *record) {
        const char *due = audit->successor[0] ? audit->successor : audit->key_id, *key_id = record->verified->key_id;
        uint64_t index = record->entry->index;

        if (due[0] && strcmp(due, key_id) != 0) {
                if (index > 0 && audit->unseen == index)
                        audit_changed(audit, index - 1);
                else
                        audit_find(audit, RECORD_AUDIT_KEY, index, index,
                                   audit->successor[0] ? "signed with %s after the log went over to %s" :
                                                         "signed with %s, which took over from %s without a rotation",
                                   key_id, due);
        }
        (void) strcpy(audit->key_id, key_id);
        audit->successor[0] = '\0';
}

static int check_chain(RecordAudit *audit, const AuditRecord *record) {
        const char *previous = text_of(json_object_get(record->predicate, "previous"), "sha256"), *origin = record->verified->origin;
        uint64_t index = record->entry->index;
        int r = 0;

        if (!audit->report.origin[0]) {
                (void) strcpy(audit->report.origin, origin);
                r = audit_recall(audit, origin);
        }
        if (strcmp(audit->report.origin, origin) != 0)
                audit_find(audit, RECORD_AUDIT_ORIGIN, index, index, "it is of the log %s", origin);
        if (audit->id[0] && strcmp(audit->id, previous) != 0)
                audit_find(audit, RECORD_AUDIT_PREVIOUS, index, index, "it follows another record than %" PRIu64, index - 1);
        check_key(audit, record);
        return r;
}

static int take_verified(RecordAudit *audit, const AuditRecord *record, const TreeHash *leaf) {
        int r;

        audit->report.n_verified++;
        r = audit_reach(audit, record->entry->index);
        if (r <= 0)
                return r;
        r = check_chain(audit, record);
        if (r < 0)
                return r;
        audit_times_take(audit, record);
        r = take_type(audit, record);
        if (r < 0)
                return r;
        (void) strcpy(audit->id, record->entry->id);
        return audit_place(audit, leaf);
}

/* What it says is not to be believed, not even where it belongs; but what follows it names its ID, which needs no key. */
static int take_other(RecordAudit *audit, RecordTrust trust, const char *reason, const Envelope *envelope, size_t n) {
        uint64_t index = audit->tree.size;
        int r;

        r = audit_spend(audit, n);
        if (r < 0)
                return r;
        if (trust == RECORD_REFUSED)
                audit->report.n_refused++;
        else
                audit->report.n_unknown++;
        audit_find(audit, trust == RECORD_REFUSED ? RECORD_AUDIT_REFUSED : RECORD_AUDIT_UNKNOWN, index, index, "%s", reason);
        audit_unread(audit, index);
        if (envelope->pae)
                (void) digest_to_hex(envelope->id, audit->id);
        return audit_place(audit, NULL);
}

static int take_statement(RecordAudit *audit, const Verification *v, const Envelope *envelope) {
        const json_t *subject = json_array_get(json_object_get(v->statement, "subject"), 0);
        const AuditRecord record = {
                .verified = &v->verified,
                .entry = &v->verified.entry,
                .predicate = json_object_get(v->statement, "predicate"),
                .subject = text_of(json_object_get(subject, "digest"), "sha256"),
                .uri = text_of(subject, "uri"),
        };
        TreeHash leaf;
        int r = leaf_hash(envelope, &v->key->key, &leaf);

        return r < 0 ? r : take_verified(audit, &record, &leaf);
}

static int take_envelope(RecordAudit *audit, Envelope *envelope, size_t n) {
        _cleanup_(verification_done) Verification v = {};
        int r;

        r = verify_envelope(&(RecordPolicy) { .keyring = audit->options.keyring, .takes_old = true }, envelope, &v);
        if (r < 0)
                return r;
        if (v.trust == RECORD_VERIFIED)
                return take_statement(audit, &v, envelope);
        return take_other(audit, v.trust, v.verified.reason, envelope, n);
}

int record_audit_take(RecordAudit *audit, const char *text, size_t n) {
        _cleanup_(envelope_done) Envelope envelope = {};
        uint8_t id[DIGEST_BYTES];
        const char *wrong;
        uint64_t index;
        int r;

        assert(audit && text);

        r = leaf_read_mark(text, n, &index, id);
        if (r == 0)
                r = take_mark(audit, index, id, n);
        else if (r == -EBADMSG) {
                r = envelope_parse(text, n, &envelope, &wrong);
                if (r == 0)
                        r = take_envelope(audit, &envelope, n);
                else if (r == -EBADMSG)
                        r = take_other(audit, RECORD_REFUSED, wrong, &envelope, n);
        }
        return r < 0 ? r : audit->error;
}

uint64_t record_audit_size(const RecordAudit *audit) {
        assert(audit);
        return audit->tree.size;
}

uint64_t record_audit_covered(const RecordAudit *audit) {
        assert(audit);
        return audit->has_signed[AUDIT_GIVEN] ? audit->signed_as[AUDIT_GIVEN].size : UINT64_MAX;
}

/* ---- the end ---- */

static void judge_end(RecordAudit *audit) {
        RecordAuditReport *report = &audit->report;

        if (report->n_verified == 0)
                audit_find(audit, RECORD_AUDIT_NOTHING, RECORD_AUDIT_NO_RECORD, RECORD_AUDIT_NO_RECORD, "no record was verified");
        report->size = audit->tree.size;
        (void) audit_plain(report->origin);
        report->verdict = RESULT_PASSED;
        for (RecordAuditKind kind = 0; kind < _RECORD_AUDIT_KIND_MAX; kind++)
                if (report->n_of_kind[kind] > 0 && kinds[kind].weight != RECORD_AUDIT_ODD)
                        report->verdict = result_worst(report->verdict, kinds[kind].weight == RECORD_AUDIT_OPEN ? RESULT_INCONCLUSIVE :
                                                                                                                  RESULT_FAILED);
}

int record_audit_end(RecordAudit *audit, const RecordAuditReport **ret) {
        int r;

        assert(audit && ret);

        r = audit_tree_end(audit);
        if (r < 0)
                return r;
        if (audit->n_untold > 0)
                audit_find(audit, RECORD_AUDIT_NO_CHECKPOINT, audit->first_untold, audit->last_untold,
                           "the leaf hashes of %" PRIu64 " pruned records stand in no JSON lines, so no tree can be made to hold against a checkpoint: audit tiles, or give the archives",
                           audit->n_untold);
        audit_bundle_end(audit);
        audit_holes_tell(audit);
        audit_runs_end(audit);
        audit_parts_end(audit);
        judge_end(audit);
        r = audit->error < 0 ? audit->error : audit_remember(audit);
        if (r < 0)
                return r;
        *ret = &audit->report;
        return 0;
}
