/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A rounding unit worked out plainly: every lane on its own, one element after the other, on values. A number lies at the fraction f
 * between two neighbours of the format; with the random word x it goes to the outer one where f + x / 2^32 ≥ 1, which needs no
 * count of discarded bits: f is a multiple of 2^-d, so the bits of x below that cannot tip the sum. The generator is the code of
 * Marsaglia's paper (Xorshift RNGs, 2003, section 3.1). Nothing is remembered and nothing shared.
 */

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "checks/wire/wire.h"

/* ---- formats, by values ---- */

typedef struct PlainFormat {
        const char *name;
        WireFormat format;
        int exponent_bits, fraction_bits;
        unsigned bytes, lies_at; /* in these bytes */
} PlainFormat;

static const PlainFormat plain_formats[] = {
        { "bf16", FORMAT_BF16, 8, 7, 2, 0 },         { "fp16", FORMAT_FP16, 5, 10, 2, 0 },        { "tf32", FORMAT_TF32, 8, 10, 4, 13 },
        { "fp8_e4m3", FORMAT_FP8_E4M3, 4, 3, 1, 0 }, { "fp8_e5m2", FORMAT_FP8_E5M2, 5, 2, 1, 0 }, { "fp8_e3m4", FORMAT_FP8_E3M4, 3, 4, 1, 0 },
};
#define PLAIN_FORMATS (sizeof(plain_formats) / sizeof(plain_formats[0]))

static inline uint32_t plain_infinity(const PlainFormat *f) {
        return ((1u << f->exponent_bits) - 1) << f->fraction_bits;
}

static inline int plain_bias(const PlainFormat *f) {
        return (1 << (f->exponent_bits - 1)) - 1;
}

/* Of a pattern without sign; the one of infinity as if numbers went on there. */
static inline double plain_value(const PlainFormat *f, uint32_t pattern) {
        int exponent = (int) (pattern >> f->fraction_bits);
        double fraction = (double) (pattern % (1u << f->fraction_bits)) / (1u << f->fraction_bits);

        return exponent == 0 ? ldexp(fraction, 1 - plain_bias(f)) : ldexp(1 + fraction, exponent - plain_bias(f));
}

/* The largest pattern whose value is not above MAGNITUDE, which is below that of infinity. */
static inline uint32_t plain_below(const PlainFormat *f, double magnitude) {
        uint32_t low = 0, high = plain_infinity(f);

        while (high - low > 1) {
                uint32_t middle = (low + high) / 2;

                *(plain_value(f, middle) <= magnitude ? &low : &high) = middle;
        }
        return low;
}

/* ---- generator ---- */

typedef struct PlainGenerator {
        uint32_t x, y, z, w, v, d;
} PlainGenerator;

static inline uint32_t plain_xorwow(PlainGenerator *g) {
        uint32_t t = g->x ^ (g->x >> 2);

        g->x = g->y;
        g->y = g->z;
        g->z = g->w;
        g->w = g->v;
        g->v = (g->v ^ (g->v << 4)) ^ (t ^ (t << 1));
        return (g->d += 362437) + g->v;
}

