/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The rounding units of a core: conversion from fp32 on the Vector, Scalar and GpSimd engines, to nearest or stochastic
 * with one XORWOW generator per lane, as specified in checks/wire/wire.h.
 *
 * All lanes are answered as sound ones (sim/rounding/memo.h); lanes with a fault are then replayed on top.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/chip/model.h"
#include "sim/rounding/convert.h"
#include "sim/rounding/faults.h"
#include "sim/rounding/generator.h"
#include "sim/rounding/lane.h"
#include "sim/rounding/memo.h"

#define CONVERT_COUNT_MAX 65536u
#define CONVERT_NSEC(n)   (64 + (n) * 128 / 123) /* 0.96 GHz, one element of each lane a cycle */

/* The generators of an engine without faults. */
typedef struct Sound {
        Generator lanes[ENGINE_LANES];
        uint32_t seed;
        uint64_t drawn; /* words of each lane since it was seeded */
} Sound;

typedef struct Engine {
        Sound *sound; /* NULL until first used: then as if seeded with 0 */
        Lane *own;    /* ENGINE_LANES: those that stray; NULL until there was a fault */
        bool is_reset; /* what that does is done with the next command, when it is known which faults act */
        Seeding next; /* what an RNG_SEED is */
        RoundingFaults faults;
} Engine;

typedef struct Rounding {
        Engine engines[_ENGINE_MAX];
} Rounding;

/* ---- state ---- */

/* LANE as it is: its own where it strays, else as SOUND. */
static Lane engine_lane(const Engine *engine, const Sound *sound, unsigned number, unsigned lane) {
        Lane as = { .now = sound->lanes[lane], .drawn = sound->drawn };

        if (engine->own[lane].strays)
                return engine->own[lane];
        generator_seed(&as.start, number, lane, sound->seed);
        return as;
}

static void engine_keep(Engine *engine, unsigned lane, const Lane *as) {
        const Sound *sound = engine->sound;

        engine->own[lane] = *as;
        engine->own[lane].strays = as->drawn != sound->drawn || memcmp(&as->now, &sound->lanes[lane], sizeof(as->now)) != 0;
}

/* Lanes with a fault may be seeded otherwise, or not at all: then they stray though nothing else does. */
static void engine_seed(Engine *engine, unsigned number, uint32_t seed, const Execution *execution, Seeding seeding) {
        Sound before = {};

        if (engine->own)
                before = *engine->sound;
        rounding_seed(number, seed, engine->sound->lanes);
        engine->sound->seed = seed;
        engine->sound->drawn = 0;

        for (unsigned lane = 0; engine->own && lane < ENGINE_LANES; lane++) {
                Lane own = engine_lane(engine, &before, number, lane);
                LaneEffects effects;

                rounding_effects(&engine->faults, execution, lane, &effects);
                lane_seed(&own, &effects, number, lane, seed, seeding);
                engine_keep(engine, lane, &own);
        }
        engine->next = seeding == SEEDING_RESET ? SEEDING_FIRST : SEEDING_AGAIN;
}

