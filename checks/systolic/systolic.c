/* SPDX-License-Identifier: Apache-2.0 */

/*
 * systolic
 *
 * Every bit of every register of the 8 × 128 × 128 processing elements of a chip, in all formats. All cores run
 * the same patterns side by side and every output bit is compared with what exact integer arithmetic gives. What
 * differs is explained by comparing whole signatures with those of all single stuck bits, so a finding names
 * core, row, column, register, bit and level. A core that is not explained by elements that stay stuck is
 * measured some more times: an intermittent fault then shows itself in one pattern after the other. What failed is run
 * again on the core and on its neighbour; what all cores answer alike is not told of a core.
 */

#include <errno.h>
#include <stdio.h>

#include "checks/step/step.h"
#include "checks/systolic/array/array.h"
#include "checks/systolic/parameters.h"
#include "checks/systolic/report.h"
#include "checks/systolic/psum/psum.h"

#define ROUNDS_MORE   12u /* for what is not explained at once, and comes and goes … */
#define PSUM_LOAD_ROUNDS 2u /* some lines of the address show in two matmuls of a round alone */
#define PSUM_EXAMINATIONS 4u /* a line that acts in one matmul of 200 shows in them, but once in 50 times */
#define ROUNDS_STEADY 2u  /* … or does not: then more of them say nothing new */

typedef struct Systolic {
        Step *step;
        Array array;
        PatternList list;
        PsumResult psum;
        unsigned reported;     /* cores that refused a pattern */
        bool cells;            /* every element of PSUM is tried */
        unsigned repeats;      /* of what is run several times */
        unsigned missing;      /* formats the plan asks for that the cores do not say they have */
        const char *undone;    /* the first pattern that no core does, and none said it would */
        size_t n_findings;
} Systolic;

/* Formats of the moving matrices, 1 << WireFormat. */
static unsigned formats_ran(const PatternList *list) {
        unsigned formats = 0;

        for (unsigned i = 0; i < list->n; i++)
                formats |= 1u << pattern_at(list->all[i])->x_format;

        return formats;
}

static bool all_settled(const Diagnosis *diagnoses, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (diagnoses[i].fault == ARRAY_UNEXPLAINED || diagnoses[i].intermittent ||
                    (diagnoses[i].fault == ARRAY_PE && !diagnoses[i].known))
                        return false;

        return true;
}

/* All that failed fails whenever it is tried. */
static bool is_steady(const Observation *observation) {
        for (unsigned i = 0; i < patterns_count(); i++)
                if (observation->failed[i] > 0 && observation->failed[i] < observation->ran[i])
                        return false;

        return !observation_is_golden(observation);
}

static int measure_more(Systolic *systolic, unsigned core) {
        for (unsigned round = 0; round < ROUNDS_MORE; round++) {
                int r;

                r = array_run(&systolic->array, 1u << core, &systolic->list);
                if (r < 0)
                        return r;
                if (round + 1 >= ROUNDS_STEADY && is_steady(&systolic->array.cores[core]))
                        return 0;
        }

        return 0;
}

/* A difference that was seen once may look as something simple that stays; that it does not shows in the control. */
static bool all_reproduced(const Diagnosis *diagnoses, size_t n, const Control *control) {
        for (size_t i = 0; i < n; i++)
                if (diagnosis_count_reproduced(&diagnoses[i], control) < CONTROL_RUNS)
                        return false;

        return true;
}

static bool any_unexplained(const Diagnosis *diagnoses, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (diagnoses[i].fault == ARRAY_UNEXPLAINED)
                        return true;

        return false;
}

/*
 * What no part of the array explains PSUM may make, for a line of its address or its flag spoils patterns as well: where that comes and goes, it has
 * been right whenever it was tried alone. Returns whether there is nothing left to tell of the array.
 */
