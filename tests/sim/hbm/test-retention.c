/* SPDX-License-Identifier: Apache-2.0 */

/* Times and counts here come from the formulas of the papers, worked out apart from the code: halving per 10 °C, and the
 * normal distribution's tail by tables. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/sim/lone-stack.h"

#define SMALL "1 1 1 1 2 16 4"
#define WHOLE "16 2 3 4 4 16384 32"
#define MSEC  UINT64_C(1000000)

static void pause_for(LoneStack *lone, uint64_t nsec) {
        WireCommand command = { .type = COMMAND_HBM_PAUSE, .pause.nsec = nsec };
        WireCompletion completion = lone_stack_run(lone, command);

        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        assert_true(completion.device_nsec == nsec);
}

/* How many accesses do not give back DATA after a pause. */
static uint64_t lost(LoneStack *lone, unsigned data, uint64_t nsec) {
        (void) lone_stack_march(lone, (uint8_t) (MARCH_WRITE | data), false);
        pause_for(lone, nsec);
        return lone_stack_march(lone, (uint8_t) data, false).result[0];
}

static Fault weak(HbmRetention *retention) {
        Fault fault = { .kind = &hbm_disturb_kinds[HBM_DISTURB_RETENTION], .persistence = PERSISTENCE_PERMANENT, .parameters = retention };

        assert_int_equal(location_parse("us0-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba1/row3/col2/bit77", &fault.at, NULL, NULL), 0);
        return fault;
}

static void a_cell_loses_its_charge_after_its_time_and_not_before(void **state) {
        static const struct {
                double celsius;
                uint64_t holds; /* of a cell with 0.1 s at 45 °C */
        } times[] = { { 45, 100 * MSEC }, { 55, 50 * MSEC }, { 65, 25 * MSEC }, { 35, 200 * MSEC }, { 95, 3125000 } };
        HbmRetention retention = { .seconds = 0.1, .leaks = 1 };
        Fault fault = weak(&retention);
        LoneStack lone;

        lone_stack_open(&lone, SMALL, 4096);
        assert_int_equal(model_hbm.inject(&lone.hbm, &fault), 0);
        assert_int_equal(model_hbm.inject(&lone.hbm, &fault), -EEXIST);

        for (size_t i = 0; i < ELEMENTS(times); i++) {
                lone.chip.celsius = times[i].celsius;
                assert_int_equal(lost(&lone, 0, times[i].holds - 1000), 0);
                assert_int_equal(lost(&lone, 0, times[i].holds + 1000), 1);
                /* It is read from then on, until it is written. */
                assert_int_equal(lone_stack_march(&lone, 0, false).result[0], 1);
                /* An anti-cell has nothing to lose of a 1. */
                assert_int_equal(lost(&lone, 1, times[i].holds + 1000), 0);
        }

        lone.chip.celsius = 45;
        model_hbm.heal(&lone.hbm, &fault);
        assert_int_equal(lost(&lone, 0, 1000 * MSEC), 0);
        lone_stack_close(&lone);
}

static void pauses_do_not_add_up_and_reads_restore(void **state) {
        HbmRetention retention = { .seconds = 0.1, .leaks = 0 };
        Fault fault = weak(&retention);
        LoneStack lone;

        lone_stack_open(&lone, SMALL, 4096);
        assert_int_equal(model_hbm.inject(&lone.hbm, &fault), 0);
        (void) lone_stack_march(&lone, MARCH_WRITE | MARCH_DATA, false);
        for (unsigned i = 0; i < 5; i++)
                pause_for(&lone, 60 * MSEC);
        assert_int_equal(lone_stack_march(&lone, MARCH_DATA, false).result[0], 0);
        lone_stack_close(&lone);
}