static int engine_prepare(Engine *engine, unsigned number, const Execution *execution) {
        if (engine->sound && !engine->is_reset)
                return 0;

        if (!engine->sound) {
                engine->sound = calloc(1, sizeof(*engine->sound));
                if (!engine->sound)
                        return -ENOMEM;
                rounding_seed(number, 0, engine->sound->lanes);
        }
        engine_seed(engine, number, 0, execution, SEEDING_RESET);
        engine->is_reset = false;
        return 0;
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

/* What lanes with a fault, or that stray, answer instead. BEFORE: this command. */
static void replay(Engine *engine, Execution *execution, const Conversion *conversion, const Sound *before) {
        for (unsigned lane = 0; lane < ENGINE_LANES; lane++) {
                LaneEffects effects;
                Lane own;

                rounding_effects(&engine->faults, execution, lane, &effects);
                if (!effects.any && !engine->own[lane].strays)
                        continue;
                own = engine_lane(engine, before, conversion->command.engine, lane);
                lane_convert(&own, &effects, conversion, execution->in + lane * (conversion->n_in / ENGINE_LANES),
                             execution->out + lane * (conversion->n_out / ENGINE_LANES));
                engine_keep(engine, lane, &own);
        }
}

static int convert(void *state, Execution *execution) {
        Rounding *rounding = state;
        Conversion conversion;
        Engine *engine;
        Sound before = {};

        execution->completion->status = read_conversion(execution->command, &conversion);
        if (execution->completion->status != STATUS_NRT_SUCCESS)
                return 0;

        engine = &rounding->engines[conversion.command.engine];
        if (engine_prepare(engine, conversion.command.engine, execution) < 0)
                return -ENOMEM;
        if (engine->own)
                before = *engine->sound;

        rounding_convert(&conversion, engine->sound->lanes, execution->in, execution->out);
        if (conversion.command.flags & CONVERT_STOCHASTIC)
                engine->sound->drawn += conversion.command.count;
        if (engine->own)
                replay(engine, execution, &conversion, &before);

        execution->completion->out_bytes = (uint32_t) conversion.n_out;
        execution->completion->device_nsec = CONVERT_NSEC((uint64_t) conversion.command.count);
        return 0;
}

static int rng_seed(void *state, Execution *execution) {
        const WireSeed *seed = &execution->command->seed;
        Rounding *rounding = state;
        Engine *engine;

        if (seed->engine >= _ENGINE_MAX) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }
        engine = &rounding->engines[seed->engine];
        if (engine_prepare(engine, seed->engine, execution) < 0)
                return -ENOMEM;

        engine_seed(engine, seed->engine, seed->seed, execution, engine->next);
        execution->completion->device_nsec = 64;
        return 0;
}

static int rng_state(void *state, Execution *execution) {
        const WireSeed *seed = &execution->command->seed;
        size_t n = ENGINE_LANES * sizeof(Generator);
        Rounding *rounding = state;
        Engine *engine;

        if (seed->engine >= _ENGINE_MAX || execution->command->out_bytes < n) {
                execution->completion->status = STATUS_NRT_INVALID;
                return 0;
        }
        engine = &rounding->engines[seed->engine];
        if (engine_prepare(engine, seed->engine, execution) < 0)
                return -ENOMEM;

        memcpy(execution->out, engine->sound->lanes, n);
        for (unsigned lane = 0; engine->own && lane < ENGINE_LANES; lane++)
                if (engine->own[lane].strays)
                        memcpy(execution->out + lane * sizeof(Generator), &engine->own[lane].now, sizeof(Generator));
        execution->completion->out_bytes = (uint32_t) n;
        execution->completion->device_nsec = 64;
        return 0;
}

/* ---- life ---- */

static void rounding_reset(void *state) {
        Rounding *rounding = state;

        for (unsigned i = 0; i < _ENGINE_MAX; i++)
                rounding->engines[i].is_reset = true;
}

static void rounding_done(void *state) {
        Rounding *rounding = state;

        for (unsigned i = 0; i < _ENGINE_MAX; i++) {
                free(rounding->engines[i].sound);
                free(rounding->engines[i].own);
                rounding_faults_done(&rounding->engines[i].faults);
        }
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

        if (!engine)
                return -EINVAL;
        if (!engine->own)
                engine->own = calloc(ENGINE_LANES, sizeof(*engine->own));
        if (!engine->own)
                return -ENOMEM;
        return rounding_faults_add(&engine->faults, fault);
}

/* What a generator has become by a fault it stays until it is seeded. */
static void heal(void *state, const Fault *fault) {
        Engine *engine = engine_of(state, &fault->at);

        if (engine)
                rounding_faults_remove(&engine->faults, fault);
}

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
        .faults     = (const FaultKind *const[]) { rounding_faults, NULL },
        .inject     = inject,
        .heal       = heal,
        .reset      = rounding_reset,
};
