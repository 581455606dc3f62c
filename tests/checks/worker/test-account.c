/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "checks/wire/wire.h"
#include "checks/worker/account.h"

/* Step 0 runs on chips, step 1 on the server; chips hold the promise of 96 units. */
static Plan plan = {
        .n_steps = 2,
        .steps = { { .name = "chips", .required = true }, { .name = "server", .required = true } },
        .n_promises = 1,
        .promises = { { "try_bytes", 96 } },
};
static Target target = { .n_servers = 1, .servers = { { "us0-1", TARGET_CHIPS_ALL } } };

static Location at(const char *text) {
        Location where;

        assert_int_equal(location_parse(text, &where, NULL, NULL), 0);
        return where;
}

static Location chip_at(unsigned chip) {
        Location where = at("us0-1");

        assert_int_equal(location_append(&where, LOCATION_CHIP, chip), 0);
        return where;
}

static void measure(Account *account, unsigned chip, double value) {
        Location where = chip_at(chip);

        account_measurement(account, &where, 0,
                            &(Measurement){ .name = "try_bytes", .value = value, .where = where });
}

/* Everything as it should be. */
static Account *healthy(void) {
        Account *account = NULL;
        Location server = at("us0-1");

        assert_int_equal(account_new(&plan, &target, &account), 0);
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Location where = chip_at(chip);

                measure(account, chip, 96);
                account_end(account, &where, 0, VERDICT_PASSED);
        }
        account_end(account, &server, 1, VERDICT_PASSED);
        return account;
}

static void find(Account *account, const char *unit, size_t step, const char *where, const char *code) {
        Location on = at(unit);
        Finding finding = { .code = code, .severity = SEVERITY_FAIL, .where = at(where) };

        account_finding(account, &on, step, &finding);
}

static void test_what_is_whole_passes(void **state) {
        _cleanup_(account_freep) Account *account = healthy();

        assert_int_equal(account_result(account, true), RESULT_PASSED);
}

static void test_a_step_that_never_ended_is_no_pass(void **state) {
        _cleanup_(account_freep) Account *account = NULL;

        assert_int_equal(account_new(&plan, &target, &account), 0);
        assert_int_equal(account_result(account, true), RESULT_INCONCLUSIVE);
        assert_int_equal(account_result(account, false), RESULT_INCONCLUSIVE);
}

static void test_a_promise_is_kept_by_every_chip_or_not(void **state) {
        _cleanup_(account_freep) Account *account = NULL;
        Location server = at("us0-1");

        assert_int_equal(account_new(&plan, &target, &account), 0);
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Location where = chip_at(chip);

                measure(account, chip, chip == 9 ? 95 : 96);
                account_end(account, &where, 0, VERDICT_PASSED);
        }
        account_end(account, &server, 1, VERDICT_PASSED);
        assert_int_equal(account_result(account, true), RESULT_INCONCLUSIVE);
        measure(account, 9, 96);
        assert_int_equal(account_result(account, true), RESULT_PASSED);
}

static void test_a_failing_finding_outweighs_the_end_of_its_step(void **state) {
        _cleanup_(account_freep) Account *account = healthy();

        find(account, "us0-1", 1, "us0-1/chip4/link-x+", "link-errors");
        assert_int_equal(account_result(account, true), RESULT_FAILED);
}

static void test_a_lost_server_step_leaves_what_was_done(void **state) {
        _cleanup_(account_freep) Account *account = healthy();
        Location server = at("us0-1");

        account_end(account, &server, 1, VERDICT_ERROR);
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Location where = chip_at(chip);

                assert_int_equal(account_result(account, true), RESULT_INCONCLUSIVE);
                account_part(account, &where, 1, VERDICT_PASSED);
        }
        assert_int_equal(account_result(account, true), RESULT_PASSED);
}

static void test_steps_judged_elsewhere_do_not_count(void **state) {
        _cleanup_(account_freep) Account *account = NULL;
        Location server = at("us0-1");

        assert_int_equal(account_new(&plan, &target, &account), 0);
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Location where = chip_at(chip);

                account_leave_out(account, &where, 0);
        }
        account_end(account, &server, 1, VERDICT_WARNED);
        assert_int_equal(account_result(account, false), RESULT_WARNED);
        assert_int_equal(account_result(account, true), RESULT_INCONCLUSIVE); /* the promise is not */
}

static void remember(const Suspect *suspect, void *userdata) {
        *(Suspect *) userdata = *suspect;
}

static void test_only_what_all_chips_have_is_suspect(void **state) {
        _cleanup_(account_freep) Account *account = healthy();
        Suspect suspect = {};

        for (unsigned chip = 0; chip < CHIPS; chip++) {
                char text[LOCATION_STRING_MAX];
                Location where = chip_at(chip);

                account_suspects(account, remember, &suspect);
                assert_null(suspect.entry);
                find(account, location_format(&where, text), 0, text, "hbm-cell");
                if (chip == 7)
                        find(account, text, 0, text, "hbm-row");
        }

        account_suspects(account, remember, &suspect);
        assert_string_equal(suspect.entry->code, "hbm-cell");
        assert_int_equal(suspect.n_chips, CHIPS);
        assert_int_equal(suspect.step, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_whole_passes),
                cmocka_unit_test(test_a_step_that_never_ended_is_no_pass),
                cmocka_unit_test(test_a_promise_is_kept_by_every_chip_or_not),
                cmocka_unit_test(test_a_failing_finding_outweighs_the_end_of_its_step),
                cmocka_unit_test(test_a_lost_server_step_leaves_what_was_done),
                cmocka_unit_test(test_steps_judged_elsewhere_do_not_count),
                cmocka_unit_test(test_only_what_all_chips_have_is_suspect),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
