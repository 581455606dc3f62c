/* SPDX-License-Identifier: Apache-2.0 */

/*
 * sram
 *
 * Marches over the SBUF and the PSUM of all cores of a chip, raw, that is beside parity and SECDED, which would hide or put
 * right single bits; then errors planted for these codes, which they must correct or tell, and count (ecc.h).
 *
 * The contract of the default over every bit of all 16 arrays: March SS on a solid background finds every static fault of one or two
 * cells in its cell or in different rows; MATS++ on the own-address background finds row decoders that reach the wrong place and,
 * with random data, 64 in 100 of static faults between two bits of one row. Preflight finds all of these, by half of March SS on
 * all bit stripes. Not covered without other marches: dynamic faults (March RAW or AB).
 *
 * What the device does not do right is a finding: a plant that memory holds and the comparator does not report, an answer
 * that cannot be, a code that lets its errors pass. What fails is classified with its place, see classify.h. There are no
 * spare rows: what SRAM has in defects goes with the tray.
 */

#include "checks/memory/sram/diagnose.h"
#include "checks/memory/sram/ecc.h"
#include "checks/memory/sram/passes.h"
#include "checks/memory/sram/report.h"

/* ---- what was found ---- */

static int diagnose_array(SramRun *run, unsigned number) {
        SramDiagnosis diagnosis = {
                .geometry    = &run->geometry[sram_array(number)],
                .part        = &run->parts[number],
                .batch       = run->batch,
                .failures    = &run->failures,
                .number      = number,
                .scatter_max = (unsigned) run->parameters->findings,
                .seed        = step_seed(run->step),
        };
        size_t before = run->defects.n, n_failures;
        int r;

        r = sram_report_engine(run, number);
        if (r < 0)
                return r;

        (void) march_failures_of(&run->failures, number, &n_failures);
        if (run->outcomes[number].mismatches == 0 && n_failures == 0)
                return 0;

        r = sram_diagnose(&diagnosis, run->outcomes[number].truncated || run->failures.full, &run->defects);
        if (r < 0 || run->defects.n > before)
                return r;
        return sram_report_unexplained(run, number, run->outcomes[number].mismatches);
}

static int diagnose(SramRun *run) {
        int r;

        march_failures_merge(&run->failures);
        for (unsigned number = 0; number < SRAM_ARRAYS; number++) {
                r = diagnose_array(run, number);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < run->defects.n; i++) {
                r = sram_report_defect(run, &run->defects.defects[i]);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- what was measured ---- */

static int measure(SramRun *run, bool complete) {
        uint64_t accesses = 0, mismatches = 0, planned = 0;
        int r;

        for (unsigned number = 0; number < SRAM_ARRAYS; number++) {
                accesses += run->outcomes[number].accesses;
                mismatches += run->outcomes[number].mismatches;
                planned += run->geometry[sram_array(number)].accesses;
        }

        r = march_totals_measure_coverage(run->step, "sram", accesses, planned, complete);
        if (r >= 0)
                r = march_totals_measure(&run->totals, run->step, "sram", mismatches);
        if (r < 0 || run->n_ecc_planted == 0)
                return r;
        return step_measure(run->step, "sram_ecc_plants_seen", run->n_ecc_seen, "1", LIMIT_EQUAL, run->n_ecc_planted, NULL);
}

static int judge(SramRun *run, Verdict *ret) {
        bool complete;
        int r;

        r = sram_passes_run(run);
        if (r < 0)
                return step_error(run->step, r, "a march did not come to its end");
        if (run->n_passes == 0)
                return step_skip(run->step, ret, REASON_BUDGET, "the first pass takes %.3g s", sram_pass_sec(run, 0));
        complete = run->n_passes == sram_passes(run);

        r = diagnose(run);
        if (r < 0)
                return step_error(run->step, r, "failures could not be located");
        if (run->parameters->ecc > 0) {
                r = sram_ecc_run(run);
                if (r < 0)
                        return step_error(run->step, r, "parity and SECDED could not be asked");
        }
        r = measure(run, complete);
        if (r < 0)
                return r;

        /* With a part of the contract left out, only a failure is a result. */
        if (!complete && run->verdict == VERDICT_PASSED)
                return step_skip(run->step, ret, REASON_BUDGET, "%u of %u passes were run", run->n_passes, sram_passes(run));

        *ret = run->verdict;
        return 0;
}

static int prepare(SramRun *run) {
        Device *device = step_device(run->step);
        int r;

        r = sram_ask(device, step_chip(run->step), run->geometry, run->codes);
        if (r < 0)
                return step_error(run->step, r, "assay/sram does not tell what the arrays are");
        for (unsigned number = 0; number < SRAM_ARRAYS; number++) {
                run->parts[number] = memory_part_array(sram_core(number), sram_array(number));
                run->outcomes[number].accesses = run->geometry[sram_array(number)].accesses;
        }

        return memory_batch_new(device, &run->batch);
}

static int sram_run(Step *step, Verdict *ret) {
        SramRun run = {
                .step       = step,
                .parameters = step_parameters(step),
                .start_nsec = device_nsec(step_device(step)),
                .verdict    = VERDICT_PASSED,
        };
        int r;

        r = prepare(&run);
        if (r >= 0)
                r = judge(&run, ret);

        memory_batch_free(run.batch);
        march_failures_done(&run.failures);
        sram_defects_done(&run.defects);
        return r;
}

const Check check_sram = {
        .name         = "sram",
        .summary      = "march tests over SBUF and PSUM of every core, and errors planted for their codes",
        .reads        = "assay/sram/{sbuf,psum}/{geometry,ecc}, stats/hardware/sram_ecc_*, mailbox/sram_ecc, assay/planted/sram_ecc_*; marches and copies of the arrays of all "
                        "cores, raw and through parity and SECDED",
        .codes        = (const char *const[]) { "sram-cell", "sram-word", "sram-row", "sram-column", "sram-decoder", "sram-partition",
                                                "sram-array", "sram-scattered", "sram-ecc", "sram-comparator", NULL },
        .skips        = "budget: the plan has less device time left than the passes take",
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_CORE,
        .deadline_sec = 60,
        .run          = sram_run,
};
