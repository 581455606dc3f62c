/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/memory/hbm/report/parameters.h"
#include "checks/memory/march/notation.h"
#include "checks/plan/plan.h"

static void every_named_test_parses_and_has_its_published_length(void **state) {
        /* Lengths as the literature has them, a second time. */
        static const struct {
                const char *name;
                unsigned n_ops, n_delays;
        } published[] = {
                { "MATS", 4, 0 },        { "MATS+", 5, 0 },       { "MATS++", 6, 0 },    { "March X", 6, 0 },
                { "March Y", 8, 0 },     { "March C", 11, 0 },    { "March C-", 10, 0 }, { "March C+", 14, 0 },
                { "PMOVI", 13, 0 },      { "March A", 15, 0 },    { "March B", 17, 0 },  { "Algorithm B", 17, 0 },
                { "March U", 13, 0 },    { "March LR", 14, 0 },   { "March LA", 22, 0 }, { "March SR", 14, 0 },
                { "March SS", 22, 0 },   { "March MSS", 18, 0 },  { "March RAW", 26, 0 }, { "March RAW1", 13, 0 },
                { "March AB", 22, 0 },   { "March SL", 41, 0 },   { "March G", 23, 2 },  { "IFA-9", 12, 2 },
                { "IFA-13", 16, 2 },
        };

        for (size_t i = 0; i < ELEMENTS(published); i++) {
                const MarchTest *test = march_test_find(published[i].name);
                unsigned delays = 0;
                March march;

                assert_non_null(test);
                assert_int_equal(march_read(published[i].name, &march, NULL, NULL), 0);
                assert_int_equal(march_operations(&march), published[i].n_ops);
                assert_int_equal(test->n_ops, published[i].n_ops);
                for (unsigned k = 0; k < march.n_elements; k++)
                        delays += march.elements[k].direction == MARCH_DELAY;
                assert_int_equal(delays, published[i].n_delays);
                assert_int_equal(test->n_delays, published[i].n_delays);
        }

        assert_non_null(march_test_at(ELEMENTS(published) - 1));
        assert_null(march_test_at(ELEMENTS(published)));
        assert_null(march_test_find("march ss"));
}

static void a_notation_becomes_its_elements(void **state) {
        March march;

        assert_int_equal(march_parse(" any( w0 ) ; up(r0, w1);Del;dn(r1,w0,r0) ; ", &march, NULL, NULL), 0);
        assert_int_equal(march.n_elements, 4);
        assert_int_equal(march.elements[0].direction, MARCH_ANY);
        assert_int_equal(march.elements[1].direction, MARCH_UP);
        assert_int_equal(march.elements[1].n_ops, 2);
        assert_int_equal(march.elements[1].ops[0], 0);
        assert_int_equal(march.elements[1].ops[1], MARCH_WRITE | MARCH_DATA);
        assert_int_equal(march.elements[2].direction, MARCH_DELAY);
        assert_int_equal(march.elements[3].direction, MARCH_DOWN);
        assert_int_equal(march.elements[3].ops[0], MARCH_DATA);
        assert_int_equal(march.elements[3].ops[1], MARCH_WRITE);
        assert_int_equal(march.elements[3].ops[2], 0);
}

