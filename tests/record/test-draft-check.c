/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>

#include "daemon/record/statement/schema.h"
#include "daemon/record/statement/statement.h"
#include "tests/record/payload.h"

static Server server;

static int setup(void **state) {
        server_init(&server);
        return 0;
}

static void assert_wrong(const char *what) {
        _cleanup_free_ char *why = NULL;

        assert_int_equal(record_scan_check(&server.scan, &why), -EINVAL);
        assert_non_null(why);
        if (!strstr(why, what))
                fail_msg("\"%s\" does not say \"%s\"", why, what);
        server_init(&server);
}

static void test_a_scan_that_agrees_with_itself_is_taken(void **state) {
        assert_int_equal(record_scan_check(&server.scan, NULL), 0);
}

static void test_a_step_is_not_better_than_its_evidence(void **state) {
        static const struct {
                Verdict verdict;
                Reason reason;
                bool beyond;
                int severity; /* of a diagnosis; -1 none */
                bool fits;
        } cases[] = {
                { VERDICT_PASSED,  REASON_NONE,         false, -1,            true  },
                { VERDICT_PASSED,  REASON_NONE,         false, SEVERITY_INFO, true  },
                { VERDICT_PASSED,  REASON_NONE,         false, SEVERITY_WARN, false },
                { VERDICT_PASSED,  REASON_NONE,         false, SEVERITY_FAIL, false },
                { VERDICT_PASSED,  REASON_NONE,         true,  -1,            false },
                { VERDICT_WARNED,  REASON_NONE,         true,  SEVERITY_WARN, true  },
                { VERDICT_WARNED,  REASON_NONE,         false, SEVERITY_FAIL, false },
                { VERDICT_FAILED,  REASON_NONE,         true,  SEVERITY_FAIL, true  },
                { VERDICT_FAILED,  REASON_NONE,         false, -1,            true  },
                { VERDICT_SKIPPED, REASON_BUDGET,       false, SEVERITY_FAIL, false },
                { VERDICT_SKIPPED, REASON_BUDGET,       false, -1,            true  },
                { VERDICT_SKIPPED, REASON_NONE,         false, -1,            false },
                { VERDICT_SKIPPED, REASON_DEVICE_ERROR, false, -1,            false },
                { VERDICT_ERROR,   REASON_DEVICE_ERROR, false, SEVERITY_FAIL, false },
                { VERDICT_ERROR,   REASON_DEVICE_ERROR, true,  SEVERITY_WARN, true  },
                { VERDICT_ERROR,   REASON_NONE,         false, -1,            false },
                { VERDICT_PASSED,  REASON_BUDGET,       false, -1,            false },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                RecordDiagnosis diagnosis = server.diagnosis;
                RecordStep *step = &server.steps[0][0];
                Fold fold = {};

                diagnosis.code = "in-no-catalogue";
                diagnosis.severity = cases[i].severity >= 0 ? (Severity) cases[i].severity : SEVERITY_INFO;
                server.measurements[0][0].value = cases[i].beyond ? 1 : 0;
                step->verdict = cases[i].verdict;
                step->reason = cases[i].reason;
                step->n_diagnoses = cases[i].severity >= 0;
                step->diagnoses = &diagnosis;
                for (size_t k = 0; k < SERVER_STEPS; k++)
                        fold_step(&fold, server.steps[0][k].verdict, true);
                server.chips[0].result = fold_result(&fold);
                if ((record_scan_check(&server.scan, NULL) == 0) != cases[i].fits)
                        fail_msg("case %zu", i);
                server_init(&server);
        }
}

static void test_regions_are_what_they_must_be(void **state) {
        server.regions.failed = "12";
        assert_wrong("called PASSED although regions have failed");
        server.regions.total = 0;
        assert_wrong("cut into regions");
        server.regions.total = 257;
        assert_wrong("cut into regions");
        server.regions.position = 96;
        assert_wrong("cut into regions");
        server.regions.partition = "";
        assert_wrong("cut into regions");
        server.regions.occupied = "all";
        assert_wrong("set of regions");
        server.regions.failed = NULL;
        assert_wrong("set of regions");
        server.tests[1].regions = "1 2";
        assert_wrong("test of regions");
        server.tests[0].run = "yesterday";
        assert_wrong("test of regions");
        server.tests[0].usec = UINT64_MAX;
        assert_wrong("test of regions");
        server.regions.since_usec = UINT64_MAX;
        assert_wrong("9999");
}

