/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/passes/schedule.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <sys/param.h>

#include "checks/memory/hbm/passes/hammer.h"
#include "checks/memory/hbm/passes/walking.h"

#define STACK_BYTES_SEC 725e9
#define SEED_ADDRESS    0x61646472u
#define SEED_RANDOM     0x72616e64u
#define SEED_FILL       0x66696c6cu

/* What a phase does between writing and reading stands in passes.c. */
static const char *const texts[_HBM_MARCH_MAX] = {
        [HBM_MARCH_FILL]    = "any(w1);any(w0)", /* whatever was there before: cells that fail when one value is written twice do not matter */
        [HBM_MARCH_ADDRESS] = "up(w0);up(r0);up(w1);up(r1);dn(w0);dn(r0);dn(w1);dn(r1)",
        [HBM_MARCH_RANDOM]  = "any(w0);up(r0,w1);up(r1,w0);dn(r0,w1);dn(r1,w0);any(r0)",
        [HBM_MARCH_CONTROL] = "any(w0);any(r0);any(w1);any(r1)",
        [HBM_MARCH_HOLD_0]  = "any(w0);Del;any(r0)",
        [HBM_MARCH_HOLD_1]  = "any(w1);Del;any(r1)",
        [HBM_MARCH_ECC_0]   = "any(w0);any(r0);any(r0)", /* raw, then through ECC */
        [HBM_MARCH_ECC_1]   = "any(w1);any(r1);any(r1)",
};

static double march_sec(const HbmRun *run, const March *march, double pause_sec) {
        double bytes = (double) memory_box_accesses(&run->box) * MEMORY_ACCESS_BYTES, delays = 0;

        for (unsigned i = 0; i < march->n_elements; i++)
                delays += march->elements[i].direction == MARCH_DELAY;
        return march_operations(march) * bytes / STACK_BYTES_SEC + delays * pause_sec;
}

static int add(HbmRun *run, const HbmPass *pass) {
        if (run->n_passes >= MARCH_STEP_PASSES_MAX)
                return -E2BIG;
        run->passes[run->n_passes++] = *pass;
        return 0;
}

MemoryField hbm_schedule_tags(const HbmRun *run) {
        return (MemoryField) {
                .background = MEMORY_BACKGROUND_ADDRESS,
                .seed       = memory_mix(step_seed(run->step) ^ SEED_ADDRESS) << 32,
        };
}

static MemoryField field_of(const HbmRun *run, unsigned background) {
        const MarchBackgroundWord *word = march_background_word(background);

        if (word->background == MEMORY_BACKGROUND_ADDRESS)
                return hbm_schedule_tags(run);
        return (MemoryField) { .background = word->background, .parameter = word->parameter };
}

/*
 * Data that differ from bit to bit and from place to place. What fails only after other data than its own can be replayed from
 * them (examine.h); after what earlier scans or jobs have left it could not.
 */
static int schedule_fill(HbmRun *run) {
        HbmPass pass = {
                .phase = MARCH_PHASE_MARCH,
                .group = UINT_MAX - run->n_passes,
                .march = &run->marches[HBM_MARCH_FILL],
                .field = { .background = MEMORY_BACKGROUND_ADDRESS, .seed = memory_mix(step_seed(run->step) ^ SEED_FILL) },
                .ecc   = run->parameters->ecc,
                .fill  = true,
        };

        pass.sec = march_sec(run, pass.march, 0);
        return add(run, &pass);
}

static int schedule_march(HbmRun *run) {
        const HbmParameters *parameters = run->parameters;
        int r = 0;

        for (unsigned order = 0; order < parameters->orders.n; order++)
                for (unsigned i = 0; r >= 0 && i < parameters->backgrounds.n; i++) {
                        HbmPass pass = {
                                .phase     = MARCH_PHASE_MARCH,
                                .group     = order * MARCH_BACKGROUNDS_MAX + i,
                                .march     = i == 0 ? &parameters->march : &parameters->others,
                                .field     = field_of(run, parameters->backgrounds.indices[i]),
                                .order     = parameters->orders.orders[order],
                                .ecc       = parameters->ecc,
                                .pause_sec = parameters->pause_sec,
                        };

                        if (pass.field.background == MEMORY_BACKGROUND_ADDRESS)
                                pass.phase = MARCH_PHASE_ADDRESS;
                        pass.sec = march_sec(run, pass.march, pass.pause_sec);
                        r = add(run, &pass);
                }

        return r;
}

