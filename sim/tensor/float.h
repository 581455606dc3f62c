/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor float
 *
 * The arithmetic of processing elements over whole rows: products of numbers taken apart and binary32 + binary32, round to nearest
 * even, gradual underflow or flush to zero, one NaN. Integers only, so that neither the host's rounding and flush modes nor
 * -ffast-math can reach it, and without branches, so that a loop over it becomes vector code.
 */

#include <stdbool.h>
#include <stdint.h>

#define FLOAT_NAN      0x7fc00000u
#define FLOAT_INFINITY 0x7f800000u
#define FLOAT_SIGN     0x80000000u

/* Inlined always: a call inside keeps a loop from becoming vector code. */
#define FLOAT_INLINE __attribute__((always_inline)) static inline

/* A finite number taken apart: (-1)^(significand >> 31) × (the other bits) × 2^scale. They are 0 or have their highest bit set: of 24
 * in fp32, of 12 in all other formats, whose products are exact in 24 bits. */
typedef struct FloatParts {
        uint32_t significand;
        int32_t scale;
} FloatParts;

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

/* PRODUCT is 27 bits, the highest set and the lowest sticky, or 0; EXPONENT that of binary32, if it has one. */
FLOAT_INLINE uint32_t float_assemble(uint32_t product, int32_t exponent, uint32_t sign) {
        int32_t below = exponent < 1 ? 1 - exponent : 0;
        uint32_t shift = (uint32_t) (below > 31 ? 31 : below);
        uint32_t base = (uint32_t) (exponent < 1 ? 0 : exponent - 1);
        uint32_t magnitude = (base << 23) + float_round_3(float_shift_sticky(product, shift));

        magnitude = exponent > 254 ? FLOAT_INFINITY : magnitude;
        magnitude = product == 0 ? 0 : magnitude;
        return magnitude | (sign & FLOAT_SIGN);
}

/* The product of two finite numbers of 12 bits. */
FLOAT_INLINE uint32_t float_multiply_12(uint32_t a, int32_t a_scale, uint32_t b, int32_t b_scale) {
        uint32_t product = (a & ~FLOAT_SIGN) * (b & ~FLOAT_SIGN);
        uint32_t high = product >> 23; /* 1: the product's leading bit is bit 23, else bit 22 */

        return float_assemble(product << (4 - high), a_scale + b_scale + 149 + (int32_t) high, a ^ b);
}

/* Of two of 24 bits: the four products of their halves, added in 48 bits. */
FLOAT_INLINE uint32_t float_multiply_24(uint32_t a, int32_t a_scale, uint32_t b, int32_t b_scale) {
        uint32_t a_high = a >> 12 & 0xfff, a_low = a & 0xfff, b_high = b >> 12 & 0xfff, b_low = b & 0xfff;
        uint32_t low = a_low * b_low;
        uint32_t middle = a_high * b_low + a_low * b_high + (low >> 12);
        uint32_t top = a_high * b_high + (middle >> 12); /* bits 24 … 47 */
        uint32_t rest = (middle & 0xfff) << 12 | (low & 0xfff);
        uint32_t high = top >> 23;
        uint32_t product = top << (4 - high) | rest >> (20 + high);

        product |= rest << (12 - high) ? 1 : 0; /* what did not fit */
        return float_assemble(product, a_scale + b_scale + 173 + (int32_t) high, a ^ b);
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

/* Magnitudes below 2^-126 become zeros of their sign. */
FLOAT_INLINE uint32_t float_flush(uint32_t x) {
        return (x & FLOAT_INFINITY) == 0 ? x & FLOAT_SIGN : x;
}

#define FLOAT_BLOCK 16u

/* One multiplier of a PE over a row: finite numbers in two arrays of parts, and its weight. */
typedef struct FloatLane {
        const uint32_t *significands;
        const int32_t *scales;
        FloatParts w;
} FloatLane;

typedef enum FloatWidth {
        FLOAT_12,     /* numbers of 12 bits */
        FLOAT_24,     /* of 24 bits */
        FLOAT_DOUBLE, /* of 12 bits, by two multipliers, whose products are added first */
        _FLOAT_WIDTH_MAX,
} FloatWidth;

/* psum[i] += w × x[i] for N_BLOCKS × FLOAT_BLOCK numbers x; of LANES there are two in double rows, else one. */
void float_multiply_add(uint32_t *restrict psum, const FloatLane *lanes, unsigned n_blocks, FloatWidth width, bool ftz);

/* The same for N of them, whose sums are those AT. */
void float_multiply_add_at(uint32_t *restrict psum, const FloatLane *lanes, const uint16_t *at, unsigned n, FloatWidth width, bool ftz);
