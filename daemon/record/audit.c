/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/audit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/envelope.h"
#include "daemon/record/json.h"
#include "daemon/record/key-rotation.h"
#include "daemon/record/keyring.h"
#include "daemon/record/lines.h"
#include "daemon/record/verify.h"

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
        [RECORD_AUDIT_ROLL_UP] = { "roll-up-wrong", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_KEY] = { "key-changed", RECORD_AUDIT_BROKEN },
        [RECORD_AUDIT_UNKNOWN] = { "record-unknown", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_NO_CHECKPOINT] = { "checkpoint-unknown", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_NO_WITNESS] = { "witness-missing", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_NOTHING] = { "nothing-checked", RECORD_AUDIT_OPEN },
        [RECORD_AUDIT_PRUNED] = { "records-pruned", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_UNFINISHED] = { "run-unfinished", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_UNSTARTED] = { "run-unstarted", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_RERUN] = { "passed-after-failed", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_PLAN] = { "plan-differs", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_CHALLENGE] = { "challenge-twice", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_SILENCE] = { "silence", RECORD_AUDIT_ODD },
        [RECORD_AUDIT_CLOCK] = { "clock-backwards", RECORD_AUDIT_ODD },
};

const char *record_audit_kind_to_string(RecordAuditKind kind) {
        return kind >= 0 && kind < _RECORD_AUDIT_KIND_MAX ? kinds[kind].word : NULL;
}

RecordAuditWeight record_audit_kind_weight(RecordAuditKind kind) {
        return kinds[kind].weight;
}

/* A list's room doubles when its length is a power of two. */
static int report_grow(void **list, size_t n, size_t size) {
        void *grown;

        if (n > 0 && (n & (n - 1)) != 0)
                return 0;
        grown = reallocarray(*list, n > 0 ? 2 * n : 1, size);
        if (!grown)
                return -ENOMEM;
        *list = grown;
        return 0;
}

void audit_find(RecordAudit *audit, RecordAuditKind kind, uint64_t first, uint64_t last, const char *format, ...) {
        RecordAuditReport *report = &audit->report;
        RecordAuditFinding *finding;
        va_list arguments;

        if (report->n_of_kind[kind]++ >= RECORD_AUDIT_KEPT)
                return;
        if (report_grow((void **) &report->findings, report->n_findings, sizeof(*report->findings)) < 0) {
                audit->error = -ENOMEM;
                return;
        }
        finding = &report->findings[report->n_findings++];
        *finding = (RecordAuditFinding) { .kind = kind, .first = first, .last = last };
        va_start(arguments, format);
        (void) vsnprintf(finding->text, sizeof(finding->text), format, arguments);
        va_end(arguments);
}

/* ---- the checkpoint ---- */

/* The first line, of which nothing is believed but where to look. */
static bool find_policy(const RecordAuditOptions *options, CheckpointPolicy *ret) {
        Lines lines = { options->checkpoint, options->n_checkpoint };
        char origin[RECORD_ORIGIN_MAX] = "";
        Line line;

        if (line_take(&lines, &line) == 0 && line.n < sizeof(origin))
                memcpy(origin, line.text, line.n);
        return keyring_policy(options->keyring, origin, ret);
}

static int take_checkpoint(RecordAudit *audit) {
        const RecordAuditOptions *options = &audit->options;
        CheckpointPolicy policy;
        CheckpointSeen seen;
        const char *wrong;
        int r;

        if (!options->checkpoint || !find_policy(options, &policy)) {
                audit_find(audit, RECORD_AUDIT_NO_CHECKPOINT, 0, 0, "%s",
                           options->checkpoint ? "the checkpoint is of a log whose key is not known" :
                                                 "there is no checkpoint: nothing tells whether the end is missing");
                return 0;
        }
        r = checkpoint_verify(options->checkpoint, options->n_checkpoint, &policy, &audit->checkpoint, &seen, &wrong);
        if (r == -EBADMSG) {
                audit_find(audit, RECORD_AUDIT_CHECKPOINT, 0, 0, "the checkpoint: %s", wrong);
                return 0;
        }
        if (r < 0)
                return r;
        if (!quorum_is_met(&options->keyring->quorum, seen.witnesses))
                audit_find(audit, RECORD_AUDIT_NO_WITNESS, 0, 0, "%u of the keyring's witnesses have seen it, which are too few", seen.n_witnesses);
        audit->has_checkpoint = true;
        audit->report.checkpoint_size = audit->checkpoint.size;
        audit->report.n_witnesses = seen.n_witnesses;
        audit->report.witnessed_usec = seen.usec;
        (void) strcpy(audit->report.origin, audit->checkpoint.origin);
        return 0;
}

