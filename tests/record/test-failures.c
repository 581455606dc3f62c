/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/record/faults.h"
#include "tests/record/place.h"
#include "tests/record/server.h"

#define CHIP "us0-2/chip3"

static Place place;
static Server server;
static RecordLog *log_of;

static int setup(void **state) {
        place_init(&place);
        return place_open(&place, &log_of, NULL);
}

/* Whatever became of failures, an opening works it out again from the records. */
static int teardown(void **state) {
        _cleanup_free_ char *error = NULL;
        int r;

        log_of = record_log_free(log_of);
        r = place_open(&place, &log_of, &error);
        if (r < 0)
                print_message("# %s\n", error ? error : "");
        log_of = record_log_free(log_of);
        place_done(&place);
        return r;
}

static const char *const plans[_STAGE_MAX] = {
        [STAGE_PREFLIGHT] = "preflight", [STAGE_INFLEET] = "infleet", [STAGE_PRODUCTION] = "production",
};

/* What is found of the chip's links and what was not looked at there; NULL: nothing. SKIPPED: that step did not run. */
typedef struct Case {
        Stage stage;
        const char *failed, *untested, *skipped;
        const char *note; /* a measurement that stands at the chip */
        const char *found_with;  /* the far end of what is found, which other servers alone show */
        const char *tested_with; /* another server of the run */
} Case;

/* All chips pass but this one. What becomes of it is ERROR; returns the index of its record. */
static uint64_t scan_ends(const Case *what, int error) {
        static RecordDiagnosis diagnosis;
        static Measurement untested, servers[2];
        RecordHealth *chip = &server.chips[SERVER_BAD];
        RecordStep *steps = server.steps[SERVER_BAD], *step = &steps[2];
        RecordOutcome outcome;
        uint64_t index;

        server_init(&server);
        server.scan.run.stage = what->stage;
        server.scan.run.plan = plans[what->stage];
        server.steps[0][0].regions = NULL;
        server.measurements[SERVER_BAD][1].value = 0;
        steps[1].n_diagnoses = 0;
        steps[1].verdict = VERDICT_PASSED;
        chip->result = server.scan.result = RESULT_PASSED;
        if (what->failed) {
                diagnosis = server.diagnosis;
                diagnosis.code = "link-errors";
                diagnosis.where = server_location(what->failed);
                diagnosis.far_end = what->found_with;
                step->verdict = VERDICT_FAILED;
                step->n_diagnoses = 1;
                step->diagnoses = &diagnosis;
                chip->result = server.scan.result = RESULT_FAILED;
        }
        if (what->untested) {
                untested = (Measurement) { "neuronlink_untested_out_of_scan", 1, "{port}", LIMIT_NONE, 0,
                                                 server_location(what->untested) };
                step->n_measurements = 1;
                step->measurements = &untested;
        }
        if (what->note) {
                untested = (Measurement) { what->note, 1, "{chip}", LIMIT_NONE, 0, server_location(CHIP) };
                step->n_measurements = 1;
                step->measurements = &untested;
        }
        if (what->tested_with) {
                server.scan.run.n_servers = 2;
                server.scan.run.servers[0] = "us0-2";
                server.scan.run.servers[1] = what->tested_with;
                servers[0] = (Measurement) { "efa_tested_with_servers", 1, "{server}", LIMIT_NONE, 0, server_location(CHIP) };
                servers[1] = (Measurement) { "efa_found_with_servers", 1, "{server}", LIMIT_NONE, 0, server_location(CHIP) };
                step->n_measurements = what->found_with ? 2 : 1;
                step->measurements = servers;
        }
        for (unsigned k = 0; k < SERVER_STEPS && what->skipped; k++)
                if (strcmp(steps[k].name, what->skipped) == 0) {
                        steps[k].verdict = VERDICT_SKIPPED;
                        steps[k].reason = REASON_BUDGET;
                        steps[k].required = false;
                }
        assert_int_equal(record_log_scan(log_of, &server.scan, 1), 0);
        place_wait(log_of, &outcome);
        assert_int_equal(outcome.error, error);
        index = error == 0 ? outcome.entries[SERVER_BAD].index : UINT64_MAX;
        record_outcome_done(&outcome);
        return index;
}

static uint64_t scan(const Case *what) {
        return scan_ends(what, 0);
}

static void assert_stands_at(const char *subject, int64_t index) {
        Location chip = server_location(subject);
        RecordVerified verified;
        RecordEntry entry;
        int r;

        r = record_log_failure(log_of, &chip, &entry);
        assert_int_equal(r, index < 0 ? -ENOENT : 0);
        if (index < 0)
                return;
        assert_int_equal(entry.index, index);
        assert_int_equal(entry.result, RESULT_FAILED);
        assert_int_equal(record_log_verified(log_of, &chip, &entry, &verified), 0);
        assert_int_equal(verified.entry.index, index);
        record_verified_done(&verified);
}

static void assert_stands(int64_t index) {
        assert_stands_at(CHIP, index);
}

