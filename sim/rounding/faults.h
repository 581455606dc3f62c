/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rounding faults
 *
 * The kinds of fault of a rounding lane, or of all lanes of an engine alike, and what those that act in one command make of one
 * lane together.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/chip/model.h"
#include "sim/rounding/convert.h"

extern const FaultKind rounding_faults[]; /* ends with {} */

/* Parameters of all kinds. */
typedef struct RoundingFault {
        uint64_t bit, other, value;
        int wired;       /* index of wired_words */
        uint64_t words;  /* of a short cycle */
        uint64_t source; /* a lane */
        uint64_t lag;    /* words */
        int field;       /* index of field_words */
        uint64_t bits;   /* of the random word that take part */
} RoundingFault;

/*
 * The faults of an engine in the order in which they act: by their kinds as listed in faults.c, within a kind those of the
 * engine before those of a lane, then as injected. Where two cannot both be, the later one holds.
 */
typedef struct RoundingFaults {
        size_t n;
        const Fault **list;
        const Fault **words; /* n: room for LaneEffects.words */
} RoundingFaults;

/* -ENOMEM; -EEXIST: the same kind at the same place and bit. */
int rounding_faults_add(RoundingFaults *faults, const Fault *fault);
void rounding_faults_remove(RoundingFaults *faults, const Fault *fault);
void rounding_faults_done(RoundingFaults *faults);

/* How a generator gets a seed. */
typedef enum Seeding {
        SEEDING_RESET, /* by a reset, as if with 0 */
        SEEDING_FIRST, /* the first after it */
        SEEDING_AGAIN,
} Seeding;

/* Of a lane in one command. */
typedef struct LaneEffects {
        bool any;

        /* when it is seeded */
        unsigned keeps; /* its state: bits 1 << Seeding */
        bool foreign; /* takes the stream of lane `source`, `lag` words on */
        unsigned source, lag;

        /* when it draws */
        bool locked;    /* the state stands */
        uint64_t cycle; /* after so many words the state returns to the seed's; 0: never */
        size_t n_words; /* what the random word passes through: rounding_word() */
        const Fault **words;

        /* when it rounds */
        bool never, always;  /* stochastic, whatever is asked */
        bool opposite;       /* negative numbers, stochastic */
        bool wrong_field;    /* of the random word */
        int field;
        bool carry_lost;     /* into the exponent */
        bool flushed;        /* subnormal results are zero */
        uint32_t set, clear; /* bits of the result as it is written */
} LaneEffects;

/* What acts on LANE now. ret->words lies in FAULTS and holds until the next call. */
void rounding_effects(const RoundingFaults *faults, const Execution *execution, unsigned lane, LaneEffects *ret);

/* What of WORD, as the generator gives it, the rounding unit sees. */
uint32_t rounding_word(const LaneEffects *effects, uint32_t word);

/* Bits of the random word that are added to a fraction of cut->d bits: cut->d without a fault, 63 at the most. */
unsigned rounding_field(const LaneEffects *effects, const Target *target, const Cut *cut);
