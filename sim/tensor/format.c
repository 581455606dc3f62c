/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/format.h"

/* 1 sign, `exponent` and `fraction` bits, in a register above `low` unused ones. The highest exponent is infinity and NaN. */
typedef struct Shape {
        uint8_t exponent, fraction, low;
} Shape;

static const Shape shapes[_FORMAT_MAX] = {
        [FORMAT_FP32] = { 8, 23, 0 },    [FORMAT_BF16] = { 8, 7, 0 },     [FORMAT_FP16] = { 5, 10, 0 },
        [FORMAT_TF32] = { 8, 10, 13 },   [FORMAT_FP8_E4M3] = { 4, 3, 0 }, [FORMAT_FP8_E5M2] = { 5, 2, 0 },
        [FORMAT_FP8_E3M4] = { 3, 4, 0 },
};

static uint32_t low_bits(unsigned n) {
        return (uint32_t) ((UINT64_C(1) << n) - 1);
}

uint32_t format_mask(WireFormat format) {
        const Shape *shape = &shapes[format];

        return low_bits(1u + shape->exponent + shape->fraction) << shape->low;
}

uint32_t format_sign(WireFormat format) {
        const Shape *shape = &shapes[format];

        return 1u << (shape->exponent + shape->fraction + shape->low);
}

uint32_t format_exponent(WireFormat format) {
        const Shape *shape = &shapes[format];

        return low_bits(shape->exponent) << (shape->fraction + shape->low);
}

/* Moves the leading bit to bit 23. */
static Number number_normalise(Number number, bool ftz) {
        int32_t by;

        if (number.significand == 0)
                return number;

        by = __builtin_clz(number.significand) - 8;
        number.significand <<= by;
        number.scale -= by;
        if (ftz && number.scale + 23 < -126)
                number.significand = 0;
        return number;
}

Number number_read(WireFormat format, uint32_t image, bool ftz) {
        const Shape *shape = &shapes[format];
        uint32_t bits = image >> shape->low, top = low_bits(shape->exponent);
        uint32_t fraction = bits & low_bits(shape->fraction), field = bits >> shape->fraction & top;
        Number number = { .negative = bits >> (shape->exponent + shape->fraction) & 1 };

        if (field == top) {
                number.class = fraction == 0 ? NUMBER_INFINITE : NUMBER_NAN;
                return number;
        }

        number.significand = fraction | (field > 0 ? 1u << shape->fraction : 0);
        number.scale = (int32_t) (field > 0 ? field : 1) - (int32_t) (top >> 1) - shape->fraction;
        return number_normalise(number, ftz);
}

static bool number_is_zero(const Number *number) {
        return number->class == NUMBER_FINITE && number->significand == 0;
}

uint32_t float_round(bool negative, uint64_t significand, int32_t scale) {
        uint32_t sign = negative ? FLOAT_SIGN : 0;
        uint64_t kept, half, rest;
        int32_t length, drop;

        if (significand == 0)
                return sign;

        length = 64 - __builtin_clzll(significand);
        if (scale + length > 128)
                return sign | FLOAT_INFINITY;

        /* As many bits go as leave 24, or as lie below 2^-149. */
        drop = length - 24 > -149 - scale ? length - 24 : -149 - scale;
        if (drop > length)
                return sign;
        if (drop <= 0) {
                kept = significand << -drop;
        } else {
                kept = drop < 64 ? significand >> drop : 0;
                half = UINT64_C(1) << (drop - 1);
                rest = significand & (half | (half - 1));
                kept += rest > half || (rest == half && kept & 1);
        }

        /* The exponent counts one too few, for the leading bit adds it where there is one; a carry runs into the exponent. */
        return sign | (uint32_t) (((uint64_t) (scale + drop + 149) << 23) + kept);
}

static uint32_t number_multiply(PeMode mode, const Number *a, const Number *b) {
        bool negative = a->negative != b->negative;
        uint32_t product;

        if (a->class == NUMBER_NAN || b->class == NUMBER_NAN)
                return FLOAT_NAN;
        if (a->class == NUMBER_INFINITE || b->class == NUMBER_INFINITE)
                return number_is_zero(a) || number_is_zero(b) ? FLOAT_NAN : (negative ? FLOAT_SIGN : 0) | FLOAT_INFINITY;

        product = float_round(negative, (uint64_t) a->significand * b->significand, a->scale + b->scale);
        return mode.ftz ? float_flush(product) : product;
}

void pe_multiply_row(PeMode mode, uint32_t w, const uint32_t *x, unsigned n, unsigned lane, uint32_t *ret) {
        unsigned shift = mode.double_row ? 8 * lane : 0;
        Number a = number_read(mode.weights, w >> shift, mode.ftz);

        for (unsigned i = 0; i < n; i++) {
                Number b = number_read(mode.activations, x[i] >> shift, mode.ftz);

                ret[i] = number_multiply(mode, &a, &b);
        }
}

uint32_t pe_multiply(PeMode mode, uint32_t w, uint32_t x, unsigned lane) {
        uint32_t product;

        pe_multiply_row(mode, w, &x, 1, lane, &product);
        return product;
}

uint32_t pe_add(PeMode mode, uint32_t a, uint32_t b) {
        return mode.ftz ? float_flush(float_add(float_flush(a), float_flush(b))) : float_add(a, b);
}

uint32_t pe_step(PeMode mode, uint32_t psum, uint32_t w, uint32_t x) {
        uint32_t product = pe_multiply(mode, w, x, 0);

        if (mode.double_row)
                product = pe_add(mode, product, pe_multiply(mode, w, x, 1));
        return pe_add(mode, psum, product);
}

uint32_t pe_pass(PeMode mode, uint32_t passed, uint32_t w, uint32_t x) {
        Number number = number_read(mode.activations, x, mode.ftz);

        return number_is_zero(&number) ? passed : passed | w;
}