static int ask_psum(Systolic *systolic, unsigned core, Verdict *verdict) {
        PsumResult *psum = &systolic->psum;
        unsigned bit = 1u << core, before = psum->faulty;
        int r = 0;

        for (unsigned i = 0; i < PSUM_EXAMINATIONS && r >= 0 && !((psum->faulty | psum->refused) & bit); i++)
                r = psum_examine(systolic->step, core, PSUM_OF_THE_ARRAY, verdict, psum);
        if (r < 0)
                return r;

        systolic->n_findings += (psum->faulty & ~before) != 0;
        return (psum->spoilt & bit) != 0;
}

/* EVERYWHERE: as all others; then what it suffers from first is told, once. */
static int judge_core(Systolic *systolic, unsigned core, bool everywhere, Verdict *verdict) {
        Diagnosis diagnoses[DIAGNOSES_MAX];
        bool measured = false;
        Control control;
        size_t n;
        int r;

        n = array_diagnose(&systolic->array.cores[core], diagnoses);

        if (!all_settled(diagnoses, n)) {
                measured = true;
                r = measure_more(systolic, core);
                if (r < 0)
                        return r;
                n = array_diagnose(&systolic->array.cores[core], diagnoses);
        }

        /* After enough rounds no pattern is left that never failed. */
        if (n == 1 && observation_comes_and_goes(&systolic->array.cores[core]))
                diagnoses[0].intermittent = true;

        r = neighbour_run(&systolic->array, core, &control);
        if (r >= 0 && !measured && !all_reproduced(diagnoses, n, &control)) {
                r = measure_more(systolic, core);
                n = array_diagnose(&systolic->array.cores[core], diagnoses);
        }
        if (r < 0)
                return r;
        if (!everywhere && any_unexplained(diagnoses, n)) {
                r = ask_psum(systolic, core, verdict);
                if (r != 0)
                        return r < 0 ? r : 0;
        }
        control.everywhere = everywhere;
        if (everywhere && n > 1)
                n = 1;

        for (size_t i = 0; i < n; i++) {
                r = diagnosis_report(systolic->step, verdict, core, &diagnoses[i], formats_ran(&systolic->list), &control);
                if (r < 0)
                        return r;
        }

        systolic->n_findings += n;
        return 0;
}

/* ---- what a core does not do ---- */

/* Refusals are the cores' own while one of them answers. What all refuse is an error of the chip, but for a format or mode that they
 * say they have; what they never said they have is not there. Returns whether the pattern counts. */
static int judge_refused_by_all(Systolic *systolic, unsigned index) {
        const Array *array = &systolic->array;

        for (unsigned core = 0; core < CORES; core++)
                if (array->cores[core].ran[index] > 0)
                        return 1;

        for (unsigned core = 0; core < CORES; core++) {
                uint16_t status = array->cores[core].refused[index];

                if (status == OBSERVATION_SHORT)
                        return step_error(systolic->step, -EPROTO, "no core wrote all of pattern %s", pattern_at(index)->name);
                if (status != STATUS_NRT_UNSUPPORTED)
                        return step_error(systolic->step, -EREMOTEIO, "all cores refused pattern %s: core%u with status %u",
                                          pattern_at(index)->name, core, status);
        }

        if (array->told)
                return 1;
        if (!systolic->undone)
                systolic->undone = pattern_at(index)->name;
        return 0;
}

/* Formats of which CORE took no pattern. */
static unsigned formats_refused(const Systolic *systolic, unsigned core) {
        unsigned taken = 0, refused = 0;

        for (unsigned i = 0; i < systolic->list.n; i++) {
                const Pattern *pattern = pattern_at(systolic->list.all[i]);
                unsigned formats = 1u << pattern->w_format | 1u << pattern->x_format;

                if (systolic->array.cores[core].refused[systolic->list.all[i]])
                        refused |= formats;
                else
                        taken |= formats;
        }

        return refused & ~taken;
}

