/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A log whose records contradict themselves by the rules of today, as one would that an assayd with looser rules has signed: it opens, goes on and says so, and
 * such a record stands for no pass, clears nothing and hides no failure. The drafts of a scan are changed behind the judge and before they are signed.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/log/log.h"
#include "tests/record/place.h"
#include "tests/record/server.h"

static Place place;
static Server server;
static const char *const chip_path = "us0-2/chip3";

static RecordLog *open_log(void) {
        _cleanup_free_ char *error = NULL;
        RecordLog *log;

        if (place_open(&place, &log, &error) < 0)
                fail_msg("%s", error ?: "no log");
        return log;
}

static void make_scan(bool passes) {
        server_init(&server);
        if (!passes)
                return;
        server.measurements[SERVER_BAD][1].value = 0;
        server.steps[SERVER_BAD][1].n_diagnoses = 0;
        server.steps[SERVER_BAD][1].verdict = VERDICT_PASSED;
        server.chips[SERVER_BAD].result = server.scan.result = RESULT_PASSED;
}

/* In the record of chip K, or with SERVER_CHIPS in the roll-up, FROM is TO, which is as long. */
static void scan_loosely(RecordLog *log, size_t k, const char *from, const char *to) {
        DraftGroup *group;
        char *at;

        assert_int_equal(draft_scan(&log->station, &server.scan, &group), 0);
        at = memmem(group->drafts[k].tail.text, group->drafts[k].tail.n, from, strlen(from));
        assert_non_null(at);
        memcpy(at, to, strlen(to));
        assert_int_equal(queue_put(log, group, 2), 0);
        (void) place_take(log);
}

static void read_newest(RecordLog *log, const char *path, RecordVerified *ret, RecordStand *ret_stand) {
        Location where = server_location(path);

        assert_int_equal(place_newest_verified(log, &where, NULL, ret), 0);
        assert_int_equal(record_stand_of(ret, ret_stand), 0);
}

static void forget(RecordVerified *verified, RecordStand *stand) {
        record_verified_done(verified);
        record_stand_done(stand);
}

static void assert_strict_readers_refuse(RecordLog *log, const RecordVerified *verified) {
        RecordKeyring *keyring = place_keyring(&place);
        _cleanup_free_ char *envelope = place_envelope(log, verified->entry.index);
        RecordVerified strict;
        RecordTrust trust;

        assert_int_equal(record_verify(keyring, envelope, strlen(envelope), &trust, &strict), 0);
        assert_int_equal(trust, RECORD_REFUSED);
        assert_non_null(strstr(strict.reason, "the record contradicts itself"));
        record_verified_done(&strict);
        (void) record_keyring_free(keyring);
}

static void test_a_pass_of_older_rules_passes_and_clears_nothing(void **state) {
        RecordVerified failed, older;
        RecordStand stand, stands;
        RecordLog *log = open_log();

        make_scan(false);
        (void) server_scan(&server, log);
        read_newest(log, chip_path, &failed, &stand);
        assert_int_equal(stand.result, RESULT_FAILED);
        make_scan(true);
        scan_loosely(log, SERVER_BAD, "[0,\"{output}\",\"<=\",0]", "[9,\"{output}\",\"<=\",0]");
        (void) record_log_free(log);

        log = open_log();
        read_newest(log, chip_path, &older, &stands);
        assert_true(older.is_older && !failed.is_older);
        assert_string_equal(older.reason, "us0-2/chip3: signed under older rules: hbm: called PASSED in the face of its own evidence");
        assert_int_equal(older.entry.result, RESULT_PASSED); /* as it was signed */
        assert_int_equal(stands.result, RESULT_INCONCLUSIVE);
        assert_string_equal(stands.reason, older.reason);
        assert_int_equal(record_clears(&older, &failed), 0);
        assert_int_equal(record_tests_all_regions(&older, &failed, "systolic"), 0);
        assert_int_equal(record_stand_narrow(&stand, &failed, &older, 1), 0);
        assert_string_equal(stand.reason, failed.reason);
        assert_strict_readers_refuse(log, &older);
        forget(&failed, &stand);
        forget(&older, &stands);

        (void) server_scan(&server, log);
        (void) record_log_free(log);
        log = open_log();
        read_newest(log, chip_path, &older, &stands);
        assert_false(older.is_older);
        assert_int_equal(stands.result, RESULT_PASSED);
        forget(&older, &stands);
        (void) record_log_free(log);
}

static void test_a_failure_of_older_rules_stands(void **state) {
        RecordVerified older;
        RecordStand stand;
        RecordLog *log = open_log();

        make_scan(false);
        scan_loosely(log, SERVER_BAD, "\"reproduced\":3", "\"reproduced\":9");
        (void) record_log_free(log);
        log = open_log();
        read_newest(log, chip_path, &older, &stand);
        assert_true(older.is_older);
        assert_int_equal(stand.result, RESULT_FAILED);
        assert_non_null(strstr(stand.reason, "older rules: systolic-pe was reproduced more often"));
        assert_string_equal(stand.failed_step, "systolic");
        forget(&older, &stand);
        (void) record_log_free(log);
}

static void test_a_roll_up_of_older_rules_passes_no_server(void **state) {
        RecordVerified older;
        RecordStand stand;
        RecordLog *log = open_log();

        make_scan(true);
        scan_loosely(log, SERVER_CHIPS, "\"chipCount\":16", "\"chipCount\":99");
        (void) record_log_free(log);
        log = open_log();
        read_newest(log, "us0-2", &older, &stand);
        assert_true(older.is_older);
        assert_int_equal(stand.result, RESULT_INCONCLUSIVE);
        assert_non_null(strstr(stand.reason, "us0-2: signed under older rules: the result is called PASSED"));
        forget(&older, &stand);
        (void) record_log_free(log);
}

/* The log goes on with what another schema let through. Nobody can tell what it says, but for its result: no pass comes of it, and a failure stays one. */
static void test_a_record_of_an_older_schema_stands_for_its_failure(void **state) {
        static const struct {
                const char *path;
                size_t k;
                bool passes;
        } cases[] = { { "us0-2/chip3", SERVER_BAD, false }, { "us0-2/chip3", SERVER_BAD, true }, { "us0-2", SERVER_CHIPS, false }, { "us0-2", SERVER_CHIPS, true } };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                RecordLog *log = open_log();
                RecordVerified older;
                RecordStand stand;
                int r;

                make_scan(cases[i].passes);
                scan_loosely(log, cases[i].k, "\"stage\":\"PREFLIGHT\"", "\"stage\":\"PREFLIGHX\"");
                (void) record_log_free(log);
                log = open_log();
                read_newest(log, cases[i].path, &older, &stand);
                assert_true(older.is_older);
                assert_int_equal(stand.result, cases[i].passes ? RESULT_INCONCLUSIVE : RESULT_FAILED);
                assert_non_null(strstr(stand.reason, "signed under older rules"));
                assert_int_equal(stand.n_named + stand.n_left_out, 0);
                r = record_clears(&older, &older);
                assert_true(i == 0 ? r == -EBADMSG : r <= 0);
                forget(&older, &stand);
                (void) record_log_free(log);
        }
}

static int setup(void **state) {
        place_init(&place);
        return 0;
}

static int teardown(void **state) {
        place_done(&place);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_pass_of_older_rules_passes_and_clears_nothing, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_failure_of_older_rules_stands, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_roll_up_of_older_rules_passes_no_server, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_record_of_an_older_schema_stands_for_its_failure, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
