/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/audit/audit.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/keys/keyring.h"
#include "daemon/record/tree/lines.h"

/* ---- checkpoints ---- */

/* Whenever the tree has as many leaves as one of them tells of. No proof of growth is asked for, since all leaves are here. */
static int compare_roots(RecordAudit *audit) {
        uint64_t size = audit->tree.size, first = size > 0 ? 0 : RECORD_AUDIT_NO_RECORD;
        TreeHash root;
        int r;

        for (AuditSigned i = 0; i < _AUDIT_SIGNED_MAX; i++) {
                const Checkpoint *checkpoint = &audit->signed_as[i];

                if (!audit->has_signed[i] || checkpoint->size != size || audit->is_torn)
                        continue;
                r = frontier_root(&audit->tree, &root);
                if (r < 0)
                        return r;
                if (memcmp(root.bytes, checkpoint->root.bytes, DIGEST_BYTES) == 0)
                        audit->report.seen_size = i == AUDIT_GIVEN ? audit->report.seen_size : size;
                else if (i == AUDIT_GIVEN)
                        audit_find(audit, RECORD_AUDIT_ROOT, first, size - 1, "the tree of these records is not the one that the log has signed");
                else
                        audit_find(audit, RECORD_AUDIT_REWRITTEN, first, size - 1, "it does not begin with the %" PRIu64 " records it had when it was last seen", size);
        }
        return 0;
}

/* What an auditor, or who verifies single records, has seen of this log: it must begin with that. */
static int recall_one(RecordAudit *audit, StateSeen kind, const CheckpointPolicy *policy) {
        _cleanup_free_ char *note = NULL;
        CheckpointSeen seen;
        const char *wrong;
        size_t n;
        int r;

        r = state_read_checkpoint(audit->options.state, kind, policy->log.name, &note, &n);
        if (r == 0)
                r = checkpoint_verify(note, n, policy, &audit->signed_as[kind], &seen, &wrong);
        if (r == -EBADMSG)
                audit_find(audit, RECORD_AUDIT_CHECKPOINT, RECORD_AUDIT_NO_RECORD, RECORD_AUDIT_NO_RECORD,
                           "the checkpoint that was kept of this log does not hold for this keyring: %s", wrong);
        audit->has_signed[kind] = r == 0;
        return r == -ENOENT || r == -EBADMSG ? 0 : r;
}

int audit_recall(RecordAudit *audit, const char *origin) {
        CheckpointPolicy policy;
        int r = 0;

        if (!audit->options.state || !keyring_policy(audit->options.keyring, origin, &policy))
                return 0;
        for (StateSeen kind = 0; kind < _STATE_SEEN_MAX && r == 0; kind++)
                r = recall_one(audit, kind, &policy);
        return r;
}

/* The first line, of which nothing is believed but where to look. */
static bool find_policy(const RecordAuditOptions *options, CheckpointPolicy *ret) {
        Lines lines = { options->checkpoint, options->n_checkpoint };
        char origin[RECORD_ORIGIN_MAX] = "";
        Line line;

        if (line_take(&lines, &line) == 0 && line.n < sizeof(origin))
                memcpy(origin, line.text, line.n);
        return keyring_policy(options->keyring, origin, ret);
}

/* Why nothing can be proven by what was given. NULL: it can. */
static const char *lacks_checkpoint(const RecordAuditOptions *options, CheckpointPolicy *ret) {
        Note note;

        if (!options->checkpoint)
                return "there is no checkpoint: nothing tells whether the end is missing";
        if (options->n_checkpoint == 0)
                return "the checkpoint is empty: nothing tells whether the end is missing";
        if (find_policy(options, ret))
                return NULL;
        return note_parse(options->checkpoint, options->n_checkpoint, &note) < 0 ? "what was given as the checkpoint is none" :
                                                                                   "the checkpoint is of a log whose key is not known";
}

