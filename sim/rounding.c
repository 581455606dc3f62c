/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The rounding units of a core: conversion from fp32 on the Vector, Scalar and GpSimd engines, to nearest or stochastic
 * with one XORWOW generator per lane, as specified in checks/wire.h.
 *
 * Healthy lanes of many cores and chips see the same seeds and the same inputs, so what a whole engine answered is kept
 * and compared, not computed again; lanes with a fault are then replayed on top.
 */

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/model.h"

#define CONVERT_COUNT_MAX 65536u
#define MEMORY_ENTRIES    32u
#define MEMORY_BYTES_MAX  (1u << 20)       /* inputs larger than this are not kept */
#define CONVERT_NSEC(n)   (64 + (n) * 128 / 123) /* 0.96 GHz, one element of each lane a cycle */

typedef struct Generator {
        uint32_t x[5];
        uint32_t d;
} Generator;

typedef struct Engine {
        Generator *lanes; /* ENGINE_LANES; NULL until first used: then as after a reset */
        size_t n_faults;
        const Fault **faults;
} Engine;

typedef struct Rounding {
        Engine engines[_ENGINE_MAX];
} Rounding;

typedef struct Format {
        unsigned exponent_bits;
        unsigned mantissa_bits;
        unsigned bytes; /* 0: not a target of conversion */
} Format;

static const Format formats[_FORMAT_MAX] = {
        [FORMAT_BF16]     = { 8, 7,  2 },
        [FORMAT_FP16]     = { 5, 10, 2 },
        [FORMAT_FP8_E4M3] = { 4, 3,  1 },
        [FORMAT_FP8_E5M2] = { 5, 2,  1 },
        [FORMAT_FP8_E3M4] = { 3, 4,  1 },
};

/* What one engine answered, for the same generators and the same input. */
typedef struct Remembered {
        WireConvert convert;
        Generator before[ENGINE_LANES], after[ENGINE_LANES];
        size_t n_in, n_out;
        uint8_t *in, *out;
} Remembered;

typedef struct Memory {
        Remembered entries[MEMORY_ENTRIES];
        unsigned next;
} Memory;

static _Thread_local Memory memory;
static pthread_once_t memory_once = PTHREAD_ONCE_INIT;
static pthread_key_t memory_key;
static int memory_key_error;

/* A thread takes its memory with it. */
static void memory_done(void *p) {
        Memory *own = p;

        for (unsigned i = 0; i < MEMORY_ENTRIES; i++)
                free(own->entries[i].in);
        *own = (Memory) {};
}

static void memory_make_key(void) {
        memory_key_error = pthread_key_create(&memory_key, memory_done);
}

/* ---- generator ---- */

static uint64_t splitmix64(uint64_t *state) {
        uint64_t x = *state += 0x9e3779b97f4a7c15u;

        x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
        x = (x ^ x >> 27) * 0x94d049bb133111ebu;
        return x ^ x >> 31;
}

static void generator_seed(Generator *generator, unsigned engine, unsigned lane, uint32_t seed) {
        uint64_t state = (uint64_t) seed ^ (uint64_t) lane << 32 ^ (uint64_t) engine << 48;
        uint32_t words[6];

        for (unsigned i = 0; i < 3; i++) {
                uint64_t word = splitmix64(&state);

                words[2 * i] = (uint32_t) word;
                words[2 * i + 1] = (uint32_t) (word >> 32);
        }

        memcpy(generator->x, words, sizeof(generator->x));
        generator->d = words[5];
        if ((words[0] | words[1] | words[2] | words[3] | words[4]) == 0)
                generator->x[4] = 1;
}

static inline uint32_t generator_next(Generator *g) {
        uint32_t t = g->x[0] ^ g->x[0] >> 2;

        g->x[0] = g->x[1];
        g->x[1] = g->x[2];
        g->x[2] = g->x[3];
        g->x[3] = g->x[4];
        g->x[4] = (g->x[4] ^ g->x[4] << 4) ^ (t ^ t << 1);
        g->d += 362437;
        return g->x[4] + g->d;
}

static int engine_prepare(Engine *engine, unsigned number) {
        if (engine->lanes)
                return 0;

        engine->lanes = calloc(ENGINE_LANES, sizeof(*engine->lanes));
        if (!engine->lanes)
                return -ENOMEM;
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                generator_seed(&engine->lanes[lane], number, lane, 0);
        return 0;
}

/* ---- conversion of one element ---- */

