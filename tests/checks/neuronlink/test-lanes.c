/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "checks/neuronlink/lanes.h"
#include "checks/neuronlink/prbs.h"
#include "checks/text/cleanup.h"

#define N    32u
#define BITS UINT64_C(1000000000)

static const WireLinkPrbs prbs31 = { .bits = BITS, .seed = 4711, .polynomial = PRBS31 };

static void fill(WireLane *wires, unsigned n, const WireLinkPrbs *prbs) {
        for (unsigned l = 0; l < n; l++)
                wires[l] = (WireLane) {
                        .bits = prbs->bits, .transitions = LINK_TRANSITIONS_MAX, .locked = 1,
                        .state = prbs_seed((WirePrbs) prbs->polynomial, prbs->seed, l),
                };
}

/* What arrives LATE bits after it should: its first bits are those before the seed. */
static uint32_t late(const WireLinkPrbs *prbs, unsigned lane, int bits) {
        uint64_t period = (UINT64_C(1) << prbs_degree((WirePrbs) prbs->polynomial)) - 1;

        return prbs_jump((WirePrbs) prbs->polynomial, prbs_seed((WirePrbs) prbs->polynomial, prbs->seed, lane),
                         (uint64_t) ((int64_t) period - bits));
}

static void test_sound_lanes_are_sound(void **state) {
        WireLane wires[N];
        Lane lanes[N];

        fill(wires, N, &prbs31);
        lanes_classify(wires, N, &prbs31, lanes);
        for (unsigned l = 0; l < N; l++) {
                assert_int_equal(lanes[l].fault, LANE_SOUND);
                assert_true(lanes[l].bits == BITS && lanes[l].errors == 0 && lane_is_sound(&lanes[l]));
        }
}

static void test_each_fault_has_its_name(void **state) {
        uint32_t other = prbs_seed(PRBS31, 99, 3);
        const struct {
                WireLane wire;
                LaneFault fault;
        } cases[] = {
                { { .transitions = 0 }, LANE_LOW },
                { { .transitions = 0, .state = UINT32_MAX }, LANE_HIGH },
                { { .transitions = LINK_TRANSITIONS_MAX }, LANE_UNLOCKED },
                { { .transitions = LINK_TRANSITIONS_MAX, .locked = 1, .bits = BITS / 2, .state = prbs_seed(PRBS31, 4711, 9) }, LANE_LATE },
                { { .transitions = LINK_TRANSITIONS_MAX, .locked = 1, .bits = BITS, .inverted = 1, .state = prbs_seed(PRBS31, 4711, 9) }, LANE_INVERTED },
                { { .transitions = LINK_TRANSITIONS_MAX, .locked = 1, .bits = BITS, .state = prbs_seed(PRBS31, 4711, 8) }, LANE_CROSSED },
                { { .transitions = LINK_TRANSITIONS_MAX, .locked = 1, .bits = BITS, .state = other }, LANE_FOREIGN },
                { { .transitions = LINK_TRANSITIONS_MAX, .locked = 1, .bits = BITS, .state = 0 }, LANE_FOREIGN },
                { { .transitions = LINK_TRANSITIONS_MAX, .locked = 1, .bits = BITS, .state = UINT32_MAX }, LANE_FOREIGN },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                WireLane wires[N];
                Lane lanes[N];

                fill(wires, N, &prbs31);
                wires[9] = cases[i].wire;
                lanes_classify(wires, N, &prbs31, lanes);
                for (unsigned l = 0; l < N; l++)
                        assert_int_equal(lanes[l].fault, l == 9 ? cases[i].fault : LANE_SOUND);
                if (cases[i].fault == LANE_CROSSED)
                        assert_int_equal(lanes[9].source, 8);
        }
}

/* An old answer, with the seed of another run, is nobody's stream: it cannot stand for this run. */
static void test_an_answer_to_another_run_is_foreign(void **state) {
        WireLinkPrbs before = { .bits = BITS, .seed = 990000, .polynomial = PRBS31 };
        WireLane wires[N];
        Lane lanes[N];

        fill(wires, N, &before);
        lanes_classify(wires, N, &prbs31, lanes);
        for (unsigned l = 0; l < N; l++)
                assert_int_equal(lanes[l].fault, LANE_FOREIGN);
}

/* Late by up to what a receiver brings together is sound; all late together is the length of the way. */
static void test_skew_is_told_against_the_other_lanes(void **state) {
        static const int skews[] = { 1, -1, LINK_DESKEW_BITS, -LINK_DESKEW_BITS, LINK_DESKEW_BITS + 1, -LINK_DESKEW_BITS - 1, 5000 };

        for (size_t i = 0; i < ELEMENTS(skews); i++)
                for (unsigned common = 0; common < 2000; common += 1000) {
                        int skew = skews[i] < 0 ? -skews[i] : skews[i];
                        WireLane wires[N];
                        Lane lanes[N];

                        fill(wires, N, &prbs31);
                        for (unsigned l = 0; l < N; l++)
                                wires[l].state = late(&prbs31, l, (int) common + (l == 20 ? skews[i] : 0));
                        lanes_classify(wires, N, &prbs31, lanes);
                        for (unsigned l = 0; l < N; l++)
                                assert_int_equal(lanes[l].fault, l == 20 && skew > LINK_DESKEW_BITS ? LANE_SKEWED : LANE_SOUND);
                        assert_int_equal(lanes[20].skew, skews[i]);
                }
}

static void test_a_lane_whose_clock_slips_is_not_sound(void **state) {
        WireLane wires[N];
        Lane lanes[N];

        fill(wires, N, &prbs31);
        wires[4].resyncs = 1;
        wires[4].slipped = 2;
        wires[4].errors = 130;
        wires[4].errored_blocks = 2;
        wires[4].bits -= 500;
        wires[5].resyncs = 1; /* a burst that ended the lock, and the same place after it */
        wires[5].errors = 130;
        wires[5].errored_blocks = 1;
        lanes_classify(wires, N, &prbs31, lanes);
        assert_false(lane_is_sound(&lanes[4]));
        assert_true(lane_is_sound(&lanes[5]));
        assert_true(lanes[5].least == 1 && lanes[5].blocks == 1 && lanes[5].errors == 130);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_sound_lanes_are_sound),
                cmocka_unit_test(test_each_fault_has_its_name),
                cmocka_unit_test(test_an_answer_to_another_run_is_foreign),
                cmocka_unit_test(test_skew_is_told_against_the_other_lanes),
                cmocka_unit_test(test_a_lane_whose_clock_slips_is_not_sound),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