int audit_checkpoint(RecordAudit *audit) {
        const RecordAuditOptions *options = &audit->options;
        CheckpointPolicy policy;
        Checkpoint *given = &audit->signed_as[AUDIT_GIVEN];
        CheckpointSeen seen;
        const char *wrong = lacks_checkpoint(options, &policy);
        int r;

        if (wrong) {
                audit_find(audit, RECORD_AUDIT_NO_CHECKPOINT, RECORD_AUDIT_NO_RECORD, RECORD_AUDIT_NO_RECORD, "%s", wrong);
                return 0;
        }
        r = checkpoint_verify(options->checkpoint, options->n_checkpoint, &policy, given, &seen, &wrong);
        if (r == -EBADMSG) {
                audit_find(audit, RECORD_AUDIT_CHECKPOINT, RECORD_AUDIT_NO_RECORD, RECORD_AUDIT_NO_RECORD, "the checkpoint: %s", wrong);
                return 0;
        }
        if (r < 0)
                return r;
        if (!quorum_is_met(&options->keyring->quorum, seen.witnesses))
                audit_find(audit, RECORD_AUDIT_NO_WITNESS, RECORD_AUDIT_NO_RECORD, RECORD_AUDIT_NO_RECORD,
                           "%u of the keyring's witnesses have seen it, which are too few%s", seen.n_witnesses,
                           keyring_count_others(options->keyring) > 0 ? "; keys of a type that is not known here count for nothing" : "");
        audit->has_signed[AUDIT_GIVEN] = true;
        audit->report.has_checkpoint = true;
        audit->report.checkpoint_size = given->size;
        audit->report.n_witnesses = seen.n_witnesses;
        audit->report.witnessed_usec = seen.usec;
        (void) strcpy(audit->report.origin, given->origin);
        r = audit_recall(audit, given->origin);
        return r < 0 ? r : compare_roots(audit);
}

int audit_remember(RecordAudit *audit) {
        const RecordAuditOptions *options = &audit->options;
        const Checkpoint *given = &audit->signed_as[AUDIT_GIVEN];

        if (!options->state || audit->report.verdict != RESULT_PASSED || given->size <= audit->signed_as[STATE_AUDITED].size)
                return 0;
        return state_write_checkpoint(options->state, STATE_AUDITED, given->origin, options->checkpoint, options->n_checkpoint);
}

/* It is for a reader to judge whether the reason will do. */
int audit_decision_take(RecordAudit *audit, const AuditRecord *record) {
        const json_t *kept = json_object_get(record->predicate, "kept");
        uint64_t index = record->entry->index;
        char hex[DIGEST_HEX];
        TreeHash root;
        int r;

        audit_find(audit, RECORD_AUDIT_DECISION, index, index, "%s", record->verified->reason);
        r = frontier_root(&audit->tree, &root);
        if (r < 0)
                return r;
        if ((uint64_t) json_integer_value(json_object_get(kept, "size")) != index ||
            (!audit->is_torn && strcmp(text_of(kept, "sha256"), digest_to_hex(root.bytes, hex)) != 0))
                audit_find(audit, RECORD_AUDIT_ROOT, index, index, "it goes on with other records than those before it");
        return 0;
}

/* ---- what nobody has signed ---- */

#define UNSIGNED_LEAST 1024 /* bytes that a leaf or line counts for: it costs its reader more than it is long */

static uint64_t signed_size(const RecordAudit *audit) {
        uint64_t size = 0;

        for (AuditSigned i = 0; i < _AUDIT_SIGNED_MAX; i++)
                if (audit->has_signed[i] && audit->signed_as[i].size > size)
                        size = audit->signed_as[i].size;
        return size < RECORD_AUDIT_SIGNED_MAX ? size : RECORD_AUDIT_SIGNED_MAX;
}

int audit_spend(RecordAudit *audit, size_t n) {
        if (audit->tree.size < signed_size(audit))
                return 0;
        audit->unsigned_bytes += n > UNSIGNED_LEAST ? n : UNSIGNED_LEAST;
        return audit->unsigned_bytes > RECORD_AUDIT_UNSIGNED_BYTES ? -E2BIG : 0;
}

/* ---- the tree ---- */

/* -ENOENT: nobody tells. */
static int leaf_told(RecordAudit *audit, uint64_t index, TreeHash *ret) {
        return audit->options.hash ? audit->options.hash(audit->options.userdata, 0, index, ret->bytes) : -ENOENT;
}