static uint32_t special(const Format *format, uint32_t sign, uint32_t mantissa) {
        uint32_t infinity = ((1u << format->exponent_bits) - 1) << format->mantissa_bits;

        return sign | infinity | (mantissa ? 1u << (format->mantissa_bits - 1) : 0);
}

/* Whether the magnitude goes up: KEPT and FRACTION are its significand above and below the cut of D bits. */
static inline bool goes_up(bool stochastic, uint32_t word, uint64_t kept, uint64_t fraction, unsigned d) {
        if (stochastic)
                return d <= 32 ? fraction + (word >> (32 - d)) >= 1ull << d : (fraction >> (d - 32)) + word >= 1ull << 32;

        uint64_t half = 1ull << (d - 1);
        return fraction > half || (fraction == half && (kept & 1));
}

static inline uint32_t convert_one(const Format *format, uint32_t bits, bool stochastic, uint32_t word) {
        int bias = (1 << (format->exponent_bits - 1)) - 1, lowest = 1 - bias;
        uint32_t sign = (bits >> 31) << (format->exponent_bits + format->mantissa_bits);
        uint32_t field = bits >> 23 & 0xff, mantissa = bits & 0x7fffff;
        int exponent = field ? (int) field - 127 : -126;
        uint64_t significand = field ? mantissa | 0x800000 : mantissa;
        unsigned d = 23 - format->mantissa_bits;
        uint64_t kept, result;

        if (field == 0xff)
                return special(format, sign, mantissa);

        if (exponent < lowest)
                d += (unsigned) (lowest - exponent);
        if (d > 63)
                d = 63; /* 24 bits of significand lie far below either way */

        kept = significand >> d;
        kept += goes_up(stochastic, word, kept, significand & ((1ull << d) - 1), d);
        /* A carry runs into the exponent by itself, from subnormal to normal too. */
        result = exponent >= lowest ? ((uint64_t) (exponent + bias - 1) << format->mantissa_bits) + kept : kept;

        uint64_t infinity = ((1ull << format->exponent_bits) - 1) << format->mantissa_bits;
        return sign | (uint32_t) (result < infinity ? result : infinity);
}

/* ---- one lane ---- */

typedef struct LaneFault {
        bool nearest;      /* stochastic rounding is stuck off */
        uint32_t set, clear; /* bits of the random word */
} LaneFault;

typedef struct StuckBit {
        uint64_t bit, value;
} StuckBit;

static const FaultKind kinds[];

enum {
        KIND_RNG_BIT_STUCK,
        KIND_SR_OFF,
};

static LaneFault lane_fault(const Engine *engine, const Execution *execution, unsigned lane) {
        LaneFault fault = {};

        for (size_t i = 0; i < engine->n_faults; i++) {
                const Fault *f = engine->faults[i];
                int at = location_index(&f->at, LOCATION_ENGINE_LANE);

                if ((at >= 0 && (unsigned) at != lane) || !fault_is_active(f, execution))
                        continue;
                if (f->kind == &kinds[KIND_SR_OFF])
                        fault.nearest = true;
                else {
                        const StuckBit *stuck = f->parameters;
                        *(stuck->value ? &fault.set : &fault.clear) |= 1u << stuck->bit;
                }
        }

        return fault;
}

static void convert_lane(const Format *format, const WireConvert *convert, Generator *generator, const LaneFault *fault,
                         const uint8_t *in, uint8_t *out) {
        bool stochastic = convert->flags & CONVERT_STOCHASTIC;

        for (uint32_t i = 0; i < convert->count; i++) {
                uint32_t bits, word = 0, result;

                memcpy(&bits, in + i * sizeof(bits), sizeof(bits));
                if (stochastic)
                        word = (generator_next(generator) | fault->set) & ~fault->clear;
                result = convert_one(format, bits, stochastic && !fault->nearest, word);
                if (format->bytes == 1)
                        out[i] = (uint8_t) result;
                else {
                        uint16_t half = (uint16_t) result;
                        memcpy(out + i * sizeof(half), &half, sizeof(half));
                }
        }
}

/* ---- all lanes ---- */

static const Remembered *recall(const WireConvert *convert, const Generator *before, const uint8_t *in, size_t n_in) {
        for (unsigned i = 0; i < MEMORY_ENTRIES; i++) {
                const Remembered *entry = &memory.entries[i];

                if (entry->in && entry->n_in == n_in && memcmp(&entry->convert, convert, sizeof(*convert)) == 0 &&
                    memcmp(entry->before, before, sizeof(entry->before)) == 0 && memcmp(entry->in, in, n_in) == 0)
                        return entry;
        }

        return NULL;
}

