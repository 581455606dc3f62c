/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ber: what a count of bit errors proves. A lane of bit error ratio b makes Poisson(N b) errors in N bits. Below, NB is
 * N × b for the ratio that is to be excluded.
 *
 * What is counted are blocks with errors (WireLane.errored_blocks), not bits: one disturbance spoils many bits side by side, and bits of
 * one burst are no independent witnesses. Where errors are rare and alone, both are the same.
 */

#include <stdbool.h>
#include <stdint.h>

/* How sure it is that the ratio is below b when ERRORS were seen: 1 - P(at most ERRORS errors at b). To about 1e-12 of the smaller of
 * it and the rest to 1, for any NB up to 1e12. */
double ber_confidence(double nb, uint64_t errors);

/* The smallest N × b at which ERRORS errors still prove the ratio with CONFIDENCE. */
double ber_required(double confidence, uint64_t errors);

/* The ratios between which a lane lies with CONFIDENCE that made ERRORS errors, at least one, in BITS bits: each bound is missed with half
 * of the rest (F. Garwood, Fiducial Limits for the Poisson Distribution, 1936). */
void ber_interval(uint64_t bits, uint64_t errors, double confidence, double *ret_low, double *ret_high);

/* The fewest errors that a lane of which NB are expected makes with less than this CHANCE. */
#define BER_ERRORS_MAX 1000000u
unsigned ber_certain(double nb, double chance);

/*
 * A sequential test: the count is looked at several times. At each look a lane passes with few enough, fails with so many that no good
 * lane makes them, and else is counted on; at the last one what might be one burst counts in full. The first look is short, for what is
 * grossly wrong; at the second a lane without errors passes. At how many a lane passes later is worked out so that a lane at the limit
 * passes at any of the looks with at most 1 - confidence: the sooner a look the more of that it may use.
 */
#define BER_LOOKS_MAX   5u
#define BER_BURST_BLOCKS 4u /* what one disturbance spoils at most: 768 bits side by side, 24 ns, wherever they begin */

typedef enum BerOutcome {
        BER_UNDECIDED,
        BER_PASSES,
        BER_FAILS,
} BerOutcome;

typedef struct BerLooks {
        unsigned n;
        double limit;                   /* the ratio to exclude */
        uint64_t bits[BER_LOOKS_MAX];   /* compared by then, from the first bit on */
        int passes[BER_LOOKS_MAX];      /* at most so many; -1: not at this look */
        unsigned fails[BER_LOOKS_MAX];  /* at least so many */
        double missed;                  /* at most how likely a lane at the limit passes */
        double false_alarm;             /* at most how likely a lane of the GOOD ratio fails */
} BerLooks;

/* Of the first look, where a lane without errors passes after BITS: 16 ms, two errors in which no good lane makes. */
static inline uint64_t ber_short_bits(uint64_t bits) {
        return bits / 16 < UINT64_C(500000000) ? bits / 16 : UINT64_C(500000000);
}

/* Plans looks for lanes that are compared for BITS until most of them pass. -ERANGE: so few do not exclude LIMIT, or (more than
 * BER_NB_MAX errors are expected at it) fewer would do. */
#define BER_NB_MAX 16.0
int ber_plan(BerLooks *ret, uint64_t bits, double limit, double confidence, double good, double false_alarm);

/*
 * What a lane is worth after look LOOK of which BITS bits were really compared and that had between LEAST and MOST disturbances by
 * then: it fails by the least and passes by the most there may have been.
 */
BerOutcome ber_judge(const BerLooks *looks, unsigned look, uint64_t bits, uint64_t least, uint64_t most);

/* Whether ERRORS lie closer together than chance puts them: BLOCKS blocks of 256 bits have some. */
bool ber_is_bursty(uint64_t bits, uint64_t errors, uint64_t blocks);
/* The fewest disturbances that make these. */
uint64_t ber_least(uint64_t bits, uint64_t errors, uint64_t blocks);
