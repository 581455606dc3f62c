/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/systolic/array/array.h"
#include "checks/systolic/parameters.h"
#include "tests/checks/tensor-outcome.h"

extern const Check check_systolic;

static TensorOutcome outcome;

static void run(TensorChip *chip) {
        static const SystolicParameters parameters = { .patterns = SYSTOLIC_STRUCTURE, .formats = (1u << _FORMAT_MAX) - 1 };

        tensor_chip_run(chip, &check_systolic, &parameters, &outcome);
}

static bool ends_with(const char *text, const char *end) {
        size_t n = strlen(text), n_end = strlen(end);

        return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static void assert_failed_with(size_t n_findings) {
        assert_int_equal(outcome.error, 0);
        assert_int_equal(outcome.verdict, VERDICT_FAILED);
        for (size_t i = 0; outcome.n_findings != n_findings && i < outcome.n_findings; i++)
                print_error("%s at %s: %s\n", outcome.findings[i].code, outcome.findings[i].where, outcome.findings[i].message);
        assert_int_equal(outcome.n_findings, n_findings);
        assert_true(outcome.n_beyond > 0);
}

/* In any order. */
static void assert_finding_somewhere(const char *code, const char *where, const char *says) {
        for (size_t i = 0; i < outcome.n_findings; i++)
                if (strcmp(outcome.findings[i].code, code) == 0 && strstr(outcome.findings[i].where, where) &&
                    strstr(outcome.findings[i].message, says))
                        return;

        fail_msg("no %s at %s: %s", code, where, says);
}

static void test_a_healthy_chip_passes(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        for (unsigned i = 0; i < 3; i++) {
                run(&chip);
                assert_int_equal(outcome.error, 0);
                assert_int_equal(outcome.verdict, VERDICT_PASSED);
                assert_int_equal(outcome.n_findings, 0);
                assert_int_equal(outcome.n_beyond, 0);
        }
        tensor_chip_done(&chip);
}

static void test_each_register_is_named_with_its_bit(void **state) {
        static const struct {
                const char *kind, *where;
                unsigned bit, value;
                const char *says;
        } cases[] = {
                {"weight-stuck",      "core0/pe0.0",     3,  1, "weight bit 3 stuck at 1"     },
                { "weight-stuck",     "core7/pe127.127", 14, 1, "weight bit 14 stuck at 1"    },
                { "activation-stuck", "core3/pe64.10",   9,  0, "activation bit 9 stuck at 0" },
                { "activation-stuck", "core3/pe1.0",     14, 1, "activation bit 14 stuck at 1"},
                { "product-stuck",    "core5/pe17.93",   9,  1, "product bit 9 stuck at 1"    },
                { "product-stuck",    "core5/pe17.93",   2,  0, "product bit 2 stuck at 0"    },
                { "psum-stuck",       "core1/pe126.5",   31, 1, "psum bit 31 stuck at 1"      },
                { "psum-stuck",       "core1/pe0.127",   30, 1, "bit 30 stuck at 1"           },
                { "psum-stuck",       "core2/pe90.64",   0,  0, "psum bit 0 stuck at 0"       },
        };
        TensorChip chip;

        tensor_chip_init(&chip);
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                tensor_chip_inject(&chip, cases[i].kind, cases[i].where,
                                   (TensorParameters){ .bit = cases[i].bit, .value = cases[i].value }, 1);
                run(&chip);
                assert_failed_with(1);
                assert_finding(&outcome, 0, "systolic-pe", cases[i].where, cases[i].says);
                tensor_chip_heal(&chip);
        }
        run(&chip);
        assert_int_equal(outcome.verdict, VERDICT_PASSED);
        tensor_chip_done(&chip);
}

static void test_several_elements_of_a_core_are_told_apart(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "activation-stuck", "core4/pe30.20",
                           (TensorParameters){ .bit = 5, .value = 1 }, 1);
        tensor_chip_inject(&chip, "product-stuck", "core4/pe99.3",
                           (TensorParameters){ .bit = 20, .value = 0 }, 1);
        tensor_chip_inject(&chip, "weight-stuck", "core4/pe7.50", (TensorParameters){ .bit = 2, .value = 1 },
                           1);
        tensor_chip_inject(&chip, "activation-stuck", "core4/pe31.100",
                           (TensorParameters){ .bit = 15, .value = 1 }, 1);
        tensor_chip_inject(&chip, "psum-stuck", "core6/pe12.127",
                           (TensorParameters){ .bit = 23, .value = 1 }, 1);
        run(&chip);
        assert_failed_with(5);
        assert_finding(&outcome, 0, "systolic-pe", "core4/pe99.3", "product bit 20 stuck at 0");
        assert_finding(&outcome, 1, "systolic-pe", "core4/pe30.20", "activation bit 5 stuck at 1");
        assert_finding(&outcome, 2, "systolic-pe", "core4/pe7.50", "weight bit 2 stuck at 1");
        assert_finding(&outcome, 3, "systolic-pe", "core4/pe31.100", "activation bit 15 stuck at 1");
        assert_finding(&outcome, 4, "systolic-pe", "core6/pe12.127", "psum bit 23 stuck at 1");
        tensor_chip_done(&chip);
}

