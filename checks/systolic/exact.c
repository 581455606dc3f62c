/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/exact.h"

#define INFINITE 0x7f800000u
#define NEGATIVE 0x80000000u

typedef struct Number {
        bool negative;
        uint64_t magnitude;
        int exponent;
} Number;

uint32_t exact_round(bool negative, uint64_t magnitude, int exponent) {
        uint32_t sign = negative ? NEGATIVE : 0;
        int length, unit, drop;
        uint64_t kept, rest, half;

        if (magnitude == 0)
                return sign;

        /* The unit in the last place: 24 bits below the leading one, but not under the smallest subnormal.
         */
        length = 64 - __builtin_clzll(magnitude);
        unit = exponent + length - 24;
        if (unit < -149)
                unit = -149;

        drop = unit - exponent;
        if (drop > 63) /* nothing stays but what rounds up to one unit */
                return sign | (drop == 64 && magnitude > UINT64_C(1) << 63);

        if (drop > 0) {
                kept = magnitude >> drop;
                rest = magnitude & ((UINT64_C(1) << drop) - 1);
                half = UINT64_C(1) << (drop - 1);
                kept += rest > half || (rest == half && (kept & 1));
        } else
                kept = magnitude << -drop;

        if (kept == 1u << 24) {
                kept >>= 1;
                unit++;
        }
        if (unit > 104)
                return sign | INFINITE;

        /* A kept number without its bit 23 is subnormal, and then unit is -149: its exponent field is 0. */
        if (kept < 1u << 23)
                return sign | (uint32_t) kept;
        return sign | (uint32_t) (unit + 150) << 23 | ((uint32_t) kept & 0x7fffff);
}

static Number number_of(uint32_t bits) {
        uint32_t field = bits >> 23 & 0xff;

        return (Number){
                .negative = bits >> 31,
                .magnitude = (bits & 0x7fffff) | (field > 0 ? 1u << 23 : 0),
                .exponent = (int) (field > 0 ? field : 1) - 150,
        };
}

uint32_t exact_multiply(uint16_t a, uint16_t b) {
        uint32_t x = (uint32_t) a << 16, y = (uint32_t) b << 16;
        uint32_t sign = (x ^ y) & NEGATIVE;
        Number p, q;

        if (exact_is_nan(x) || exact_is_nan(y))
                return EXACT_NAN;
        if ((x & INFINITE) == INFINITE || (y & INFINITE) == INFINITE)
                return (x & ~NEGATIVE) == 0 || (y & ~NEGATIVE) == 0 ? EXACT_NAN : sign | INFINITE;

        p = number_of(x);
        q = number_of(y);
        return exact_round(sign != 0, p.magnitude * q.magnitude, p.exponent + q.exponent);
}

/* |a| ≥ |b| and both are finite: aligned without loss, or, where b is far below a's last place, as a little
 * more or less than a. */
static uint32_t add_finite(Number a, Number b) {
        bool differ = a.negative != b.negative;
        int distance = a.exponent - b.exponent;
        uint64_t magnitude;

        if (distance > 38) {
                a.magnitude <<= 4;
                a.exponent -= 4;
                b.magnitude = b.magnitude > 0 ? 1 : 0;
        } else {
                a.magnitude <<= distance;
                a.exponent = b.exponent;
        }

        magnitude = differ ? a.magnitude - b.magnitude : a.magnitude + b.magnitude;
        if (magnitude == 0)
                return a.negative && b.negative ? NEGATIVE : 0;
        return exact_round(a.negative, magnitude, a.exponent);
}

uint32_t exact_add(uint32_t a, uint32_t b) {
        bool a_is_infinite = (a & ~NEGATIVE) == INFINITE, b_is_infinite = (b & ~NEGATIVE) == INFINITE;

        if (exact_is_nan(a) || exact_is_nan(b) || (a_is_infinite && b_is_infinite && a != b))
                return EXACT_NAN;
        if (a_is_infinite)
                return a;
        if (b_is_infinite)
                return b;

        if ((a & ~NEGATIVE) < (b & ~NEGATIVE))
                return add_finite(number_of(b), number_of(a));
        return add_finite(number_of(a), number_of(b));
}