static void test_a_failure_stands_until_somebody_has_looked(void **state) {
        uint64_t index;

        assert_stands(-1);
        index = scan(&(Case) { STAGE_PREFLIGHT, .failed = CHIP "/link-z+/lane3" });
        assert_stands((int64_t) index);
        /* The port is left out, whatever may be wrong in it; another port is none of its. */
        (void) scan(&(Case) { STAGE_PREFLIGHT, .untested = CHIP "/link-z+" });
        assert_stands((int64_t) index);
        (void) scan(&(Case) { STAGE_PREFLIGHT, .untested = CHIP "/link-z-" });
        assert_stands(-1);
}

static void test_a_failure_elsewhere_does_not_hide_it(void **state) {
        uint64_t first, second;

        first = scan(&(Case) { STAGE_PREFLIGHT, .failed = CHIP "/link-z+" });
        second = scan(&(Case) { STAGE_PREFLIGHT, .failed = CHIP "/link-x+", .untested = CHIP "/link-z+" });
        assert_stands((int64_t) second);
        (void) scan(&(Case) { STAGE_PREFLIGHT, .untested = CHIP "/link-z+" });
        assert_stands((int64_t) first);
        (void) scan(&(Case) { STAGE_PREFLIGHT });
        assert_stands(-1);
}

static void test_what_a_step_finds_stands_while_the_step_is_skipped(void **state) {
        uint64_t index = scan(&(Case) { STAGE_PREFLIGHT, .failed = CHIP });

        (void) scan(&(Case) { STAGE_PREFLIGHT, .skipped = "neuronlink" });
        assert_stands((int64_t) index);
        (void) scan(&(Case) { STAGE_PREFLIGHT, .skipped = "efa" });
        assert_stands(-1);
}

static void test_other_plans_clear_what_they_look_at(void **state) {
        uint64_t index = scan(&(Case) { STAGE_PREFLIGHT, .failed = CHIP "/link-z+" });

        (void) scan(&(Case) { STAGE_INFLEET });
        assert_stands((int64_t) index);
        (void) scan(&(Case) { STAGE_PRODUCTION, .failed = CHIP "/link-x+" });
        (void) scan(&(Case) { STAGE_PRODUCTION, .untested = CHIP "/link-z+" });
        assert_stands((int64_t) index);
        (void) scan(&(Case) { STAGE_PRODUCTION });
        assert_stands(-1);

        index = scan(&(Case) { STAGE_PRODUCTION, .failed = CHIP "/link-z+" });
        (void) scan(&(Case) { STAGE_PREFLIGHT });
        assert_stands((int64_t) index);
}

/* A failure that only several servers together show is not cleared from one of them; one that a server shows by itself is. */
static void test_what_took_others_to_see_takes_them_to_clear(void **state) {
        uint64_t index = scan(&(Case) { STAGE_PREFLIGHT, .failed = CHIP });

        (void) scan(&(Case) { STAGE_PREFLIGHT, .note = "collective_untested_stopped" });
        assert_stands((int64_t) index);
        (void) scan(&(Case) { STAGE_PREFLIGHT, .note = "collective_untested_together" });
        assert_stands(-1);

        index = scan(&(Case) { STAGE_PREFLIGHT, .failed = CHIP, .note = "collective_found_together" });
        (void) scan(&(Case) { STAGE_PREFLIGHT, .note = "collective_untested_together" });
        assert_stands((int64_t) index);
        log_of = record_log_free(log_of);
        assert_int_equal(place_open(&place, &log_of, NULL), 0);
        (void) scan(&(Case) { STAGE_PREFLIGHT, .note = "collective_untested_together" });
        assert_stands((int64_t) index);
        (void) scan(&(Case) { STAGE_PREFLIGHT });
        assert_stands(-1);
}

static void test_the_server_that_it_took_to_see_it_clears_it(void **state) {
        uint64_t index = scan(&(Case) { STAGE_PREFLIGHT, .failed = CHIP, .found_with = "us0-1/chip5", .tested_with = "us0-1" });

        (void) scan(&(Case) { STAGE_PREFLIGHT });
        assert_stands((int64_t) index);
        (void) scan(&(Case) { STAGE_PREFLIGHT, .tested_with = "us0-3" });
        assert_stands((int64_t) index);
        log_of = record_log_free(log_of);
        assert_int_equal(place_open(&place, &log_of, NULL), 0);
        (void) scan(&(Case) { STAGE_PREFLIGHT, .tested_with = "us0-3" });
        assert_stands((int64_t) index);
        (void) scan(&(Case) { STAGE_PREFLIGHT, .tested_with = "us0-1" });
        assert_stands(-1);

        (void) scan(&(Case) { STAGE_PREFLIGHT, .failed = CHIP, .tested_with = "us0-1" });
        (void) scan(&(Case) { STAGE_PREFLIGHT });
        assert_stands(-1);
}

