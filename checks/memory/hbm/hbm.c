/* SPDX-License-Identifier: Apache-2.0 */

/*
 * hbm
 *
 * Tests all four stacks of a chip side by side, in phases that a plan selects (parameters.h), raw unless it says so: on-die ECC
 * would hide single symbols.
 *
 * The contract of the default over every access of the box: March SS on a solid background finds
 * every static fault of one or two cells (stuck, transition, disturb and read faults, coupling in both directions) in its
 * cell or in different accesses; MATS++ on the own-address background finds decoders that reach the wrong place and, with
 * random data, 64 in 100 of static faults between two bits of one access. What preflight adds: all of these, by half of March SS on all bit
 * stripes. What further phases add: March RAW or AB dynamic faults, `address` both polarities in both directions, `walking` the lanes beat by beat,
 * `hammer` rows that their neighbours disturb before sound ones are, `retention` cells that forget sooner than they must, `ecc`
 * correction and its counters.
 *
 * The first march of a step begins with data that the step has written, never with what a job or an earlier scan has left: so what
 * fails after certain data alone can be repeated, and is not taken for the work of a particle (examine.h).
 *
 * What the device does not do right is a finding: a plant that memory holds and the comparator does not report, reads of what was
 * there before, an answer that cannot be, ECC that corrects or counts what it should not. What fails is classified with its
 * place, see classify.h. A phase that the budget has no room for is said, with the time it would take.
 */

#include <errno.h>
#include <math.h>
#include <sys/param.h>
#include <stdio.h>

#include "checks/memory/hbm/diagnose/diagnose.h"
#include "checks/memory/hbm/ecc/lies.h"
#include "checks/memory/hbm/hbm.h"
#include "checks/memory/hbm/passes/passes.h"
#include "checks/memory/hbm/passes/schedule.h"
#include "checks/memory/hbm/passes/stale.h"
#include "checks/memory/hbm/report/address.h"
#include "checks/memory/hbm/report/repair.h"
#include "checks/memory/hbm/report/report.h"
#include "checks/memory/hbm/report/taken.h"
#include "checks/memory/hbm/report/under-test.h"
#include "checks/memory/hbm/slices.h"

#define BANKS_MAX 65536u /* of a stack that can be */

/* ---- what was found ---- */

/* Whether anything was met, be it only counted and not told. */
static bool has_failed(const HbmRun *run) {
        bool failed = run->failures.n > 0;

        for (unsigned stack = 0; stack < STACKS; stack++)
                failed |= run->outcomes[stack].mismatches > 0;
        return failed;
}

/* Rows that share sense amplifiers: asked for where something fails. */
static int ask_subarray(HbmRun *run) {
        uint64_t rows = HBM_SUBARRAY_ROWS;
        int r;

        if (!has_failed(run))
                return 0;
        r = device_attribute_u64(step_device(run->step), step_chip(run->step), "assay/hbm/subarray", &rows);
        if (r < 0 && r != -ENOENT)
                return r;
        run->subarray = rows == 0 || rows > run->geometry.whole[HBM_ROW] ? HBM_SUBARRAY_ROWS : (unsigned) rows;
        return 0;
}

/* How many of the defects from FIRST on are of its kind and stack. */
static size_t count_alike(const HbmRun *run, size_t first) {
        const HbmDefect *defects = run->defects.defects;
        size_t n = 1;

        while (first + n < run->defects.n && defects[first + n].kind == defects[first].kind && defects[first + n].stack == defects[first].stack)
                n++;
        return n;
}

/* How many kinds there are, each stack by itself. */
static size_t count_kinds(const HbmRun *run) {
        size_t n = 0;

        for (size_t first = 0; first < run->defects.n; first += count_alike(run, first))
                n++;
        return n;
}

/* As many as the plan says, the causes first; of each kind and stack at least one, which stands for the others where these are too many. */
static int tell_defects(HbmRun *run) {
        size_t n_kinds = count_kinds(run), n_spare = run->parameters->findings > n_kinds ? (size_t) run->parameters->findings - n_kinds : 0;

        for (size_t first = 0, n; first < run->defects.n; first += n) {
                size_t n_single;

                n = count_alike(run, first);
                n_single = MIN(n, 1 + n_spare);
                n_spare -= n_single - 1;
                for (size_t i = 0; i < n_single; i++) {
                        const HbmDefect *defect = &run->defects.defects[first + i];
                        int r = hbm_stale_judge(run, defect);

                        if (r == 0)
                                r = hbm_report_defect(run, defect, i + 1 < n_single ? 0 : (unsigned) (n - n_single));
                        if (r < 0)
                                return r;
                }
        }
        return 0;
}

/* Half of the budget is left to the step's second run and to what later steps do beyond the least, and each stack has its part of the rest. */
static uint64_t end_of_marches(const HbmRun *run, unsigned stack) {
        uint64_t now = device_nsec(step_device(run->step)), end = run->start_nsec + (uint64_t) (step_budget_sec(run->step) / 2 * 1e9);

        return now + (end > now ? (end - now) / (STACKS - stack) : 0);
}

