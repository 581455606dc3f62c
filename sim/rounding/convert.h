/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Target
 *
 * One number on its way from fp32 into a format, in three steps, so that a fault can act between them: cut into what is kept and
 * what is discarded, decide whether the magnitude goes up, join. See "rounding" in checks/wire/wire.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "checks/wire/wire.h"

typedef struct Target {
        unsigned exponent_bits;
        unsigned mantissa_bits;
        unsigned bytes; /* 0: not a target of conversion */
        unsigned shift; /* of the pattern in these bytes: tf32 lies where its bits lie in binary32 */
} Target;

/* By WireFormat. */
extern const Target rounding_targets[_FORMAT_MAX];

typedef struct Cut {
        uint64_t kept;     /* the significand above the cut, with the hidden bit of a normal number */
        uint64_t fraction; /* below */
        unsigned d;        /* bits below, 1 … 63 */
        uint32_t exponent; /* what is added to the exponent field of `kept` */
        uint32_t sign;     /* in its place in the pattern */
} Cut;

/* Whether BITS is infinite or NaN, which no rounding changes; then *ret is its pattern. */
static inline bool target_is_special(const Target *target, uint32_t bits, uint32_t *ret) {
        uint32_t sign = (bits >> 31) << (target->exponent_bits + target->mantissa_bits);
        uint32_t infinity = ((1u << target->exponent_bits) - 1) << target->mantissa_bits;

        if ((bits >> 23 & 0xff) != 0xff)
                return false;
        *ret = sign | infinity | (bits & 0x7fffff ? 1u << (target->mantissa_bits - 1) : 0);
        return true;
}

static inline Cut target_cut(const Target *target, uint32_t bits) {
        int bias = (1 << (target->exponent_bits - 1)) - 1, lowest = 1 - bias;
        uint32_t field = bits >> 23 & 0xff, mantissa = bits & 0x7fffff;
        int exponent = field ? (int) field - 127 : -126;
        uint64_t significand = field ? mantissa | 0x800000 : mantissa;
        unsigned d = 23 - target->mantissa_bits;

        if (exponent < lowest)
                d += (unsigned) (lowest - exponent);
        if (d > 63)
                d = 63; /* 24 bits of significand lie far below either way */

        return (Cut) {
                .kept = significand >> d,
                .fraction = significand & ((1ull << d) - 1),
                .d = d,
                .exponent = exponent >= lowest ? (uint32_t) (exponent + bias - 1) : 0,
                .sign = (bits >> 31) << (target->exponent_bits + target->mantissa_bits),
        };
}

static inline bool cut_goes_up_nearest(const Cut *cut) {
        uint64_t half = 1ull << (cut->d - 1);

        return cut->fraction > half || (cut->fraction == half && (cut->kept & 1));
}

/* WORD taken in a field of FIELD bits, 1 … 63: cut->d of them where nothing is wrong. */
static inline bool cut_goes_up_stochastic(const Cut *cut, uint32_t word, unsigned field) {
        uint64_t r = field <= 32 ? word >> (32 - field) : (uint64_t) word << (field - 32);

        return cut->fraction + r >= 1ull << cut->d;
}

/* KEPT is cut->kept or one more: a carry runs into the exponent by itself, from subnormal to normal too. */
static inline uint32_t cut_join(const Target *target, const Cut *cut, uint64_t kept) {
        uint64_t infinity = ((1ull << target->exponent_bits) - 1) << target->mantissa_bits;
        uint64_t result = ((uint64_t) cut->exponent << target->mantissa_bits) + kept;

        return cut->sign | (uint32_t) (result < infinity ? result : infinity);
}

/* A pattern as it is written: an image of target->bytes bytes. */
static inline uint32_t target_image(const Target *target, uint32_t pattern) {
        return pattern << target->shift;
}

/* IMAGE as element I of OUT. */
static inline void target_store(const Target *target, uint32_t image, uint8_t *out, size_t i) {
        uint16_t half = (uint16_t) image;

        if (target->bytes == 1)
                out[i] = (uint8_t) image;
        else if (target->bytes == 2)
                memcpy(out + i * sizeof(half), &half, sizeof(half));
        else
                memcpy(out + i * sizeof(image), &image, sizeof(image));
}
