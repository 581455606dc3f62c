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
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/hbm/diagnose.h"
#include "checks/hbm/parameters.h"
#include "checks/march/march.h"
#include "checks/step.h"

#define SAMPLES         2u            /* copied out per element and stack */
#define STACK_BYTES_SEC 725e9         /* for the forecast only */
#define BANKS_MAX       65536u        /* of a stack that can be */
#define SEED_ADDRESS    0x61646472u

typedef struct Run {
        Step *step;
        const HbmParameters *parameters;
        MemoryGeometry geometry;
        WireBox box;
        MemoryBatch *batch;
        HbmFailures failures;
        HbmDefects defects;
        MarchStack stacks[STACKS]; /* over all passes */
        unsigned n_planted, n_returned, n_compared, n_wrong;
        uint64_t start_nsec;       /* of the device's time */
        Verdict verdict;
} Run;

static int on_mismatch(const MarchMismatch *mismatch, void *userdata) {
        Run *run = userdata;

        return hbm_failures_add(&run->failures, mismatch->stack,
                                memory_geometry_linear(&run->geometry, mismatch->at), &mismatch->expected,
                                &mismatch->actual);
}

/* The location of AT within its stack, as far as axis LAST; of the stack where the grammar has no such place. */
static Location locate(const Run *run, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX],
                       MemoryAxis last) {
        static const LocationKind kinds[_MEMORY_AXIS_MAX] = {
                LOCATION_CHANNEL, LOCATION_PSEUDO_CHANNEL, LOCATION_SID, LOCATION_BANK_GROUP, LOCATION_BANK,
                LOCATION_ROW, LOCATION_COLUMN,
        };
        Location location = *step_unit(run->step), whole;

        (void) location_append(&location, LOCATION_HBM, stack);
        whole = location;
        for (unsigned axis = 0; axis <= (unsigned) last; axis++)
                if (location_append(&location, kinds[axis], at[axis]) < 0)
                        return whole;
        return location;
}

static char *hex(const MemoryData *data, char text[static 2 * MEMORY_ACCESS_BYTES + 1]) {
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                (void) snprintf(text + 2 * i, 3, "%02x", data->bytes[i]);
        return text;
}

/* ---- what the device itself did wrong ---- */