static void convert_lanes(const Format *format, const WireConvert *convert, Generator *lanes, const uint8_t *in, size_t n_in,
                          uint8_t *out, size_t n_out) {
        static const LaneFault none = {};

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                convert_lane(format, convert, &lanes[lane], &none, in + lane * (n_in / ENGINE_LANES),
                             out + lane * (n_out / ENGINE_LANES));
}

/*
 * The client may write to the input while it is read. So what is remembered is computed from a copy, and the copy is
 * what later inputs are compared with: one client cannot make another one see wrong results.
 */
static const Remembered *remember(const Format *format, const WireConvert *convert, const Generator *before, const uint8_t *in,
                                  size_t n_in, size_t n_out) {
        Remembered *entry = &memory.entries[memory.next++ % MEMORY_ENTRIES];
        bool kept;

        (void) pthread_once(&memory_once, memory_make_key);
        kept = memory_key_error == 0 && pthread_setspecific(memory_key, &memory) == 0;
        free(entry->in);
        entry->in = kept && n_in <= MEMORY_BYTES_MAX ? malloc(n_in + n_out) : NULL;
        if (!entry->in)
                return NULL; /* it is only slower */

        entry->out = entry->in + n_in;
        entry->convert = *convert;
        entry->n_in = n_in;
        entry->n_out = n_out;
        memcpy(entry->in, in, n_in);
        memcpy(entry->before, before, sizeof(entry->before));
        memcpy(entry->after, before, sizeof(entry->after));
        convert_lanes(format, convert, entry->after, entry->in, n_in, entry->out, n_out);
        return entry;
}

static void convert_healthy(const Format *format, const WireConvert *convert, Generator *lanes, const uint8_t *in, size_t n_in,
                            uint8_t *out, size_t n_out) {
        const Remembered *known = recall(convert, lanes, in, n_in) ?: remember(format, convert, lanes, in, n_in, n_out);

        if (!known) {
                convert_lanes(format, convert, lanes, in, n_in, out, n_out);
                return;
        }

        memcpy(out, known->out, n_out);
        memcpy(lanes, known->after, sizeof(known->after));
}

static int convert(void *state, Execution *execution) {
        const WireCommand *command = execution->command;
        WireConvert convert = command->convert;
        Rounding *rounding = state;
        Generator before[ENGINE_LANES];
        const Format *format;
        size_t n_in, n_out;
        Engine *engine;

        convert.reserved = 0;
        if (convert.engine >= _ENGINE_MAX || convert.count == 0 || convert.count > CONVERT_COUNT_MAX || convert.format >= _FORMAT_MAX ||
            (convert.flags & ~CONVERT_STOCHASTIC)) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }
        format = &formats[convert.format];
        n_in = (size_t) ENGINE_LANES * convert.count * sizeof(uint32_t);
        n_out = (size_t) ENGINE_LANES * convert.count * format->bytes;
        if (format->bytes == 0 || command->in_bytes != n_in || command->out_bytes < n_out) {
                execution->completion->status = format->bytes == 0 ? STATUS_NRT_UNSUPPORTED : STATUS_NRT_INVALID;
                return 0;
        }

        engine = &rounding->engines[convert.engine];
        if (engine_prepare(engine, convert.engine) < 0)
                return -ENOMEM;
        memcpy(before, engine->lanes, sizeof(before));
        convert_healthy(format, &convert, engine->lanes, execution->in, n_in, execution->out, n_out);

        for (unsigned lane = 0; engine->n_faults > 0 && lane < ENGINE_LANES; lane++) {
                LaneFault fault = lane_fault(engine, execution, lane);

                if (fault.nearest || fault.set || fault.clear)
                        convert_lane(format, &convert, &before[lane], &fault, execution->in + lane * (n_in / ENGINE_LANES),
                                     execution->out + lane * (n_out / ENGINE_LANES));
        }

        execution->completion->out_bytes = (uint32_t) n_out;
        execution->completion->device_nsec = CONVERT_NSEC((uint64_t) convert.count);
        return 0;
}

static int rng_seed(void *state, Execution *execution) {
        const WireSeed *seed = &execution->command->seed;
        Rounding *rounding = state;

        if (seed->engine >= _ENGINE_MAX) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }
        if (engine_prepare(&rounding->engines[seed->engine], seed->engine) < 0)
                return -ENOMEM;

        for (unsigned lane = 0; lane < ENGINE_LANES; lane++)
                generator_seed(&rounding->engines[seed->engine].lanes[lane], seed->engine, lane, seed->seed);
        execution->completion->device_nsec = 64;
        return 0;
}