/* Whenever the tree has as many leaves as the checkpoint tells of. */
static int compare_root(RecordAudit *audit) {
        TreeHash root;
        int r;

        if (!audit->has_checkpoint || audit->is_compared || audit->tree.size != audit->checkpoint.size)
                return 0;
        audit->is_compared = true;
        if (audit->is_torn)
                return 0;
        r = audit->tree.size > 0 ? frontier_root(&audit->tree, &root) : tree_empty(&root);
        if (r < 0)
                return r;
        if (memcmp(root.bytes, audit->checkpoint.root.bytes, DIGEST_BYTES) != 0)
                audit_find(audit, RECORD_AUDIT_ROOT, 0, audit->tree.size > 0 ? audit->tree.size - 1 : 0,
                           "the tree of these records is not the one that the log has signed");
        return 0;
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
        r = take_checkpoint(audit);
        if (r == 0)
                r = compare_root(audit);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(audit);
        return 0;
}

RecordAudit *record_audit_free(RecordAudit *audit) {
        if (!audit)
                return NULL;
        audit_runs_done(audit);
        free(audit->report.findings);
        free(audit->report.chips);
        free(audit);
        return NULL;
}

/* ---- the tree ---- */

/* -ENOENT: nobody tells. */
static int leaf_told(RecordAudit *audit, uint64_t index, TreeHash *ret) {
        return audit->options.leaf ? audit->options.leaf(audit->options.userdata, index, ret->bytes) : -ENOENT;
}

static int take_leaf(RecordAudit *audit, const TreeHash *leaf) {
        TreeHash whole[TREE_LEVELS];
        int r;

        r = frontier_append(&audit->tree, leaf, whole);
        return r < 0 ? r : compare_root(audit);
}

/* Record at the end of the tree, whose leaf hash follows from it, or does not (NULL). */
static int take_place(RecordAudit *audit, const TreeHash *leaf) {
        uint64_t index = audit->tree.size;
        TreeHash told = {};
        int r;

        r = leaf_told(audit, index, &told);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && leaf && memcmp(told.bytes, leaf->bytes, DIGEST_BYTES) != 0)
                audit_find(audit, RECORD_AUDIT_LEAF, index, index, "it is not the record whose hash is in the tree");
        if (r < 0 && !leaf)
                audit->is_torn = true;
        return take_leaf(audit, leaf ?: &told);
}

/* Records up to the one before END are not there: their leaf hashes are all that can be left. Goes as far as these do. */
static int skip_pruned(RecordAudit *audit, uint64_t end) {
        uint64_t first = audit->tree.size, n;
        TreeHash leaf;
        int r = 0;

        while (audit->tree.size < end && r == 0) {
                r = leaf_told(audit, audit->tree.size, &leaf);
                if (r == 0)
                        r = take_leaf(audit, &leaf);
        }
        if (r < 0 && r != -ENOENT)
                return r;
        n = audit->tree.size - first;
        audit->report.n_pruned += n;
        /* What is old goes first, and that is as it should be. */
        if (n > 0 && first > 0)
                audit_find(audit, RECORD_AUDIT_PRUNED, first, first + n - 1, "pruned, %" PRIu64 " in all: behind records that are whole", n);
        return 0;
}

