/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sprt
 *
 * Wald's sequential probability ratio test (1945) of a probability of rounding up: SOUND against BIASED, one conversion after
 * another until the ratio of their likelihoods leaves [missed / (1 - alarm), (1 - missed) / alarm]. Bounds that hold exactly,
 * whatever the overshoot (by Ville's inequality): a sound lane is called biased with probability at most alarm / (1 - missed), a
 * biased one sound with at most missed / (1 - alarm). Where a count of fixed size takes n, a sound lane is done after a fifth to
 * two fifths of it.
 */

#include <stdint.h>

typedef enum SprtAnswer {
        SPRT_UNDECIDED,
        SPRT_SOUND,
        SPRT_BIASED,
        _SPRT_ANSWER_MAX,
} SprtAnswer;

typedef struct Sprt {
        double up, down;   /* what one conversion adds to the logarithm of the ratio; -INFINITY where it cannot be */
        double sum;
        double low, high;  /* the borders */
        uint64_t n;        /* conversions so far */
        SprtAnswer answer;
} Sprt;

/* SOUND and BIASED differ; BIASED may be 0 or 1. */
void sprt_start(Sprt *sprt, double sound, double biased, double alarm, double missed);
/* What comes after the answer changes it no more. */
SprtAnswer sprt_add(Sprt *sprt, int up);
