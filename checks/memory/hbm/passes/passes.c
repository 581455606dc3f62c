/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/passes/passes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/memory/hbm/ecc/ecc.h"
#include "checks/memory/hbm/live/apart.h"
#include "checks/memory/hbm/live/live-watch.h"
#include "checks/memory/hbm/live/marks.h"
#include "checks/memory/hbm/passes/hammer.h"
#include "checks/memory/hbm/passes/schedule.h"
#include "checks/memory/hbm/passes/walking.h"
#include "checks/memory/hbm/report/taken.h"
#include "checks/memory/march/freshness.h"

#define SAMPLES 2u /* copied out per element and stack */

static int on_mismatch(const MarchMismatch *mismatch, void *userdata) {
        HbmRun *run = userdata;
        MarchSighting sighting = {
                .phase   = run->passes[run->pass].phase,
                .pass    = (uint8_t) run->pass,
                .element = (uint8_t) mismatch->element,
                .op      = (uint8_t) mismatch->op,
        };

        return march_failures_add(&run->failures, run->parts[mismatch->part].unit,
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

        march_totals_add(&run->totals, &pass->totals);
}

/* The stacks hammered where a march would pause. */
static int hammer(const MarchPass *pass, MemoryBatch *batch) {
        HbmRun *run = pass->userdata;
        const HbmPass *current = &run->passes[run->pass];
        const WireBox *box = &current->victims;
        uint64_t banks = 1;
        int r;

        r = hbm_hammer_sweep(current, batch);
        if (r < 0)
                return r;

        for (unsigned axis = 0; axis < HBM_ROW; axis++)
                banks *= box->last[axis] - box->first[axis] + 1u;
        run->tally.rows_hammered += STACKS * banks * hbm_hammer_rows(current);
        return 0;
}

/* Nothing more is written beside live data once rows fail as an alias makes them, and be it the next element. */
static bool is_over(const MarchPass *pass) {
        HbmRun *run = pass->userdata;

        for (unsigned stack = 0; stack < STACKS && !run->stopped; stack++)
                run->stopped = pass->outcomes[stack].truncated;
        run->stopped |= !hbm_apart_holds(run);
        return run->stopped;
}

static int run_march(HbmRun *run) {
        const HbmParameters *parameters = run->parameters;
        HbmPass *current = &run->passes[run->pass];
        MarchPass pass = {
                .parts          = run->parts,
                .n_parts        = STACKS,
                .march          = current->march,
                .field          = current->field,
                .geometry       = run->geometry,
                .box            = run->box,
                .order          = current->order,
                .ecc            = current->ecc,
                .seed           = memory_mix(step_seed(run->step) + run->pass),
                .mismatches_max = (uint32_t) parameters->mismatches,
                .n_samples      = current->fill ? 0 : SAMPLES,
                .pause_nsec     = (uint64_t) (current->paused_sec * 1e9),
                .delay          = current->phase == MARCH_PHASE_HAMMER ? hammer : NULL,
                .found          = on_mismatch,
                .is_over        = run->watch ? is_over : NULL,
                .userdata       = run,
        };
        size_t room = device_window_free(step_device(run->step)) / (STACKS + 1) / sizeof(WireMismatch);
        int r;

        /* A small window shortens the lists, not the test. */
        pass.mismatches_max = (uint32_t) MIN((size_t) pass.mismatches_max, room);

        memcpy(pass.outcomes, run->outcomes, sizeof(run->outcomes));
        if (!run->fresh[current->ecc]) {
                r = march_freshness_run(&pass, run->batch);
                if (r < 0)
                        return r;
                run->fresh[current->ecc] = true;
        }
        r = march_pass_run(&pass, run->batch);
        if (r < 0)
                return r;

        keep_outcome(run, &pass);
        return 0;
}

#define REFERENCE_CELSIUS 45.0 /* of the pauses in parameters */
#define HALVING_CELSIUS   10.0 /* hotter, cells lose their charge twice as fast */
#define DOUBT_CELSIUS     1.0  /* a stack may be hotter than the chip says */

static int read_temperature(HbmRun *run, double *ret) {
        char text[ATTRIBUTE_TEXT_MAX], *end;
        double celsius;
        int r;

        run->told = true;
        r = device_attribute(step_device(run->step), step_chip(run->step), "assay/temperature", text);
        if (r < 0)
                return step_error(run->step, r, "assay/temperature does not tell how long cells must hold");
        celsius = strtod(text, &end);
        if (end == text || *end || !(celsius >= -55) || !(celsius <= 150))
                return step_error(run->step, -EPROTO, "assay/temperature says \"%.64s\", which is no temperature", text);

        run->told = false;
        *ret = celsius;
        return 0;
}

static unsigned n_delays(const March *march) {
        unsigned n = 0;

        for (unsigned i = 0; march && i < march->n_elements; i++)
                n += march->elements[i].direction == MARCH_DELAY;
        return n;
}

/* A pause strains cells at the chip's temperature as the one that was asked for does at 45 °C. */
static int set_pause(HbmRun *run) {
        HbmPass *pass = &run->passes[run->pass];
        unsigned n = pass->phase == MARCH_PHASE_HAMMER ? 0 : n_delays(pass->march);
        double celsius;
        int r;

        if (n == 0)
                return 0;
        r = read_temperature(run, &celsius);
        if (r < 0)
                return r;

        pass->paused_sec = pass->pause_sec * exp2((REFERENCE_CELSIUS - celsius - DOUBT_CELSIUS) / HALVING_CELSIUS);
        pass->sec += n * (pass->paused_sec - pass->pause_sec);
        run->tally.celsius = MAX(run->tally.celsius, celsius);
        return 0;
}

static void count_pauses(HbmRun *run) {
        const HbmPass *pass = &run->passes[run->pass];

        if (pass->paused_sec <= 0)
                return;
        run->tally.paused_sec += n_delays(pass->march) * pass->paused_sec;
        run->tally.held_msec = MAX(run->tally.held_msec, pass->pause_sec * 1000);
}

static int run_walking(HbmRun *run) {
        return hbm_walking_run(run, on_mismatch);
}

static int run_ecc(HbmRun *run) {
        return run->passes[run->pass].march ? hbm_ecc_run_march(run, on_mismatch) : hbm_ecc_run_plants(run);
}

static double left_sec(const HbmRun *run) {
        return step_budget_sec(run->step) - (double) (device_nsec(step_device(run->step)) - run->start_nsec) / 1e9;
}

static bool is_truncated(const HbmRun *run) {
        for (unsigned stack = 0; stack < STACKS; stack++)
                if (run->outcomes[stack].truncated)
                        return true;
        return false;
}

static int add_write(HbmRun *run, const WireMarch *march) {
        int r = 0;

        for (unsigned stack = 0; stack < STACKS && r >= 0; stack++)
                r = memory_batch_march(run->batch, &run->parts[stack], march);
        return r;
}

static int add_marks(HbmRun *run) {
        int r = 0;

        for (unsigned data = 0; data < 2 && r >= 0 && hbm_marks_fit(&run->geometry); data++) {
                WireMarch march = hbm_mark_write(&run->geometry, run->box, data);

                r = add_write(run, &march);
        }
        return r;
}

/* Looks at the live rows again, with marks in the rows beside them that were written. */
static int watch(HbmRun *run) {
        int r;

        if (!run->watch)
                return 0;
        memory_batch_reset(run->batch);
        r = add_marks(run);
        if (r >= 0)
                r = memory_batch_run(run->batch);
        return r < 0 ? r : hbm_live_watch_look(run->watch, HBM_WATCH_LOOKS, &run->reached);
}

int hbm_passes_run(HbmRun *run) {
        static int (*const runs[_MARCH_PHASE_MAX])(HbmRun *run) = {
                [MARCH_PHASE_MARCH]     = run_march,
                [MARCH_PHASE_ADDRESS]   = run_march,
                [MARCH_PHASE_WALKING]   = run_walking,
                [MARCH_PHASE_HAMMER]    = run_march,
                [MARCH_PHASE_RETENTION] = run_march,
                [MARCH_PHASE_ECC]       = run_ecc,
        };

        for (run->pass = 0; run->pass < run->n_passes; run->pass++) {
                HbmPass *pass = &run->passes[run->pass];
                int r;

                r = set_pause(run);
                if (r < 0)
                        return r;
                if (pass->sec > left_sec(run) || (pass->more && is_truncated(run)))
                        continue;
                r = hbm_taken_ask(run);
                if (r < 0)
                        return r;
                if (run->taken)
                        return 0;
                r = runs[pass->phase](run);
                if (r < 0)
                        return r;
                count_pauses(run);
                pass->ran = true;
                run->stopped |= run->watch && !hbm_apart_holds(run);
                if (run->stopped)
                        return 0;
                r = watch(run);
                if (r < 0)
                        return r;
                if (hbm_doubt_is(&run->reached))
                        return 0;
                step_progress(run->step, 90 * (run->pass + 1) / run->n_passes);
        }

        return hbm_taken_ask(run);
}

bool hbm_passes_complete(const HbmRun *run) {
        for (unsigned i = 0; i < run->n_passes; i++)
                if (!run->passes[i].ran)
                        return false;
        return true;
}

/* Whether the last pass left tags, and nothing was written since: a diagnosis writes where something failed. */
static bool holds_tags(const HbmRun *run) {
        const MemoryField *field = run->n_passes > 0 ? &run->passes[run->n_passes - 1].field : NULL;

        for (unsigned stack = 0; stack < STACKS; stack++)
                if (run->outcomes[stack].mismatches > 0)
                        return false;
        return field && run->failures.n == 0 && run->passes[run->n_passes - 1].ran &&
               field->background == MEMORY_BACKGROUND_ADDRESS && field->seed == memory_tag_seed(field->seed);
}

int hbm_passes_leave_tags(HbmRun *run) {
        MemoryField tags = hbm_schedule_tags(run);
        WireMarch march = {
                .box = run->box, .background = (uint8_t) tags.background, .seed = tags.seed, .n_ops = 1, .ops = { MARCH_WRITE },
        };
        int r;

        r = hbm_taken_ask(run);
        if (r < 0 || run->taken)
                return r;
        memory_batch_reset(run->batch);
        if (!holds_tags(run))
                r = add_write(run, &march);
        if (r >= 0)
                r = add_marks(run);
        if (r >= 0)
                r = memory_batch_run(run->batch);
        return r < 0 ? r : hbm_taken_ask(run);
}

int hbm_passes_error(HbmRun *run, int error) {
        if (run->told)
                return error;
        return step_error(run->step, error, "a pass of the phase %s did not come to its end",
                          march_phase_word(run->passes[run->pass].phase));
}