static int skip_records(RecordAudit *audit, uint64_t end) {
        int r;

        r = skip_pruned(audit, end);
        if (r < 0)
                return r;
        if (audit->tree.size < end) {
                audit_find(audit, RECORD_AUDIT_MISSING, audit->tree.size, end - 1, "missing, %" PRIu64 " in all",
                           end - audit->tree.size);
                audit->tree.size = end;
                audit->is_torn = true;
        }
        audit->unseen = end;
        audit->id[0] = audit->key_id[0] = audit->successor[0] = '\0';
        return 0;
}

/* ---- records ---- */

/* The key that signs this names who signs from the next record on. */
static int take_rotation(RecordAudit *audit, const AuditRecord *record) {
        const RecordVerified *verified = record->verified;
        KeyRotation rotation;
        int r;

        if (strcmp(verified->entry.type, RECORD_TYPE_ROTATION) != 0)
                return 0;
        r = key_rotation_parse(record->predicate, &rotation);
        if (r < 0)
                return r;
        audit->report.n_rotations++;
        if (strcmp(rotation.old.id, verified->key_id) != 0)
                audit_find(audit, RECORD_AUDIT_KEY, verified->entry.index, verified->entry.index, "it ends %s and is signed with %s",
                           rotation.old.id, verified->key_id);
        (void) strcpy(audit->successor, rotation.new.id);
        key_rotation_done(&rotation);
        return 0;
}

/* Whoever signs is told by the one who signed before. */
static void check_key(RecordAudit *audit, const RecordVerified *verified) {
        const char *due = audit->successor[0] ? audit->successor : audit->key_id;

        if (due[0] && strcmp(due, verified->key_id) != 0)
                audit_find(audit, RECORD_AUDIT_KEY, verified->entry.index, verified->entry.index,
                           audit->successor[0] ? "signed with %s after the log went over to %s" :
                                                 "signed with %s, which took over from %s without a rotation",
                           verified->key_id, due);
        (void) strcpy(audit->key_id, verified->key_id);
        audit->successor[0] = '\0';
}

static void check_chain(RecordAudit *audit, const AuditRecord *record) {
        const RecordVerified *verified = record->verified;
        const char *previous = text_of(json_object_get(record->predicate, "previous"), "sha256");
        uint64_t index = verified->entry.index;

        if (!audit->report.origin[0])
                (void) strcpy(audit->report.origin, verified->origin);
        if (strcmp(audit->report.origin, verified->origin) != 0)
                audit_find(audit, RECORD_AUDIT_ORIGIN, index, index, "it is of the log %s", verified->origin);
        if (audit->id[0] && strcmp(audit->id, previous) != 0)
                audit_find(audit, RECORD_AUDIT_PREVIOUS, index, index, "it follows another record than %" PRIu64, index - 1);
        check_key(audit, verified);
}

static int take_verified(RecordAudit *audit, const AuditRecord *record, const TreeHash *leaf) {
        const RecordEntry *entry = &record->verified->entry;
        int r;

        audit->report.n_verified++;
        if (entry->index < audit->tree.size) {
                audit_find(audit, RECORD_AUDIT_MISPLACED, entry->index, entry->index, "it stands behind record %" PRIu64,
                           audit->tree.size - 1);
                return 0;
        }
        if (entry->index > audit->tree.size) {
                r = skip_records(audit, entry->index);
                if (r < 0)
                        return r;
        }
        check_chain(audit, record);
        r = take_rotation(audit, record);
        if (r < 0)
                return r;
        audit_times_take(audit, record);
        audit_runs_take(audit, record);
        (void) strcpy(audit->id, entry->id);
        return take_place(audit, leaf);
}

