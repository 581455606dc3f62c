/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Observations made by hand: what is wrong in them was worked out on paper, from the numbers that a pattern feeds and the bit that is
 * broken. They pin what keeps sound elements from being named where what is broken comes and goes.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "checks/systolic/diagnose/diagnose.h"

static Diagnosis diagnoses[DIAGNOSES_MAX];

static unsigned index_of(const char *name) {
        for (unsigned i = 0; i < patterns_count(); i++)
                if (strcmp(pattern_at(i)->name, name) == 0)
                        return i;

        fail_msg("no pattern %s", name);
        return 0;
}

static void pattern_ran(Observation *observation, const char *name, uint8_t ran, uint8_t failed) {
        unsigned index = index_of(name);

        observation->ran[index] = ran;
        observation->failed[index] = failed;
}

/* COLUMN gave ACTUAL to the vector N, and to all others what it should. */
static void column_gave(Observation *observation, const char *name, unsigned column, unsigned n, uint32_t actual) {
        unsigned index = index_of(name);
        const Pattern *pattern = pattern_at(index);
        const uint32_t *golden = pattern->golden + (size_t) (column - pattern->first_column) * pattern->moving;
        uint32_t *answer;

        if (!observation->answers[index])
                observation->answers[index] = calloc(1, sizeof(Answers));
        assert(observation->answers[index]);
        answer = observation->answers[index]->columns[column];
        if (!answer) {
                answer = observation->answers[index]->columns[column] = malloc(pattern->moving * sizeof(uint32_t));
                assert(answer);
                memcpy(answer, golden, pattern->moving * sizeof(uint32_t));
        }
        assert_int_not_equal(golden[n], actual);
        answer[n] = actual;
        observation->n_mismatched++;
}

/* Seen once in four rounds, in a pattern that feeds all columns. The next columns lie in a pattern that would show it, too, and never did. */
static void test_an_activation_is_one_where_it_did_not_act(void **state) {
        const Pattern *silent = pattern_at(index_of("fp16 by fp8_e4m3"));
        Observation observation = {};
        unsigned n_differ = 0;

        /* Activation bit 4 of row 40 at 0: that pattern begins at row 32 and at the column behind the element. */
        assert_int_equal(silent->first_row, 32);
        assert_int_equal(silent->first_column, 32);
        for (unsigned n = 0; n < silent->moving; n++)
                n_differ += pattern_activation(silent, 8, n) >> 4 & 1;
        assert_true(n_differ > 0);

        pattern_ran(&observation, "fp16 by fp8_e4m3", 4, 0);
        pattern_ran(&observation, "P3", 4, 1);
        for (unsigned column = 31; column < PE_COLUMNS; column++)
                column_gave(&observation, "P3", column, 40, 0x55450000); /* 1.0 times 0x5555, of bf16, without bit 4 */

        assert_int_equal(array_diagnose(&observation, diagnoses), 1);
        assert_int_equal(diagnoses[0].fault, ARRAY_PE);
        assert_int_equal(diagnoses[0].row, 40);
        assert_int_equal(diagnoses[0].column, 31);
        assert_int_equal(diagnoses[0].last_column, PE_COLUMNS - 1);
        assert_int_equal(diagnoses[0].candidate.at, PE_ACTIVATION);
        assert_int_equal(diagnoses[0].candidate.bit, 4);
        assert_true(diagnoses[0].intermittent);
        observation_done(&observation);
}

/*
 * (1 + 2^-23) × 1 of row 40 and -1 × 1 of row 41 leave 2^-23. They leave nothing where bit 0 of what is fed to either is wrong: at 0 in row 40,
 * and at 1 in row 41. At 1 it would show in the tie, too, of which 2^-24 and a bit more is no half any more: that it was right there makes row 41
 * four times less likely, (1/2)^2, and is no proof. An adder of row 41 that loses its last carry would show wherever rows cancel each other,
 * as in all of the full load.
 */
static void two_rows_make_nothing(Observation *observation) {
        pattern_ran(observation, "fp32 rest by two", 4, 1);
        pattern_ran(observation, "fp32 tie by two", 4, 0);
        pattern_ran(observation, "fp32 full P1", 4, 0);
        column_gave(observation, "fp32 rest by two", 70, 40, 0);
}

static void test_one_of_two_rows_is_not_named_for_being_likelier(void **state) {
        Observation observation = {};

        two_rows_make_nothing(&observation);
        assert_int_equal(array_diagnose(&observation, diagnoses), 1);
        assert_int_equal(diagnoses[0].fault, ARRAY_UNEXPLAINED);
        assert_true(diagnoses[0].undecided);
        assert_int_equal(diagnoses[0].column, 70);
        assert_int_equal(diagnoses[0].last_column, 70);
        observation_done(&observation);
}

/* Fed alone, the row tells itself: 1.0 times a number that ends in ones, without its last bit. */
static void test_one_of_two_rows_is_named_where_it_shows_itself(void **state) {
        Observation observation = {};

        two_rows_make_nothing(&observation);
        pattern_ran(&observation, "fp32 P9", 4, 1);
        column_gave(&observation, "fp32 P9", 70, 3 * 40, 0x55555554);
        column_gave(&observation, "fp32 P9", 70, 3 * 40 + 2, 0x55555554);
        assert_int_equal(array_diagnose(&observation, diagnoses), 1);
        assert_int_equal(diagnoses[0].fault, ARRAY_PE);
        assert_int_equal(diagnoses[0].row, 40);
        assert_int_equal(diagnoses[0].column, 70);
        observation_done(&observation);
}

/* Three bits of 0x5555 and of nothing else are wrong, whatever row is fed: no element has three parts, and the sums turn at none. */
static void test_a_column_is_wrong_in_all_rows_alike(void **state) {
        static const char *const patterns[] = { "P1", "P3" };
        Observation observation = {};

        pattern_ran(&observation, "P2", 1, 0);
        for (unsigned i = 0; i < 2; i++) {
                pattern_ran(&observation, patterns[i], 1, 1);
                for (unsigned n = 0; n < PE_ROWS; n++)
                        column_gave(&observation, patterns[i], 12, n, 0x55520000);
        }
        assert_int_equal(array_diagnose(&observation, diagnoses), 1);
        assert_int_equal(diagnoses[0].fault, ARRAY_COLUMN);
        assert_int_equal(diagnoses[0].column, 12);
        assert_false(diagnoses[0].known);

        /* Where rows below 50 make something else of it, there are two causes at least, and neither is the column. */
        for (unsigned i = 0; i < 2; i++)
                for (unsigned n = 50; n < PE_ROWS; n++)
                        column_gave(&observation, patterns[i], 12, n, 0x5d520000);
        assert_int_equal(array_diagnose(&observation, diagnoses), 1);
        assert_int_equal(diagnoses[0].fault, ARRAY_UNEXPLAINED);
        assert_int_equal(diagnoses[0].last_column, 12);
        observation_done(&observation);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_an_activation_is_one_where_it_did_not_act),
                cmocka_unit_test(test_one_of_two_rows_is_not_named_for_being_likelier),
                cmocka_unit_test(test_one_of_two_rows_is_named_where_it_shows_itself),
                cmocka_unit_test(test_a_column_is_wrong_in_all_rows_alike),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