static void test_a_dead_row_and_a_dead_column_are_such(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "pe-row-dead", "core2", (TensorParameters){ .row = 77 }, 1);
        tensor_chip_inject(&chip, "pe-column-dead", "core3", (TensorParameters){ .column = 12 }, 1);
        run(&chip);
        assert_failed_with(2);
        assert_finding(&outcome, 0, "systolic-row", "core2", "row 77");
        assert_finding(&outcome, 1, "systolic-column", "core3", "column 12");
        tensor_chip_done(&chip);
}

/* With the second of them every vector is wrong, whatever row it feeds. */
static void test_two_parts_of_one_element_are_one_element(void **state) {
        static const struct {
                const char *kinds[2];
                TensorParameters parameters[2];
                const char *says;
        } couples[] = {
                { { "weight-stuck", "weight-stuck" },
                  { { .bit = 2, .value = 1 }, { .bit = 9, .value = 0 } },
                  "weight bit 2 stuck at 1, and weight bit 9 stuck at 0" },
                { { "weight-stuck", "product-stuck" },
                  { { .bit = 9, .value = 1 }, { .bit = 19, .value = 1 } },
                  "weight bit 9 stuck at 1, and product bit 19 stuck at 1" },
                { { "product-stuck", "psum-stuck" },
                  { { .bit = 25, .value = 0 }, { .bit = 19, .value = 1 } },
                  "product bit 25 stuck at 0, and psum bit 19 stuck at 1" },
                { { "activation-stuck", "product-stuck" },
                  { { .bit = 9, .value = 1 }, { .bit = 3, .value = 0 } },
                  "activation bit 9 stuck at 1, and product bit 3 stuck at 0" },
        };

        for (size_t i = 0; i < ELEMENTS(couples); i++) {
                TensorChip chip;

                tensor_chip_init(&chip);
                for (unsigned j = 0; j < 2; j++)
                        tensor_chip_inject(&chip, couples[i].kinds[j], "core2/pe5.6", couples[i].parameters[j], 1);
                run(&chip);
                assert_failed_with(1);
                assert_finding(&outcome, 0, "systolic-pe", "core2/pe5.6", couples[i].says);
                tensor_chip_done(&chip);
        }
}

/* Nobody looks for three, but they still are one element. */
static void test_several_bits_of_one_element_stay_one_element(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "weight-stuck", "core2/pe5.6", (TensorParameters){ .bit = 2, .value = 1 }, 1);
        tensor_chip_inject(&chip, "weight-stuck", "core2/pe5.6", (TensorParameters){ .bit = 9, .value = 0 }, 1);
        tensor_chip_inject(&chip, "product-stuck", "core2/pe5.6", (TensorParameters){ .bit = 19, .value = 1 }, 1);
        run(&chip);
        assert_failed_with(1);
        assert_finding(&outcome, 0, "systolic-pe", "core2/pe5.6", "several bits");
        tensor_chip_done(&chip);
}

static void test_several_elements_of_a_column_are_told_apart(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "weight-stuck", "core2/pe5.6", (TensorParameters){ .bit = 2, .value = 1 },
                           1);
        tensor_chip_inject(&chip, "weight-stuck", "core2/pe50.6", (TensorParameters){ .bit = 9, .value = 0 },
                           1);
        tensor_chip_inject(&chip, "product-stuck", "core2/pe60.8", (TensorParameters){ .bit = 9, .value = 0 },
                           1);
        tensor_chip_inject(&chip, "psum-stuck", "core2/pe9.8", (TensorParameters){ .bit = 24, .value = 0 }, 1);
        run(&chip);
        assert_failed_with(4);
        assert_finding_somewhere("systolic-pe", "core2/pe5.6", "weight bit 2 stuck at 1");
        assert_finding_somewhere("systolic-pe", "core2/pe50.6", "weight bit 9 stuck at 0");
        assert_finding_somewhere("systolic-pe", "core2/pe60.8", "product bit 9 stuck at 0");
        assert_finding_somewhere("systolic-pe", "core2/pe9.8", "psum bit 24 stuck at 0");
        tensor_chip_done(&chip);
}

/* They act in all columns behind, where they are no other elements. */
static void test_several_activations_of_a_column_are_told_once(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "activation-stuck", "core2/pe25.93", (TensorParameters){ .bit = 11, .value = 0 }, 1);
        tensor_chip_inject(&chip, "activation-stuck", "core2/pe64.93", (TensorParameters){ .bit = 2, .value = 0 }, 1);
        tensor_chip_inject(&chip, "activation-stuck", "core2/pe105.93", (TensorParameters){ .bit = 5, .value = 1 }, 1);
        run(&chip);
        assert_failed_with(3);
        assert_finding_somewhere("systolic-pe", "core2/pe25.93", "activation bit 11 stuck at 0");
        assert_finding_somewhere("systolic-pe", "core2/pe64.93", "activation bit 2 stuck at 0");
        assert_finding_somewhere("systolic-pe", "core2/pe105.93", "activation bit 5 stuck at 1");
        tensor_chip_done(&chip);
}