static void lost_data_are_where_the_cell_is_and_ecc_mends_them(void **state) {
        HbmRetention retention = { .seconds = 0.1, .leaks = 0 };
        Fault fault = weak(&retention);
        WireMismatch mismatch;
        LoneStack lone;

        lone_stack_open(&lone, SMALL, 4096);
        assert_int_equal(model_hbm.inject(&lone.hbm, &fault), 0);
        assert_int_equal(lost(&lone, 1, 101 * MSEC), 1);
        memcpy(&mismatch, lone.window, sizeof(mismatch));
        assert_int_equal(mismatch.at[HBM_BANK], 1);
        assert_int_equal(mismatch.at[HBM_ROW], 3);
        assert_int_equal(mismatch.at[HBM_COLUMN], 2);
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                assert_int_equal(mismatch.actual[i], i == 77 / 8 ? 0xff ^ 1 << 77 % 8 : 0xff);

        assert_int_equal(lone.chip.counted[COUNTER_MEM_ECC_CORRECTED], 0);
        assert_int_equal(lone_stack_march(&lone, MARCH_DATA, true).result[0], 0);
        assert_int_equal(lone.chip.counted[COUNTER_MEM_ECC_CORRECTED], 1);
        lone_stack_close(&lone);
}

/* Row 3 of 16 has its turn at 3/16 of 32 ms: 6.0 ms, 38.0 ms and so on. */
static void refresh_saves_what_holds_until_it_comes(void **state) {
        HbmRetention retention = { .seconds = 0.010, .leaks = 0 };
        Fault fault = weak(&retention);
        LoneStack lone;

        lone_stack_open(&lone, SMALL, 4096);
        assert_int_equal(model_hbm.inject(&lone.hbm, &fault), 0);

#define HELD(from_msec, to_msec)                                                                             \
        (lone.chip.nsec = (from_msec) * MSEC, (void) lone_stack_march(&lone, MARCH_WRITE | MARCH_DATA, false),          \
         lone.chip.nsec = (to_msec) * MSEC, lone_stack_march(&lone, MARCH_DATA, false).result[0] == 0)
        assert_true(HELD(10, 19));
        assert_false(HELD(10, 21));  /* no refresh before 38 */
        assert_true(HELD(30, 47));   /* 8 ms, refresh, 9 ms */
        assert_false(HELD(30, 49));  /* 8 ms, refresh, 11 ms */
        assert_false(HELD(26, 40));  /* 12 ms, refresh */
        assert_false(HELD(30, 1000)); /* 32 ms from one to the next */
        retention.seconds = 0.032;
        assert_true(HELD(1000, 5000));
        /* Hotter than 85 °C refresh comes twice as often, and a cell holds less than a sixteenth. */
        retention.seconds = 0.3;
        lone.chip.celsius = 84;
        assert_false(HELD(10, 5000)); /* 20 ms < 32 */
        lone.chip.celsius = 86;
        assert_true(HELD(10, 5000)); /* 17.5 ms > 16 */
        lone_stack_close(&lone);
}

static void a_cell_with_two_times_has_each_now_and_then(void **state) {
        HbmRetention retention = { .seconds = 0.05, .other = 10, .leaks = 0 };
        Fault fault = weak(&retention);
        unsigned n = 0;
        LoneStack lone;

        lone_stack_open(&lone, SMALL, 4096);
        assert_int_equal(model_hbm.inject(&lone.hbm, &fault), 0);
        for (unsigned i = 0; i < 400; i++)
                n += lost(&lone, 1, 100 * MSEC) > 0;
        assert_in_range(n, 150, 250); /* 200 ± 5 sigma */
        lone_stack_close(&lone);
}

static void a_cell_without_a_time_is_weaker_than_the_guarantee(void **state) {
        HbmRetention retention = {};
        LoneStack lone;

        for (unsigned row = 0; row < 16; row++) {
                Fault fault = weak(&retention);

                lone_stack_open(&lone, SMALL, 4096);
                fault.at.parts[location_index(&fault.at, LOCATION_ROW) < 0 ? 0 : 7].index = (uint16_t) row;
                assert_int_equal(location_index(&fault.at, LOCATION_ROW), row);
                assert_int_equal(model_hbm.inject(&lone.hbm, &fault), 0);
                assert_int_equal(lost(&lone, 1, 512 * MSEC), 1);
                assert_int_equal(lost(&lone, 1, 10 * MSEC), 0);
                lone_stack_close(&lone);
        }
}

