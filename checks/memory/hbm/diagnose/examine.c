/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/diagnose/examine.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/memory/hbm/diagnose/aggressor.h"

#define EXAMINED_MAX    32u /* of a stack; what is more is told as it was first seen */
#define REPEATS         16u /* over the bank */
#define WIDE_REPEATS    2u  /* over all that was tested */
#define WIDE_MAX        4u  /* defects of a stack for which that is done */
#define SOFT_ELEMENTS   2   /* elements in which one flip can be read before it is written over */
#define LINGERS         7u   /* a cell that holds for too short a time in one of two states, each half of the time, is missed once in 2^7 */
#define LINGER_NSEC     UINT64_C(32000000) /* a refresh window of JESD238 up to 85 °C: every sound cell holds as long */
#define SOFT_RATE       0.02 /* what acts in such a share of the commands, one of which shows it in each repeat, … */
#define SOFT_MISSED     0.01 /* … is called a soft error no more often than that */

static bool is_plain(const HbmPass *pass) {
        return pass->ran && pass->march && (pass->phase == MARCH_PHASE_MARCH || pass->phase == MARCH_PHASE_ADDRESS) && !pass->ecc;
}

/* The first march pass it failed in; NULL where it was no plain march. */
static const HbmPass *pass_of(const HbmDiagnosis *diagnosis, const HbmDefect *defect) {
        for (unsigned i = 0; i < diagnosis->n_passes; i++) {
                const HbmPass *pass = &diagnosis->passes[i];

                if ((defect->passes == 0 || defect->passes >> i & 1) && is_plain(pass) && !pass->fill)
                        return pass;
        }
        return NULL;
}

/* The march that left the data PASS began with; NULL where something else did. */
static const HbmPass *pass_before(const HbmDiagnosis *diagnosis, const HbmPass *pass) {
        while (pass-- > diagnosis->passes)
                if (pass->ran)
                        return is_plain(pass) ? pass : NULL;
        return NULL;
}

static int repeat(HbmExamination *x, const WireBox *region, unsigned n_repeats, unsigned *ret_failed, unsigned *ret_trials) {
        uint64_t all = 0, common = UINT64_MAX;
        unsigned n_failed = 0;
        HbmEcho echo;
        int r;

        /* Where the data before it are not known, once before it counts: they may matter to the first reads. */
        for (unsigned i = x->replay.before ? 1 : 0; i <= n_repeats; i++) {
                r = hbm_replay(&x->replay, region, &echo);
                if (r < 0)
                        return r;
                if (i == 0)
                        continue;
                all |= echo.failed;
                common &= echo.failed;
                n_failed += (unsigned) __builtin_popcountll(echo.failed);
        }

        x->region = *region;
        x->failed = common;
        *ret_failed = n_failed;
        *ret_trials = n_repeats * (unsigned) __builtin_popcountll(all);
        return 0;
}

/* ---- one defect ---- */

static unsigned reads_of(const March *march) {
        unsigned n = 0;

        for (unsigned i = 0; i < march->n_elements; i++)
                for (unsigned k = 0; k < march->elements[i].n_ops; k++)
                        n += !(march->elements[i].ops[k] & MARCH_WRITE);
        return n;
}

static int explain(HbmExamination *x) {
        HbmDefect *defect = x->defect;
        HbmReplay steady = x->replay;
        MarchSyndrome syndrome;
        uint64_t failed, alone;
        int r;

        if (defect->kind != HBM_DEFECT_CELL)
                return 0;

        /* A syndrome is of the march; what fails only after the data of another says nothing by it. */
        steady.before = NULL;
        r = hbm_replay_settled(&steady, &x->region, &failed);
        if (r < 0)
                return r;
        if (failed == x->failed && x->pass->field.background == MEMORY_BACKGROUND_SOLID) {
                march_syndrome_explain(x->pass->march, x->failed, false, &syndrome);
                (void) snprintf(defect->detail, sizeof(defect->detail), "%s", syndrome.text);
        }

        r = hbm_replay_settled(&x->replay, NULL, &alone);
        if (r < 0)
                return r;
        return alone == x->failed ? hbm_aggressor_name_bit(x) : hbm_aggressor_name(x);
}

/*
 * A particle hits once: one pass saw it, between two writes, and that pass does not fail again after the data that it began
 * with. Where these are not known, the place was marched on its own after a list was cut short, or a probe saw it fail too, nobody
 * can tell.
 */
static bool may_be_soft(const HbmExamination *x) {
        const HbmDefect *defect = x->defect;

        return x->replay.before && !x->cut_short && !(defect->phases >> MARCH_PHASE_PROBE & 1) &&
               __builtin_popcountll(defect->passes) == 1 && __builtin_popcount(defect->elements) <= SOFT_ELEMENTS;
}

/*
 * A march over all that was tested leaves a cell alone for as long as a refresh takes to come round, one over its bank does not. So a cell
 * that holds for less, and now and then alone (variable retention time), is asked with pauses.
 */