static void test_a_dead_block_hides_nothing(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "pe-block-dead", "core2", (TensorParameters){ .row_group = 1, .column_group = 2 }, 1);
        tensor_chip_inject(&chip, "psum-stuck", "core2/pe3.70", (TensorParameters){ .bit = 20, .value = 1 }, 1);
        tensor_chip_inject(&chip, "weight-stuck", "core2/pe103.72", (TensorParameters){ .bit = 10, .value = 1 }, 1);
        tensor_chip_inject(&chip, "activation-stuck", "core2/pe113.2", (TensorParameters){ .bit = 10, .value = 1 }, 1);
        tensor_chip_inject(&chip, "product-stuck", "core6/pe17.93", (TensorParameters){ .bit = 9, .value = 1 }, 1);
        run(&chip);
        assert_failed_with(5);
        assert_finding_somewhere("systolic-block", "core2", "rows 32 to 63 in columns 64 to 95");
        assert_finding_somewhere("systolic-pe", "core2/pe3.70", "psum bit 20 stuck at 1");
        assert_finding_somewhere("systolic-pe", "core2/pe103.72", "weight bit 10 stuck at 1");
        assert_finding_somewhere("systolic-pe", "core2/pe113.2", "activation bit 10 stuck at 1");
        assert_finding_somewhere("systolic-pe", "core6/pe17.93", "product bit 9 stuck at 1");
        tensor_chip_done(&chip);
}

static void test_what_nothing_explains_is_bounded(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        for (unsigned i = 0; i < 8; i++) {
                char where[32];

                (void) snprintf(where, sizeof(where), "core2/pe%u.6", 5 + 8 * i);
                tensor_chip_inject(&chip, "weight-stuck", where, (TensorParameters){ .bit = i, .value = 1 }, 1);
        }
        run(&chip);
        assert_failed_with(1);
        assert_finding(&outcome, 0, "systolic-array", "core2", "rows 5 to 61, columns 6 to 6");
        tensor_chip_done(&chip);
}

static void test_an_intermittent_bit_is_found_and_placed(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "psum-stuck", "core5/pe40.41", (TensorParameters){ .bit = 25, .value = 1 },
                           0.5);
        run(&chip);
        assert_failed_with(1);
        assert_finding(&outcome, 0, "systolic-pe", "core5/pe40.41", "psum bit 25 at times stuck at 1");
        tensor_chip_heal(&chip);
        tensor_chip_inject(&chip, "activation-stuck", "core5/pe40.41",
                           (TensorParameters){ .bit = 7, .value = 0 }, 0.5);
        run(&chip);
        assert_failed_with(1);
        assert_finding(&outcome, 0, "systolic-pe", "core5/pe40.41", "activation bit 7 at times stuck at 0");
        tensor_chip_done(&chip);
}

/* It acts while 40 % of the elements multiply and in nothing else, in what either set of patterns has of that. */
static void test_what_weakens_with_the_supply_is_placed(void **state) {
        static const SystolicParameters sets[] = {
                { .patterns = SYSTOLIC_STRUCTURE, .formats = (1u << _FORMAT_MAX) - 1 },
                { .patterns = SYSTOLIC_ALL, .formats = (1u << _FORMAT_MAX) - 1 },
        };
        static const struct {
                const char *kind, *where;
                unsigned bit, value;
        } cases[] = {
                { "weight-stuck", "core6/pe127.127", 2, 0 }, { "product-stuck", "core6/pe90.64", 20, 1 },
                { "psum-stuck", "core6/pe33.44", 20, 1 },    { "weight-stuck", "core6/pe5.4", 14, 0 },
                { "product-stuck", "core6/pe0.0", 31, 0 },   { "psum-stuck", "core6/pe77.10", 31, 1 },
        };
        TensorChip chip;

        tensor_chip_init(&chip);
        chip.droop = 20;
        for (size_t i = 0; i < 2 * ELEMENTS(cases); i++) {
                size_t n = i / 2;

                tensor_chip_inject(&chip, cases[n].kind, cases[n].where,
                                   (TensorParameters){ .bit = cases[n].bit, .value = cases[n].value }, 1);
                tensor_chip_run(&chip, &check_systolic, &sets[i % 2], &outcome);
                assert_failed_with(1);
                assert_finding(&outcome, 0, "systolic-pe", cases[n].where, "stuck at");
                assert_non_null(strstr(outcome.findings[0].message, "under full load only"));
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
}

/* What failed is run three times more, there and next to it. */
static void test_a_neighbour_is_the_control(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "product-stuck", "core5/pe17.93", (TensorParameters){ .bit = 9, .value = 1 }, 1);
        run(&chip);
        assert_failed_with(1);
        assert_finding(&outcome, 0, "systolic-pe", "core5/pe17.93", "reproduced 3 of 3 times, core4 is right");

        tensor_chip_inject(&chip, "product-stuck", "core4/pe17.93", (TensorParameters){ .bit = 9, .value = 1 }, 1);
        run(&chip);
        assert_failed_with(2);
        assert_finding(&outcome, 0, "systolic-pe", "core4/pe17.93", "reproduced 3 of 3 times, core5 fails too");
        tensor_chip_done(&chip);
}

/* Of two in one core the one that comes and goes is told apart from the one that stays. */
static void test_each_finding_says_how_often_it_reproduced(void **state) {
        unsigned n_seldom = 0;
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "product-stuck", "core5/pe17.93", (TensorParameters){ .bit = 9, .value = 1 }, 1);
        tensor_chip_inject(&chip, "psum-stuck", "core5/pe3.2", (TensorParameters){ .bit = 0, .value = 0 }, 0.2);
        for (unsigned i = 0; i < 6; i++) {
                run(&chip);
                assert_finding_somewhere("systolic-pe", "core5/pe17.93", "reproduced 3 of 3 times");
                for (size_t f = 0; f < outcome.n_findings; f++) {
                        bool stays = strstr(outcome.findings[f].where, "pe17.93") != NULL;

                        assert_int_equal(outcome.findings[f].runs, 4);
                        assert_in_range(outcome.findings[f].reproduced, stays ? 4 : 1, 4);
                        if (outcome.findings[f].reproduced < 4 && strstr(outcome.findings[f].message, "at times"))
                                n_seldom++;
                }
        }
        assert_true(n_seldom > 0);
        tensor_chip_done(&chip);
}