static void test_what_passed_has_the_values_and_limits_of_its_check(void **state) {
        static const Measurement sound = { .name = "sparsity_mismatched_selections", .unit = "{selection}", .limit_type = LIMIT_LESS_THAN_OR_EQUAL };

        server.steps[0][0].check = "sparsity";
        assert_wrong("hbm: called PASSED without a value of sparsity_mismatched_selections");
        server.steps[0][0].check = "sparsity";
        server.measurements[0][0] = sound;
        server.measurements[0][0].limit_type = LIMIT_NONE;
        assert_wrong("hbm: sparsity_mismatched_selections: a value lacks its limit");
        server.steps[0][0].check = "sparsity";
        server.measurements[0][0] = sound;
        server.measurements[0][0].unit = NULL;
        assert_wrong("another unit");
        server.regions.total = 97;
        assert_wrong("its regions are more or fewer than its memory is cut into");

        server.steps[0][0].check = "sparsity";
        server.measurements[0][0] = sound;
        assert_wrong("hbm: sparsity_mismatched_selections is of no part of the chip");
        server.steps[0][5].check = "sparsity";
        server.measurements[0][5] = server.measurements[0][6] = sound;
        server.measurements[0][5].where = server.measurements[0][6].where = server.chips[0].subject.where;
        server.chips[0].n_promises = 0;
        assert_wrong("sparsity: sparsity_mismatched_selections is said twice of one part");
        server.steps[0][0].check = "sparsity";
        server.measurements[0][0] = sound;
        server.measurements[0][0].where = server.chips[0].subject.where;
        assert_int_equal(record_scan_check(&server.scan, NULL), 0);
        server.measurements[0][0].where = server_location("us0-2/chip0/core5");
        assert_true(record_step_agrees(&server.steps[0][0], &server.chips[0].subject.where));
        assert_false(record_step_agrees(&server.steps[0][0], &server.chips[1].subject.where));
        server.measurements[0][0].value = 1;
        assert_false(record_step_agrees(&server.steps[0][0], &server.chips[0].subject.where));
        server_init(&server);
        server.steps[SERVER_BAD][1].check = "sparsity"; /* it failed, by what else it found */
        assert_int_equal(record_scan_check(&server.scan, NULL), 0);
}

static void test_results_are_what_they_fold_to(void **state) {
        server.chips[0].result = RESULT_WARNED;
        assert_wrong("its steps and coverage come to");
        server.chips[SERVER_BAD].result = RESULT_PASSED;
        assert_wrong("its steps and coverage come to");
        server.promise.reached = 1;
        assert_wrong("its steps and coverage come to");
        server.scan.result = RESULT_PASSED;
        assert_wrong("its chips and its own evidence come to");
        server.scan.result = RESULT_INCONCLUSIVE;
        assert_wrong("its chips and its own evidence come to");
        server.scan.n_chips = SERVER_BAD; /* all of them passed */
        server.scan.result = RESULT_PASSED;
        assert_wrong("its chips and its own evidence come to INCONCLUSIVE");
        server.scan.n_chips = SERVER_BAD; /* of a product that nobody here knows: by what is said of it */
        server.scan.server.product = "Trn9";
        server.scan.result = RESULT_PASSED;
        assert_wrong("its chips and its own evidence come to INCONCLUSIVE");
        server.chips[1].subject.where = server.chips[0].subject.where;
        server.chips[1].n_promises = 0;
        assert_wrong("is named twice");
        server.scan.server.where = server.chips[0].subject.where;
        assert_wrong("us0-2/chip0 is no server");
        server.promise.reached = 103079215105;
        assert_wrong("beyond what was measured");
        server.chips[0].n_promises = RECORD_PROMISES_MAX + 1;
        assert_wrong("too many promises");
        server.measurements[0][SERVER_STEPS].where = server_location("us0-2/chip0/hbm2");
        assert_wrong("beyond what was measured");
        server.steps[0][SERVER_STEPS - 1].verdict = VERDICT_SKIPPED;
        server.steps[0][SERVER_STEPS - 1].reason = REASON_BUDGET;
        server.steps[0][SERVER_STEPS - 1].required = false;
        assert_wrong("beyond what was measured");
        server.scan.n_chips = 0;
        server.scan.result = RESULT_PASSED;
        assert_wrong("its chips and its own evidence come to");
        server.scan.n_chips = 0;
        server.scan.result = RESULT_INCONCLUSIVE;
        server.scan.n_steps = 1;
        server.scan.steps = &server.own;
        server.own.verdict = VERDICT_FAILED;
        server.own.n_diagnoses = 1;
        server.own.diagnoses = &server.diagnosis;
        server.diagnosis.severity = SEVERITY_INFO; /* the catalogue knows better */
        assert_wrong("its chips and its own evidence come to FAILED");
        server.scan.n_steps = 1;
        server.scan.steps = &server.own;
        server.measurements[SERVER_BAD][1].where = server.scan.server.where;
        server.own.verdict = VERDICT_WARNED;
        server.own.n_measurements = 1;
        server.own.measurements = &server.measurements[SERVER_BAD][1];
        server.scan.n_chips = 0;
        server.scan.result = RESULT_INCONCLUSIVE;
        assert_int_equal(record_scan_check(&server.scan, NULL), 0);
        server.own.verdict = VERDICT_PASSED;
        assert_wrong("called PASSED in the face of its own evidence");
        server.diagnosis.reproduced = 4;
        assert_wrong("reproduced more often");
        server.scan.n_chips = 0;
        server.scan.result = RESULT_INCONCLUSIVE;
        assert_int_equal(record_scan_check(&server.scan, NULL), 0);
}