/* What it says is not to be believed, not even where it belongs; but what follows it names its ID, which needs no key. */
static int take_other(RecordAudit *audit, RecordTrust trust, const char *reason, const Envelope *envelope) {
        uint64_t index = audit->tree.size;
        uint8_t id[DIGEST_BYTES];

        if (trust == RECORD_REFUSED)
                audit->report.n_refused++;
        else
                audit->report.n_unknown++;
        audit_find(audit, trust == RECORD_REFUSED ? RECORD_AUDIT_REFUSED : RECORD_AUDIT_UNKNOWN, index, index, "%s", reason);
        audit->id[0] = '\0';
        if (envelope->pae && digest_sha256(envelope->pae, envelope->n_pae, id) == 0)
                (void) digest_to_hex(id, audit->id);
        audit->key_id[0] = audit->successor[0] = '\0';
        audit->unseen = index + 1;
        return take_place(audit, NULL);
}

static int take_statement(RecordAudit *audit, const Verification *v, const Envelope *envelope) {
        const json_t *subject = json_array_get(json_object_get(v->statement, "subject"), 0);
        const AuditRecord record = {
                .verified = &v->verified,
                .predicate = json_object_get(v->statement, "predicate"),
                .subject = text_of(json_object_get(subject, "digest"), "sha256"),
        };
        uint8_t id[DIGEST_BYTES];
        TreeHash leaf;
        int r;

        r = digest_from_hex(v->verified.entry.id, id);
        if (r == 0)
                r = leaf_hash(&v->key->key, id, envelope->signature, envelope->n_signature, &leaf);
        return r < 0 ? r : take_verified(audit, &record, &leaf);
}

int record_audit_take(RecordAudit *audit, const char *text, size_t n) {
        _cleanup_(verification_done) Verification v = {};
        _cleanup_(envelope_done) Envelope envelope = {};
        const char *wrong;
        int r;

        assert(audit && text);

        r = envelope_parse(text, n, &envelope, &wrong);
        if (r == -EBADMSG)
                r = take_other(audit, RECORD_REFUSED, wrong, &envelope);
        else if (r == 0) {
                r = verify_envelope(&(RecordPolicy) { .keyring = audit->options.keyring }, &envelope, &v);
                if (r == 0)
                        r = v.trust == RECORD_VERIFIED ? take_statement(audit, &v, &envelope) :
                                                         take_other(audit, v.trust, v.verified.reason, &envelope);
        }
        return r < 0 ? r : audit->error;
}

uint64_t record_audit_size(const RecordAudit *audit) {
        assert(audit);
        return audit->tree.size;
}

/* ---- the end ---- */

static void judge_end(RecordAudit *audit) {
        RecordAuditReport *report = &audit->report;

        if (audit->has_checkpoint && audit->checkpoint.size > audit->tree.size)
                audit_find(audit, RECORD_AUDIT_MISSING, audit->tree.size, audit->checkpoint.size - 1,
                           "missing: the log has signed that it has %" PRIu64, audit->checkpoint.size);
        if (report->n_verified == 0)
                audit_find(audit, RECORD_AUDIT_NOTHING, 0, 0, "no record was verified");
        report->size = audit->tree.size;
        report->verdict = RESULT_PASSED;
        for (RecordAuditKind kind = 0; kind < _RECORD_AUDIT_KIND_MAX; kind++)
                if (report->n_of_kind[kind] > 0 && kinds[kind].weight != RECORD_AUDIT_ODD)
                        report->verdict = result_worst(report->verdict, kinds[kind].weight == RECORD_AUDIT_OPEN ? RESULT_INCONCLUSIVE :
                                                                                                                  RESULT_FAILED);
}

int record_audit_end(RecordAudit *audit, const RecordAuditReport **ret) {
        int r = 0;

        assert(audit && ret);

        /* Leaves behind the last record: what they are of was pruned, or is kept back. */
        if (audit->has_checkpoint && audit->checkpoint.size > audit->tree.size)
                r = skip_pruned(audit, audit->checkpoint.size);
        if (r < 0)
                return r;
        audit_runs_end(audit);
        judge_end(audit);
        if (audit->error < 0)
                return audit->error;
        *ret = &audit->report;
        return 0;
}