static void test_what_all_cores_have_alike_is_not_a_core(void **state) {
        TensorChip chip;
        char where[32];

        tensor_chip_init(&chip);
        for (unsigned core = 0; core < CORES; core++) {
                (void) snprintf(where, sizeof(where), "core%u/pe17.93", core);
                tensor_chip_inject(&chip, "product-stuck", where, (TensorParameters){ .bit = 9, .value = 1 }, 1);
                run(&chip);
                assert_failed_with(core == CORES - 1 ? 1 : core + 1);
        }
        assert_string_equal(outcome.findings[0].code, "systolic-array");
        assert_string_equal(outcome.findings[0].where, "us0-0/chip0");
        assert_non_null(strstr(outcome.findings[0].message, "suspect the host"));

        /* Another element of one core: then it is not the same everywhere. */
        tensor_chip_inject(&chip, "weight-stuck", "core2/pe5.6", (TensorParameters){ .bit = 2, .value = 1 }, 1);
        run(&chip);
        assert_failed_with(CORES + 1);
        tensor_chip_done(&chip);
}

static void test_a_format_that_is_taken_for_another_is_named(void **state) {
        static const struct {
                WireFormat format;
                const char *says;
        } cases[] = {
                { FORMAT_FP32, "fp32 is taken for tf32" },
                { FORMAT_TF32, "tf32 is taken for fp32" },
                { FORMAT_BF16, "bf16 is taken for fp16" },
                { FORMAT_FP16, "fp16 is taken for bf16" },
                { FORMAT_FP8_E4M3, "fp8_e4m3 is taken for fp8_e5m2" },
                { FORMAT_FP8_E5M2, "fp8_e5m2 is taken for fp8_e3m4" },
                { FORMAT_FP8_E3M4, "fp8_e3m4 is taken for fp8_e4m3" },
        };
        TensorChip chip;

        tensor_chip_init(&chip);
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                tensor_chip_inject(&chip, "format-wrong", "core6", (TensorParameters){ .format = (int) cases[i].format }, 1);
                run(&chip);
                assert_failed_with(1);
                assert_finding(&outcome, 0, "systolic-mode", "core6", cases[i].says);

                /* An element shows itself in the other formats. */
                tensor_chip_inject(&chip, "psum-stuck", "core6/pe12.100", (TensorParameters){ .bit = 24, .value = 1 }, 1);
                run(&chip);
                assert_failed_with(2);
                assert_finding(&outcome, 0, "systolic-mode", "core6", cases[i].says);
                assert_finding(&outcome, 1, "systolic-pe", "core6/pe12.100", "psum bit 24 stuck at 1");
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
}

/* A load may be right and the matmul not, and the reverse; what was seen stays what it is. */
static void test_a_format_that_is_taken_for_another_at_times_is_named(void **state) {
        static const double probabilities[] = { 0.5, 0.1, 0.02 };
        unsigned n_found = 0;
        TensorChip chip;

        tensor_chip_init(&chip);
        for (unsigned i = 0; i < _FORMAT_MAX; i++) {
                tensor_chip_inject(&chip, "format-wrong", "core3", (TensorParameters){ .format = (int) i },
                                   probabilities[i % ELEMENTS(probabilities)]);
                for (unsigned scan = 0; scan < 2; scan++) {
                        run(&chip);
                        assert_int_equal(outcome.error, 0);
                        if (outcome.verdict == VERDICT_PASSED)
                                continue;
                        n_found++;
                        assert_int_equal(outcome.verdict, VERDICT_FAILED);
                        if (i == FORMAT_BF16) /* PSUM is tried in bf16: a command of that which misses it is PSUM's */
                                continue;
                        assert_failed_with(1);
                        assert_finding(&outcome, 0, "systolic-mode", "core3", "taken for");
                }
                tensor_chip_heal(&chip);
        }
        assert_true(n_found >= 5);
        tensor_chip_done(&chip);
}

/* It may show in sums alone that PSUM is tried with. */
static void test_a_format_that_is_seldom_taken_for_another_is_not_psum(void **state) {
        unsigned n_found = 0;
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "format-wrong", "core3", (TensorParameters){ .format = FORMAT_BF16, .as = FORMAT_FP16 }, 0.03);
        for (unsigned i = 0; i < 30; i++) {
                run(&chip);
                n_found += outcome.n_findings > 0;
                for (size_t f = 0; f < outcome.n_findings; f++)
                        assert_finding(&outcome, f, "systolic-mode", "core3", "bf16 is at times taken for fp16");
        }
        assert_true(n_found > 5);
        tensor_chip_done(&chip);
}

static void test_a_core_that_writes_nothing_does_not_pass(void **state) {
        TensorChip chip;

        for (uint64_t from = 1; from < 145; from += 61) {
                tensor_chip_init(&chip);
                run(&chip); /* leaves golden answers in the window */
                assert_int_equal(outcome.verdict, VERDICT_PASSED);
                chip.silent_from = chip.n_commands + from;
                run(&chip);
                assert_false(outcome.error == 0 && outcome.verdict == VERDICT_PASSED &&
                             chip.n_commands >= chip.silent_from + 16);
                tensor_chip_done(&chip);
        }
}