int hbm_run_diagnose(HbmRun *run) {
        HbmDiagnosis diagnosis = {
                .geometry    = &run->geometry,
                .box         = &run->box,
                .passes      = run->passes,
                .batch       = run->batch,
                .device      = step_device(run->step),
                .may_pause   = run->parameters->slices == 0,
                .list_max    = (uint32_t) MIN(run->parameters->mismatches, device_window_free(step_device(run->step)) / 2 / sizeof(WireMismatch)),
                .failures    = &run->failures,
                .scatter_max = (unsigned) run->parameters->findings,
        };
        int r;

        r = ask_subarray(run);
        if (r < 0)
                return r;
        diagnosis.subarray = run->subarray;
        diagnosis.n_passes = run->n_passes;
        march_failures_merge(&run->failures);

        for (unsigned stack = 0; stack < STACKS; stack++) {
                size_t before = run->defects.n, n_failures;

                r = hbm_lies_tell(run, stack);
                if (r < 0)
                        return r;

                (void) march_failures_of(&run->failures, stack, &n_failures);
                if (run->outcomes[stack].mismatches == 0 && n_failures == 0)
                        continue;
                /* Old data fail everywhere, and follow-up reads would be as old. */
                if (run->outcomes[stack].n_stale > 0)
                        continue;

                r = hbm_taken_ask(run);
                if (r < 0 || run->taken)
                        return r;

                diagnosis.end_nsec = end_of_marches(run, stack);
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

        /* What was located beside a job is not told. */
        r = run->defects.n > 0 ? hbm_taken_ask(run) : 0;
        if (r < 0 || run->taken)
                return r;

        hbm_defects_sort(&run->defects);
        r = hbm_lies_tell_chip(run);
        if (r >= 0)
                r = hbm_rows_gather(run);
        if (r >= 0)
                r = tell_defects(run);
        return r < 0 ? r : hbm_rows_tell(run);
}

/* ---- what was measured ---- */

/* Whether any of the phases goes over the whole box. */
static bool covers_box(const HbmRun *run) {
        for (unsigned i = 0; i < run->n_passes; i++)
                if (run->passes[i].march)
                        return true;
        return false;
}

static int measure_coverage(HbmRun *run) {
        uint64_t accesses = 0, planned = STACKS * memory_box_accesses(&run->box);

        if (!covers_box(run))
                return 0;
        for (unsigned stack = 0; stack < STACKS; stack++)
                accesses += run->outcomes[stack].accesses;
        return march_totals_measure_coverage(run->step, "hbm", accesses, planned, hbm_passes_complete(run));
}

/* What single phases did; nothing of those that were not asked for. */
static int measure_phases(HbmRun *run) {
        const HbmTally *tally = &run->tally;
        const struct {
                HbmPhaseWord phase;
                const char *name, *unit;
                double value;
        } notes[] = {
                { HBM_DO_WALKING, "hbm_accesses_walked", "1", (double) tally->walked },
                { HBM_DO_HAMMER, "hbm_rows_hammered", "1", (double) tally->rows_hammered },
                { HBM_DO_HAMMER, "hbm_openings_endured", "1", (double) run->parameters->hammer.activations },
                { HBM_DO_ECC, "hbm_ecc_planted", "{error}", (double) tally->ecc_planted },
                { HBM_DO_ECC, "hbm_ecc_corrected", "{error}", (double) tally->ecc_corrected },
                { HBM_DO_ECC, "hbm_ecc_uncorrected", "{error}", (double) tally->ecc_uncorrected },
                { HBM_DO_ECC, "hbm_ecc_wrong", "{error}", (double) tally->ecc_wrong },
                { _HBM_DO_MAX, "hbm_seconds_paused", "s", tally->paused_sec },
                { _HBM_DO_MAX, "hbm_retention_proven", "ms", tally->held_msec }, /* as if at 45 °C */
                { _HBM_DO_MAX, "hbm_temperature", "Cel", tally->celsius },
        };
        uint32_t done = run->parameters->phases | (tally->paused_sec > 0 ? UINT32_C(1) << _HBM_DO_MAX : 0);

        for (size_t i = 0; i < ELEMENTS(notes); i++) {
                int r;

                if (!(done >> notes[i].phase & 1))
                        continue;
                r = step_note(run->step, notes[i].name, notes[i].value, notes[i].unit, NULL);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int measure(HbmRun *run) {
        uint64_t mismatches = 0;
        int r;

        for (unsigned stack = 0; stack < STACKS; stack++)
                mismatches += run->outcomes[stack].mismatches;

        r = measure_coverage(run);
        if (r < 0)
                return r;
        r = march_totals_measure(&run->totals, run->step, "hbm", mismatches);
        return r < 0 ? r : measure_phases(run);
}

/* With a part of the contract left out, only a failure is a result: which part, and what it would take. */
static int skip_rest(HbmRun *run, Verdict *ret) {
        char left_out[160] = "";
        size_t n = 0;

        for (unsigned phase = 0; phase < _MARCH_PHASE_MAX; phase++) {
                unsigned n_passes = 0, n_missing = 0;
                double sec = 0;

                for (unsigned i = 0; i < run->n_passes; i++) {
                        const HbmPass *pass = &run->passes[i];

                        n_passes += pass->phase == phase && !pass->fill;
                        n_missing += pass->phase == phase && !pass->fill && !pass->ran;
                        sec += pass->phase == phase && !pass->ran ? pass->sec : 0;
                }
                if (n_missing > 0 && n < sizeof(left_out))
                        n += (size_t) snprintf(left_out + n, sizeof(left_out) - n, "%s%s %u of %u passes, %.3g s",
                                               n > 0 ? "; " : "", march_phase_word((MarchPhase) phase), n_missing, n_passes, sec);
        }

        return step_skip(run->step, ret, REASON_BUDGET, "left out: %s", left_out);
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

/* Differences may be the job's own data. */
static int skip_taken(HbmRun *run, Verdict *ret) {
        return step_skip(run->step, ret, REASON_OCCUPIED, "%s", HBM_TAKEN_WHY);
}

static int judge(HbmRun *run, Verdict *ret) {
        int r;

        choose_box(run);
        for (unsigned stack = 0; stack < STACKS; stack++)
                run->outcomes[stack].accesses = memory_box_accesses(&run->box);

        r = hbm_under_test_begin(run);
        if (r < 0)
                return step_error(run->step, r, "the chip could not be told which rows are written");

        /* What this leaves in memory the marches write over. */
        r = hbm_addresses_judge(run);
        if (r < 0)
                return step_error(run->step, r, "addresses could not be tried");

        r = hbm_schedule(run);
        if (r < 0)
                return hbm_schedule_error(run, r);
        r = hbm_passes_run(run);
        if (r < 0)
                return hbm_passes_error(run, r);
        if (run->taken)
                return skip_taken(run, ret);

        r = hbm_run_diagnose(run);
        if (r < 0)
                return step_error(run->step, r, "failures could not be located");
        if (!run->taken)
                r = hbm_repairs_prove(run);
        if (r < 0)
                return step_error(run->step, r, "repaired rows could not be tried");
        if (run->taken)
                return skip_taken(run, ret);
        r = hbm_passes_leave_tags(run);
        if (r < 0)
                return step_error(run->step, r, "own-address data could not be left in memory");
        if (!run->taken)
                r = hbm_under_test_end(run);
        if (r < 0)
                return step_error(run->step, r, "the chip could not be told that rows are written no more");
        r = measure(run);
        if (r < 0)
                return r;

        if (run->taken && run->verdict != VERDICT_FAILED)
                return skip_taken(run, ret);
        if (!hbm_passes_complete(run) && run->verdict == VERDICT_PASSED)
                return skip_rest(run, ret);

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
        march_failures_done(&run.failures);
        hbm_defects_done(&run.defects);
        hbm_rows_done(&run.rows);
        return r;
}

/* Slices leave live data alone. */
static Disturbs disturbs_with(const void *parameters) {
        return ((const HbmParameters *) parameters)->slices > 0 ? DISTURBS_NOTHING : DISTURBS_CHIP;
}

const Check check_hbm = {
        .name         = "hbm",
        .summary      = "marches, lanes, hammering, retention and ECC over all of the HBM, with every failure located",
        .reads        = "assay/hbm/{geometry,map,subarray}, for slices assay/hbm/{in-use,under-test}, for pauses assay/temperature; marches, copies, "
                        "pauses, hammering and reads by address of the four stacks, raw (beside on-die ECC). Phase ecc: "
                        "mailbox/hbmN_ecc, assay/planted/mem_ecc_*, and clears stats/hardware/mem_ecc_*. Tells assay/hbm/under-test which rows it writes",
        .codes        = (const char *const[]) { "hbm-cell", "hbm-word", "hbm-row", "hbm-sub-wordline", "hbm-wordline-short",
                                                "hbm-retention", "hbm-hammer", "hbm-bit-line", "hbm-column", "hbm-decoder",
                                                "hbm-address-tsv", "hbm-data-tsv", "hbm-lane", "hbm-bank",
                                                "hbm-pseudo-channel", "hbm-channel", "hbm-die", "hbm-stack",
                                                "hbm-intermittent", "hbm-soft-error", "hbm-scattered", "hbm-comparator", "hbm-map",
                                                "hbm-stale", "hbm-ecc", "hbm-spares-exhausted", "hbm-repair-failed",
                                                "hbm-region-failed", "hbm-region-overdue", "hbm-region-unproven",
                                                "hbm-region-altered", "hbm-region-stopped", NULL },
        .skips        = "budget: the plan has less device time left than the passes take; occupied: a job began during the scan; with slices also: all of the memory "
                        "carries live data, the chip does not tell which does, or reads do not tell any free rows from those that do",
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_CHIP,
        .disturbs_with = disturbs_with,
        .deadline_sec = 60,
        .run          = hbm_run,
};
