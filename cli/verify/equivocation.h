/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Equivocation
 *
 * Which record stands at which index of which log, as one command has seen it. A log that has two at one index tells two stories: whoever holds
 * both, each with its signature, can prove it.
 */

#include "daemon/record/record.h"

typedef struct Equivocation {
        void *root; /* of tsearch(3) */
} Equivocation;

/* Remembers what is authentic. 0: it is new, or the same; 1: another one stood there, whose ID is *RET, as long as EQUIVOCATION lives; -ENOMEM. */
int equivocation_add(Equivocation *seen, const RecordVerified *verified, const char **ret);
void equivocation_done(Equivocation *seen);
