/* SPDX-License-Identifier: Apache-2.0 */

/*
 * systolic
 *
 * Every bit of every register of the 8 × 128 × 128 processing elements of a chip. All cores run the same
 * patterns side by side and every output bit is compared with what exact integer arithmetic gives. What
 * differs is explained by comparing whole signatures with those of all single stuck bits, so a finding names
 * core, row, column, register, bit and level. A core that is not explained by elements that stay stuck is
 * measured some more times: an intermittent fault then shows itself in one pattern after the other.
 */

#include <inttypes.h>
#include <stdio.h>

#include "checks/step.h"
#include "checks/systolic/array.h"
#include "checks/systolic/diagnose.h"

#define ROUNDS_MORE 12u /* for what is not explained at once */

static const char *const fault_codes[] = {
        [ARRAY_PE] = "systolic-pe",
        [ARRAY_ROW] = "systolic-row",
        [ARRAY_COLUMN] = "systolic-column",
        [ARRAY_UNEXPLAINED] = "systolic-array",
};

/* "psum bit 9 stuck at 1", and what else it may be. */
static void describe_element(const Diagnosis *diagnosis, char *text, size_t size) {
        const Candidate *candidate = &diagnosis->candidate;
        int n;

        if (!diagnosis->known) {
                (void) snprintf(text, size, "several bits of %s",
                                diagnosis->last_column > diagnosis->column ? "the activation register"
                                                                           : "one element");
                return;
        }

        n = snprintf(text, size, "%s bit %u %s at %u", pe_register_to_string(candidate->at), candidate->bit,
                     diagnosis->intermittent ? "at times stuck" : "stuck", candidate->value);
        if (diagnosis->n_alike > 1 && n > 0 && (size_t) n < size)
                (void) snprintf(text + n, size - (size_t) n,
                                " (or one of %u other bits of this element that look the same)",
                                diagnosis->n_alike - 1);
}

static void describe(unsigned core, const Diagnosis *diagnosis, char *text, size_t size) {
        char element[128];

        switch (diagnosis->fault) {

        case ARRAY_PE:
                describe_element(diagnosis, element, sizeof(element));
                (void) snprintf(text, size, "core%u/pe%u.%u (row %u, column %u): %s", core, diagnosis->row,
                                diagnosis->column, diagnosis->row, diagnosis->column, element);
                return;

        case ARRAY_ROW:
                (void) snprintf(text, size, "core%u: row %u of the array is wrong in all columns", core,
                                diagnosis->row);
                return;

        case ARRAY_COLUMN:
                (void) snprintf(text, size, "core%u: column %u of the array is wrong in all rows", core,
                                diagnosis->column);
                return;

        case ARRAY_UNEXPLAINED:
                (void) snprintf(text, size,
                                "core%u: %zu outputs in rows %u to %u, columns %u to %u are wrong, which no single element explains",
                                core, diagnosis->n_outputs, diagnosis->row, diagnosis->last_row,
                                diagnosis->column, diagnosis->last_column);
                return;
        }
}

static int report(Step *step, Verdict *verdict, unsigned core, const Diagnosis *diagnosis) {
        char text[256], address[64], expected[16], actual[16];
        Evidence evidence = { .has_count = true, .count = (double) diagnosis->n_outputs };
        Location where = *step_unit(step);
        int r;

        r = location_append(&where, LOCATION_CORE, core);
        if (r >= 0 && diagnosis->fault == ARRAY_PE)
                r = location_append_pe(&where, diagnosis->row, diagnosis->column);
        if (r < 0)
                return r;

        if (diagnosis->first.pattern) {
                (void) snprintf(address, sizeof(address), "pattern %s, column %u, vector %u",
                                diagnosis->first.pattern, diagnosis->first.column, diagnosis->first.vector);
                (void) snprintf(expected, sizeof(expected), "0x%08" PRIx32, diagnosis->first.expected);
                (void) snprintf(actual, sizeof(actual), "0x%08" PRIx32, diagnosis->first.actual);
                evidence.address = address;
                evidence.expected = expected;
                evidence.actual = actual;
        }

        describe(core, diagnosis, text, sizeof(text));
        return step_finding(step, verdict, fault_codes[diagnosis->fault], &where, &evidence, "%s", text);
}

static bool all_settled(const Diagnosis *diagnoses, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (diagnoses[i].fault == ARRAY_UNEXPLAINED || diagnoses[i].intermittent ||
                    (diagnoses[i].fault == ARRAY_PE && !diagnoses[i].known))
                        return false;

        return true;
}

static int measure_more(Array *array, unsigned core) {
        for (unsigned round = 0; round < ROUNDS_MORE; round++) {
                int r;

                r = array_measure(array, 1u << core, PATTERNS);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int judge_core(Step *step, Array *array, unsigned core, Verdict *verdict) {
        Diagnosis diagnoses[DIAGNOSES_MAX];
        size_t n;
        int r;

        n = array_diagnose(&array->cores[core], diagnoses);

        if (!all_settled(diagnoses, n)) {
                r = measure_more(array, core);
                if (r < 0)
                        return r;
                n = array_diagnose(&array->cores[core], diagnoses);
        }

        for (size_t i = 0; i < n; i++) {
                r = report(step, verdict, core, &diagnoses[i]);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int judge(Step *step, Array *array, Verdict *verdict) {
        size_t n_mismatched = 0, n_compared = array->n_compared;
        int r;

        for (unsigned core = 0; core < CORES; core++) {
                n_mismatched += array->cores[core].n_mismatched;
                if (observation_is_golden(&array->cores[core]))
                        continue;

                r = judge_core(step, array, core, verdict);
                if (r < 0)
                        return r;
        }

        r = step_note(step, "systolic_outputs_compared", (double) n_compared, "{output}", NULL);
        if (r < 0)
                return r;
        return step_measure(step, "systolic_mismatched_outputs", (double) n_mismatched, "{output}",
                            LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
}

static int systolic_run(Step *step, Verdict *ret) {
        _cleanup_(array_donep) Array *array = &(Array){};
        Verdict verdict = VERDICT_PASSED;
        int r;

        device_window_reset(step_device(step));
        r = array_init(array, step_device(step));
        if (r >= 0)
                r = array_measure(array, (1u << CORES) - 1, PATTERNS);
        if (r >= 0)
                r = judge(step, array, &verdict);
        if (r == -EREMOTEIO)
                return step_error(step, r, "core%u refused a matmul: status %" PRIu32, array->refused,
                                  device_status(step_device(step)));
        if (r < 0)
                return r;

        *ret = verdict;
        return 0;
}

const Check check_systolic = {
        .name = "systolic",
        .summary = "every register bit of the processing elements of all tensor engines",
        .reads = "the outputs of dense bf16 matmuls on every core",
        .codes = (const char *const[]){"systolic-pe", "systolic-row", "systolic-column", "systolic-array",
                                       NULL},
        .unit = LOCATION_CHIP,
        .disturbs = DISTURBS_CHIP,
        .deadline_sec = 60,
        .run = systolic_run,
        .prepare = patterns_prepare,
};
