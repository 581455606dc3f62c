/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/patterns/exact.h"

#include <assert.h>

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

/* Widths of the formats: exponent and significand bits below the sign. */
static const struct {
        unsigned exponent, fraction, shift; /* shift: unused bits at the lower end */
} shapes[_FORMAT_MAX] = {
        [FORMAT_FP32]     = { 8, 23, 0 },
        [FORMAT_BF16]     = { 8, 7, 0 },
        [FORMAT_FP16]     = { 5, 10, 0 },
        [FORMAT_TF32]     = { 8, 10, 13 },
        [FORMAT_FP8_E4M3] = { 4, 3, 0 },
        [FORMAT_FP8_E5M2] = { 5, 2, 0 },
        [FORMAT_FP8_E3M4] = { 3, 4, 0 },
};

unsigned exact_fraction_bits(WireFormat format) {
        return shapes[format].fraction;
}

uint32_t exact_widen(WireFormat format, uint32_t image) {
        unsigned e_bits = shapes[format].exponent, f_bits = shapes[format].fraction;
        uint32_t bits = image >> shapes[format].shift, top = (1u << e_bits) - 1;
        uint32_t fraction = bits & ((1u << f_bits) - 1), field = bits >> f_bits & top;
        bool negative = bits >> (e_bits + f_bits) & 1;
        int bias = (1 << (e_bits - 1)) - 1;

        if (field == top)
                return fraction ? EXACT_NAN : (negative ? NEGATIVE : 0) | INFINITE;
        return exact_round(negative, fraction | (field > 0 ? 1u << f_bits : 0),
                           (int) (field > 0 ? field : 1) - bias - (int) f_bits);
}

uint32_t exact_image(WireFormat format, bool negative, uint32_t magnitude, int exponent) {
        unsigned e_bits = shapes[format].exponent, f_bits = shapes[format].fraction;
        int bias = (1 << (e_bits - 1)) - 1, unit, length;
        uint32_t sign = (uint32_t) negative << (e_bits + f_bits), bits;

        assert(magnitude > 0);

        length = 32 - __builtin_clz(magnitude);
        unit = exponent + length - 1 - (int) f_bits;
        if (unit < 1 - bias - (int) f_bits)
                unit = 1 - bias - (int) f_bits;

        if (unit > exponent) {
                assert(unit - exponent < 32 && (magnitude & ((1u << (unit - exponent)) - 1)) == 0);
                magnitude >>= unit - exponent;
        } else
                magnitude <<= exponent - unit;

        /* The leading bit of a normal number adds 1 to the exponent field. */
        bits = sign | (((uint32_t) (unit + bias + (int) f_bits - 1) << f_bits) + magnitude);
        assert((bits >> f_bits & ((1u << e_bits) - 1)) < (1u << e_bits) - 1);
        return bits << shapes[format].shift;
}

static uint32_t flush(uint32_t bits, bool ftz) {
        return ftz && (bits & INFINITE) == 0 ? bits & NEGATIVE : bits;
}

static Number number_of(uint32_t bits) {
        uint32_t field = bits >> 23 & 0xff;

        return (Number){
                .negative = bits >> 31,
                .magnitude = (bits & 0x7fffff) | (field > 0 ? 1u << 23 : 0),
                .exponent = (int) (field > 0 ? field : 1) - 150,
        };
}

uint32_t exact_multiply(uint32_t a, uint32_t b, bool ftz) {
        uint32_t x = flush(a, ftz), y = flush(b, ftz), sign = (x ^ y) & NEGATIVE;
        Number p, q;

        if (exact_is_nan(x) || exact_is_nan(y))
                return EXACT_NAN;
        if ((x & INFINITE) == INFINITE || (y & INFINITE) == INFINITE)
                return (x & ~NEGATIVE) == 0 || (y & ~NEGATIVE) == 0 ? EXACT_NAN : sign | INFINITE;

        p = number_of(x);
        q = number_of(y);
        return flush(exact_round(sign != 0, p.magnitude * q.magnitude, p.exponent + q.exponent), ftz);
}

uint32_t exact_product(const ExactMode *mode, uint32_t w, uint32_t x, unsigned lane) {
        return exact_multiply(exact_widen(mode->w, w >> 8 * lane), exact_widen(mode->x, x >> 8 * lane), mode->ftz);
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

uint32_t exact_add(uint32_t a, uint32_t b, bool ftz) {
        bool a_is_infinite = (a & ~NEGATIVE) == INFINITE, b_is_infinite = (b & ~NEGATIVE) == INFINITE;

        if (exact_is_nan(a) || exact_is_nan(b) || (a_is_infinite && b_is_infinite && a != b))
                return EXACT_NAN;
        if (a_is_infinite)
                return a;
        if (b_is_infinite)
                return b;

        a = flush(a, ftz);
        b = flush(b, ftz);
        if ((a & ~NEGATIVE) < (b & ~NEGATIVE))
                return flush(add_finite(number_of(b), number_of(a)), ftz);
        return flush(add_finite(number_of(a), number_of(b)), ftz);
}

bool exact_to_integer(uint32_t bits, int unit, int32_t *ret) {
        uint32_t field = bits >> 23 & 0xff;
        int64_t magnitude = (bits & 0x7fffff) | (field > 0 ? 1u << 23 : 0);
        int shift = (int) (field > 0 ? field : 1) - 150 - unit;

        if ((bits & ~NEGATIVE) == 0) {
                *ret = 0;
                return true;
        }
        if (field == 0xff || shift > 6 || shift < -23 || (shift < 0 && (magnitude & ((1 << -shift) - 1))))
                return false;

        magnitude = shift < 0 ? magnitude >> -shift : magnitude << shift;
        *ret = (int32_t) (bits & NEGATIVE ? -magnitude : magnitude);
        return true;
}

uint32_t exact_from_integer(int32_t value, int unit) {
        return exact_round(value < 0, (uint64_t) (value < 0 ? -(int64_t) value : value), unit);
}

int exact_unit(uint32_t bits) {
        uint32_t field = bits >> 23 & 0xff, magnitude = (bits & 0x7fffff) | (field > 0 ? 1u << 23 : 0);

        return magnitude == 0 ? EXACT_UNIT_MAX : (int) (field > 0 ? field : 1) - 150 + __builtin_ctz(magnitude);
}