/* ---- sound stacks ---- */

/* Cells of both kinds that a stack loses in a pause: each is seen with one of the two data. */
static uint64_t natural(LoneStack *lone, uint64_t nsec) {
        return lost(lone, 0, nsec) + lost(lone, 1, nsec);
}

static void a_sound_stack_keeps_all_for_twice_the_guarantee(void **state) {
        LoneStack lone;

        lone_stack_open(&lone, WHOLE, 4096);
        assert_int_equal(natural(&lone, 1024 * MSEC), 0);
        lone.chip.celsius = 85;
        assert_int_equal(natural(&lone, 64 * MSEC), 0);
        lone.chip.celsius = 60;
        assert_int_equal(natural(&lone, 362 * MSEC), 0);
        lone_stack_close(&lone);
}

/*
 * 2^35 × 6 cells, ln t normal around ln 942 s with sigma 1, without those below 1.024 s (0.911 of them). By a table of the normal
 * distribution: 2.048 s is -6.1312 sigma, 89.94 cells; 4.096 s is -5.4380, 5554; the sum of two data is within 4 sigma.
 */
static void a_sound_stack_loses_the_tail_of_a_lognormal(void **state) {
        LoneStack lone;
        uint64_t n;

        lone_stack_open(&lone, WHOLE, 4096);
        n = natural(&lone, 2048 * MSEC);
        assert_in_range(n, 51, 127);
        /* The same cells each time. */
        assert_true(natural(&lone, 2048 * MSEC) == n);
        assert_in_range(natural(&lone, 4096 * MSEC), 5255, 5851);
        lone.chip.celsius = 85;
        assert_true(natural(&lone, 128 * MSEC) == n);
        lone.chip.celsius = 45;
        /* No more than are followed, but all of these. */
        assert_in_range(natural(&lone, 3600 * 1000 * MSEC), 16300, 16384);
        lone_stack_close(&lone);
}

static void a_longer_pause_loses_what_a_shorter_one_lost(void **state) {
        WireMismatch *shorter, *longer;
        LoneStack lone;
        uint64_t n, m, found = 0;

        lone_stack_open(&lone, WHOLE, 1u << 18);
        n = lost(&lone, 0, 2048 * MSEC);
        assert_true(n > 20 && n < 80);
        shorter = calloc(n, sizeof(WireMismatch));
        memcpy(shorter, lone.window, n * sizeof(WireMismatch));
        m = lost(&lone, 0, 2900 * MSEC);
        longer = (WireMismatch *) lone.window;
        for (size_t i = 0, k = 0; i < n; i++) {
                while (k < m && memcmp(longer[k].at, shorter[i].at, sizeof(shorter[i].at)) != 0)
                        k++;
                found += k < m;
        }
        assert_true(found == n && m > n);
        free(shorter);
        lone_stack_close(&lone);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_cell_loses_its_charge_after_its_time_and_not_before),
                cmocka_unit_test(pauses_do_not_add_up_and_reads_restore),
                cmocka_unit_test(lost_data_are_where_the_cell_is_and_ecc_mends_them),
                cmocka_unit_test(refresh_saves_what_holds_until_it_comes),
                cmocka_unit_test(a_cell_with_two_times_has_each_now_and_then),
                cmocka_unit_test(a_cell_without_a_time_is_weaker_than_the_guarantee),
                cmocka_unit_test(a_sound_stack_keeps_all_for_twice_the_guarantee),
                cmocka_unit_test(a_sound_stack_loses_the_tail_of_a_lognormal),
                cmocka_unit_test(a_longer_pause_loses_what_a_shorter_one_lost),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