static int rng_state(void *state, Execution *execution) {
        const WireSeed *seed = &execution->command->seed;
        Rounding *rounding = state;
        size_t n = ENGINE_LANES * sizeof(Generator);

        if (seed->engine >= _ENGINE_MAX || execution->command->out_bytes < n) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }
        if (engine_prepare(&rounding->engines[seed->engine], seed->engine) < 0)
                return -ENOMEM;

        memcpy(execution->out, rounding->engines[seed->engine].lanes, n);
        execution->completion->out_bytes = (uint32_t) n;
        execution->completion->device_nsec = 64;
        return 0;
}

/* ---- life ---- */

static void rounding_reset(void *state) {
        Rounding *rounding = state;

        for (unsigned i = 0; i < _ENGINE_MAX; i++) {
                free(rounding->engines[i].lanes);
                rounding->engines[i].lanes = NULL;
        }
}

static void rounding_done(void *state) {
        Rounding *rounding = state;

        rounding_reset(state);
        for (unsigned i = 0; i < _ENGINE_MAX; i++)
                free(rounding->engines[i].faults);
}

static Engine *engine_of(Rounding *rounding, const Location *at) {
        static const LocationKind kinds_of[_ENGINE_MAX] = {
                [ENGINE_VECTOR] = LOCATION_VECTOR,
                [ENGINE_SCALAR] = LOCATION_SCALAR,
                [ENGINE_GPSIMD] = LOCATION_GPSIMD,
        };

        for (unsigned i = 0; i < _ENGINE_MAX; i++)
                if (location_index(at, kinds_of[i]) >= 0)
                        return &rounding->engines[i];

        return NULL;
}

static int inject(void *state, const Fault *fault) {
        Engine *engine = engine_of(state, &fault->at);
        const Fault **more;

        if (!engine)
                return -EINVAL;
        more = reallocarray(engine->faults, engine->n_faults + 1, sizeof(*more));
        if (!more)
                return -ENOMEM;

        engine->faults = more;
        engine->faults[engine->n_faults++] = fault;
        return 0;
}

static void heal(void *state, const Fault *fault) {
        Engine *engine = engine_of(state, &fault->at);

        for (size_t i = 0; engine && i < engine->n_faults; i++)
                if (engine->faults[i] == fault) {
                        engine->faults[i] = engine->faults[--engine->n_faults];
                        return;
                }
}

static const LocationKind at_lane[] = { LOCATION_ENGINE_LANE, _LOCATION_KIND_INVALID };
static const LocationKind at_engine[] = { LOCATION_VECTOR, LOCATION_SCALAR, LOCATION_GPSIMD, LOCATION_ENGINE_LANE,
                                          _LOCATION_KIND_INVALID };

static const FaultKind kinds[] = {
        [KIND_RNG_BIT_STUCK] = {
                .name             = "rng-bit-stuck",
                .summary          = "a bit of the random word is stuck",
                .family           = FAMILY_COMPUTE,
                .at               = at_lane,
                .persistence      = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,
                .triggers         = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .parameters_bytes = sizeof(StuckBit),
                .parameters       = (const YamlField[]) {
                        /* Bits below 11 take part only in results below the normal range of the 8-bit formats. */
                        YAML_UNSIGNED("bit", StuckBit, bit, 11, 31, .required = true, .summary = "31 decides about halves"),
                        YAML_UNSIGNED("value", StuckBit, value, 0, 1, .required = true, .summary = "what it is stuck at"),
                        {}
                },
                .codes            = FAULT_CODES("rounding-generator"),
        },
        [KIND_SR_OFF] = {
                .name        = "sr-off",
                .summary     = "stochastic rounding rounds to nearest",
                .family      = FAMILY_COMPUTE,
                .at          = at_engine,
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,
                .triggers    = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .codes       = FAULT_CODES("rounding-mode"),
        },
        {}
};

const Model model_rounding = {
        .name       = "rounding",
        .part       = LOCATION_CORE,
        .state_size = sizeof(Rounding),
        .done       = rounding_done,
        .commands   = {
                [COMMAND_CONVERT]   = convert,
                [COMMAND_RNG_SEED]  = rng_seed,
                [COMMAND_RNG_STATE] = rng_state,
        },
        .faults     = (const FaultKind *const[]) { kinds, NULL },
        .inject     = inject,
        .heal       = heal,
        .reset      = rounding_reset,
};