static void test_what_is_not_a_number_does_not_pass(void **state) {
        server.measurements[0][0].value = NAN;
        assert_wrong("evidence");
        server.measurements[0][0].limit = INFINITY;
        assert_wrong("evidence");
        server.promise.reached = NAN;
        assert_wrong("no number");
        server.promise.promised = INFINITY;
        assert_wrong("no number");
        server.promise.reached = -1;
        assert_wrong("no number");
}

static void test_what_must_be_named_is_named(void **state) {
        static char long_name[] = "a234567890123456789012345678901234567890123456789012345678901234";

        server.scan.run.id = "7";
        assert_wrong("UUID");
        server.scan.run.id = "01934A6E-5E00-7000-8000-000000000001";
        assert_wrong("UUID");
        server.scan.run.plan = "";
        assert_wrong("plan");
        server.scan.run.plan = long_name;
        assert_wrong("plan");
        server.scan.run.plan_sha256 = "00";
        assert_wrong("plan has no digest");
        server.scan.run.evidence_sha256 = NULL;
        assert_wrong("evidence has no digest");
        server.scan.run.challenge = "not base64";
        assert_wrong("challenge");
        server.scan.run.finished_usec = UINT64_MAX;
        assert_wrong("9999");
        server.scan.run.stage = _STAGE_MAX;
        assert_wrong("stage");
        server.steps[0][0].name = "";
        assert_wrong("step has no name");
        server.steps[0][0].name = "h\xc3\xa4m";
        assert_wrong("step has no name");
        server.steps[0][1].name = "hbm";
        assert_wrong("two steps are called hbm");
        server.measurements[0][0].name = NULL;
        assert_wrong("measurement has no name");
        server.measurements[0][0].series.statistic = _STATISTIC_MAX;
        assert_wrong("unknown limit or statistic");
        server.diagnosis.code = "Systolic_PE";
        assert_wrong("diagnosis has no code");
        server.diagnosis.code = "systolic-";
        assert_wrong("diagnosis has no code");
        server.chips[0].subject.where = server_location("us0-3/chip0");
        server.chips[0].n_promises = 0;
        assert_wrong("us0-3/chip0 is no chip of the server");
}

/* ---- whatever is taken is believed ---- */

static uint64_t draw_state = 1;

static unsigned draw(unsigned n) {
        draw_state ^= draw_state << 13, draw_state ^= draw_state >> 7, draw_state ^= draw_state << 17;
        return (unsigned) (draw_state >> 33) % n;
}

static const char *draw_text(void) {
        static const char *const texts[] = {
                NULL,
                "",
                "x",
                "a b",
                "\"",
                "\\",
                "\n\t\x01",
                "\xff\xfe",
                "\xed\xa0\x80",
                "grün",
                "{}[]:,",
                "-",
                "a-b",
                "0",
                "001122",
                "us0-2/chip3",
                "%s%n",
                "systolic-pe",
                "1e400",
                "/../..",
                "a1-b2-c3",
                "'); DROP TABLE record;--",
        };

        return texts[draw(ELEMENTS(texts))];
}

static double draw_number(void) {
        static const double numbers[] = { 0,   1,        -1,        0.1,  1e-300, 1e300, 9007199254740993.0,
                                          NAN, INFINITY, -INFINITY, -0.0, 5e-324 };

        return numbers[draw(ELEMENTS(numbers))];
}

