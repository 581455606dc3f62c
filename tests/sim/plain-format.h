/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The arithmetic of a processing element with the host's floats: a number is decoded to a long double by its definition, products and
 * sums are exact there or rounded by the host's conversion to float. Shares nothing with sim/tensor/format.c.
 */

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "checks/wire/wire.h"

#define PLAIN_NAN 0x7fc00000u

static inline float plain_float(uint32_t bits) {
        float value;

        memcpy(&value, &bits, sizeof(value));
        return value;
}

static inline uint32_t plain_bits(float value) {
        uint32_t bits;

        memcpy(&bits, &value, sizeof(bits));
        return isnan(value) ? PLAIN_NAN : bits;
}

static inline uint32_t plain_flush(bool ftz, uint32_t bits) {
        return ftz && fabsf(plain_float(bits)) < 0x1p-126f ? bits & 0x80000000 : bits;
}

/* Formats by how many bits their exponent and fraction have. */
static inline float plain_small(uint32_t bits, unsigned n_exponent, unsigned n_fraction) {
        int field = (int) (bits >> n_fraction & ((1u << n_exponent) - 1)), top = (1 << n_exponent) - 1, bias = top / 2;
        float fraction = (float) (bits & ((1u << n_fraction) - 1)) / (float) (1u << n_fraction), value;

        if (field == top)
                value = fraction == 0 ? INFINITY : NAN;
        else
                value = ldexpf(field == 0 ? fraction : 1 + fraction, (field == 0 ? 1 : field) - bias);

        return bits >> (n_exponent + n_fraction) & 1 ? -value : value;
}

/* Every number of every format is a binary32. */
static inline float plain_decode(WireFormat format, uint32_t image) {
        switch (format) {
        case FORMAT_FP32:
                return plain_float(image);
        case FORMAT_BF16:
                return plain_float(image << 16);
        case FORMAT_FP16:
                return plain_small(image & 0xffff, 5, 10);
        case FORMAT_TF32:
                return plain_float(image & 0xffffe000);
        case FORMAT_FP8_E4M3:
                return plain_small(image & 0xff, 4, 3);
        case FORMAT_FP8_E5M2:
                return plain_small(image & 0xff, 5, 2);
        case FORMAT_FP8_E3M4:
                return plain_small(image & 0xff, 3, 4);
        case _FORMAT_MAX:
                break;
        }
        return NAN;
}

/* A long double holds any product of two binary32 exactly. */
static inline uint32_t plain_multiply(bool ftz, WireFormat w_format, uint32_t w, WireFormat x_format, uint32_t x) {
        float a = plain_float(plain_flush(ftz, plain_bits(plain_decode(w_format, w))));
        float b = plain_float(plain_flush(ftz, plain_bits(plain_decode(x_format, x))));

        return plain_flush(ftz, plain_bits((float) ((long double) a * (long double) b)));
}

static inline uint32_t plain_add(bool ftz, uint32_t a, uint32_t b) {
        return plain_flush(ftz, plain_bits(plain_float(plain_flush(ftz, a)) + plain_float(plain_flush(ftz, b))));
}
