/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Exact
 *
 * Golden arithmetic: a number is an integer times a power of two, sums and products of such are exact, and
 * one function rounds them to binary32 (nearest even, gradual underflow). The host's floating point is not
 * asked. Every format is a part of binary32. With FTZ what is below 2^-126 becomes a zero of its sign: operands,
 * products and sums, each after rounding. Every NaN is EXACT_NAN.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/wire/wire.h"

#define EXACT_NAN 0x7fc00000u

/* (-1)^negative × magnitude × 2^exponent, rounded to binary32. */
uint32_t exact_round(bool negative, uint64_t magnitude, int exponent);

/* The number that the lower bits of IMAGE are in FORMAT (of tf32 the upper 19 of 32), as binary32. */
uint32_t exact_widen(WireFormat format, uint32_t image);

/* Of its significand, below the leading one. */
unsigned exact_fraction_bits(WireFormat format);

/* The image of (-1)^negative × magnitude × 2^exponent in FORMAT, which must have it. */
uint32_t exact_image(WireFormat format, bool negative, uint32_t magnitude, int exponent);

/* Steps of a processing element on binary32. */
uint32_t exact_multiply(uint32_t a, uint32_t b, bool ftz);
uint32_t exact_add(uint32_t a, uint32_t b, bool ftz);

/* A number as an integer of 2^UNIT, and back. False where it is none, or beyond 2^30. */
#define EXACT_INTEGER_MAX (1 << 24) /* below it every integer is a binary32 */
bool exact_to_integer(uint32_t bits, int unit, int32_t *ret);
uint32_t exact_from_integer(int32_t value, int unit);
/* The exponent of the last bit set in a number; of a zero EXACT_UNIT_MAX. */
#define EXACT_UNIT_MAX 128
int exact_unit(uint32_t bits);

/* How a processing element reads its registers; a lane is 1 for the second multiplier of double rows. */
typedef struct ExactMode {
        WireFormat w, x;
        bool ftz;
} ExactMode;

uint32_t exact_product(const ExactMode *mode, uint32_t w, uint32_t x, unsigned lane);

static inline bool exact_is_nan(uint32_t bits) {
        return (bits & 0x7fffffff) > 0x7f800000;
}

/* The same number, any NaN being as good as another. */
static inline bool exact_equal(uint32_t a, uint32_t b) {
        return a == b || (exact_is_nan(a) && exact_is_nan(b));
}