static void what_makes_no_sense_is_refused_with_its_place(void **state) {
        static const struct {
                const char *text;
                size_t offset;
                const char *wrong;
        } cases[] = {
                { "any(w0);up(r1,w1)", 11, "contradicts" },
                { "any(w0);up(r0,w1);dn(r1,w0,r1)", 27, "contradicts" },
                { "any(w0);Del;up(r1)", 15, "contradicts" },
                { "up(r0)", 3, "nothing has written" },
                { "any(w2)", 5, "0 or 1" },
                { "any(x0)", 4, "r0, r1, w0 or w1" },
                { "any w0", 4, "'('" },
                { "any(w0", 6, "',' or ')'" },
                { "any()", 4, "operation" },
                { "left(w0)", 0, "element" },
                { "any(w0) up(r0)", 8, "';'" },
                { "any(w0);;", 8, "element" },
                { "", 0, "element" },
                { "Del", 3, "nothing is written" },
                { "any(w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0,w0)", 76, "at most 24" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                const char *wrong = NULL;
                size_t offset = 0;
                March march;

                assert_int_equal(march_parse(cases[i].text, &march, &wrong, &offset), -EINVAL);
                if (offset != cases[i].offset || !strstr(wrong, cases[i].wrong))
                        fail_msg("%s: %zu: %s", cases[i].text, offset, wrong);
        }
}

static void more_elements_than_there_may_be_are_refused(void **state) {
        char text[MARCH_TEXT_MAX] = "";
        size_t offset = 0;
        March march;

        for (unsigned i = 0; i < MARCH_ELEMENTS_MAX; i++)
                strcat(text, i ? ";up(w0)" : "up(w0)");
        assert_int_equal(march_parse(text, &march, NULL, NULL), 0);
        strcat(text, ";up(w0)");
        assert_int_equal(march_parse(text, &march, NULL, &offset), -EINVAL);
        assert_int_equal(offset, 7 * MARCH_ELEMENTS_MAX);
}

/* The place in a plan is that in the file. */
static void a_plan_names_the_column_of_a_contradiction(void **state) {
        static const char text[] = "plan: p\nsummary: s\nstage: PREFLIGHT\nbudget: 1\nsteps:\n"
                                   "  - check: hbm\n    parameters: {march: any(w0);up(r1)}\n";
        char *error = NULL;
        Plan *plan = NULL;

        assert_int_equal(plan_parse("p.yaml", text, sizeof(text) - 1, &plan, &error), -EINVAL);
        assert_string_equal(error, "p.yaml:7:36: this read contradicts the last write");
        free(error);
}

static void a_plan_reads_every_parameter(void **state) {
        static const char text[] =
                        "plan: p\nsummary: s\nstage: PREFLIGHT\nbudget: 1\nsteps:\n  - check: hbm\n    parameters:\n"
                        "      march: March G\n      others: any(w0);any(r0)\n      backgrounds: [checker, bit-stripe-7]\n"
                        "      order: [bank, row]\n      bytes: 4096\n      findings: 3\n      mismatches: 99\n      pause: 0.5\n"
                        "      phases: [march, hammer, ecc]\n      ecc: true\n      repeats: 3\n"
                        "      hammer: {activations: 9000, open: 70, rows: 64}\n      retention: [64, 512]\n";
        const HbmParameters *parameters;
        char *error = NULL;
        Plan *plan = NULL;

        assert_int_equal(plan_parse("p.yaml", text, sizeof(text) - 1, &plan, &error), 0);
        parameters = plan->steps[0].parameters;
        assert_int_equal(march_operations(&parameters->march), 23);
        assert_int_equal(march_operations(&parameters->others), 2);
        assert_int_equal(parameters->backgrounds.n, 2);
        assert_string_equal(march_background_word(parameters->backgrounds.indices[1])->word, "bit-stripe-7");
        assert_int_equal(parameters->orders.n, 2);
        assert_int_equal(parameters->orders.orders[0], MEMORY_ORDER_BANK_FAST);
        assert_int_equal(parameters->orders.orders[1], MEMORY_ORDER_ROW_FAST);
        assert_int_equal(parameters->phases, 1 << HBM_DO_MARCH | 1 << HBM_DO_HAMMER | 1 << HBM_DO_ECC);
        assert_true(parameters->ecc);
        assert_int_equal(parameters->repeats, 3);
        assert_int_equal(parameters->hammer.activations, 9000);
        assert_int_equal(parameters->hammer.open_nsec, 70);
        assert_int_equal(parameters->hammer.rows, 64);
        assert_int_equal(parameters->retention.n, 2);
        assert_true(parameters->retention.msec[1] == 512);
        assert_int_equal(parameters->bytes, 4096);
        assert_int_equal(parameters->findings, 3);
        assert_int_equal(parameters->mismatches, 99);
        assert_true(parameters->pause_sec == 0.5);
        plan_free(plan);
}

static void a_plan_is_told_where_a_parameter_is_wrong(void **state) {
        static const struct {
                const char *parameters, *column, *wrong;
        } cases[] = {
                { "phases: [march, drum]", "34", "not one of: march, address, walking, random, hammer, retention, ecc" },
                { "phases: [march, march]", "34", "twice" },
                { "phases: []", "26", "at least one" },
                { "order: diagonal", "25", "column, row, bank" },
                { "order: [row, row]", "31", "twice" },
                { "order: []", "25", "at least one" },
                { "retention: [64, 1024]", "34", "512" },
                { "retention: [64, 64]", "34", "ascend" },
                { "retention: [nan]", "30", "number" },
                { "retention: []", "29", "at least one" },
                { "hammer: {activations: 0}", "40", "1" },
                { "hammer: {turns: 7}", "27", "turns" },
                { "repeats: 9", "27", "8" },
                { "march: any(w0)", "32", "nothing is read" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char text[256], at[32], *error = NULL;
                Plan *plan = NULL;
                int n = snprintf(text, sizeof(text),
                                 "plan: p\nsummary: s\nstage: PREFLIGHT\nbudget: 1\nsteps:\n  - check: hbm\n    parameters: {%s}\n",
                                 cases[i].parameters);

                assert_int_equal(plan_parse("p.yaml", text, (size_t) n, &plan, &error), -EINVAL);
                (void) snprintf(at, sizeof(at), "p.yaml:7:%s: ", cases[i].column);
                if (!strstr(error, at) || !strstr(error, cases[i].wrong))
                        fail_msg("%s: %s", cases[i].parameters, error);
                free(error);
        }
}

/* The defaults are written out as elements: they must be the tests that their comment names. */
static void the_defaults_are_march_ss_and_mats(void **state) {
        const HbmParameters *parameters = *check_word_find("hbm")->parameters_defaults;
        March march;

        assert_int_equal(march_read("March SS", &march, NULL, NULL), 0);
        assert_memory_equal(&march, &parameters->march, sizeof(march));
        assert_int_equal(march_read("MATS++", &march, NULL, NULL), 0);
        assert_memory_equal(&march, &parameters->others, sizeof(march));
        assert_string_equal(march_background_word(parameters->backgrounds.indices[0])->word, "solid");
        assert_string_equal(march_background_word(parameters->backgrounds.indices[1])->word, "address");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_named_test_parses_and_has_its_published_length),
                cmocka_unit_test(a_notation_becomes_its_elements),
                cmocka_unit_test(what_makes_no_sense_is_refused_with_its_place),
                cmocka_unit_test(more_elements_than_there_may_be_are_refused),
                cmocka_unit_test(a_plan_names_the_column_of_a_contradiction),
                cmocka_unit_test(a_plan_reads_every_parameter),
                cmocka_unit_test(a_plan_is_told_where_a_parameter_is_wrong),
                cmocka_unit_test(the_defaults_are_march_ss_and_mats),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