static int look_after_pauses(HbmExamination *x) {
        HbmDefect *defect = x->defect;
        unsigned n_failed, n_trials;
        int r;

        x->replay.linger_nsec = LINGER_NSEC;
        r = repeat(x, &x->bank, LINGERS, &n_failed, &n_trials);
        x->replay.linger_nsec = 0;
        if (r < 0)
                return r;

        if (n_failed > 0) {
                defect->kind = HBM_DEFECT_RETENTION;
                defect->n_failed = n_failed;
                defect->n_trials = n_trials;
        }
        return 0;
}

/* Where nothing may pause, only the march over all that was tested leaves it alone as long as it was when it failed. */
static int look_over_all(HbmExamination *x) {
        HbmDefect *defect = x->defect;
        unsigned n_failed, n_trials;
        int r;

        r = repeat(x, x->diagnosis->box, LINGERS, &n_failed, &n_trials);
        if (r < 0 || n_failed == 0)
                return r;
        defect->kind = HBM_DEFECT_INTERMITTENT;
        defect->n_failed = n_failed;
        defect->n_trials = n_trials;
        return 0;
}

/* It has never failed again: the same over its bank until what comes and goes would have. */
static int look_longer(HbmExamination *x) {
        HbmDefect *defect = x->defect;
        unsigned n_failed, n_trials, n_repeats = (unsigned) ceil(log(SOFT_MISSED) / log1p(-SOFT_RATE));
        int r;

        r = repeat(x, &x->bank, n_repeats, &n_failed, &n_trials);
        if (r < 0)
                return r;

        if (n_trials > 0) {
                defect->n_failed = n_failed;
                defect->n_trials = n_trials;
        } else
                defect->n_trials = n_repeats * reads_of(x->pass->march);
        if (n_failed > 0)
                return 0;

        defect->kind = HBM_DEFECT_SOFT_ERROR;
        return x->diagnosis->may_pause ? look_after_pauses(x) : look_over_all(x);
}

/* It did not fail again where it is; may it do so with all that was tested? */
static int look_wider(HbmExamination *x, unsigned *n_wide) {
        HbmDefect *defect = x->defect;
        unsigned n_trials = 0, n_failed = 0;
        bool wide = false;
        int r;

        if (*n_wide < WIDE_MAX) {
                wide = true;
                (*n_wide)++;
                r = repeat(x, x->diagnosis->box, WIDE_REPEATS, &n_failed, &n_trials);
                if (r < 0)
                        return r;
                if (n_trials > 0) {
                        defect->n_failed = n_failed;
                        defect->n_trials = n_trials;
                }
                if (n_trials > 0 && n_failed == n_trials)
                        return explain(x);
        }

        defect->kind = HBM_DEFECT_INTERMITTENT;
        return wide && n_failed == 0 && may_be_soft(x) ? look_longer(x) : 0;
}

static int examine(HbmExamination *x, unsigned *n_wide) {
        HbmDefect *defect = x->defect;
        int r;

        r = repeat(x, &x->bank, REPEATS, &defect->n_failed, &defect->n_trials);
        if (r < 0)
                return r;

        if (defect->n_trials == 0) {
                defect->n_trials = REPEATS * reads_of(x->pass->march);
                return look_wider(x, n_wide);
        }
        if (defect->n_failed < defect->n_trials) {
                defect->kind = HBM_DEFECT_INTERMITTENT;
                return 0;
        }
        return explain(x);
}

static bool is_examined(const HbmDefect *defect) {
        return defect->kind == HBM_DEFECT_CELL || defect->kind == HBM_DEFECT_WORD;
}

int hbm_examine(const HbmDiagnosis *diagnosis, HbmCase *c, size_t first, bool cut_short) {
        HbmProbe limits = { .geometry = diagnosis->geometry, .box = diagnosis->box };
        unsigned n = 0, n_wide = 0;
        int r;

        for (size_t i = first; i < c->defects->n && n < EXAMINED_MAX; i++) {
                HbmDefect *defect = &c->defects->defects[i];
                HbmExamination x = { .diagnosis = diagnosis, .defect = defect, .pass = pass_of(diagnosis, defect), .cut_short = cut_short };
                uint32_t linear = memory_geometry_linear(diagnosis->geometry, defect->at);

                /* Under a stuck lane every read of the access fails. */
                if (!is_examined(defect) || !x.pass || c->lanes[linear / hbm_bank_accesses(c->geometry) / hbm_case_banks_of_part(c)] ||
                    !hbm_probe_box(&limits, linear / hbm_bank_accesses(diagnosis->geometry), 1, &x.bank))
                        continue;

                x.replay = (HbmReplay) {
                        .geometry     = diagnosis->geometry,
                        .batch        = diagnosis->batch,
                        .stack        = c->stack,
                        .target       = linear,
                        .before       = pass_before(diagnosis, x.pass),
                        .march        = x.pass->march,
                        .order        = x.pass->order,
                        .pause_nsec   = (uint64_t) (x.pass->paused_sec * 1e9),
                        .field        = x.pass->field,
                        .region_field = x.pass->field,
                };
                r = examine(&x, &n_wide);
                if (r < 0)
                        return r;
                n++;
        }

        return 0;
}