static int report_refused(Systolic *systolic, unsigned core, unsigned n_refused, unsigned index, Verdict *verdict) {
        const Pattern *pattern = pattern_at(index);
        uint16_t status = systolic->array.cores[core].refused[index];
        Evidence evidence = { .has_count = true, .count = n_refused, .decided = { "systolic_matmuls_refused", n_refused, 0 } };
        Location where = *step_unit(systolic->step);
        unsigned formats = formats_refused(systolic, core);
        char how[64] = "not answered in full", text[WIRE_FORMATS_TEXT];
        int r;

        r = location_append(&where, LOCATION_CORE, core);
        if (r < 0)
                return r;

        if (status != OBSERVATION_SHORT)
                (void) snprintf(how, sizeof(how), "refused with status %u", status);
        systolic->n_findings++;
        systolic->reported |= 1u << core;
        return step_finding(systolic->step, verdict, "systolic-mode", &where, &evidence,
                            "core%u: %u of %u patterns were %s, first %s (weights %s, activations %s)%s%s", core, n_refused,
                            systolic->list.n, how, pattern->name, wire_format_words[pattern->w_format],
                            wire_format_words[pattern->x_format], formats ? "; none was done in " : "", wire_formats_to_text(formats, text));
}

static int judge_refused(Systolic *systolic, Verdict *verdict) {
        unsigned n[CORES] = {}, first[CORES] = {};
        int r;

        for (unsigned i = 0; i < systolic->list.n; i++) {
                unsigned index = systolic->list.all[i];

                r = judge_refused_by_all(systolic, index);
                if (r < 0)
                        return r;
                for (unsigned core = 0; r > 0 && core < CORES; core++)
                        if (systolic->array.cores[core].refused[index] && n[core]++ == 0)
                                first[core] = index;
        }

        for (unsigned core = 0; core < CORES; core++) {
                if (n[core] == 0)
                        continue;
                r = report_refused(systolic, core, n[core], first[core], verdict);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* What the plan asks for and the cores do not have leaves the chip undecided, unless it is broken anyhow. */
static int skip_missing(Systolic *systolic, Verdict *verdict) {
        char text[WIRE_FORMATS_TEXT];

        return step_skip(systolic->step, verdict, REASON_NOT_APPLICABLE, "the cores do not have what the plan asks for: %s",
                         systolic->missing ? wire_formats_to_text(systolic->missing, text) : systolic->undone);
}

/* What PSUM spoils is not the array's: cores with elements that fail are measured anew in a bank that has none. */
static int avoid_psum(Systolic *systolic) {
        const PsumResult *psum = &systolic->psum;
        int r = 0;

        for (unsigned core = 0; core < CORES && r >= 0; core++) {
                if (psum->spoilt >> core & 1 || psum->banks[core] == 0xff || psum->banks[core] == 0)
                        continue;
                array_forget(&systolic->array, core, (unsigned) __builtin_ctz(psum->banks[core]));
                r = array_run(&systolic->array, 1u << core, &systolic->list);
        }
        return r;
}

static const Evidence faulty_core = { .decided = { "systolic_psum_faulty_cores", 1, 0 } };

/* Wrong sums, errors told of PSUM, and no element found: where another bank gives what it should, it is the bank. */
static int judge_told(Systolic *systolic, unsigned core, Verdict *verdict) {
        Location where = *step_unit(systolic->step);
        int r;

        array_forget(&systolic->array, core, 1);
        r = array_run(&systolic->array, 1u << core, &systolic->list);
        if (r < 0 || !observation_is_golden(&systolic->array.cores[core]))
                return r;

        r = location_append(&where, LOCATION_CORE, core);
        if (r >= 0)
                r = location_append(&where, LOCATION_PSUM, 0);
        if (r < 0)
                return r;
        systolic->psum.faulty |= 1u << core;
        systolic->n_findings++;
        return step_finding(systolic->step, verdict, "systolic-psum", &where, &faulty_core,
                            "core%u: PSUM bank 0 spoils sums, and told of errors; bank 1 does not", core);
}

/*
 * What no part of PSUM explains the array may have made, for it works at times only: then it shows that in its own patterns, if they are
 * run often enough.
 */
static int judge_unexplained(Systolic *systolic, unsigned core, Verdict *verdict) {
        Location where = *step_unit(systolic->step);
        int r;

        r = measure_more(systolic, core);
        if (r < 0 || !observation_is_golden(&systolic->array.cores[core]))
                return r;

        r = location_append(&where, LOCATION_CORE, core);
        if (r < 0)
                return r;
        systolic->n_findings++;
        if (systolic->psum.mistaken >> core & 1)
                return step_finding(systolic->step, verdict, "systolic-mode", &where, &(Evidence) { .decided = { "systolic_sums_mistaken", 1, 0 } },
                                    "core%u: bf16 is at times taken for %s, in sums alone that PSUM was tried with", core,
                                    wire_format_words[systolic->psum.taken_for]);

        systolic->psum.faulty |= 1u << core;
        return step_finding(systolic->step, verdict, "systolic-psum", &where, &faulty_core,
                            "core%u: sums were wrong, which no element of PSUM, no line of its address and no flag explains", core);
}

/* As with patterns: what all cores refuse is an error, what some refuse is theirs. Told once for each core. */
static int report_psum_refused(Systolic *systolic, Verdict *verdict) {
        unsigned refused = systolic->psum.refused;
        int r;

        if (refused == (1u << CORES) - 1 && systolic->n_findings == 0)
                return step_error(systolic->step, -EREMOTEIO, "all cores refused matmuls with parts of PSUM: status %u",
                                  systolic->psum.status);

        for (unsigned core = 0; core < CORES; core++) {
                Location where = *step_unit(systolic->step);

                if (!(refused >> core & 1) || systolic->reported >> core & 1)
                        continue;
                r = location_append(&where, LOCATION_CORE, core);
                if (r < 0)
                        return r;
                systolic->n_findings++;
                r = step_finding(systolic->step, verdict, "systolic-mode", &where, &(Evidence) { .decided = { "systolic_matmuls_refused", 1, 0 } },
                                 "core%u: refused, status %u, or cut short a bf16 matmul with a part of PSUM", core, systolic->psum.status);
                if (r < 0)
                        return r;
        }
        return 0;
}

/* Whether nothing failed but patterns of full load, as it is where that is what PSUM does not bear. */
static bool fails_under_load_alone(const Observation *observation) {
        for (unsigned i = 0; i < patterns_count(); i++)
                if (observation->failed[i] > 0 && pattern_at(i)->kind != PATTERN_FULL)
                        return false;
        return true;
}

/* Of all other cores the sums under load would tell nothing new. */
static int judge_psum_load(Systolic *systolic, unsigned suspects, Verdict *verdict) {
        PsumResult *psum = &systolic->psum;
        unsigned cores = ((1u << CORES) - 1) & ~(psum->faulty | psum->unexplained | psum->refused | systolic->reported);

        for (unsigned core = 0; core < CORES; core++)
                if (!fails_under_load_alone(&systolic->array.cores[core]))
                        cores &= ~(1u << core);
        return cores ? psum_judge_load(systolic->step, PSUM_LOAD_ROUNDS * systolic->repeats, cores, suspects, verdict, psum) : 0;
}

static int judge_psum(Systolic *systolic, Verdict *verdict) {
        Array *array = &systolic->array;
        PsumResult *psum = &systolic->psum;
        unsigned suspects = 0;
        int r;

        for (unsigned core = 0; core < CORES; core++)
                suspects |= observation_is_golden(&array->cores[core]) ? 0 : 1u << core;

        r = psum_judge(systolic->step, systolic->cells, suspects, array->psum_told, verdict, psum);
        if (r >= 0)
                r = judge_psum_load(systolic, suspects, verdict);
        if (r < 0)
                return r;
        systolic->n_findings += (size_t) __builtin_popcount(psum->faulty);
        r = report_psum_refused(systolic, verdict);

        for (unsigned core = 0; core < CORES && r >= 0; core++)
                if (psum->unexplained >> core & 1)
                        r = judge_unexplained(systolic, core, verdict);
        if (r < 0)
                return r;

        r = step_note(systolic->step, "systolic_psum_compared", (double) psum->n_compared, "{output}", NULL);
        for (unsigned core = 0; core < CORES && r >= 0; core++)
                if (suspects & array->psum_told & ~psum->faulty & 1u << core)
                        r = judge_told(systolic, core, verdict);
        if (r >= 0)
                r = step_measure(systolic->step, "systolic_psum_faulty_cores", (double) __builtin_popcount(psum->faulty), "{core}",
                                 LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
        return r < 0 ? r : avoid_psum(systolic);
}

static int judge(Systolic *systolic, Verdict *verdict) {
        const Array *array = &systolic->array;
        size_t n_mismatched = 0, n_compared = array->n_compared;
        bool everywhere;
        int r;

        r = judge_refused(systolic, verdict);
        if (r >= 0)
                r = judge_psum(systolic, verdict);
        if (r < 0)
                return r;

        everywhere = systolic->psum.spoilt == 0 && cores_all_alike(array);
        for (unsigned core = 0; core < CORES; core++)
                n_mismatched += array->cores[core].n_mismatched;

        for (unsigned core = 0; core < (everywhere ? 1 : CORES); core++) {
                if (observation_is_golden(&array->cores[core]) || systolic->psum.spoilt >> core & 1 || systolic->psum.banks[core] == 0)
                        continue;

                r = judge_core(systolic, core, everywhere, verdict);
                if (r < 0)
                        return r;
        }

        r = step_note(systolic->step, "systolic_outputs_compared", (double) n_compared, "{output}", NULL);
        if (r < 0)
                return r;
        r = step_measure(systolic->step, "systolic_mismatched_outputs", (double) n_mismatched, "{output}",
                         LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
        if (r < 0 || systolic->n_findings > 0 || (systolic->missing == 0 && !systolic->undone))
                return r;
        return skip_missing(systolic, verdict);
}

/* Everything once, then the structure again: the fewest commands show every bit, so what comes and goes gets the most chances. */
static int run_patterns(Systolic *systolic, const SystolicParameters *parameters) {
        Array *array = &systolic->array;
        PatternList structure;
        int r;

        r = array_run(array, (1u << CORES) - 1, &systolic->list);
        patterns_select(&structure, false, parameters->formats & array->formats, array->ftz);
        for (unsigned i = 1; i < parameters->repeats && r >= 0; i++)
                r = array_run(array, (1u << CORES) - 1, &structure);
        return r;
}

static int systolic_run(Step *step, Verdict *ret) {
        static const SystolicParameters whole = { .patterns = SYSTOLIC_STRUCTURE, .formats = (1u << _FORMAT_MAX) - 1 };
        const SystolicParameters *parameters = step_parameters(step) ? step_parameters(step) : &whole;
        Systolic systolic = { .step = step, .cells = parameters->patterns == SYSTOLIC_ALL,
                              .repeats = parameters->repeats > 0 ? (unsigned) parameters->repeats : 1 };
        _cleanup_(array_donep) Array *array = &systolic.array;
        Verdict verdict = VERDICT_PASSED;
        int r;

        device_window_reset(step_device(step));
        r = array_init(array, step_device(step));
        if (r < 0)
                return r;

        patterns_select(&systolic.list, parameters->patterns == SYSTOLIC_ALL, parameters->formats & array->formats, array->ftz);
        systolic.missing = parameters->formats & ~array->formats;
        r = run_patterns(&systolic, parameters);
        if (r >= 0)
                r = judge(&systolic, &verdict);
        if (r < 0)
                return r;

        *ret = verdict;
        return 0;
}

static void prepare(void) {
        patterns_prepare();
        psum_numbers_prepare();
}

const Check check_systolic = {
        .name = "systolic",
        .summary = "every register bit of the processing elements of all tensor engines",
        .reads = "the outputs of dense matmuls on every core, in the formats that the plan names",
        .codes = (const char *const[]){"systolic-pe", "systolic-row", "systolic-column", "systolic-block",
                                       "systolic-array", "systolic-mode", "systolic-psum", NULL},
        .skips = "not-applicable: the cores do not have a format that the plan asks for",
        .unit = LOCATION_CHIP,
        .disturbs = DISTURBS_CHIP,
        .deadline_sec = 60,
        .run = systolic_run,
        .prepare = prepare,
};
