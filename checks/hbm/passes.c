/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/passes.h"

#include <string.h>
#include <sys/param.h>

#include "checks/march/freshness.h"

#define SAMPLES         2u    /* copied out per element and stack */
#define STACK_BYTES_SEC 725e9 /* for the forecast only */
#define SEED_ADDRESS    0x61646472u

static int on_mismatch(const MarchMismatch *mismatch, void *userdata) {
        HbmRun *run = userdata;
        HbmSighting sighting = {
                .phase   = run->passes[run->n_passes - 1].phase,
                .pass    = (uint8_t) (run->n_passes - 1),
                .element = (uint8_t) mismatch->element,
                .op      = (uint8_t) mismatch->op,
        };

        return hbm_failures_add(&run->failures, run->parts[mismatch->part].unit,
                                memory_geometry_linear(&run->geometry, mismatch->at), &sighting, &mismatch->expected,
                                &mismatch->actual);
}

/* Adds what PASS met to the run. */
static void keep_outcome(HbmRun *run, const MarchPass *pass) {
        for (unsigned stack = 0; stack < STACKS; stack++) {
                uint64_t before = run->outcomes[stack].accesses;

                run->outcomes[stack] = pass->outcomes[stack];
                run->outcomes[stack].accesses = MIN(before, pass->outcomes[stack].accesses);
        }

        run->n_planted += pass->n_planted;
        run->n_returned += pass->n_returned;
        run->n_compared += pass->n_samples_compared;
        run->n_wrong += pass->n_samples_wrong;
}

/* The pass that was noted last. */
static int run_pass(HbmRun *run) {
        const HbmParameters *parameters = run->parameters;
        const HbmPass *noted = &run->passes[run->n_passes - 1];
        MarchPass pass = {
                .parts          = run->parts,
                .n_parts        = STACKS,
                .march          = noted->march,
                .field          = noted->field,
                .geometry       = run->geometry,
                .box            = run->box,
                .order          = noted->order,
                .ecc            = noted->ecc,
                .seed           = memory_mix(step_seed(run->step) + run->n_passes - 1),
                .mismatches_max = (uint32_t) parameters->mismatches,
                .n_samples      = SAMPLES,
                .pause_nsec     = (uint64_t) (noted->pause_sec * 1e9),
                .found          = on_mismatch,
                .userdata       = run,
        };
        size_t room = device_window_free(step_device(run->step)) / (STACKS + 1) / sizeof(WireMismatch);
        int r;

        /* A small window shortens the lists, not the test. */
        pass.mismatches_max = (uint32_t) MIN((size_t) pass.mismatches_max, room);

        memcpy(pass.outcomes, run->outcomes, sizeof(run->outcomes));
        if (run->n_passes == 1) {
                r = march_freshness_run(&pass, run->batch);
                if (r < 0)
                        return r;
        }
        r = march_pass_run(&pass, run->batch);
        if (r < 0)
                return r;

        keep_outcome(run, &pass);
        return 0;
}

static HbmPass march_pass(const HbmRun *run, unsigned index) {
        const HbmParameters *parameters = run->parameters;
        const MarchBackgroundWord *word = march_background_word(parameters->backgrounds.indices[index]);

        return (HbmPass) {
                .phase     = word->background == MEMORY_BACKGROUND_ADDRESS ? HBM_PHASE_ADDRESS : HBM_PHASE_MARCH,
                .group     = index,
                .march     = index == 0 ? &parameters->march : &parameters->others,
                .field     = { .background = word->background,
                               .parameter  = word->parameter,
                               .seed       = word->background == MEMORY_BACKGROUND_ADDRESS ?
                                             memory_mix(step_seed(run->step) ^ SEED_ADDRESS) : 0 },
                .order     = (MemoryOrder) parameters->order,
                .pause_sec = parameters->pause_sec,
        };
}

double hbm_pass_sec(const HbmRun *run, unsigned index) {
        const March *march = index == 0 ? &run->parameters->march : &run->parameters->others;
        double bytes = (double) memory_box_accesses(&run->box) * MEMORY_ACCESS_BYTES, delays = 0;

        for (unsigned i = 0; i < march->n_elements; i++)
                delays += march->elements[i].direction == MARCH_DELAY;
        return march_operations(march) * bytes / STACK_BYTES_SEC + delays * run->parameters->pause_sec;
}

int hbm_passes_run(HbmRun *run) {
        unsigned n = run->parameters->backgrounds.n;
        int r;

        for (unsigned i = 0; i < n; i++) {
                double used = (double) (device_nsec(step_device(run->step)) - run->start_nsec) / 1e9;

                if (hbm_pass_sec(run, i) > step_budget_sec(run->step) - used)
                        return (int) i;
                run->passes[run->n_passes++] = march_pass(run, i);
                r = run_pass(run);
                if (r < 0)
                        return r;
                step_progress(run->step, 90 * (i + 1) / n);
        }

        return (int) n;
}
