/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/audit/audit.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/record/keys/keyring.h"
#include "daemon/record/tree/lines.h"

/* ---- the checkpoint ---- */

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
                audit_find(audit, RECORD_AUDIT_ROOT, audit->tree.size > 0 ? 0 : RECORD_AUDIT_NO_RECORD,
                           audit->tree.size > 0 ? audit->tree.size - 1 : RECORD_AUDIT_NO_RECORD,
                           "the tree of these records is not the one that the log has signed");
        return 0;
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
        CheckpointSeen seen;
        const char *wrong = lacks_checkpoint(options, &policy);
        int r;

        if (wrong) {
                audit_find(audit, RECORD_AUDIT_NO_CHECKPOINT, RECORD_AUDIT_NO_RECORD, RECORD_AUDIT_NO_RECORD, "%s", wrong);
                return 0;
        }
        r = checkpoint_verify(options->checkpoint, options->n_checkpoint, &policy, &audit->checkpoint, &seen, &wrong);
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
        audit->has_checkpoint = true;
        audit->report.checkpoint_size = audit->checkpoint.size;
        audit->report.n_witnesses = seen.n_witnesses;
        audit->report.witnessed_usec = seen.usec;
        (void) strcpy(audit->report.origin, audit->checkpoint.origin);
        r = audit_recall(audit, audit->checkpoint.origin);
        return r < 0 ? r : compare_root(audit);
}

/* ---- what nobody has signed ---- */

#define UNSIGNED_LEAST 1024 /* bytes that a leaf or line counts for: it costs its reader more than it is long */

static uint64_t signed_size(const RecordAudit *audit) {
        uint64_t size = audit->has_checkpoint ? audit->checkpoint.size : 0;

        for (StateSeen kind = 0; kind < _STATE_SEEN_MAX; kind++)
                if (audit->seen[kind].size > size)
                        size = audit->seen[kind].size;
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
        if (r == 0)
                r = compare_root(audit);
        return r < 0 ? r : audit_compare_seen(audit);
}

/* Record at the end of the tree, whose leaf hash follows from it, or does not (NULL). */
int audit_place(RecordAudit *audit, const TreeHash *leaf) {
        uint64_t index = audit->tree.size;
        TreeHash told;
        int r;

        r = leaf_told(audit, index, &told);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && leaf && memcmp(told.bytes, leaf->bytes, DIGEST_BYTES) != 0)
                audit_find(audit, RECORD_AUDIT_LEAF, index, index, "it is not the record whose hash is in the tree");
        if (r < 0 && !leaf)
                audit->is_torn = true;
        return take_leaf(audit, leaf ?: r == 0 ? &told : NULL);
}

/* ---- what is not there ---- */

int audit_skip(RecordAudit *audit, uint64_t end) {
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

static int skip_records(RecordAudit *audit, uint64_t end) {
        int r;

        r = audit_skip(audit, end);
        if (r < 0)
                return r;
        if (audit->tree.size < end) {
                audit_find(audit, RECORD_AUDIT_MISSING, audit->tree.size, end - 1, "missing, %" PRIu64 " in all",
                           end - audit->tree.size);
                audit->tree.size = audit->unseen = end;
                audit->is_torn = true;
                audit->id[0] = audit->key_id[0] = audit->successor[0] = '\0';
        }
        return 0;
}

/* Where record INDEX belongs; 0: it does not belong here. */
int audit_reach(RecordAudit *audit, uint64_t index) {
        int r;

        if (index < audit->tree.size) {
                audit_find(audit, RECORD_AUDIT_MISPLACED, index, index, "it stands behind record %" PRIu64, audit->tree.size - 1);
                return 0;
        }
        r = index > audit->tree.size ? skip_records(audit, index) : 0;
        return r < 0 ? r : 1;
}
