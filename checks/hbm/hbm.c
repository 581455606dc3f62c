/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hbm
 *
 * Marches over all four stacks of a chip at once, raw, that is beside on-die ECC, which would hide single symbols.
 *
 * The contract of the default, which preflight uses, over every access of the box: March SS on a solid background finds
 * every static fault of one or two cells (stuck, transition, disturb and read faults, coupling in both directions) in its
 * cell or in different accesses; MATS++ on the own-address background finds decoders that reach the wrong place and, with
 * random data, most coupling within an access. Not covered without further backgrounds: coupling between any two bits of one
 * access (all bit stripes), dynamic faults (March RAW or AB), retention (a march with Del), hammering.
 *
 * What the device does not do right is a finding: a plant that memory holds and the comparator does not report, an answer
 * that cannot be. What fails is classified with its place, see classify.h.
 */

#include <errno.h>
#include <math.h>

#include "checks/hbm/address.h"
#include "checks/hbm/diagnose.h"
#include "checks/hbm/hbm.h"
#include "checks/hbm/lies.h"
#include "checks/hbm/passes.h"
#include "checks/hbm/report.h"
#include "checks/hbm/slices.h"

#define BANKS_MAX 65536u /* of a stack that can be */

/* ---- what was found ---- */

int hbm_run_diagnose(HbmRun *run) {
        HbmDiagnosis diagnosis = {
                .geometry    = &run->geometry,
                .batch       = run->batch,
                .failures    = &run->failures,
                .scatter_max = (unsigned) run->parameters->findings,
        };
        int r;

        hbm_failures_merge(&run->failures);

        for (unsigned stack = 0; stack < STACKS; stack++) {
                size_t before = run->defects.n, n_failures;

                r = hbm_lies_tell(run, stack);
                if (r < 0)
                        return r;

                (void) hbm_failures_of(&run->failures, stack, &n_failures);
                if (run->outcomes[stack].mismatches == 0 && n_failures == 0)
                        continue;
                /* Old data fail everywhere, and follow-up reads would be as old. */
                if (run->outcomes[stack].n_stale > 0)
                        continue;

                r = hbm_diagnose(&diagnosis, stack, run->outcomes[stack].truncated || run->failures.full,
                                 &run->defects);
                if (r < 0)
                        return r;
                if (run->defects.n == before) {
                        r = hbm_report_unexplained(run, stack, run->outcomes[stack].mismatches);
                        if (r < 0)
                                return r;
                }
        }

        for (size_t i = 0; i < run->defects.n; i++) {
                r = hbm_report_defect(run, &run->defects.defects[i]);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- what was measured ---- */

static int measure(HbmRun *run, bool complete) {
        uint64_t accesses = 0, mismatches = 0, planned = STACKS * memory_box_accesses(&run->box);
        int r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                accesses += complete ? run->outcomes[stack].accesses : 0;
                mismatches += run->outcomes[stack].mismatches;
        }

        r = step_measure(run->step, "hbm_bytes_tested", (double) (accesses * MEMORY_ACCESS_BYTES), "By",
                         complete ? LIMIT_GREATER_THAN_OR_EQUAL : LIMIT_NONE,
                         (double) (planned * MEMORY_ACCESS_BYTES), NULL);
        if (r < 0)
                return r;
        r = step_measure(run->step, "hbm_mismatches", (double) mismatches, "{error}", LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
        if (r < 0)
                return r;
        r = step_measure(run->step, "hbm_plants_returned", run->n_returned, "1", LIMIT_EQUAL, run->n_planted, NULL);
        if (r < 0)
                return r;
        r = step_note(run->step, "hbm_samples_compared", run->n_compared, "1", NULL);
        if (r < 0)
                return r;
        return step_measure(run->step, "hbm_samples_wrong", run->n_wrong, "{error}", LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
}

/* From row 0 of every bank on, as many rows as make up the bytes that are wanted. */
static void choose_box(HbmRun *run) {
        double a_row = (double) STACKS * run->geometry.accesses / run->geometry.size[HBM_ROW] *
                       MEMORY_ACCESS_BYTES;
        double rows = ceil((double) run->parameters->bytes / a_row);

        run->box = memory_geometry_box(&run->geometry);
        if (run->parameters->bytes > 0 && rows < run->geometry.size[HBM_ROW])
                run->box.last[HBM_ROW] = (uint16_t) (rows - 1);
}

static int judge(HbmRun *run, Verdict *ret) {
        int n_passes, r;

        choose_box(run);
        for (unsigned stack = 0; stack < STACKS; stack++)
                run->outcomes[stack].accesses = memory_box_accesses(&run->box);

        /* What this leaves in memory the marches write over. */
        r = hbm_addresses_judge(run);
        if (r < 0)
                return step_error(run->step, r, "addresses could not be tried");

        n_passes = hbm_passes_run(run);
        if (n_passes < 0)
                return step_error(run->step, n_passes, "a march did not come to its end");
        if (n_passes == 0)
                return step_skip(run->step, ret, REASON_BUDGET, "the first pass takes %.3g s", hbm_pass_sec(run, 0));

        r = hbm_run_diagnose(run);
        if (r < 0)
                return step_error(run->step, r, "failures could not be located");
        r = measure(run, n_passes == (int) run->parameters->backgrounds.n);
        if (r < 0)
                return r;

        /* With a part of the contract left out, only a failure is a result. */
        if (n_passes < (int) run->parameters->backgrounds.n && run->verdict == VERDICT_PASSED)
                return step_skip(run->step, ret, REASON_BUDGET, "%d of %u backgrounds were run", n_passes,
                                 run->parameters->backgrounds.n);

        *ret = run->verdict;
        return 0;
}

static int hbm_run(Step *step, Verdict *ret) {
        Device *device = step_device(step);
        HbmRun run = {
                .step       = step,
                .parameters = step_parameters(step),
                .start_nsec = device_nsec(device),
                .verdict    = VERDICT_PASSED,
        };
        int r;

        r = device_hbm_geometry(device, step_chip(step), &run.geometry);
        if (r < 0)
                return step_error(step, r, "assay/hbm/geometry does not tell what the stacks are");
        r = device_hbm_map(device, step_chip(step), &run.geometry, &run.map);
        if (r < 0)
                return step_error(step, r, "assay/hbm/map does not tell where addresses lead");
        if (hbm_bank_count(&run.geometry) > BANKS_MAX)
                return step_error(step, -EPROTO, "a stack of %u banks cannot be", hbm_bank_count(&run.geometry));

        for (unsigned stack = 0; stack < STACKS; stack++)
                run.parts[stack] = memory_part_stack(stack);

        r = memory_batch_new(device, &run.batch);
        if (r >= 0)
                r = run.parameters->slices > 0 ? hbm_slices_run(&run, ret) : judge(&run, ret);

        memory_batch_free(run.batch);
        hbm_failures_done(&run.failures);
        hbm_defects_done(&run.defects);
        return r;
}

/* Slices leave live data alone. */
static Disturbs disturbs_with(const void *parameters) {
        return ((const HbmParameters *) parameters)->slices > 0 ? DISTURBS_NOTHING : DISTURBS_CHIP;
}

const Check check_hbm = {
        .name         = "hbm",
        .summary      = "march tests over all of the HBM, with every failure located",
        .reads        = "assay/hbm/{geometry,map}, for slices assay/hbm/in-use; marches, copies, pauses and reads by address of the "
                        "four stacks, raw (beside on-die ECC)",
        .codes        = (const char *const[]) { "hbm-cell", "hbm-word", "hbm-row", "hbm-sub-wordline", "hbm-wordline-short",
                                                "hbm-retention", "hbm-hammer", "hbm-bit-line", "hbm-column", "hbm-decoder",
                                                "hbm-address-tsv", "hbm-data-tsv", "hbm-lane", "hbm-bank",
                                                "hbm-pseudo-channel", "hbm-channel", "hbm-die", "hbm-stack",
                                                "hbm-intermittent", "hbm-soft-error", "hbm-scattered", "hbm-comparator", "hbm-map",
                                                "hbm-stale", "hbm-ecc", "hbm-spares-exhausted", "hbm-repair-failed",
                                                "hbm-region-failed", "hbm-region-overdue", NULL },
        .skips        = "budget: the plan has less device time left than the passes take; occupied, with slices: all of the memory "
                        "carries live data, or the chip does not tell which does",
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_CHIP,
        .disturbs_with = disturbs_with,
        .deadline_sec = 60,
        .run          = hbm_run,
};