/* Seven cores answered. */
static void assert_failed_with_refusal(void) {
        assert_int_equal(outcome.error, 0);
        assert_int_equal(outcome.verdict, VERDICT_FAILED);
        assert_int_equal(outcome.n_findings, 1);
        assert_string_equal(outcome.findings[0].code, "systolic-mode");
        assert_non_null(strstr(outcome.findings[0].message, "refused"));
}

static void test_no_error_of_the_port_becomes_a_pass(void **state) {
        static const int errors[] = { -EIO, -ETIMEDOUT, -ENODEV, -EPROTO };
        TensorChip chip;

        for (uint64_t at = 1;; at += 17) {
                bool reached;

                tensor_chip_init(&chip);
                chip.fail_at = at;
                chip.fail_status = at % 2 ? STATUS_NRT_HW_ERROR : STATUS_NRT_UNSUPPORTED;
                run(&chip);
                reached = chip.n_commands >= at;
                if (reached) {
                        assert_failed_with_refusal();
                } else
                        assert_int_equal(outcome.verdict, VERDICT_PASSED);
                tensor_chip_done(&chip);

                tensor_chip_init(&chip);
                chip.break_at = at;
                chip.break_error = errors[at % ELEMENTS(errors)];
                run(&chip);
                assert_true(reached ? outcome.error < 0 : outcome.verdict == VERDICT_PASSED);
                tensor_chip_done(&chip);
                if (!reached)
                        break;
        }
}

/* As they say themselves; the model behind has all. */
static void test_a_format_that_is_not_there_leaves_the_chip_undecided(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        chip.formats = "fp32 bf16 fp8_e4m3";
        run(&chip);
        assert_int_equal(outcome.error, 0);
        assert_int_equal(outcome.verdict, VERDICT_SKIPPED);
        assert_int_equal(outcome.n_findings, 0);

        tensor_chip_inject(&chip, "product-stuck", "core5/pe17.93", (TensorParameters){ .bit = 9, .value = 1 }, 1);
        run(&chip);
        assert_failed_with(1);
        tensor_chip_done(&chip);
}

static void test_a_format_that_is_refused_is_a_finding_where_it_was_promised(void **state) {
        static const struct {
                unsigned cores;
                const char *formats;
                size_t n_findings;
        } cases[] = {
                { 1u << 3, NULL, 1 }, /* the others do it */
                { 1u << 3, "", 1 },
                { 0xff, NULL, 8 },    /* nobody does, and it was promised */
                { 0xff, "", 0 },      /* nobody ever said so */
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                TensorChip chip;

                tensor_chip_init(&chip);
                chip.tampered = cases[i].cores;
                chip.refuses = FORMAT_FP16;
                chip.formats = cases[i].formats;
                run(&chip);
                assert_int_equal(outcome.error, 0);
                assert_int_equal(outcome.verdict, cases[i].n_findings > 0 ? VERDICT_FAILED : VERDICT_SKIPPED);
                assert_int_equal(outcome.n_findings, cases[i].n_findings);
                if (cases[i].n_findings > 0)
                        assert_finding(&outcome, 0, "systolic-mode", cases[i].cores == 0xff ? "core0" : "core3", "; none was done in fp16");
                tensor_chip_done(&chip);
        }
}

static void test_answers_that_are_short_or_repeated_never_pass(void **state) {
        for (unsigned i = 0; i < 4; i++) {
                TensorChip chip;

                tensor_chip_init(&chip);
                chip.tampered = i % 2 ? 0xff : 1u << 6;
                chip.is_short = i < 2;
                chip.repeats = i >= 2;
                run(&chip);
                if (i == 1)
                        assert_int_equal(outcome.error, -EPROTO); /* nobody keeps to the agreement */
                else {
                        assert_int_equal(outcome.error, 0);
                        assert_int_equal(outcome.verdict, VERDICT_FAILED);
                        assert_int_equal(outcome.n_findings, 1); /* what all have alike is told once */
                        assert_string_equal(outcome.findings[0].code, i == 0 ? "systolic-mode" : "systolic-array");
                }
                tensor_chip_done(&chip);
        }
}

/* The right answers stand in the window from the round before. */
static void test_what_is_not_written_again_is_not_golden(void **state) {
        const PatternList list = { .n = 1, .all = { 4 } };
        TensorChip chip;
        Array array;

        tensor_chip_init(&chip);
        assert_int_equal(array_init(&array, chip.device), 0);
        assert_int_equal(array_run(&array, 0xff, &list), 0);
        chip.silent_from = chip.n_commands + 1;
        assert_int_equal(array_run(&array, 0xff, &list), CORES);
        for (unsigned column = 0; column < PE_COLUMNS; column++)
                assert_non_null(observation_column(&array.cores[3], 4, column));
        array_done(&array);
        tensor_chip_done(&chip);
}

/* Nor what one line of each column holds from the round before. */
static void test_a_line_that_is_lost_is_not_golden(void **state) {
        const PatternList list = { .n = 1, .all = { 4 } };
        unsigned lines = pattern_at(4)->moving * sizeof(uint32_t) / 64;

        assert_true(lines > 2);
        for (unsigned line = 1; line <= lines; line++) {
                TensorChip chip;
                Array array;

                tensor_chip_init(&chip);
                assert_int_equal(array_init(&array, chip.device), 0);
                assert_int_equal(array_run(&array, 0xff, &list), 0);
                chip.loses = line;
                assert_int_equal(array_run(&array, 0xff, &list), CORES);
                array_done(&array);
                tensor_chip_done(&chip);
        }
}

