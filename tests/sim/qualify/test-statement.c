/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Shares that escaped against a plan's statements. Lower ends of intervals are golden values of binomial tails summed in fractions of whole
 * numbers; that a mean may stand for unlike bounds is held against the sum over all outcomes.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "checks/vocabulary/catalogue.h"
#include "checks/vocabulary/fault-words.h"
#include "sim/chip/dispatch.h"
#include "sim/chip/fault.h"
#include "sim/qualify/statement.h"
#include "tests/draw.h"

#define FAULTS 40u

/* The kinds of the simulator and the words of plans are the same, and in the same families. */
static void test_each_kind_is_a_word(void **state) {
        const FaultKind *kind;
        const char *family, *word;
        size_t n = 0;

        for (; (word = fault_word_at(n, &family)); n++) {
                kind = fault_kind_find(word);
                if (!kind || strcmp(fault_family_words[kind->family], family) != 0)
                        fail_msg("%s is no kind of the family %s", word, family);
                assert_ptr_equal(fault_word_find(word), word);
        }
        for (size_t i = 0; (kind = fault_kind_at(i, NULL)); i++) {
                if (!fault_word_find(kind->name))
                        fail_msg("no plan can state what escapes of %s: it is no word of checks/vocabulary/fault-words.c", kind->name);
                n--;
        }
        assert_int_equal(n, 0);
        for (int i = 0; i < _FAMILY_MAX; i++)
                assert_non_null(fault_word_find(fault_family_words[i]));
        assert_null(fault_word_find("none"));
}

static const FaultKind kind = { .name = "row-dead", .family = FAMILY_MEMORY }, sibling = { .name = "bank-dead", .family = FAMILY_MEMORY },
                       stranger = { .name = "link-down", .family = FAMILY_LINKS };

/* A report with one kind, of which ESCAPED of N faults that act in a share P of the commands escaped. */
typedef struct Report {
        QualifyOrder order;
        Injected faults[FAULTS];
        ObservedEscape escapes[1];
        Qualification qualification;
} Report;

static void report_init(Report *report, unsigned escaped, unsigned n, double p) {
        *report = (Report) { .order = { .samples = n }, .escapes = { { "row-dead", 0, 0 } } };
        for (unsigned i = 0; i < n; i++)
                report->faults[i] = (Injected) {
                        .fault = { .kind = &kind, .comes_and_goes = p < 1, .probability = p },
                        .partner = SIZE_MAX,
                        .outcome = i < escaped ? OUTCOME_MISSED : OUTCOME_LOCATED,
                };
        report->qualification = (Qualification) { .order = &report->order, .n_faults = n, .faults = report->faults, .n_escapes = 1,
                                                  .escapes = report->escapes };
}

static void test_a_kind_goes_before_its_family(void **state) {
        ObservedEscape escapes[] = { { "memory", 1, 0 }, { "row-dead", 0, 20 } };
        Qualification qualification = { .n_escapes = 2, .escapes = escapes };

        assert_ptr_equal(statement_find(&qualification, &kind), &escapes[1]);
        assert_ptr_equal(statement_find(&qualification, &sibling), &escapes[0]);
        assert_null(statement_find(&qualification, &stranger));
}

static void test_bounds(void **state) {
        static const struct {
                ObservedEscape statement;
                double p, bound;
        } table[] = {
                { { "", 0, 2 }, 0.5, 0.25 },      { { "", 0, 2 }, 1, 0 },    { { "", 0, 0 }, 0.5, 1 },  { { "", 0, 0 }, 1, 0 },
                { { "", 0.5, 2 }, 0.5, 0.625 },   { { "", 0.5, 2 }, 1, 0.5 }, { { "", 1, 0 }, 0.02, 1 }, { { "", 1, 0 }, 1, 1 },
                { { "", 0, 10 }, 0.1, 0.3486784401 },
        };

        for (size_t i = 0; i < ELEMENTS(table); i++)
                assert_true(fabs(statement_bound(&table[i].statement, table[i].p) - table[i].bound) < 1e-12);
}

/* At 95 % the interval of 5 of 10 begins at 0.18709, of 3 of 4 at 0.19412, of 7 of 40 at 0.07338. */
static void test_worse_is_where_the_interval_begins_above(void **state) {
        static const struct {
                unsigned escaped, n;
                double low;
        } table[] = { { 5, 10, 0.18708602844708366 }, { 3, 4, 0.19412044968248665 }, { 7, 40, 0.07338272935157875 } };

        for (size_t i = 0; i < ELEMENTS(table); i++)
                for (int worse = 0; worse < 2; worse++) {
                        double bound = table[i].low + (worse ? -1e-6 : 1e-6);
                        Report report;

                        report_init(&report, table[i].escaped, table[i].n, 0.3);
                        report.escapes[0].commands = log(bound) / log(0.7);
                        assert_int_equal(statement_has_failed(&report.qualification), worse);
                        assert_int_equal(qualify_status(&report.qualification), worse ? STATUS_FAILED : STATUS_PASSED);
                }
}