static void test_it_is_remembered(void **state) {
        uint64_t index = scan(&(Case) { STAGE_PREFLIGHT, .failed = CHIP "/link-z+" });

        (void) scan(&(Case) { STAGE_PREFLIGHT, .untested = CHIP "/link-z+" });
        log_of = record_log_free(log_of);
        assert_int_equal(place_open(&place, &log_of, NULL), 0);
        assert_stands((int64_t) index);
}

/* All chips pass, or the first N of them; a plane of the fabric is sick or not, and other servers were asked or not. Returns the roll-up's index. */
static uint64_t scan_fabric(size_t n_chips, bool is_sick, bool is_alone) {
        static RecordDiagnosis diagnosis;
        static Measurement untested;

        server_init(&server);
        server.steps[0][0].regions = NULL;
        server.measurements[SERVER_BAD][1].value = 0;
        server.steps[SERVER_BAD][1].n_diagnoses = 0;
        server.steps[SERVER_BAD][1].verdict = VERDICT_PASSED;
        server.chips[SERVER_BAD].result = RESULT_PASSED;
        server.scan.n_chips = n_chips;
        server.scan.result = is_sick ? RESULT_FAILED : n_chips < SERVER_CHIPS ? RESULT_INCONCLUSIVE : RESULT_PASSED;
        server.scan.n_steps = 1;
        server.scan.steps = &server.own;
        diagnosis = server.diagnosis;
        diagnosis.code = "efa-fabric";
        diagnosis.where = server.scan.server.where;
        server.own.verdict = is_sick ? VERDICT_FAILED : VERDICT_PASSED;
        server.own.n_diagnoses = is_sick;
        server.own.diagnoses = &diagnosis;
        untested = (Measurement) { "efa_untested_other_servers", 1, "1", LIMIT_NONE, 0, server.scan.server.where };
        server.own.n_measurements = is_alone;
        server.own.measurements = &untested;
        return server_scan(&server, log_of) + n_chips;
}

static void test_a_sick_fabric_stands_until_other_servers_were_asked(void **state) {
        uint64_t index = scan_fabric(SERVER_CHIPS, true, false);

        assert_stands_at("us0-2", (int64_t) index);
        (void) scan_fabric(SERVER_CHIPS, false, true);
        assert_stands_at("us0-2", (int64_t) index);
        (void) scan_fabric(SERVER_CHIPS - 1, false, false);
        assert_stands_at("us0-2", (int64_t) index);
        (void) scan_fabric(SERVER_CHIPS, false, false);
        assert_stands_at("us0-2", -1);
        /* What was seen without them can be seen to be gone without them. */
        (void) scan_fabric(SERVER_CHIPS, true, true);
        (void) scan_fabric(SERVER_CHIPS, false, true);
        assert_stands_at("us0-2", -1);
}

static unsigned count_identities(void) {
        sqlite3_stmt *statement;
        unsigned n;
        sqlite3 *db;

        assert_int_equal(sqlite3_open(place.log, &db), SQLITE_OK);
        assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(*) FROM identity", -1, &statement, NULL), SQLITE_OK);
        assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
        n = (unsigned) sqlite3_column_int(statement, 0);
        (void) sqlite3_finalize(statement);
        (void) sqlite3_close(db);
        return n;
}

/* What the writer remembers of a transaction goes with it. */
static void test_what_was_not_committed_is_not_known(void **state) {
        static const Case sound = { STAGE_PREFLIGHT }, broken = { STAGE_PREFLIGHT, .failed = CHIP "/link-z+/lane3" };
        uint64_t index;

        faults_set(1, SQLITE_FULL, false, false);
        (void) scan_ends(&sound, -ENOSPC);
        assert_int_equal(count_identities(), 0);
        index = scan(&broken);
        assert_int_equal(count_identities(), SERVER_CHIPS + 1);
        assert_stands((int64_t) index);
        faults_set(1, SQLITE_FULL, false, false);
        (void) scan_ends(&sound, -ENOSPC);
        assert_stands((int64_t) index);
        (void) scan(&sound);
        assert_stands(-1);
        /* nor is what was sound sound for ever */
        index = scan(&broken);
        assert_stands((int64_t) index);
        (void) scan(&sound);
        assert_stands(-1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_a_failure_stands_until_somebody_has_looked, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_failure_elsewhere_does_not_hide_it, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_a_step_finds_stands_while_the_step_is_skipped, setup, teardown),
                cmocka_unit_test_setup_teardown(test_other_plans_clear_what_they_look_at, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_took_others_to_see_takes_them_to_clear, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_server_that_it_took_to_see_it_clears_it, setup, teardown),
                cmocka_unit_test_setup_teardown(test_it_is_remembered, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_sick_fabric_stands_until_other_servers_were_asked, setup, teardown),
                cmocka_unit_test_setup_teardown(test_what_was_not_committed_is_not_known, setup, teardown),
        };

        faults_install();
        return cmocka_run_group_tests(tests, NULL, NULL);
}
