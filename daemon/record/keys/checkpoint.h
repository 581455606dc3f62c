/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Checkpoint
 *
 * What a log says of itself, c2sp.org/tlog-checkpoint@v1.0.0: the text of a signed note of three lines,
 *
 *     ORIGIN
 *     SIZE in decimal
 *     BASE64(root hash)
 *
 * and further ones, which say nothing to us. Whoever has one can tell whether a later log is the same one, grown.
 */

#include "daemon/record/keys/note.h"
#include "daemon/record/tree/tree.h"

#define CHECKPOINT_WITNESSES_MAX 32

typedef struct Checkpoint {
        char origin[RECORD_ORIGIN_MAX];
        uint64_t size;
        TreeHash root;
} Checkpoint;

/* -EBADMSG: no checkpoint, or one of a log with more than TREE_SIZE_MAX records. */
int checkpoint_parse(const char *text, size_t n, Checkpoint *ret);
void checkpoint_print(Printer *printer, const Checkpoint *checkpoint);

/* Who may vouch for a log: its own key, and witnesses. */
typedef struct CheckpointPolicy {
        NoteKey log;
        size_t n_witnesses;
        NoteKey witnesses[CHECKPOINT_WITNESSES_MAX];
} CheckpointPolicy;

/* Who did. */
typedef struct CheckpointSeen {
        unsigned n_witnesses;
        uint32_t witnesses;  /* bit i: the i-th of the policy has */
        uint64_t first_usec; /* when the first of them saw it, to the second; 0: none has */
        uint64_t usec;       /* when the last of them did */
} CheckpointSeen;

/*
 * Believes a note: signed by the log's key, which bears the log's origin as its name. -EBADMSG, and *ret_wrong (a static sentence): it is
 * none, of another origin, not signed, or a signature of a key of the policy does not fit; -ENOMEM.
 */
int checkpoint_verify(const char *data, size_t n, const CheckpointPolicy *policy, Checkpoint *ret, CheckpointSeen *ret_seen,
                      const char **ret_wrong);