/* A fault that is always there escapes as often as is stated of it: never, unless the plan says how often and why. */
static void test_what_is_always_there(void **state) {
        Report report;

        report_init(&report, 1, 40, 1);
        report.escapes[0].commands = 1;
        assert_int_equal(qualify_status(&report.qualification), STATUS_FAILED);
        report.escapes[0].always = 0.01;
        assert_int_equal(qualify_status(&report.qualification), STATUS_PASSED);
        report_init(&report, 40, 40, 1);
        report.escapes[0].always = 0.9;
        assert_int_equal(qualify_status(&report.qualification), STATUS_FAILED);
        report.escapes[0].always = 1;
        assert_int_equal(qualify_status(&report.qualification), STATUS_PASSED);
}

static void test_what_is_stated_nowhere_must_be_found(void **state) {
        Report report;

        report_init(&report, 1, 40, 0.05);
        report.qualification.n_escapes = 0;
        assert_int_equal(qualify_status(&report.qualification), STATUS_FAILED);
        report.faults[0].outcome = OUTCOME_LOCATED;
        assert_int_equal(qualify_status(&report.qualification), STATUS_PASSED);
}

/* 2 of 2 begin at 0.15811 at 95 %, and at 0.05976 where seven shares are to hold together. */
static void test_all_intervals_hold_together(void **state) {
        static const double shares[] = { 0.03, 0.07, 0.15, 0.3 };
        Report report;
        Interval interval;
        Measured measured[STATEMENT_CLASSES];
        unsigned n;

        report_init(&report, 2, 10, 0.9);
        for (unsigned i = 2; i < 10; i++)
                report.faults[i].fault.probability = shares[i / 2 - 1];
        report.faults[9].fault.comes_and_goes = false;
        assert_true(fabs(statement_confidence(&report.qualification, &n) - (1 - 0.05 / 6)) < 1e-12);
        assert_int_equal(n, 6);
        statement_measure(report.escapes, report.faults, 10, measured);
        assert_int_equal(measured[0].n, 1);
        assert_int_equal(measured[5].n, 2);
        assert_int_equal(measured[5].escaped, 2);
        assert_false(statement_is_exceeded(&measured[5], 0.95, &interval)); /* commands are 0: all may escape */
        (void) statement_is_exceeded(&measured[5], 1 - 0.05 / 7, &interval);
        assert_true(fabs(interval.low - 0.0597614304660965) < 1e-9);

        /* In the company of another fault, undetectable or not judged: not counted. */
        report.faults[0].partner = 1;
        report.faults[1].fault.undetectable = "masked";
        report.faults[2].outcome = OUTCOME_UNJUDGED;
        statement_measure(report.escapes, report.faults, 10, measured);
        assert_int_equal(measured[5].n, 0);
        assert_int_equal(measured[1].n, 1);
}

/* The chance that K or more of N escape whose chances are BOUNDS, over all outcomes. */
static double tail(const double *bounds, unsigned n, unsigned k) {
        double sum = 0;

        for (unsigned outcome = 0; outcome < 1u << n; outcome++) {
                double chance = 1;

                for (unsigned i = 0; i < n; i++)
                        chance *= outcome >> i & 1 ? bounds[i] : 1 - bounds[i];
                if ((unsigned) __builtin_popcount(outcome) >= k)
                        sum += chance;
        }
        return sum;
}

static void test_a_mean_stands_for_unlike_bounds(void **state) {
        for (unsigned round = 0; round < 200; round++) {
                unsigned n = 2 + draw() % 9;
                double bounds[10], sum = 0;

                for (unsigned i = 0; i < n; i++)
                        sum += bounds[i] = pow(draw() % 1000 * 1e-3, 1 + draw() % 4);
                for (unsigned k = 1; k <= n; k++) {
                        Measured measured = { .n = n, .escaped = k, .bound = sum / n };
                        Interval interval;

                        if (statement_is_exceeded(&measured, 0.95, &interval))
                                assert_true(tail(bounds, n, k) <= 0.025 + 1e-9);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_each_kind_is_a_word),
                cmocka_unit_test(test_a_kind_goes_before_its_family),
                cmocka_unit_test(test_bounds),
                cmocka_unit_test(test_worse_is_where_the_interval_begins_above),
                cmocka_unit_test(test_what_is_always_there),
                cmocka_unit_test(test_what_is_stated_nowhere_must_be_found),
                cmocka_unit_test(test_all_intervals_hold_together),
                cmocka_unit_test(test_a_mean_stands_for_unlike_bounds),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
