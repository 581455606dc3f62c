/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The rounding units of a core: conversion from fp32 on the Vector, Scalar and GpSimd engines, to nearest or stochastic
 * with one XORWOW generator per lane, as specified in checks/wire.h.
 *
 * All lanes are answered as sound ones (sim/rounding-memo.h); lanes with a fault are then replayed on top.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/model.h"
#include "sim/rounding-convert.h"
#include "sim/rounding-generator.h"
#include "sim/rounding-memo.h"

#define CONVERT_COUNT_MAX 65536u
#define CONVERT_NSEC(n)   (64 + (n) * 128 / 123) /* 0.96 GHz, one element of each lane a cycle */

typedef struct Engine {
        Generator *lanes; /* ENGINE_LANES; NULL until first used: then as after a reset */
        size_t n_faults;
        const Fault **faults;
} Engine;

typedef struct Rounding {
        Engine engines[_ENGINE_MAX];
} Rounding;

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

static void convert_lane(const Conversion *conversion, Generator *generator, const LaneFault *fault, const uint8_t *in, uint8_t *out) {
        bool stochastic = conversion->command.flags & CONVERT_STOCHASTIC;
        const Target *target = conversion->target;

        for (uint32_t i = 0; i < conversion->command.count; i++) {
                uint32_t bits, word = 0, pattern;

                memcpy(&bits, in + i * sizeof(bits), sizeof(bits));
                if (stochastic)
                        word = (generator_next(generator) | fault->set) & ~fault->clear;
                if (!target_is_special(target, bits, &pattern)) {
                        Cut cut = target_cut(target, bits);
                        bool up = stochastic && !fault->nearest ? cut_goes_up_stochastic(&cut, word, cut.d) : cut_goes_up_nearest(&cut);

                        pattern = cut_join(target, &cut, cut.kept + up);
                }
                target_store(target, target_image(target, pattern), out, i);
        }
}

/* ---- commands ---- */

/* The status with which the command is refused, or STATUS_NRT_SUCCESS with *ret. */
static WireStatus read_conversion(const WireCommand *command, Conversion *ret) {
        WireConvert convert = command->convert;
        size_t lanes = (size_t) ENGINE_LANES * convert.count;
        const Target *target;

        convert.reserved = 0;
        if (convert.engine >= _ENGINE_MAX || convert.count == 0 || convert.count > CONVERT_COUNT_MAX || convert.format >= _FORMAT_MAX ||
            (convert.flags & ~CONVERT_STOCHASTIC))
                return STATUS_NRT_INVALID;
        target = &rounding_targets[convert.format];
        if (target->bytes == 0)
                return STATUS_NRT_UNSUPPORTED;
        if (command->in_bytes != lanes * sizeof(uint32_t) || command->out_bytes < lanes * target->bytes)
                return STATUS_NRT_INVALID;

        *ret = (Conversion) { .target = target, .command = convert, .n_in = lanes * sizeof(uint32_t), .n_out = lanes * target->bytes };
        return STATUS_NRT_SUCCESS;
}

static int convert(void *state, Execution *execution) {
        Rounding *rounding = state;
        Generator before[ENGINE_LANES];
        Conversion conversion;
        Engine *engine;

        execution->completion->status = read_conversion(execution->command, &conversion);
        if (execution->completion->status != STATUS_NRT_SUCCESS)
                return 0;

        engine = &rounding->engines[conversion.command.engine];
        if (engine_prepare(engine, conversion.command.engine) < 0)
                return -ENOMEM;
        memcpy(before, engine->lanes, sizeof(before));
        rounding_convert(&conversion, engine->lanes, execution->in, execution->out);

        for (unsigned lane = 0; engine->n_faults > 0 && lane < ENGINE_LANES; lane++) {
                LaneFault fault = lane_fault(engine, execution, lane);

                if (fault.nearest || fault.set || fault.clear)
                        convert_lane(&conversion, &before[lane], &fault, execution->in + lane * (conversion.n_in / ENGINE_LANES),
                                     execution->out + lane * (conversion.n_out / ENGINE_LANES));
        }

        execution->completion->out_bytes = (uint32_t) conversion.n_out;
        execution->completion->device_nsec = CONVERT_NSEC((uint64_t) conversion.command.count);
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
