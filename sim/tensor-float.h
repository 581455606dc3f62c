/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor float
 *
 * The arithmetic of a processing element on bit patterns: bf16 × bf16 → binary32 and binary32 + binary32,
 * round to nearest even, gradual underflow, one NaN. Integers only, so that neither the host's rounding and
 * flush modes nor -ffast-math can reach it, and without branches, so that a loop over it becomes vector
 * code.
 */

#include <stdbool.h>
#include <stdint.h>

#define FLOAT_NAN      0x7fc00000u
#define FLOAT_INFINITY 0x7f800000u
#define FLOAT_SIGN     0x80000000u

/* Inlined always: a call inside keeps a loop from becoming vector code. */
#define FLOAT_INLINE __attribute__((always_inline)) static inline

/* A finite bf16 taken apart: (-1)^(significand >> 31) × (significand & 0xff) × 2^scale, the 8 bits 0 or 128
 * … 255. */
typedef struct Bf16Parts {
        uint32_t significand;
        int32_t scale;
} Bf16Parts;

static inline bool bf16_is_zero(uint16_t x) {
        return (x & 0x7fff) == 0;
}

static inline bool bf16_is_finite(uint16_t x) {
        return (x & 0x7f80) != 0x7f80;
}

static inline bool float_is_nan(uint32_t x) {
        return (x & ~FLOAT_SIGN) > FLOAT_INFINITY;
}

/* Rounds SIGNIFICAND × 2^-3 (its lowest bit sticky) to an integer, ties to even. */
FLOAT_INLINE uint32_t float_round_3(uint32_t significand) {
        return (significand + 3 + (significand >> 3 & 1)) >> 3;
}

/* SIGNIFICAND >> N with what falls off kept in the lowest bit; N is 0 … 31. */
FLOAT_INLINE uint32_t float_shift_sticky(uint32_t significand, uint32_t n) {
        uint32_t shifted = significand >> n;

        return shifted | (shifted << n != significand ? 1 : 0);
}

/* The product of two finite numbers. 16 bits of significand are exact in 24; only results below 2^-126
 * round. */
FLOAT_INLINE uint32_t float_multiply_parts(uint32_t a, int32_t a_scale, uint32_t b, int32_t b_scale) {
        uint32_t product = (a & ~FLOAT_SIGN) * (b & ~FLOAT_SIGN);
        uint32_t high = product >> 15; /* 1: the product's leading bit is bit 15, else bit 14 */
        int32_t exponent = a_scale + b_scale + 141 + (int32_t) high;
        int32_t below = exponent < 1 ? 1 - exponent : 0;
        uint32_t shift = (uint32_t) (below > 31 ? 31 : below);
        uint32_t base = (uint32_t) (exponent < 1 ? 0 : exponent - 1);
        uint32_t rounded = float_round_3(float_shift_sticky(product << (12 - high), shift));
        uint32_t magnitude = (base << 23) + rounded;

        magnitude = exponent > 254 ? FLOAT_INFINITY : magnitude;
        magnitude = product == 0 ? 0 : magnitude;
        return magnitude | ((a ^ b) & FLOAT_SIGN);
}

/* One step to the left, where bit 26 stays the highest and the exponent stays at least 1. */
#define FLOAT_NORMALISE(sum, exponent, step)                                                                \
        {                                                                                                   \
                uint32_t room = (sum) < 1u << (27 - (step)) ? (exponent) : 0;                               \
                uint32_t by = room > (step) ? (step) : 0;                                                   \
                                                                                                            \
                (sum) <<= by;                                                                               \
                (exponent) -= by;                                                                           \
        }

FLOAT_INLINE uint32_t float_add(uint32_t x, uint32_t y) {
        uint32_t x_magnitude = x & ~FLOAT_SIGN, y_magnitude = y & ~FLOAT_SIGN;
        uint32_t a = x_magnitude < y_magnitude ? y : x,
                 b = x_magnitude < y_magnitude ? x : y; /* |a| ≥ |b| */
        uint32_t a_field = a >> 23 & 0xff, b_field = b >> 23 & 0xff;
        uint32_t a_exponent = a_field == 0 ? 1 : a_field, b_exponent = b_field == 0 ? 1 : b_field;
        uint32_t a_part = ((a & 0x7fffff) | (a_field == 0 ? 0 : 0x800000)) << 3;
        uint32_t b_part = ((b & 0x7fffff) | (b_field == 0 ? 0 : 0x800000)) << 3;
        uint32_t distance = a_exponent - b_exponent;
        uint32_t differ = (a ^ b) & FLOAT_SIGN;
        uint32_t sum, exponent = a_exponent, carry, sign, magnitude, result, spoilt;

        b_part = float_shift_sticky(b_part, distance > 31 ? 31 : distance);
        sum = differ ? a_part - b_part : a_part + b_part;

        carry = sum >> 27;
        sum = (sum >> carry) | (sum & carry);
        exponent += carry;

        /* Until bit 26 leads, but not past the exponent of subnormals: greedy by halves finds the least of
         * both. */
        FLOAT_NORMALISE(sum, exponent, 16u);
        FLOAT_NORMALISE(sum, exponent, 8u);
        FLOAT_NORMALISE(sum, exponent, 4u);
        FLOAT_NORMALISE(sum, exponent, 2u);
        FLOAT_NORMALISE(sum, exponent, 1u);

        sign = a & (sum == 0 ? b : FLOAT_SIGN) & FLOAT_SIGN; /* +0, unless both were −0 */
        magnitude = ((exponent - 1) << 23) + float_round_3(sum);
        magnitude = sum == 0 ? 0 : magnitude;
        magnitude = magnitude > FLOAT_INFINITY ? FLOAT_INFINITY : magnitude;
        result = sign | magnitude;

        /* Infinity stays, against the other infinity it is no number; a NaN has the largest magnitude, so it
         * is a. */
        spoilt = b_field == 0xff ? differ : 0;
        spoilt |= a & 0x7fffff;
        spoilt = spoilt ? FLOAT_NAN : a;
        return a_field == 0xff ? spoilt : result;
}

Bf16Parts bf16_parts(uint16_t x); /* finite only */

/* Any two bf16, the products of NaN and infinity too. */
uint32_t float_multiply(uint16_t a, uint16_t b);

#define FLOAT_BLOCK 16u

/* psum[i] += w × x[i] for N_BLOCKS × FLOAT_BLOCK finite numbers x in two arrays of parts. */
void float_multiply_add(uint32_t *restrict psum, const uint32_t *restrict significands,
                        const int32_t *restrict scales, unsigned n_blocks, Bf16Parts w);
