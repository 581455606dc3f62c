/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "sim/chip/planted.h"

static const char one = 0, other = 0; /* clients are told apart by an address */

/* Compares the account of four words with TEXT. */
static void assert_says(const Planted *planted, const uint64_t now[static STACKS], const char *text) {
        char said[256];

        planted_format(planted, now, STACKS, said, sizeof(said));
        assert_string_equal(said, text);
}

static void what_is_counted_while_an_announcement_stands_was_planted(void **state) {
        uint64_t now[STACKS] = { 3, 0, 5, 0 };
        Planted planted = {};

        assert_says(&planted, now, "0 0 0 0");
        assert_int_equal(planted_announce(&planted, now, &one, "4"), 0);
        assert_says(&planted, now, "0 0 0 0 open");
        now[0] += 2;
        now[1] += 4;
        assert_says(&planted, now, "2 4 0 0 open");
        assert_int_equal(planted_announce(&planted, now, &one, "0"), 0);
        assert_says(&planted, now, "2 4 0 0");

        /* Later ones are the chip's own. */
        now[0] += 7;
        assert_says(&planted, now, "2 4 0 0");
}

static void more_than_was_announced_was_not_planted(void **state) {
        uint64_t now[STACKS] = {};
        Planted planted = {};

        assert_int_equal(planted_announce(&planted, now, &one, "4"), 0);
        now[2] = 5;
        assert_says(&planted, now, "0 0 4 0 open");
        planted_release(&planted, now, &one);
        now[3] = 1;
        assert_says(&planted, now, "0 0 4 0");
}

static void a_client_that_goes_ends_its_own_announcement_alone(void **state) {
        uint64_t now[STACKS] = {};
        Planted planted = {};

        assert_int_equal(planted_announce(&planted, now, &one, "9"), 0);
        now[0] = 1;
        planted_release(&planted, now, &other);
        now[0] = 2;
        assert_says(&planted, now, "2 0 0 0 open");
        planted_release(&planted, now, &one);
        now[0] = 3;
        assert_says(&planted, now, "2 0 0 0");
        planted_release(&planted, now, NULL);
        assert_says(&planted, now, "2 0 0 0");
}

static void announcements_add_up_and_a_cleared_counter_forgets_them(void **state) {
        uint64_t now[STACKS] = {};
        Planted planted = {};

        for (unsigned i = 0; i < 3; i++) {
                assert_int_equal(planted_announce(&planted, now, &one, "2"), 0);
                now[1] += 2;
        }
        assert_says(&planted, now, "0 6 0 0 open");

        /* One that stands goes on from there. */
        now[1] = 0;
        planted_clear(&planted, now);
        assert_says(&planted, now, "0 0 0 0 open");
        now[1] = 1;
        assert_says(&planted, now, "0 1 0 0 open");
}

static void nothing_is_planted_that_is_not_counted(void **state) {
        uint64_t now[STACKS] = {};
        Planted planted = {};

        assert_int_equal(planted_announce(&planted, now, &one, "2"), 0);
        now[1] = 2;
        planted_release(&planted, now, &one);
        now[1] = 1; /* whatever made it fall */
        assert_says(&planted, now, "0 1 0 0");
        assert_int_equal(planted_announce(&planted, now, &one, "2"), 0);
        now[1] = 0;
        assert_says(&planted, now, "0 0 0 0 open");
}

static void while_one_plants_no_other_may(void **state) {
        uint64_t now[STACKS] = {};
        Planted planted = {};

        assert_int_equal(planted_announce(&planted, now, &one, "2"), 0);
        assert_int_equal(planted_announce(&planted, now, &other, "2"), -EBUSY);
        assert_int_equal(planted_announce(&planted, now, &other, "0"), -EBUSY);
        planted_release(&planted, now, &one);
        assert_int_equal(planted_announce(&planted, now, &other, "65535"), 0);
}

static void what_is_no_number_of_errors_is_refused(void **state) {
        static const char *const texts[] = { "", " ", "-1", "+1", "1 ", "1x", "0x4", "65536", "18446744073709551616", "4 4", "\n" };
        uint64_t now[STACKS] = {};
        Planted planted = {};

        for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
                assert_int_equal(planted_announce(&planted, now, &one, texts[i]), -EINVAL);
        assert_says(&planted, now, "0 0 0 0");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_counted_while_an_announcement_stands_was_planted),
                cmocka_unit_test(more_than_was_announced_was_not_planted),
                cmocka_unit_test(a_client_that_goes_ends_its_own_announcement_alone),
                cmocka_unit_test(announcements_add_up_and_a_cleared_counter_forgets_them),
                cmocka_unit_test(nothing_is_planted_that_is_not_counted),
                cmocka_unit_test(while_one_plants_no_other_may),
                cmocka_unit_test(what_is_no_number_of_errors_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
