/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Exact
 *
 * Golden arithmetic: a number is an integer times a power of two, sums and products of such are exact, and
 * one function rounds them to binary32 (nearest even, gradual underflow). The host's floating point is not
 * asked.
 */

#include <stdbool.h>
#include <stdint.h>

#define EXACT_NAN 0x7fc00000u

/* (-1)^negative × magnitude × 2^exponent, rounded to binary32. */
uint32_t exact_round(bool negative, uint64_t magnitude, int exponent);

/* One step of a processing element: bf16 × bf16, and binary32 + binary32. Every NaN is EXACT_NAN. */
uint32_t exact_multiply(uint16_t a, uint16_t b);
uint32_t exact_add(uint32_t a, uint32_t b);

static inline bool exact_is_nan(uint32_t bits) {
        return (bits & 0x7fffffff) > 0x7f800000;
}

/* The same number, any NaN being as good as another. */
static inline bool exact_equal(uint32_t a, uint32_t b) {
        return a == b || (exact_is_nan(a) && exact_is_nan(b));
}