static int schedule_address(HbmRun *run) {
        HbmPass pass = {
                .phase = MARCH_PHASE_ADDRESS,
                .group = _MEMORY_ORDER_MAX * MARCH_BACKGROUNDS_MAX,
                .march = &run->marches[HBM_MARCH_ADDRESS],
                .field = field_of(run, MARCH_BACKGROUND_ADDRESS),
                .ecc   = run->parameters->ecc,
        };

        pass.sec = march_sec(run, pass.march, 0);
        return add(run, &pass);
}

static int schedule_walking(HbmRun *run) {
        HbmPass pass = { .phase = MARCH_PHASE_WALKING, .sec = hbm_walking_sec(run) };

        return add(run, &pass);
}

/*
 * Four neighbours and a cell have 32 patterns, and a pass shows every cell five of them: behind it the new data, before it
 * the old. The chance that one pattern is never shown falls by a seventh with each pass.
 */
static int schedule_random(HbmRun *run) {
        int r = 0;

        for (unsigned i = 0; r >= 0 && i < run->parameters->random; i++) {
                HbmPass pass = {
                        .phase = MARCH_PHASE_MARCH,
                        .group = (_MEMORY_ORDER_MAX + 1 + _HBM_DO_MAX) * MARCH_BACKGROUNDS_MAX + i,
                        .march = &run->marches[HBM_MARCH_RANDOM],
                        .more  = i > 0,
                        .field = { .background = MEMORY_BACKGROUND_ADDRESS,
                                   .seed = memory_mix(step_seed(run->step) ^ (SEED_RANDOM + ((uint64_t) i << 32))) },
                };

                pass.sec = march_sec(run, pass.march, 0);
                r = add(run, &pass);
        }

        return r;
}

/* The same data, and nothing done to them: what fails here does not fail by a pause or a hammer. */
static int schedule_control(HbmRun *run, MemoryBackground background, HbmPhaseWord phase) {
        HbmPass pass = {
                .phase = MARCH_PHASE_MARCH,
                .group = (_MEMORY_ORDER_MAX + 1 + (unsigned) phase) * MARCH_BACKGROUNDS_MAX,
                .march = &run->marches[HBM_MARCH_CONTROL],
                .field = { .background = background },
        };

        pass.sec = march_sec(run, pass.march, 0);
        return add(run, &pass);
}

/* Victims of one parity and data after the other; their aggressors hold the opposite. */
static int schedule_hammer(HbmRun *run) {
        const HbmHammerParameters *parameters = &run->parameters->hammer;
        double openings = hbm_hammer_openings(parameters->activations, parameters->open_nsec);
        int r;

        r = schedule_control(run, MEMORY_BACKGROUND_ROW_STRIPE, HBM_DO_HAMMER);

        for (unsigned repeat = 0; repeat < run->parameters->repeats; repeat++)
                for (unsigned variant = 0; r >= 0 && variant < 4; variant++) {
                        HbmPass pass = {
                                .phase       = MARCH_PHASE_HAMMER,
                                .group       = variant,
                                .march       = &run->marches[variant & 1 ? HBM_MARCH_HOLD_1 : HBM_MARCH_HOLD_0],
                                .field       = { .background = MEMORY_BACKGROUND_ROW_STRIPE },
                                .repeat      = repeat,
                                .activations = (uint64_t) MAX(openings / 2, 1.0),
                                .open_nsec   = (uint32_t) parameters->open_nsec,
                                .parity      = variant >> 1,
                        };

                        hbm_hammer_aim(&pass, &run->box, run->geometry.size[HBM_ROW], parameters->rows, step_seed(run->step));
                        pass.sec = march_sec(run, pass.march, hbm_hammer_sec(&pass));
                        r = add(run, &pass);
                }

        return r;
}

