/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryAgreement
 *
 * What bits that are stuck, of every access of a slice, have by chance in common with a hash: no closed form tells, so the
 * hashes are looked at, once for all commands that read the same.
 */

#include <stddef.h>
#include <stdint.h>

#include "sim/memory/structures/content.h"
#include "sim/memory/structures/slice.h"

typedef struct MemoryStuckBits {
        MemoryBits mask, values; /* values: of the bits of the mask */
} MemoryStuckBits;

typedef struct MemoryQuestion { /* which slice, which bits, which hash */
        MemorySlice places; /* all columns, or some side by side */
        MemoryStuckBits stuck; /* at least one bit */
        uint64_t seed;
        uint32_t shift;     /* the hash of an access is that of the access so many on */
        uint64_t enough;    /* no more need be looked at */
} MemoryQuestion;

typedef struct MemoryAgreeing { /* accesses, by their linear index */
        uint32_t *places;
        size_t n, places_allocated;
} MemoryAgreeing;

typedef struct MemoryAgreement {
        MemoryQuestion question;
        uint64_t seen;              /* how many were looked at: all, or at least enough of them */
        MemoryAgreeing agreeing[2]; /* those of which all stuck bits are as in the hash, and those as in its inverse */
} MemoryAgreement;

#define MEMORY_AGREEMENTS_MAX 4u

typedef struct MemoryAgreements { /* the latest, in turn */
        MemoryAgreement known[MEMORY_AGREEMENTS_MAX];
        unsigned next;
} MemoryAgreements;

void memory_agreements_done(MemoryAgreements *agreements);

/* The answer is valid until the next question. -ENOMEM. */
int memory_agreements_ask(MemoryAgreements *agreements, const MemoryShape *shape, const MemoryQuestion *question,
                          const MemoryAgreement **ret);
