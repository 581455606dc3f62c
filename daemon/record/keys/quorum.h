/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Quorum
 *
 * Which witnesses must have seen a checkpoint, as c2sp.org/tlog-policy says it: a witness, or a group of which so many must have, each
 * member again a witness or a group that was named before.
 */

#include "daemon/record/keys/checkpoint.h"

#define QUORUM_GROUPS_MAX 32

typedef struct QuorumGroup {
        char name[NOTE_NAME_MAX];
        unsigned threshold;
        uint64_t members; /* bit i: witness i; bit CHECKPOINT_WITNESSES_MAX + j: group j, which stands before this one */
} QuorumGroup;

typedef struct Quorum {
        size_t n_groups;
        QuorumGroup groups[QUORUM_GROUPS_MAX];
        uint64_t wanted; /* the bit of one witness or group; 0: none */
} Quorum;

/* WITNESSES: bit i is set where witness i has signed. */
bool quorum_is_met(const Quorum *quorum, uint32_t witnesses);
