/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Adapter or cable: the same fault under many seeds is told in one way, in the code and in its words, and what its counts do not carry is
 * not said. As a campaign: LOOP_CASES=N.
 */

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/efa/efa.h"
#include "tests/checks/rehearsal.h"

#define ADAPTER "it is the adapter, not its cable"
#define CABLE   "it is its cable or the switch port"
#define UNKNOWN "adapter or cable cannot be told"

typedef struct Told {
        unsigned n_adapter, n_cable, n_unknown, n_silent;
} Told;

/* One finding at most, at the right adapter, whose code says the same as its words, and so does what is to be replaced. */
static void tell(const char *fault, unsigned seed, Told *told) {
        unsigned chip = seed * 5 % CHIPS;
        char text[512], at[64];
        Verdict verdict = _VERDICT_INVALID;

        (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\nfaults: [{at: trn-0/chip%u/nic%u, %s}]\n",
                        seed, chip, chip, fault);
        (void) snprintf(at, sizeof(at), "trn-0/chip%u/nic%u", chip, chip);
        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "trn-0");

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        if (step->n_said == 0) {
                told->n_silent++;
                return;
        }
        if (step->n_said != 1 || strcmp(step->said[0].at, at) != 0 ||
            strcmp(step->said[0].code, strstr(step->said[0].message, ADAPTER) ? "efa-loss" : "efa-cable") != 0) {
                rehearsal_print(step);
                fail_msg("%s, seed %u", fault, seed);
        }
        assert_int_equal(verdict, VERDICT_FAILED);
        assert_string_equal(step->said[0].replaceable, strstr(step->said[0].message, ADAPTER) ? "" : "cable");
        told->n_adapter += strstr(step->said[0].message, ADAPTER) != NULL;
        told->n_cable += strstr(step->said[0].message, CABLE) != NULL;
        told->n_unknown += strstr(step->said[0].message, UNKNOWN) != NULL;
        assert_int_equal(told->n_adapter + told->n_cable + told->n_unknown + told->n_silent, seed + 1);
}

static unsigned n_cases(unsigned few) {
        const char *text = getenv("LOOP_CASES");

        return text ? (unsigned) atoi(text) : few;
}

static Told tell_all(const char *fault, unsigned n) {
        Told told = {};

        for (unsigned seed = 0; seed < n; seed++)
                tell(fault, seed, &told);
        print_message("# %-75s %u seeds: adapter %u, cable %u, cannot be told %u, not seen %u\n", fault, n, told.n_adapter, told.n_cable,
                      told.n_unknown, told.n_silent);
        return told;
}

static void test_an_adapter_that_loses_packets_is_never_called_a_cable(void **state) {
        static const char *const faults[] = {
                "kind: packet-loss, rate: 0.05",
                "kind: packet-loss, rate: 0.05, direction: send",
                "kind: packet-loss, rate: 0.01, direction: receive",
                "kind: packet-loss, rate: 1",
                "kind: packet-loss, rate: 0.2, persistence: intermittent, probability: 0.1",
                "kind: packet-loss, rate: 0.5, persistence: intermittent, probability: 0.02",
                "kind: packet-loss, rate: 0.0005",
        };
        unsigned n = n_cases(12);

        for (size_t i = 0; i < ELEMENTS(faults); i++) {
                Told told = tell_all(faults[i], n);

                assert_int_equal(told.n_cable, 0);
                /* A loss in every flow is told whenever it is seen; one of 1 % in one direction is not seen in 7 of 1000 scans. */
                if (i < 4)
                        assert_true(told.n_unknown == 0 && told.n_silent <= n / 50);
        }
}

static void test_a_cable_that_loses_packets_is_never_called_an_adapter(void **state) {
        static const char *const faults[] = {
                "kind: cable-loss, rate: 0.05",
                "kind: cable-loss, rate: 0.01, direction: send",
                "kind: cable-loss, rate: 1, direction: receive",
                "kind: cable-loss, rate: 0.2, persistence: intermittent, probability: 0.3",
                "kind: cable-loss, rate: 0.0005",
        };
        unsigned n = n_cases(8);

        for (size_t i = 0; i < ELEMENTS(faults); i++) {
                Told told = tell_all(faults[i], n);

                assert_int_equal(told.n_adapter, 0);
                if (i < 3)
                        assert_true(told.n_unknown == 0 && told.n_silent <= n / 50);
        }
}

/* So that what is ordered then is seen too: the cable, which is the cheaper part. */
static void test_what_cannot_be_told_orders_the_cable(void **state) {
        Told told = tell_all("kind: cable-loss, rate: 0.5, persistence: intermittent, probability: 0.06", 8);

        assert_true(told.n_unknown > 0 && told.n_adapter == 0);
}

/* ---- the confidence ---- */

static double choose(unsigned n, unsigned k) {
        return exp(lgamma(n + 1.0) - lgamma(k + 1.0) - lgamma(n - k + 1.0));
}

/* After how many silent flows of a broken adapter to itself a cable is called wrong, when so many of its flows to others were. */
static unsigned loops_until_certain(unsigned n_wrong, unsigned n_others) {
        LoopCount count = { .n_others = n_others, .n_others_wrong = n_wrong };

        while (count.n_loops < LOOPS_MAX && !loops_are_silent(&count))
                count.n_loops += LOOPS_BATCH;
        return loops_are_silent(&count) ? count.n_loops : 0;
}

/* The sum over all that flows to others can show, whatever share of flows the fault is in: no simulation. */
static void test_the_sentence_is_as_sure_as_it_says(void **state) {
        double worst = 0;

        for (unsigned i = 1; i < 500; i++) {
                double q = i / 500.0, wrong = 0;

                for (unsigned k = 0; k <= 64; k++) {
                        unsigned n = loops_until_certain(k, 64);

                        if (n > 0)
                                wrong += choose(64, k) * pow(q, k) * pow(1 - q, 64 - k) * pow(1 - q, n);
                }
                worst = fmax(worst, wrong);
        }
        print_message("# a broken adapter is called a cable with %.2g at worst\n", worst);
        assert_true(worst > 1e-6 && worst < 0.001);
}

static void test_few_silent_flows_carry_nothing(void **state) {
        assert_false(loops_are_silent(&(LoopCount) { .n_others = 64, .n_others_wrong = 0, .n_loops = LOOPS_MAX }));
        assert_false(loops_are_silent(&(LoopCount) { .n_others = 64, .n_others_wrong = 3, .n_loops = LOOPS_MAX }));
        assert_false(loops_are_silent(&(LoopCount) { .n_others = 64, .n_others_wrong = 64, .n_loops = 0 }));
        assert_true(loops_are_silent(&(LoopCount) { .n_others = 64, .n_others_wrong = 64, .n_loops = LOOPS_BATCH }));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_an_adapter_that_loses_packets_is_never_called_a_cable),
                cmocka_unit_test(test_a_cable_that_loses_packets_is_never_called_an_adapter),
                cmocka_unit_test(test_what_cannot_be_told_orders_the_cable),
                cmocka_unit_test(test_the_sentence_is_as_sure_as_it_says),
                cmocka_unit_test(test_few_silent_flows_carry_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