/* LEAF is NULL where it is not known. */
static int take_leaf(RecordAudit *audit, const TreeHash *leaf) {
        uint64_t index = audit->tree.size;
        TreeHash whole[TREE_LEVELS];
        int r;

        r = leaf ? audit_entry_check(audit, index, leaf) : 0;
        if (r == 0)
                r = frontier_append(&audit->tree, leaf ?: &(const TreeHash) {}, whole);
        if (r >= 0)
                r = audit_nodes_check(audit, index, whole, (unsigned) r);
        return r < 0 ? r : compare_roots(audit);
}

int audit_place(RecordAudit *audit, const TreeHash *leaf) {
        uint64_t index = audit->tree.size;
        bool is_known = true;
        TreeHash told;
        int r;

        r = leaf_told(audit, index, &told);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && leaf && memcmp(told.bytes, leaf->bytes, DIGEST_BYTES) != 0)
                audit_find(audit, RECORD_AUDIT_LEAF, index, index, "it is not the record whose hash is in the tree");
        if (r < 0 && !leaf) {
                audit->is_torn = true;
                is_known = false;
        }
        r = take_leaf(audit, leaf ?: is_known ? &told : NULL);
        return r < 0 ? r : !is_known;
}

/* ---- what is not there ---- */

/* Goes on to record END as far as archives and leaf hashes do. */
static int skip_told(RecordAudit *audit, uint64_t end) {
        while (audit->tree.size < end) {
                uint64_t index = audit->tree.size;
                TreeHash leaf;
                int r;

                r = audit_fill(audit);
                if (r > 0)
                        continue;
                if (r == 0)
                        r = leaf_told(audit, index, &leaf);
                if (r == -ENOENT)
                        return 0;
                if (r == 0)
                        r = audit_spend(audit, sizeof(leaf));
                if (r == 0)
                        r = take_leaf(audit, &leaf);
                if (r < 0)
                        return r;
                audit_hole(audit, index);
        }
        return 0;
}

int audit_reach(RecordAudit *audit, uint64_t index) {
        int r;

        if (index < audit->tree.size) {
                audit_find(audit, RECORD_AUDIT_MISPLACED, index, index, "it stands behind record %" PRIu64, audit->tree.size - 1);
                return 0;
        }
        r = skip_told(audit, index);
        if (r < 0)
                return r;
        if (audit->tree.size < index) {
                audit_find(audit, RECORD_AUDIT_MISSING, audit->tree.size, index - 1, "missing, %" PRIu64 " in all", index - audit->tree.size);
                audit->tree.size = index;
                audit->is_torn = true;
                audit->missed = index;
                audit_lose(audit, index);
        }
        return 1;
}

/* It has fewer records than it had, or its checkpoint says so. */
static void find_rollback(RecordAudit *audit) {
        uint64_t size = audit->tree.size;

        if (audit->has_signed[AUDIT_GIVEN] && audit->signed_as[AUDIT_GIVEN].size < size)
                size = audit->signed_as[AUDIT_GIVEN].size;
        for (StateSeen kind = 0; kind < _STATE_SEEN_MAX; kind++)
                if (audit->signed_as[kind].size > size) {
                        audit_find(audit, RECORD_AUDIT_ROLLED_BACK, size, audit->signed_as[kind].size - 1, "it had %" PRIu64 " records when it was last seen",
                                   audit->signed_as[kind].size);
                        return;
                }
}

/* There may be leaves behind the last record: what they are of was pruned, or is kept back. */
int audit_tree_end(RecordAudit *audit) {
        uint64_t end = audit->signed_as[AUDIT_GIVEN].size, size;
        int r;

        r = skip_told(audit, end);
        if (r < 0)
                return r;
        if (end > audit->tree.size)
                audit_find(audit, RECORD_AUDIT_MISSING, audit->tree.size, end - 1, "missing: the log has signed that it has %" PRIu64, end);
        size = audit->tree.size;
        if (size > record_audit_covered(audit))
                audit_find(audit, RECORD_AUDIT_UNSIGNED, end, size - 1, "the log has signed that it has %" PRIu64 " records, and nothing of the %" PRIu64 " behind them: give a newer checkpoint", end,
                           size - end);
        find_rollback(audit);
        return 0;
}