static void draw_step(RecordStep *step, Measurement *measurement, RecordDiagnosis *diagnosis) {
        step->verdict = (Verdict) draw(_VERDICT_MAX);
        step->reason = (Reason) draw(_REASON_MAX);
        step->required = draw(2);
        step->message = draw_text();
        step->seed = draw_state;
        step->device_nsec = draw_state >> draw(64);
        if (draw(4) == 0)
                step->name = draw_text();
        if (draw(2) == 0)
                measurement->value = draw_number();
        if (draw(2) == 0)
                measurement->limit = draw_number();
        measurement->limit_type = (LimitType) draw(_LIMIT_TYPE_MAX);
        measurement->series = (Series) { (Statistic) draw(_STATISTIC_MAX), draw_state >> draw(64) };
        measurement->unit = draw_text();
        if (draw(8) == 0)
                measurement->name = draw_text();
        if (draw(3) == 0) { /* a check that must say this */
                step->check = "sparsity";
                measurement->name = "sparsity_mismatched_selections";
                measurement->unit = draw(8) ? "{selection}" : draw_text();
                measurement->limit = draw(8) ? 0 : draw_number();
        }
        if (draw(2) == 0)
                return;
        step->n_diagnoses = 1;
        step->diagnoses = diagnosis;
        diagnosis->severity = (Severity) draw(_SEVERITY_MAX);
        diagnosis->message = draw_text();
        diagnosis->address = draw_text();
        diagnosis->far_end = draw_text();
        diagnosis->count = draw_number();
        diagnosis->confidence = draw_number();
        diagnosis->runs = draw(5);
        if (draw(4) == 0)
                diagnosis->code = draw_text();
}

/* One chip with at most three strange steps, so that some of the random ones agree with themselves. */
static void draw_server(void) {
        RecordHealth *chip = &server.chips[0];

        server_init(&server);
        server.scan.n_chips = draw(5) > 0;
        if (draw(8) == 0)
                chip->n_steps = draw(4);
        for (size_t i = 0, n = draw(4); i < n; i++)
                draw_step(&server.steps[0][i], &server.measurements[0][i], &server.diagnosis);
        if (draw(4) == 0)
                server.promise.reached = draw_number();
        chip->n_promises = draw(4) > 0;
        chip->result = (Result) draw(_RESULT_MAX);
        server.scan.result = (Result) draw(_RESULT_MAX);
        server.scan.n_steps = draw(2);
        server.scan.steps = &server.own;
        server.own.n_measurements = draw(2);
        server.own.measurements = &server.measurements[1][0];
        draw_step(&server.own, &server.measurements[1][0], &server.diagnosis);
        chip->subject.serial = draw(2) ? chip->subject.serial : draw_text();
        chip->subject.product = draw(2) ? "Trainium2" : draw_text();
        chip->subject.firmware = draw_text();
        chip->subject.part_number = draw_text();
        chip->subject.tray = draw_text();
        chip->subject.pci_address = draw_text();
        server.scan.server.serial = chip->host.serial = draw(2) ? "SRV00017" : draw_text();
        server.scan.run.evidence_name = draw_text();
        server.scan.run.seed = draw_state;
        if (draw(4) == 0)
                server.scan.run.challenge = draw_text();
}

static void test_whatever_is_taken_for_signing_is_believed_when_read(void **state) {
        RecordOutcome outcome;
        unsigned n_taken = 0;
        uint64_t index = 0;
        RecordLog *log;
        Payloads p = {};

        place_init(&p.place);
        p.keyring = place_keyring(&p.place);
        assert_int_equal(place_open(&p.place, &log, NULL), 0);
        for (unsigned i = 0; i < 6000; i++) {
                int r;

                draw_server();
                r = record_log_scan(log, &server.scan, i);
                assert_int_equal(r, record_scan_check(&server.scan, NULL));
                if (r < 0)
                        continue;
                n_taken++;
                place_wait(log, &outcome);
                assert_int_equal(outcome.error, 0);
                for (; index < record_log_size(log); index++) {
                        RecordVerified verified;

                        place_verify(log, p.keyring, index, &verified);
                        record_verified_done(&verified);
                }
                record_outcome_done(&outcome);
        }
        (void) record_log_free(log);
        (void) record_keyring_free(p.keyring);
        place_done(&p.place);
        print_message("# %u scans taken\n", n_taken);
        assert_true(n_taken > 100);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_a_scan_that_agrees_with_itself_is_taken, setup),
                cmocka_unit_test_setup(test_a_step_is_not_better_than_its_evidence, setup),
                cmocka_unit_test_setup(test_regions_are_what_they_must_be, setup),
                cmocka_unit_test_setup(test_what_passed_has_the_values_and_limits_of_its_check, setup),
                cmocka_unit_test_setup(test_results_are_what_they_fold_to, setup),
                cmocka_unit_test_setup(test_what_is_not_a_number_does_not_pass, setup),
                cmocka_unit_test_setup(test_what_must_be_named_is_named, setup),
                cmocka_unit_test_setup(test_whatever_is_taken_for_signing_is_believed_when_read, setup),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
