/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Proof
 *
 * That a record is in a log, c2sp.org/tlog-proof@v1: its index, the hashes from its leaf to the root, and the checkpoint as the log and
 * witnesses signed it. Whoever knows the log's key needs nothing else.
 */

#include "daemon/record/keys/checkpoint.h"

#define PROOF_MAX (1u << 17) /* bytes */

typedef struct Proof {
        uint64_t index;
        TreePath path;
        const char *note; /* the signed checkpoint, in what was parsed */
        size_t n_note;
} Proof;

void proof_print(Printer *printer, uint64_t index, const TreePath *path, const char *note, size_t n_note);

/* Borrows DATA. -EBADMSG: no proof. */
int proof_parse(const char *data, size_t n, Proof *ret);

/*
 * Whether LEAF is in the log of POLICY, at the proof's index. *ret and *ret_seen: the checkpoint that says so, and who signed it. -EBADMSG, and
 * *ret_wrong (a static sentence): it is not proven; -ENOMEM, -EIO.
 */
int proof_verify(const Proof *proof, const TreeHash *leaf, const CheckpointPolicy *policy, Checkpoint *ret, CheckpointSeen *ret_seen,
                 const char **ret_wrong);
