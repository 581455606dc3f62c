/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/audit/audit.h"

#include <inttypes.h>
#include <string.h>

#include "daemon/record/keys/keyring.h"

/*
 * What an auditor, or who verifies single records, has seen of this log before: the log must begin with it. No proof is asked for, since all
 * leaves are here.
 */

static int recall_one(RecordAudit *audit, StateSeen kind, const CheckpointPolicy *policy) {
        _cleanup_free_ char *note = NULL;
        CheckpointSeen seen;
        const char *wrong;
        size_t n;
        int r;

        r = state_read_checkpoint(audit->options.state, kind, policy->log.name, &note, &n);
        if (r == 0)
                r = checkpoint_verify(note, n, policy, &audit->seen[kind], &seen, &wrong);
        if (r == -EBADMSG)
                audit_find(audit, RECORD_AUDIT_CHECKPOINT, RECORD_AUDIT_NO_RECORD, RECORD_AUDIT_NO_RECORD,
                           "the checkpoint that was kept of this log does not hold for this keyring: %s", wrong);
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

int audit_compare_seen(RecordAudit *audit) {
        for (StateSeen kind = 0; kind < _STATE_SEEN_MAX; kind++) {
                const Checkpoint *seen = &audit->seen[kind];
                TreeHash root;
                int r;

                if (seen->size == 0 || seen->size != audit->tree.size || audit->is_torn)
                        continue;
                r = frontier_root(&audit->tree, &root);
                if (r < 0)
                        return r;
                if (memcmp(root.bytes, seen->root.bytes, DIGEST_BYTES) != 0)
                        audit_find(audit, RECORD_AUDIT_REWRITTEN, 0, seen->size - 1, "it does not begin with the %" PRIu64 " records it had when it was last seen",
                                   seen->size);
                else if (seen->size > audit->report.seen_size)
                        audit->report.seen_size = seen->size;
        }
        return 0;
}

void audit_find_rollback(RecordAudit *audit) {
        uint64_t size = audit->tree.size;

        if (audit->has_checkpoint && audit->checkpoint.size < size)
                size = audit->checkpoint.size;
        for (StateSeen kind = 0; kind < _STATE_SEEN_MAX; kind++)
                if (audit->seen[kind].size > size) {
                        audit_find(audit, RECORD_AUDIT_ROLLED_BACK, size, audit->seen[kind].size - 1, "it had %" PRIu64 " records when it was last seen",
                                   audit->seen[kind].size);
                        return;
                }
}

int audit_remember(RecordAudit *audit) {
        const RecordAuditOptions *options = &audit->options;

        if (!options->state || audit->report.verdict != RESULT_PASSED || audit->checkpoint.size <= audit->seen[STATE_AUDITED].size)
                return 0;
        return state_write_checkpoint(options->state, STATE_AUDITED, audit->checkpoint.origin, options->checkpoint, options->n_checkpoint);
}
