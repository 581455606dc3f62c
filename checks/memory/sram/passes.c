/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/sram/passes.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#define SAMPLES        1u    /* copied out per element and array */
#define WIDTH          1u    /* partitions with plants, of each array at a time: 16 arrays have enough of them */
#define CORE_BYTES_SEC 491e9 /* for the forecast only */
#define SEED_ADDRESS   0x61646472u

static_assert(CORES <= MARCH_PARTS_MAX && _ARRAY_MAX <= MARCH_PASSES_MAX, "an array of all cores is a pass, both go together");

typedef struct Pass {
        SramRun *run;
        WireArray array;
        MarchSighting sighting;
} Pass;

static int on_mismatch(const MarchMismatch *mismatch, void *userdata) {
        Pass *pass = userdata;
        MarchSighting sighting = pass->sighting;

        sighting.element = (uint8_t) mismatch->element;
        sighting.op = (uint8_t) mismatch->op;
        return march_failures_add(&pass->run->failures, sram_number(mismatch->part, pass->array),
                                  memory_geometry_linear(&pass->run->geometry[pass->array], mismatch->at), &sighting,
                                  &mismatch->expected, &mismatch->actual);
}

/* Adds what PASS met to the run. */
static void keep_outcome(SramRun *run, WireArray array, const MarchPass *pass) {
        for (unsigned core = 0; core < CORES; core++) {
                MarchOutcome *outcome = &run->outcomes[sram_number(core, array)];
                uint64_t before = outcome->accesses;

                *outcome = pass->outcomes[core];
                outcome->accesses = MIN(before, pass->outcomes[core].accesses);
        }

        march_totals_add(&run->totals, &pass->totals);
}

/* Pass INDEX over one array of all cores. */
static MarchPass array_pass(SramRun *run, unsigned index, WireArray array, Pass *own) {
        const SramParameters *parameters = run->parameters;
        const MarchBackgroundWord *word = march_background_word(parameters->backgrounds.indices[index % parameters->backgrounds.n]);
        bool address = word->background == MEMORY_BACKGROUND_ADDRESS;
        uint64_t repeat = (uint64_t) (index / parameters->backgrounds.n) << 32;
        size_t room = device_window_free(step_device(run->step)) / (SRAM_ARRAYS + 2) / sizeof(WireMismatch);
        MarchPass pass = {
                .parts          = &run->parts[sram_number(0, array)],
                .n_parts        = CORES,
                .march          = index == 0 ? &parameters->march : &parameters->others,
                .field          = { .background = word->background,
                                    .parameter  = word->parameter,
                                    .seed       = address ? memory_mix(step_seed(run->step) ^ (SEED_ADDRESS + repeat)) : 0 },
                .geometry       = run->geometry[array],
                .box            = memory_geometry_box(&run->geometry[array]),
                .order          = (MemoryOrder) parameters->order,
                .seed           = memory_mix(step_seed(run->step) + 2 * index + array),
                /* A small window shortens the lists, not the test. */
                .mismatches_max = (uint32_t) MIN((size_t) parameters->mismatches, room),
                .n_samples      = SAMPLES,
                .width_max      = WIDTH,
                .found          = on_mismatch,
                .userdata       = own,
        };

        *own = (Pass) { run, array, { .phase = address ? MARCH_PHASE_ADDRESS : MARCH_PHASE_MARCH, .pass = (uint8_t) index } };
        memcpy(pass.outcomes, &run->outcomes[sram_number(0, array)], CORES * sizeof(pass.outcomes[0]));
        return pass;
}

/* Both arrays of all cores, side by side. */
static int run_pass(SramRun *run, unsigned index) {
        MarchPass passes[_ARRAY_MAX], *together[_ARRAY_MAX];
        Pass own[_ARRAY_MAX];
        int r;

        memory_batch_reset(run->batch);
        for (WireArray array = 0; array < _ARRAY_MAX; array++) {
                passes[array] = array_pass(run, index, array, &own[array]);
                together[array] = &passes[array];
        }

        r = march_passes_run(together, _ARRAY_MAX, run->batch);
        for (WireArray array = 0; array < _ARRAY_MAX && r >= 0; array++)
                keep_outcome(run, array, &passes[array]);
        return r;
}

double sram_pass_sec(const SramRun *run, unsigned index) {
        const March *march = index == 0 ? &run->parameters->march : &run->parameters->others;
        double accesses = (double) run->geometry[ARRAY_SBUF].accesses + run->geometry[ARRAY_PSUM].accesses;

        return march_operations(march) * accesses * MEMORY_ACCESS_BYTES / CORE_BYTES_SEC;
}

unsigned sram_passes(const SramRun *run) {
        return run->parameters->backgrounds.n * (unsigned) run->parameters->repeats;
}

int sram_passes_run(SramRun *run) {
        unsigned n = sram_passes(run);
        int r;

        if (n >= MARCH_STEP_PASSES_MAX)
                return -E2BIG;

        for (; run->n_passes < n; run->n_passes++) {
                double used = (double) (device_nsec(step_device(run->step)) - run->start_nsec) / 1e9;

                if (sram_pass_sec(run, run->n_passes) > step_budget_sec(run->step) - used)
                        return 0;
                r = run_pass(run, run->n_passes);
                if (r < 0)
                        return r;
                step_progress(run->step, 90 * (run->n_passes + 1) / n);
        }

        return 0;
}
