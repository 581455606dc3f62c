/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/golden.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

/* IEEE-style formats: bits of exponent, bits of fraction (Neuron and OCP documents). */
static const struct {
        int exponent_bits, fraction_bits;
} shapes[_FORMAT_MAX] = {
        [FORMAT_BF16] = { 8, 7 }, [FORMAT_FP16] = { 5, 10 }, [FORMAT_TF32] = { 8, 10 }, [FORMAT_FP8_E4M3] = { 4, 3 }, [FORMAT_FP8_E5M2] = { 5, 2 },
        [FORMAT_FP8_E3M4] = { 3, 4 },
};

/* ---- generator: three outputs of splitmix64, cut in halves, then Marsaglia's XORWOW ---- */

void golden_lane_seed(GoldenLane *lane, WireEngine engine, unsigned number, uint32_t seed) {
        const uint64_t step = UINT64_C(0x9e3779b97f4a7c15);
        uint64_t start = (uint64_t) seed ^ ((uint64_t) number << 32) ^ ((uint64_t) engine << 48);
        uint32_t halves[6];
        bool zero = true;

        for (unsigned i = 0; i < 3; i++) {
                uint64_t z = start + step * (i + 1);

                z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
                z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
                z ^= z >> 31;
                halves[2 * i] = (uint32_t) (z & UINT32_MAX);
                halves[2 * i + 1] = (uint32_t) (z >> 32);
        }
        for (unsigned i = 0; i < 5; i++) {
                lane->x[i] = halves[i];
                zero = zero && halves[i] == 0;
        }
        if (zero)
                lane->x[4] = 1;
        lane->weyl = halves[5];
}

uint32_t golden_lane_next(GoldenLane *lane) {
        uint32_t first = lane->x[0], last = lane->x[4], mixed = first ^ (first >> 2);

        for (unsigned i = 0; i < 4; i++)
                lane->x[i] = lane->x[i + 1];
        lane->x[4] = last ^ (last << 4) ^ mixed ^ (mixed << 1);
        lane->weyl += 362437;
        return lane->x[4] + lane->weyl;
}

/* ---- formats ---- */

uint32_t golden_infinity(WireFormat format) {
        return ((1u << shapes[format].exponent_bits) - 1) << shapes[format].fraction_bits;
}

uint32_t golden_sign(WireFormat format) {
        return 1u << (shapes[format].exponent_bits + shapes[format].fraction_bits);
}

/* 2^e for what binary64 has as a normal number: ldexp(1, e), without its care for what it has not. */
static double power(int e) {
        uint64_t bits = (uint64_t) (1023 + e) << 52;
        double value;

        memcpy(&value, &bits, sizeof(value));
        return value;
}

double golden_value(WireFormat format, uint32_t pattern) {
        int fraction_bits = shapes[format].fraction_bits, bias = (1 << (shapes[format].exponent_bits - 1)) - 1;
        int exponent = (int) (pattern >> fraction_bits);
        double fraction = (double) (pattern & ((1u << fraction_bits) - 1));

        if (pattern >= golden_infinity(format))
                return INFINITY;
        if (exponent == 0)
                return fraction * power(1 - bias - fraction_bits);
        return (power(fraction_bits) + fraction) * power(exponent - bias - fraction_bits);
}

int golden_step_exponent(WireFormat format, uint32_t pattern) {
        int fraction_bits = shapes[format].fraction_bits, bias = (1 << (shapes[format].exponent_bits - 1)) - 1;
        int exponent = (int) (pattern >> fraction_bits);

        return (exponent > 0 ? exponent : 1) - bias - fraction_bits;
}

double golden_step(WireFormat format, uint32_t pattern) {
        return power(golden_step_exponent(format, pattern));
}

/* The largest finite pattern whose value is not above MAGNITUDE. */
static uint32_t neighbour_below(WireFormat format, double magnitude) {
        uint32_t low = 0, high = golden_infinity(format);

        while (high - low > 1) {
                uint32_t middle = low + (high - low) / 2;

                if (golden_value(format, middle) <= magnitude)
                        low = middle;
                else
                        high = middle;
        }

        return low;
}

uint32_t golden_nearest(WireFormat format, float value) {
        uint32_t sign = signbit(value) ? golden_sign(format) : 0, infinity = golden_infinity(format), low;
        double magnitude = fabs((double) value), below, above;

        if (isnan(value))
                return sign | infinity | 1u << (shapes[format].fraction_bits - 1);
        if (isinf(value))
                return sign | infinity;

        low = neighbour_below(format, magnitude);
        below = golden_value(format, low);
        above = below + golden_step(format, low);

        /* Differences of neighbours and numbers between them are exact in double. */
        if (magnitude - below > above - magnitude || (magnitude - below == above - magnitude && (low & 1)))
                low++;
        return sign | low;
}

/* ---- as the unit writes them ---- */

uint32_t golden_image(WireFormat format, uint32_t pattern) {
        return format == FORMAT_TF32 ? pattern << 13 : pattern; /* it lies where its bits lie in binary32 */
}

void golden_store(WireFormat format, uint32_t image, void *out, size_t i) {
        unsigned n = wire_format_bytes(format);

        memcpy((uint8_t *) out + i * n, &image, n); /* little endian, as the wire: same machine */
}

uint32_t golden_load(WireFormat format, const void *out, size_t i) {
        unsigned n = wire_format_bytes(format);
        uint32_t image = 0;

        memcpy(&image, (const uint8_t *) out + i * n, n);
        return image;
}

uint32_t golden_fraction_mask(WireFormat format) {
        return (1u << shapes[format].fraction_bits) - 1;
}