static int schedule_retention(HbmRun *run) {
        const HbmPauses *pauses = &run->parameters->retention;
        int r;

        r = schedule_control(run, MEMORY_BACKGROUND_CHECKER, HBM_DO_RETENTION);

        for (unsigned repeat = 0; repeat < run->parameters->repeats; repeat++)
                for (unsigned i = 0; r >= 0 && i < 2 * pauses->n; i++) {
                        HbmPass pass = {
                                .phase     = MARCH_PHASE_RETENTION,
                                .group     = i,
                                .repeat    = repeat,
                                .march     = &run->marches[i & 1 ? HBM_MARCH_HOLD_1 : HBM_MARCH_HOLD_0],
                                .field     = { .background = MEMORY_BACKGROUND_CHECKER },
                                .pause_sec = pauses->msec[i / 2] / 1000,
                        };

                        pass.sec = march_sec(run, pass.march, pass.pause_sec);
                        r = add(run, &pass);
                }

        return r;
}

static int schedule_ecc(HbmRun *run) {
        int r = 0;

        for (unsigned repeat = 0; repeat < run->parameters->repeats; repeat++) {
                HbmPass plants = { .phase = MARCH_PHASE_ECC, .group = 0, .repeat = repeat };

                if (r >= 0)
                        r = add(run, &plants);
                for (unsigned data = 0; r >= 0 && data < 2; data++) {
                        HbmPass pass = {
                                .phase  = MARCH_PHASE_ECC,
                                .group  = 1 + data,
                                .repeat = repeat,
                                .march  = &run->marches[data ? HBM_MARCH_ECC_1 : HBM_MARCH_ECC_0],
                                .field  = { .background = MEMORY_BACKGROUND_CHECKER },
                                .ecc    = true,
                        };

                        pass.sec = march_sec(run, pass.march, 0);
                        r = add(run, &pass);
                }
        }

        return r;
}

int hbm_schedule(HbmRun *run) {
        static int (*const schedules[_HBM_DO_MAX])(HbmRun *run) = {
                [HBM_DO_MARCH]     = schedule_march,
                [HBM_DO_ADDRESS]   = schedule_address,
                [HBM_DO_WALKING]   = schedule_walking,
                [HBM_DO_RANDOM]    = schedule_random,
                [HBM_DO_HAMMER]    = schedule_hammer,
                [HBM_DO_RETENTION] = schedule_retention,
                [HBM_DO_ECC]       = schedule_ecc,
        };
        int r;

        for (unsigned i = 0; i < _HBM_MARCH_MAX; i++) {
                r = march_parse(texts[i], &run->marches[i], NULL, NULL);
                assert(r >= 0);
        }

        run->n_passes = 0;
        /* Pauses without refresh, hammering and its reach are not confined to a slice. */
        if (run->parameters->slices > 0 && (run->parameters->phases & ~(1u << HBM_DO_MARCH | 1u << HBM_DO_ADDRESS) ||
                                            run->parameters->repair != HBM_REPAIR_NONE))
                return -EOPNOTSUPP;
        for (unsigned phase = 0; phase < _HBM_DO_MAX; phase++) {
                if (!(run->parameters->phases >> phase & 1))
                        continue;
                r = hbm_parameters_fill(run->parameters, (HbmPhaseWord) phase) ? schedule_fill(run) : 0;
                if (r >= 0)
                        r = schedules[phase](run);
                if (r < 0)
                        return r;
        }

        return 0;
}

int hbm_schedule_error(HbmRun *run, int error) {
        if (error == -EOPNOTSUPP)
                return step_error(run->step, error, "only the phases march and address go around live data, and no repairs");
        return step_error(run->step, error, "the parameters ask for more than %u passes", MARCH_STEP_PASSES_MAX);
}

double hbm_schedule_sec(const HbmRun *run) {
        double sec = 0;

        for (unsigned i = 0; i < run->n_passes; i++)
                sec += run->passes[i].sec;
        return sec;
}

double hbm_schedule_read_sec(const HbmRun *run) {
        return (double) memory_box_accesses(&run->box) * MEMORY_ACCESS_BYTES / STACK_BYTES_SEC;
}
