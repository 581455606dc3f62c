/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * State
 *
 * What a reader remembers from one verification to the next, in a folder of its own: of each log the newest checkpoints it believed, of each
 * producer the newest record it accepted, and the newest keyring. So an old copy of a log, of a record or of a keyring is known for what it is.
 * One process at a time has the folder open; each file is replaced as a whole.
 */

#include "daemon/record/keys/checkpoint.h"

/*
 * Proofs are against the checkpoint that most witnesses have signed, which is seldom the newest; an audit holds the log against its newest. So
 * no proof is older than what proofs have shown, and none is called so for what an audit has seen.
 */
typedef enum StateSeen {
        STATE_PROVEN,
        STATE_AUDITED,
        _STATE_SEEN_MAX,
} StateSeen;

/* The checkpoint of ORIGIN as its log and witnesses signed it, NOTE_MAX bytes at most, malloc'd. -ENOENT: none is known. */
int state_read_checkpoint(const RecordState *state, StateSeen seen, const char *origin, char **ret, size_t *ret_n);
int state_write_checkpoint(RecordState *state, StateSeen seen, const char *origin, const char *note, size_t n);

/* The index of the newest record that was accepted of PRODUCER in the log of ORIGIN. -ENOENT: none was; -EBADMSG: the file is damaged. */
int state_read_accepted(const RecordState *state, const char *producer, const char *origin, uint64_t *ret);
/* Kept for record_state_accept(). Not more than STATE_ACCEPTED_MAX of them: -E2BIG. */
#define STATE_ACCEPTED_MAX 4096
int state_note_accepted(RecordState *state, const char *producer, const char *origin, uint64_t index);

/* The envelope of the newest keyring. -ENOENT: none is known. */
int state_read_keyring(const RecordState *state, char **ret, size_t *ret_n);
int state_write_keyring(RecordState *state, const char *envelope, size_t n);