static inline uint64_t plain_splitmix(uint64_t state) {
        uint64_t z = state;

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

static inline PlainGenerator plain_seed(unsigned engine, unsigned lane, uint32_t value) {
        uint64_t first = ((uint64_t) engine << 48 ^ (uint64_t) lane << 32 ^ value), out[3];
        PlainGenerator g;

        for (unsigned i = 0; i < 3; i++)
                out[i] = plain_splitmix(first + (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
        g = (PlainGenerator) { .x = (uint32_t) out[0], .y = (uint32_t) (out[0] >> 32), .z = (uint32_t) out[1], .w = (uint32_t) (out[1] >> 32),
                               .v = (uint32_t) out[2], .d = (uint32_t) (out[2] >> 32) };
        if (!g.x && !g.y && !g.z && !g.w && !g.v)
                g.v = 1;
        return g;
}

/* ---- faults ---- */

typedef enum PlainKind {
        PLAIN_RESET_IGNORED,
        PLAIN_SEED_LOST,
        PLAIN_SEED_IGNORED,
        PLAIN_SEED_SHARED,
        PLAIN_SEED_SHIFTED,
        PLAIN_LOCK_UP,
        PLAIN_SHORT_CYCLE,
        PLAIN_BITS_SWAPPED,
        PLAIN_BITS_TIED,
        PLAIN_BIT_STUCK,
        PLAIN_FEW_BITS,
        PLAIN_SR_OFF,
        PLAIN_SR_ON,
        PLAIN_FIELD_WIDTH,
        PLAIN_SR_SIGN,
        PLAIN_CARRY_LOST,
        PLAIN_FLUSHED,
        PLAIN_CONVERT_STUCK,
        _PLAIN_KIND_MAX,
} PlainKind;

static const char *const plain_kind_names[_PLAIN_KIND_MAX] = {
        "reset-ignored", "seed-lost-after-reset",
        "seed-ignored",  "lane-seed-shared", "lane-seed-shifted", "rng-lock-up", "rng-short-cycle", "rng-bits-swapped",
        "rng-bits-tied", "rng-bit-stuck",    "sr-few-bits",       "sr-off",      "sr-on",           "field-width",
        "sr-sign",       "round-carry-lost", "subnormal-flushed", "convert-stuck",
};

typedef struct PlainFault {
        PlainKind kind;
        int lane; /* -1: all of the engine */
        unsigned bit, other, value, words, lag, bits;
        bool wired_and;
        unsigned field; /* 0: one bit less, 1: one more, else plain_formats[field - 2] */
} PlainFault;

/* The faults that act in one command, as injected; NULL after the last. */
typedef const PlainFault *const PlainActive;

/* The N-th of KIND that acts on LANE: those of the engine come first. */
static inline const PlainFault *plain_nth(PlainActive *active, PlainKind kind, unsigned lane, unsigned n) {
        for (int own = 0; own < 2; own++)
                for (PlainActive *f = active; *f; f++)
                        if ((*f)->kind == kind && (*f)->lane == (own ? (int) lane : -1) && n-- == 0)
                                return *f;
        return NULL;
}

static inline const PlainFault *plain_last(PlainActive *active, PlainKind kind, unsigned lane) {
        const PlainFault *last = NULL;

        for (unsigned n = 0; plain_nth(active, kind, lane, n); n++)
                last = plain_nth(active, kind, lane, n);
        return last;
}

/* ---- one lane ---- */

typedef struct PlainLane {
        PlainGenerator now, start;
        unsigned drawn;
        bool was_reset; /* and not seeded since */
} PlainLane;

static inline void plain_lane_seed(PlainLane *lane, PlainActive *active, unsigned engine, unsigned number, uint32_t value, bool reset) {
        const PlainFault *shared = plain_last(active, PLAIN_SEED_SHARED, number), *shifted = plain_last(active, PLAIN_SEED_SHIFTED, number);

        bool first = lane->was_reset;

        lane->was_reset = reset;
        if (reset && plain_last(active, PLAIN_RESET_IGNORED, number))
                return;
        if (!reset && (plain_last(active, PLAIN_SEED_IGNORED, number) || (first && plain_last(active, PLAIN_SEED_LOST, number))))
                return;
        if (shifted)
                lane->now = plain_seed(engine, shifted->other, value);
        else
                lane->now = plain_seed(engine, shared ? shared->other : number, value);
        for (unsigned i = 0; shifted && i < shifted->lag; i++)
                (void) plain_xorwow(&lane->now);
        lane->start = lane->now;
        lane->drawn = 0;
}

static inline uint32_t plain_through(PlainActive *active, unsigned number, uint32_t word) {
        const PlainFault *f;
        bool bit[32];

        for (unsigned i = 0; i < 32; i++)
                bit[i] = word >> i & 1;
        for (unsigned n = 0; (f = plain_nth(active, PLAIN_BITS_SWAPPED, number, n)); n++) {
                bool one = bit[f->bit];

                bit[f->bit] = bit[f->other];
                bit[f->other] = one;
        }
        for (unsigned n = 0; (f = plain_nth(active, PLAIN_BITS_TIED, number, n)); n++)
                bit[f->bit] = bit[f->other] = f->wired_and ? bit[f->bit] && bit[f->other] : bit[f->bit] || bit[f->other];
        for (unsigned n = 0; (f = plain_nth(active, PLAIN_BIT_STUCK, number, n)); n++)
                bit[f->bit] = f->value;
        for (unsigned n = 0; (f = plain_nth(active, PLAIN_FEW_BITS, number, n)); n++)
                for (unsigned i = 0; i < 32 - f->bits; i++)
                        bit[i] = false;

        word = 0;
        for (unsigned i = 0; i < 32; i++)
                word |= (uint32_t) bit[i] << i;
        return word;
}

static inline uint32_t plain_draw(PlainLane *lane, PlainActive *active, unsigned number) {
        const PlainFault *cycle = plain_last(active, PLAIN_SHORT_CYCLE, number);
        uint32_t word;

        if (plain_last(active, PLAIN_LOCK_UP, number))
                return plain_through(active, number, lane->now.v + lane->now.d);
        word = plain_xorwow(&lane->now);
        lane->drawn++;
        if (cycle && lane->drawn >= cycle->words) {
                lane->now = lane->start;
                lane->drawn = 0;
        }
        return plain_through(active, number, word);
}

/* How many bits of MAGNITUDE's significand lie below a step of the format there; a unit counts no further than 63. */
static inline int plain_discarded(double magnitude, double step) {
        int exponent;

        (void) frexp(magnitude, &exponent);
        exponent = magnitude <= 0 || exponent - 24 < -149 ? -149 : exponent - 24;
        return ilogb(step) - exponent < 63 ? ilogb(step) - exponent : 63;
}

static inline bool plain_goes_up(const PlainFormat *f, double magnitude, double fraction, double step, uint32_t word, const PlainFault *field) {
        int d = plain_discarded(magnitude, step), wanted;
        long double r;

        if (!field)
                return fraction >= 1 - ldexp(word, -32);

        wanted = field->field == 0 ? d - 1 : field->field == 1 ? d + 1 : d + f->fraction_bits - plain_formats[field->field - 2].fraction_bits;
        wanted = wanted < 63 ? wanted : 63;
        r = floorl(ldexpl(word, wanted - 32));
        if (d == 63)
                fraction = 0; /* 24 bits far below */
        return fraction >= 1 - ldexpl(r, -d);
}

static inline uint32_t plain_round(const PlainFormat *f, PlainActive *active, unsigned number, float value, bool stochastic, uint32_t word) {
        uint32_t sign = signbit(value) ? 1u << (f->exponent_bits + f->fraction_bits) : 0, low, result;
        double magnitude = fabs((double) value), fraction, step;
        bool up;

        if (isnan(value))
                return sign | plain_infinity(f) | 1u << (f->fraction_bits - 1);
        if (isinf(value) || magnitude >= plain_value(f, plain_infinity(f)))
                return sign | plain_infinity(f);

        low = plain_below(f, magnitude);
        step = plain_value(f, low + 1) - plain_value(f, low);
        fraction = (magnitude - plain_value(f, low)) / step;
        if (!stochastic)
                up = fraction > 0.5 || (fraction == 0.5 && low % 2 == 1);
        else {
                up = plain_goes_up(f, magnitude, fraction, step, word, plain_last(active, PLAIN_FIELD_WIDTH, number));
                if (sign && fraction > 0 && plain_last(active, PLAIN_SR_SIGN, number))
                        up = !up;
        }

        result = low + up;
        /* The step grows, or begins to count from a power of two: only a carry out of the fraction does that. */
        if (up && result % (1u << f->fraction_bits) == 0 && plain_last(active, PLAIN_CARRY_LOST, number))
                result = low < 1u << f->fraction_bits ? 0 : plain_below(f, ldexp(1, ilogb(plain_value(f, low))));
        if (plain_value(f, result) < ldexp(1, 1 - plain_bias(f)) && plain_last(active, PLAIN_FLUSHED, number))
                result = 0;
        return sign | result;
}

/* One element as it is written. */
static inline uint32_t plain_convert(const PlainFormat *f, PlainLane *lane, PlainActive *active, unsigned number, float value, bool asked) {
        bool stochastic = asked ? !plain_last(active, PLAIN_SR_OFF, number) : plain_last(active, PLAIN_SR_ON, number) != NULL;
        uint32_t word = asked || stochastic ? plain_draw(lane, active, number) : 0, image;
        const PlainFault *stuck;

        image = plain_round(f, active, number, value, stochastic, word) << f->lies_at;
        for (unsigned n = 0; (stuck = plain_nth(active, PLAIN_CONVERT_STUCK, number, n)); n++)
                image = stuck->value ? image | 1u << stuck->bit : image & ~(1u << stuck->bit);
        return f->bytes == 4 ? image : image & ((1u << 8 * f->bytes) - 1);
}