static int judge_comparator(Run *run, unsigned stack) {
        const MarchStack *came = &run->stacks[stack];
        Location where = *step_unit(run->step);
        char address[32];
        Evidence evidence = { .has_count = true };
        int r;

        (void) location_append(&where, LOCATION_HBM, stack);

        if (came->n_blind > 0) {
                (void) snprintf(address, sizeof(address), "0x%" PRIx64,
                                (uint64_t) memory_geometry_linear(&run->geometry, came->blind_at) * MEMORY_ACCESS_BYTES);
                evidence.address = address;
                evidence.count = came->n_blind;
                r = step_finding(run->step, &run->verdict, "hbm-comparator", &where, &evidence,
                                 "memory holds %u planted mismatches that the march did not report", came->n_blind);
                if (r < 0)
                        return r;
        }

        if (came->n_lies > 0) {
                evidence.address = NULL;
                evidence.count = came->n_lies;
                r = step_finding(run->step, &run->verdict, "hbm-comparator", &where, &evidence,
                                 "the march answers what cannot be: %s", came->lie);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- one pass ---- */

static int run_pass(Run *run, unsigned index) {
        const HbmParameters *parameters = run->parameters;
        const HbmBackgroundWord *word = hbm_background_word(parameters->backgrounds.indices[index]);
        MarchPass pass = {
                .march          = index == 0 ? &parameters->march : &parameters->others,
                .field          = { .background = word->background,
                                    .parameter  = word->parameter,
                                    .seed       = word->background == MEMORY_BACKGROUND_ADDRESS ?
                                                  memory_mix(step_seed(run->step) ^ SEED_ADDRESS) : 0 },
                .geometry       = run->geometry,
                .box            = run->box,
                .order          = (MemoryOrder) parameters->order,
                .seed           = memory_mix(step_seed(run->step) + index),
                .mismatches_max = (uint32_t) parameters->mismatches,
                .n_samples      = SAMPLES,
                .pause_nsec     = (uint64_t) (parameters->pause_sec * 1e9),
                .found          = on_mismatch,
                .userdata       = run,
        };
        size_t room = device_window_free(step_device(run->step)) / (STACKS + 1) / sizeof(WireMismatch);
        int r;

        /* A small window shortens the lists, not the test. */
        pass.mismatches_max = (uint32_t) MIN((size_t) pass.mismatches_max, room);

        memcpy(pass.stacks, run->stacks, sizeof(pass.stacks));
        r = march_pass_run(&pass, run->batch);
        if (r < 0)
                return r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                uint64_t before = run->stacks[stack].accesses;

                run->stacks[stack] = pass.stacks[stack];
                run->stacks[stack].accesses = MIN(before, pass.stacks[stack].accesses);
        }
        run->n_planted += pass.n_planted;
        run->n_returned += pass.n_returned;
        run->n_compared += pass.n_samples_compared;
        run->n_wrong += pass.n_samples_wrong;
        return 0;
}

static double pass_sec(const Run *run, unsigned index) {
        const March *march = index == 0 ? &run->parameters->march : &run->parameters->others;
        double bytes = (double) memory_box_accesses(&run->box) * MEMORY_ACCESS_BYTES, delays = 0;

        for (unsigned i = 0; i < march->n_elements; i++)
                delays += march->elements[i].direction == MARCH_DELAY;
        return march_operations(march) * bytes / STACK_BYTES_SEC + delays * run->parameters->pause_sec;
}

/* Returns how many passes the budget had room for. */
static int run_passes(Run *run) {
        unsigned n = run->parameters->backgrounds.n;
        int r;

        for (unsigned i = 0; i < n; i++) {
                double used = (double) (device_nsec(step_device(run->step)) - run->start_nsec) / 1e9;

                if (pass_sec(run, i) > step_budget_sec(run->step) - used)
                        return (int) i;
                r = run_pass(run, i);
                if (r < 0)
                        return r;
                step_progress(run->step, 90 * (i + 1) / n);
        }

        return (int) n;
}

/* ---- what was found ---- */

static const struct {
        const char *code;
        MemoryAxis last; /* of the location */
} defect_words[_HBM_DEFECT_KIND_MAX] = {
        [HBM_DEFECT_LANE]           = { "hbm-lane", HBM_PSEUDO_CHANNEL },
        [HBM_DEFECT_PSEUDO_CHANNEL] = { "hbm-pseudo-channel", HBM_PSEUDO_CHANNEL },
        [HBM_DEFECT_BANK]           = { "hbm-bank", HBM_BANK },
        [HBM_DEFECT_ROW]            = { "hbm-row", HBM_ROW },
        [HBM_DEFECT_COLUMN]         = { "hbm-column", HBM_BANK },
        [HBM_DEFECT_WORD]           = { "hbm-word", HBM_COLUMN },
        [HBM_DEFECT_CELL]           = { "hbm-cell", HBM_COLUMN },
        [HBM_DEFECT_SCATTERED]      = { "hbm-scattered", HBM_CHANNEL },
};

static Location defect_location(const Run *run, const HbmDefect *defect) {
        Location where = locate(run, defect->stack, defect->at, defect_words[defect->kind].last);

        if (defect->kind == HBM_DEFECT_LANE)
                (void) location_append(&where, LOCATION_DQ, (unsigned) defect->bit);
        if (defect->kind == HBM_DEFECT_CELL)
                (void) location_append(&where, LOCATION_BIT, (unsigned) defect->bit);
        if (defect->kind == HBM_DEFECT_SCATTERED)
                (void) location_truncate(&where, LOCATION_HBM);
        return where;
}

static unsigned defect_actual(const HbmDefect *defect) {
        unsigned bit = (unsigned) MAX(defect->bit, 0);

        return defect->actual.bytes[bit / 8] >> bit % 8 & 1;
}

static char *defect_message(const Run *run, const HbmDefect *defect, char *text, size_t size) {
        uint32_t columns = run->geometry.size[HBM_COLUMN];

        switch (defect->kind) {
        case HBM_DEFECT_LANE:
                (void) snprintf(text, size, "lane %d stays at %u in reads of its pseudo-channel, %" PRIu64 " accesses fail",
                                defect->bit, defect->value, defect->n_accesses);
                break;
        case HBM_DEFECT_PSEUDO_CHANNEL:
        case HBM_DEFECT_BANK:
                (void) snprintf(text, size, "%" PRIu64 " accesses fail, all over it", defect->n_accesses);
                break;
        case HBM_DEFECT_ROW:
                (void) snprintf(text, size, "%" PRIu64 " of %u columns of row %u fail", defect->n_accesses, columns,
                                defect->at[HBM_ROW]);
                break;
        case HBM_DEFECT_COLUMN:
                if (defect->bit >= 0)
                        (void) snprintf(text, size, "column %u, bit %d fails in %" PRIu64 " rows", defect->at[HBM_COLUMN],
                                        defect->bit, defect->n_accesses);
                else
                        (void) snprintf(text, size, "column %u fails in several bits of %" PRIu64 " rows",
                                        defect->at[HBM_COLUMN], defect->n_accesses);
                break;
        case HBM_DEFECT_WORD:
                (void) snprintf(text, size, "several bits of one access fail, in %" PRIu64 " reads", defect->n_reads);
                break;
        case HBM_DEFECT_CELL:
                (void) snprintf(text, size, "bit %d reads %u where %u was written, in %" PRIu64 " reads", defect->bit,
                                defect_actual(defect), !defect_actual(defect), defect->n_reads);
                break;
        case HBM_DEFECT_SCATTERED:
                (void) snprintf(text, size, "%" PRIu64 " accesses fail and share no row, column or bank",
                                defect->n_accesses);
                break;
        case _HBM_DEFECT_KIND_MAX:
                text[0] = '\0';
        }

        return text;
}

static bool shows_lane(const HbmDefect *defect) {
        unsigned first = (unsigned) defect->bit / 8;

        for (unsigned i = first; i < MEMORY_ACCESS_BYTES; i += 4)
                if ((defect->expected.bytes[i] ^ defect->actual.bytes[i]) >> (defect->bit % 8) & 1)
                        return true;
        return false;
}

static int tell_defect(Run *run, const HbmDefect *defect) {
        char expected[2 * MEMORY_ACCESS_BYTES + 1], actual[2 * MEMORY_ACCESS_BYTES + 1], address[32], message[160];
        Location where = defect_location(run, defect);
        Evidence evidence = {
                .address   = address,
                .expected  = hex(&defect->expected, expected),
                .actual    = hex(&defect->actual, actual),
                .has_count = true,
                .count     = (double) MAX(defect->n_accesses, defect->n_reads),
        };

        /* Of two stuck lanes the first difference may show the other alone. */
        if (defect->kind == HBM_DEFECT_LANE && !shows_lane(defect))
                evidence.expected = evidence.actual = NULL;

        (void) snprintf(address, sizeof(address), "0x%" PRIx64,
                        (uint64_t) memory_geometry_linear(&run->geometry, defect->first) * MEMORY_ACCESS_BYTES);
        return step_finding(run->step, &run->verdict, defect_words[defect->kind].code, &where, &evidence, "%s",
                            defect_message(run, defect, message, sizeof(message)));
}

/* Mismatches that leave no defect are none the less: no count of failures may end as a pass. */
static int tell_unexplained(Run *run, unsigned stack, uint64_t n) {
        Location where = *step_unit(run->step);
        Evidence evidence = { .has_count = true, .count = (double) n };

        (void) location_append(&where, LOCATION_HBM, stack);
        return step_finding(run->step, &run->verdict, "hbm-scattered", &where, &evidence,
                            "%" PRIu64 " mismatches were counted that leave no trace", n);
}

static int diagnose(Run *run) {
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

                r = judge_comparator(run, stack);
                if (r < 0)
                        return r;

                (void) hbm_failures_of(&run->failures, stack, &n_failures);
                if (run->stacks[stack].mismatches == 0 && n_failures == 0)
                        continue;

                r = hbm_diagnose(&diagnosis, stack, run->stacks[stack].truncated || run->failures.full,
                                 &run->defects);
                if (r < 0)
                        return r;
                if (run->defects.n == before) {
                        r = tell_unexplained(run, stack, run->stacks[stack].mismatches);
                        if (r < 0)
                                return r;
                }
        }

        for (size_t i = 0; i < run->defects.n; i++) {
                r = tell_defect(run, &run->defects.defects[i]);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* ---- what was measured ---- */

static int measure(Run *run, bool complete) {
        uint64_t accesses = 0, mismatches = 0, planned = STACKS * memory_box_accesses(&run->box);
        int r;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                accesses += complete ? run->stacks[stack].accesses : 0;
                mismatches += run->stacks[stack].mismatches;
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
static void choose_box(Run *run) {
        double a_row = (double) STACKS * run->geometry.accesses / run->geometry.size[HBM_ROW] *
                       MEMORY_ACCESS_BYTES;
        double rows = ceil((double) run->parameters->bytes / a_row);

        run->box = memory_geometry_box(&run->geometry);
        if (run->parameters->bytes > 0 && rows < run->geometry.size[HBM_ROW])
                run->box.last[HBM_ROW] = (uint16_t) (rows - 1);
}

static int judge(Run *run, Verdict *ret) {
        int n_passes, r;

        choose_box(run);
        for (unsigned stack = 0; stack < STACKS; stack++)
                run->stacks[stack].accesses = memory_box_accesses(&run->box);

        n_passes = run_passes(run);
        if (n_passes < 0)
                return step_error(run->step, n_passes, "a march did not come to its end");
        if (n_passes == 0)
                return step_skip(run->step, ret, REASON_BUDGET, "the first pass takes %.3g s", pass_sec(run, 0));

        r = diagnose(run);
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
        Run run = {
                .step       = step,
                .parameters = step_parameters(step),
                .start_nsec = device_nsec(device),
                .verdict    = VERDICT_PASSED,
        };
        int r;

        r = device_hbm_geometry(device, step_chip(step), &run.geometry);
        if (r < 0)
                return step_error(step, r, "assay/hbm/geometry does not tell what the stacks are");
        if (hbm_bank_count(&run.geometry) > BANKS_MAX)
                return step_error(step, -EPROTO, "a stack of %u banks cannot be", hbm_bank_count(&run.geometry));

        r = memory_batch_new(device, &run.batch);
        if (r >= 0)
                r = judge(&run, ret);

        memory_batch_free(run.batch);
        hbm_failures_done(&run.failures);
        hbm_defects_done(&run.defects);
        return r;
}

const Check check_hbm = {
        .name         = "hbm",
        .summary      = "march tests over all of the HBM, with every failure located",
        .reads        = "assay/hbm/geometry; marches, copies and pauses of the four stacks, raw (beside on-die ECC)",
        .codes        = (const char *const[]) { "hbm-cell", "hbm-word", "hbm-row", "hbm-column", "hbm-bank", "hbm-lane",
                                                "hbm-pseudo-channel", "hbm-scattered", "hbm-comparator", NULL },
        .skips        = "budget: the plan has less device time left than the passes take",
        .unit         = LOCATION_CHIP,
        .disturbs     = DISTURBS_CHIP,
        .deadline_sec = 60,
        .run          = hbm_run,
};