static void test_random_faults_are_all_found_and_placed(void **state) {
        static const char *const kinds[] = { "weight-stuck", "activation-stuck", "product-stuck",
                                             "psum-stuck" };
        static const unsigned bits[] = { 16, 16, 32, 32 };
        TensorChip chip;
        char where[64];

        srandom(4711);
        tensor_chip_init(&chip);
        for (unsigned i = 0; i < 60; i++) {
                unsigned kind = (unsigned) random() % 4;

                (void) snprintf(where, sizeof(where), "core%u/pe%u.%u", (unsigned) random() % 8,
                                (unsigned) random() % 128, (unsigned) random() % 128);
                tensor_chip_inject(&chip, kinds[kind], where,
                                   (TensorParameters){ .bit = (unsigned) random() % bits[kind],
                                                       .value = (unsigned) random() % 2 },
                                   1);
                run(&chip);
                if (outcome.n_findings != 1)
                        fail_msg("%s %s bit %u value %u: %zu findings", kinds[kind], where,
                                 (unsigned) chip.parameters[0].bit, (unsigned) chip.parameters[0].value,
                                 outcome.n_findings);
                assert_failed_with(1);
                assert_finding(&outcome, 0, "systolic-pe", where, "bit");
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
}

/* Whether a finding of an element is at neither A nor B. */
static bool names_another_element(const char *a, const char *b) {
        for (size_t i = 0; i < outcome.n_findings; i++)
                if (strcmp(outcome.findings[i].code, "systolic-pe") == 0 && !ends_with(outcome.findings[i].where, a) &&
                    !ends_with(outcome.findings[i].where, b))
                        return true;
        return false;
}

static bool names_element(const char *where) {
        for (size_t i = 0; i < outcome.n_findings; i++)
                if (strcmp(outcome.findings[i].code, "systolic-pe") == 0 && ends_with(outcome.findings[i].where, where))
                        return true;
        return false;
}

static bool names_column(void) {
        for (size_t i = 0; i < outcome.n_findings; i++)
                if (strcmp(outcome.findings[i].code, "systolic-column") == 0)
                        return true;
        return false;
}

/* Two elements of one column at random: whatever cannot be told of them, neither a third one is named nor the column. COLUMN_PAIRS for more. */
static void test_two_elements_of_a_column_name_no_third_one(void **state) {
        static const char *const kinds[] = { "weight-stuck", "activation-stuck", "product-stuck", "psum-stuck", "adder-carry-stuck" };
        static const unsigned bits[] = { 16, 16, 32, 32, 27 };
        unsigned n_pairs = getenv("COLUMN_PAIRS") ? (unsigned) atoi(getenv("COLUMN_PAIRS")) : 24, n_both = 0, n_third = 0, n_column = 0;
        TensorChip chip;

        srandom(2026);
        tensor_chip_init(&chip);
        for (unsigned i = 0; i < n_pairs; i++) {
                unsigned column = (unsigned) random() % 128, row = (unsigned) random() % 128, other = (row + 1 + (unsigned) random() % 127) % 128;
                char where[2][32], what[2][64];

                for (unsigned k = 0; k < 2; k++) {
                        unsigned kind = (unsigned) random() % 5;
                        TensorParameters parameters = { .bit = (unsigned) random() % bits[kind], .value = (unsigned) random() % 2 };

                        (void) snprintf(where[k], sizeof(where[k]), "core2/pe%u.%u", k ? other : row, column);
                        (void) snprintf(what[k], sizeof(what[k]), "%s bit %u at %u", kinds[kind], (unsigned) parameters.bit, (unsigned) parameters.value);
                        tensor_chip_inject(&chip, kinds[kind], where[k], parameters, 1);
                }
                run(&chip);
                assert_int_equal(outcome.verdict, VERDICT_FAILED);
                n_both += names_element(where[0]) && names_element(where[1]);
                n_third += names_another_element(where[0], where[1]);
                n_column += names_column();
                if (names_another_element(where[0], where[1]) || names_column()) {
                        print_error("%s %s and %s %s:\n", where[0], what[0], where[1], what[1]);
                        for (size_t k = 0; k < outcome.n_findings; k++)
                                print_error("        %s at %s: %s\n", outcome.findings[k].code, outcome.findings[k].where, outcome.findings[k].message);
                }
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
        print_message("# %u pairs: both named %u, a third one %u, the column %u\n", n_pairs, n_both, n_third, n_column);
        assert_int_equal(n_third, 0);
        assert_int_equal(n_column, 0);
        assert_true(n_both * 4 >= n_pairs * 3);
}

/* Prints and counts findings of elements that are not at WHERE, and of parts of PSUM. */
static unsigned count_innocents(const char *what, const char *where) {
        unsigned n = 0;

        for (size_t i = 0; i < outcome.n_findings; i++) {
                bool element = strcmp(outcome.findings[i].code, "systolic-pe") == 0;
                bool psum = strcmp(outcome.findings[i].code, "systolic-psum") == 0 && !strstr(outcome.findings[i].message, "no element of PSUM");

                if (!psum && (!element || ends_with(outcome.findings[i].where, where)))
                        continue;
                if (n++ < 3)
                        print_error("%s at %s: %s\n", what, where, outcome.findings[i].message);
        }
        return n;
}

/* Each of these was seen in a single pattern first, in which sound parts would look the same. */
static void test_what_is_seen_once_names_no_other_element(void **state) {
        static const struct {
                const char *kind, *where;
                TensorParameters parameters;
                double probability;
        } cases[] = {
                { "activation-slow", "core6/pe48.80", { .bit = 1, .edge = EDGE_FALL }, 0.1 },
                { "psum-slow", "core6/pe75.70", { .bit = 7, .edge = EDGE_RISE }, 0.1 },
        };
        unsigned n_innocent = 0;
        TensorChip chip;

        tensor_chip_init(&chip);
        for (unsigned i = 0; i < 12 * ELEMENTS(cases); i++) {
                size_t n = i % ELEMENTS(cases);

                tensor_chip_inject(&chip, cases[n].kind, cases[n].where, cases[n].parameters, cases[n].probability);
                run(&chip);
                n_innocent += count_innocents(cases[n].kind, cases[n].where) > 0;
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
        assert_int_equal(n_innocent, 0);
}

/* A fault that acts in one matmul of a pattern, then in none until that is run again, and in every other one from there on. */
static Fault *recurring;
static unsigned n_pattern_runs; /* how often the pattern was run */

static const Pattern *full_p9(void) {
        for (unsigned i = 0; i < patterns_count(); i++)
                if (strcmp(pattern_at(i)->name, "fp32 full P9") == 0)
                        return pattern_at(i);

        fail();
        return NULL;
}

static void act_in_full_p9(const TensorChip *chip, const WireCommand *command) {
        const Pattern *pattern = full_p9();

        if (command->unit != location_index(&recurring->at, LOCATION_CORE))
                return;
        if (command->type == COMMAND_MATMUL && command->in_bytes == pattern->values_bytes &&
            memcmp(chip->window + command->in_offset, pattern->values, pattern->values_bytes) == 0)
                recurring->probability = n_pattern_runs++ == 0 ? 1 : 0.5;
        else if (n_pattern_runs == 1)
                recurring->probability = 0;
}

/*
 * An activation that falls too slowly is zeros and ones by turns in this pattern, and a product of it falls too slowly in each column behind. It is
 * seen once and nothing came back golden, so that it looks as if it stayed; that it does not shows when it is asked again.
 */
static void test_what_does_not_reproduce_is_measured_more(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "activation-slow", "core5/pe41.124", (TensorParameters){ .bit = 0, .edge = EDGE_FALL }, 0);
        chip.watch = act_in_full_p9;
        recurring = &chip.faults[0];
        n_pattern_runs = 0;
        run(&chip);
        assert_failed_with(1);
        assert_finding(&outcome, 0, "systolic-pe", "core5/pe41.124", "activation bit 0 at times slow to fall");
        tensor_chip_done(&chip);
}

/* A bit that is slow at times, anywhere, shows itself in another way from pattern to pattern. SLOW_FAULTS for more. */
static void test_what_is_slow_at_times_names_no_other_element(void **state) {
        static const char *const kinds[] = { "activation-slow", "product-slow", "psum-slow" };
        static const double probabilities[] = { 0.05, 0.2, 0.5 };
        unsigned n_faults = getenv("SLOW_FAULTS") ? (unsigned) atoi(getenv("SLOW_FAULTS")) : 24, n_innocent = 0, n_found = 0;
        TensorChip chip;

        srandom(11);
        tensor_chip_init(&chip);
        for (unsigned i = 0; i < n_faults; i++) {
                TensorParameters parameters = { .bit = (unsigned) random() % 32, .edge = random() % 2 ? EDGE_RISE : EDGE_FALL };
                double probability = probabilities[i / ELEMENTS(kinds) % ELEMENTS(probabilities)];
                char where[32], what[96];

                (void) snprintf(where, sizeof(where), "core6/pe%u.%u", (unsigned) random() % 128, (unsigned) random() % 128);
                (void) snprintf(what, sizeof(what), "%s bit %u %s, p %g", kinds[i % ELEMENTS(kinds)], (unsigned) parameters.bit,
                                parameters.edge == EDGE_RISE ? "rise" : "fall", probability);
                tensor_chip_inject(&chip, kinds[i % ELEMENTS(kinds)], where, parameters, probability);
                run(&chip);
                n_found += names_element(where);
                n_innocent += count_innocents(what, where) > 0;
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
        print_message("# %u slow at times: %u named, beside %u of them another\n", n_faults, n_found, n_innocent);
        assert_int_equal(n_innocent, 0);
        assert_true(n_found * 2 > n_faults);
}

/* Whether the patterns of the structure show the faults of CHIP, one in each core but the last: wrong answers of all would be the host's. */
static void assert_each_is_seen_under_load(TensorChip *chip) {
        PatternList list;
        Array array;

        device_window_reset(chip->device);
        assert_int_equal(array_init(&array, chip->device), 0);
        patterns_select(&list, false, array.formats, array.ftz);
        assert_true(array_run(&array, 0xff, &list) >= 0);
        for (size_t i = 0; i < chip->n_faults; i++) {
                const TensorParameters *p = &chip->parameters[i];

                if (!array.cores[i].wrong[27])
                        fail_msg("%s, lane %u, bit %u, gate %u by %u, at %u: not seen", chip->faults[i].kind->name, (unsigned) p->lane,
                                 (unsigned) p->bit, (unsigned) p->a, (unsigned) p->b, (unsigned) p->value);
        }
        assert_true(observation_is_golden(&array.cores[CORES - 1]));
        array_done(&array);
        tensor_chip_heal(chip);
}

static void inject_under_load(TensorChip *chip, const char *kind, TensorParameters parameters) {
        char where[32];

        (void) snprintf(where, sizeof(where), "core%zu/pe7.27", chip->n_faults);
        tensor_chip_inject(chip, kind, where, parameters, 1);
        if (chip->n_faults == CORES - 1)
                assert_each_is_seen_under_load(chip);
}

/* The gate of the two leading bits is open in every product of normal numbers. */
static void test_every_gate_is_asked_under_full_load(void **state) {
        static const unsigned bits[] = { 12, 5 };
        TensorChip chip;

        tensor_chip_init(&chip);
        chip.droop = 49;
        for (unsigned lane = 0; lane < 2; lane++)
                for (unsigned i = 0; i < 2 * bits[lane] * bits[lane]; i++) {
                        TensorParameters gate = { .lane = lane, .a = i / 2 / bits[lane], .b = i / 2 % bits[lane], .value = i % 2 };

                        if (!(lane == 1 && gate.a == 4 && gate.b == 4 && gate.value == 1))
                                inject_under_load(&chip, "multiplier-gate-stuck", gate);
                }
        assert_each_is_seen_under_load(&chip);
        tensor_chip_done(&chip);
}

/* Jobs load the array in one format or another, and what is wrong with one of them then is no other's. */
static void test_every_format_is_asked_under_full_load(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        chip.droop = 49;
        for (unsigned format = 0; format < _FORMAT_MAX; format++) {
                char says[64];

                (void) snprintf(says, sizeof(says), "%s is at times taken for", wire_format_words[format]);
                tensor_chip_inject(&chip, "format-wrong", "core6", (TensorParameters){ .format = (int) format }, 1);
                run(&chip);
                if (outcome.verdict != VERDICT_FAILED)
                        print_error("%s passed\n", wire_format_words[format]);
                assert_failed_with(1);
                assert_finding(&outcome, 0, "systolic-mode", "core6", says);
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
}

/* Products of two numbers of 8 bits have zeros below bit 14. */
static void test_every_bit_of_a_product_is_asked_under_full_load(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        chip.droop = 49;
        for (unsigned i = 0; i < 128; i++) {
                TensorParameters product = { .lane = i / 64, .bit = i % 64 / 2, .value = i % 2 };

                if (product.lane == 0 || product.bit >= 14 || product.value == 1)
                        inject_under_load(&chip, "product-stuck", product);
        }
        assert_each_is_seen_under_load(&chip);
        tensor_chip_done(&chip);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_healthy_chip_passes),
                cmocka_unit_test(test_each_register_is_named_with_its_bit),
                cmocka_unit_test(test_several_elements_of_a_core_are_told_apart),
                cmocka_unit_test(test_a_dead_row_and_a_dead_column_are_such),
                cmocka_unit_test(test_two_parts_of_one_element_are_one_element),
                cmocka_unit_test(test_several_bits_of_one_element_stay_one_element),
                cmocka_unit_test(test_several_elements_of_a_column_are_told_apart),
                cmocka_unit_test(test_several_activations_of_a_column_are_told_once),
                cmocka_unit_test(test_a_dead_block_hides_nothing),
                cmocka_unit_test(test_what_nothing_explains_is_bounded),
                cmocka_unit_test(test_an_intermittent_bit_is_found_and_placed),
                cmocka_unit_test(test_what_weakens_with_the_supply_is_placed),
                cmocka_unit_test(test_a_neighbour_is_the_control),
                cmocka_unit_test(test_each_finding_says_how_often_it_reproduced),
                cmocka_unit_test(test_what_all_cores_have_alike_is_not_a_core),
                cmocka_unit_test(test_a_format_that_is_taken_for_another_is_named),
                cmocka_unit_test(test_a_format_that_is_taken_for_another_at_times_is_named),
                cmocka_unit_test(test_a_format_that_is_seldom_taken_for_another_is_not_psum),
                cmocka_unit_test(test_a_core_that_writes_nothing_does_not_pass),
                cmocka_unit_test(test_no_error_of_the_port_becomes_a_pass),
                cmocka_unit_test(test_a_format_that_is_not_there_leaves_the_chip_undecided),
                cmocka_unit_test(test_a_format_that_is_refused_is_a_finding_where_it_was_promised),
                cmocka_unit_test(test_answers_that_are_short_or_repeated_never_pass),
                cmocka_unit_test(test_what_is_not_written_again_is_not_golden),
                cmocka_unit_test(test_a_line_that_is_lost_is_not_golden),
                cmocka_unit_test(test_random_faults_are_all_found_and_placed),
                cmocka_unit_test(test_two_elements_of_a_column_name_no_third_one),
                cmocka_unit_test(test_what_is_seen_once_names_no_other_element),
                cmocka_unit_test(test_what_is_slow_at_times_names_no_other_element),
                cmocka_unit_test(test_what_does_not_reproduce_is_measured_more),
                cmocka_unit_test(test_every_gate_is_asked_under_full_load),
                cmocka_unit_test(test_every_format_is_asked_under_full_load),
                cmocka_unit_test(test_every_bit_of_a_product_is_asked_under_full_load),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
