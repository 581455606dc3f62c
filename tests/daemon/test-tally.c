/* SPDX-License-Identifier: Apache-2.0 */

/* One chip, one more, and a plan of two steps; each case is what a worker says and what it must amount to. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "daemon/tally.h"
#include "tests/checks/sound.h"

static const char config_text[] = "origin: a\nproducer: urn:x\n"
                                  "targets: [{device: sim:/a, servers: [us0-0, us0-1]}]\n";
static const char plan_text[] = "plan: two\nsummary: s\nstage: PREFLIGHT\nbudget: 1\n"
                                "steps:\n"
                                "  - check: rounding\n"
                                "  - {check: neuronlink, required: false}\n"
                                "coverage: {rounding_conversions_compared: 100}\n";

typedef struct Fixture {
        Config *config;
        Targets targets;
        Plan *plan;
        Tally *tally;
        size_t n_of_server; /* diagnoses of the server itself in its record, when last judged */
} Fixture;

static Fixture fixture;

static void prepare(const char *targets) {
        char *names[] = { (char *) targets, NULL }, *error = NULL;
        _cleanup_free_ Selected *selected = NULL;
        SelectError wrong;
        size_t n, at;

        assert_int_equal(config_parse("f", config_text, strlen(config_text), &fixture.config, &error), 0);
        assert_int_equal(targets_init(&fixture.targets, fixture.config), 0);
        if (plan_parse("two.yaml", plan_text, strlen(plan_text), &fixture.plan, &error) < 0)
                fail_msg("%s", error);
        assert_int_equal(targets_select(&fixture.targets, names, &selected, &n, &wrong, &at), 0);
        assert_int_equal(wrong, SELECT_OK);
        assert_int_equal(tally_new(fixture.plan, selected, n, &fixture.tally), 0);
}

static void release(void) {
        fixture.tally = tally_free(fixture.tally);
        fixture.plan = plan_free(fixture.plan);
        targets_done(&fixture.targets);
        fixture.config = config_free(fixture.config);
}

static Location at(const char *text) {
        Location where;

        if (location_parse(text, &where, NULL, NULL) < 0)
                fail_msg("%s is no location", text);
        return where;
}

static int tell(const Event *event) {
        const char *wrong = NULL;
        int r = tally_event(fixture.tally, event, &wrong);

        if (r == -EPROTO)
                assert_non_null(wrong);
        return r;
}

static int start(const char *unit, const char *step) {
        return tell(&(Event) { .type = EVENT_STEP_START, .unit = unit, .step = step });
}

/* All that a step must measure at WHERE, where it is under way. */
static void say_values(const char *unit, const char *step, const char *where) {
        const Location place = at(where);
        Event event = { .type = EVENT_MEASUREMENT, .unit = unit, .step = step };

        for (size_t i = 0; sound_value(step, &place, &i, &event.measurement);)
                (void) tell(&event);
}

static int end(const char *unit, const char *step, Verdict verdict, Reason reason) {
        return tell(&(Event) { .type = EVENT_STEP_END, .unit = unit, .step = step,
                               .end = { .verdict = verdict, .reason = reason } });
}

static int find(const char *unit, const char *step, Severity severity, const char *where) {
        return tell(&(Event) { .type = EVENT_FINDING, .unit = unit, .step = step,
                               .finding = { .code = severity == SEVERITY_FAIL ? "link-errors" : "in-no-catalogue", .severity = severity, .where = at(where),
                                            .message = "m", .reproduced = 1, .runs = 1 } });
}

static int part_for(const char *unit, const char *step, const char *chip, Verdict verdict, Reason reason) {
        if (verdict == VERDICT_PASSED || verdict == VERDICT_WARNED)
                say_values(unit, step, chip);
        return tell(&(Event) { .type = EVENT_PART_DONE, .unit = unit, .step = step, .part = at(chip),
                               .verdict = verdict, .reason = reason });
}

static int part(const char *unit, const char *step, const char *chip, Verdict verdict) {
        return part_for(unit, step, chip, verdict, REASON_NONE);
}

static int measure(const char *unit, const char *step, const char *name, double value, LimitType type, double limit, const char *where) {
        const MeasurementRow *row = measurement_find(step, name);

        return tell(&(Event) { .type = EVENT_MEASUREMENT, .unit = unit, .step = step,
                               .measurement = { .name = name, .value = value, .unit = row ? row->unit : "1", .limit_type = type,
                                                .limit = limit, .where = at(where) } });
}

/* A rounding step that does all that is asked for. */
static void round_well(const char *chip) {
        assert_int_equal(start(chip, "rounding"), 0);
        assert_int_equal(measure(chip, "rounding", "rounding_conversions_compared", 100, LIMIT_NONE, 0, chip), 0);
        say_values(chip, "rounding", chip);
        assert_int_equal(end(chip, "rounding", VERDICT_PASSED, REASON_NONE), 0);
}

static void all_round_well(void) {
        for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                char chip[32];

                (void) snprintf(chip, sizeof(chip), "us0-0/chip%u", c);
                round_well(chip);
        }
}

/* What CHIP came to: its result, and the verdict and reason of its second step. */
static Result judge(unsigned chip, Verdict *ret_verdict, Reason *ret_reason, Result *ret_server) {
        RecordRun run = { .id = "0190163d-8694-739b-aea5-966c26f8ad91", .stage = STAGE_PREFLIGHT, .plan = "two",
                          .plan_sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" };
        Result result = _RESULT_INVALID;
        RecordScan scan;
        char *why = NULL;

        assert_int_equal(tally_record(fixture.tally, 0, &run, &scan), 0);
        if (record_scan_check(&scan, &why) < 0)
                fail_msg("no record holds it: %s", why);
        for (size_t i = 0; i < scan.n_chips; i++)
                if (location_index(&scan.chips[i].subject.where, LOCATION_CHIP) == (int) chip) {
                        result = scan.chips[i].result;
                        *ret_verdict = scan.chips[i].steps[1].verdict;
                        *ret_reason = scan.chips[i].steps[1].reason;
                }
        *ret_server = scan.result;
        fixture.n_of_server = 0;
        for (size_t i = 0; i < scan.n_steps; i++)
                fixture.n_of_server += scan.steps[i].n_diagnoses;
        tally_record_done(&scan);
        return result;
}

static void expect(unsigned chip, Result result, Verdict verdict, Reason reason) {
        Verdict got;
        Reason why;
        Result server, is = judge(chip, &got, &why, &server);

        if (is != result || got != verdict || why != reason)
                fail_msg("chip %u: expected %s, %s %s; is %s, %s %s", chip, result_to_string(result),
                         verdict_to_string(verdict), reason_to_string(reason), result_to_string(is),
                         verdict_to_string(got), reason_to_string(why));
}

static Result server_result(void) {
        Verdict verdict;
        Reason reason;
        Result server;

        (void) judge(0, &verdict, &reason, &server);
        return server;
}

static void test_what_never_reported_is_an_error_with_the_reason_of_the_end(void **state) {
        prepare("us0-0");
        expect(0, RESULT_INCONCLUSIVE, VERDICT_ERROR, REASON_WORKER_CRASHED);
        tally_close(fixture.tally, REASON_CANCELLED, "cancelled");
        tally_close(fixture.tally, REASON_RESOURCE, "later");
        expect(0, RESULT_INCONCLUSIVE, VERDICT_ERROR, REASON_CANCELLED);
        assert_int_equal(server_result(), RESULT_INCONCLUSIVE);
        release();
}

static void test_a_step_on_the_server_counts_for_each_chip_by_its_part(void **state) {
        prepare("us0-0");
        all_round_well();
        assert_int_equal(start("us0-0", "neuronlink"), 0);
        assert_int_equal(find("us0-0", "neuronlink", SEVERITY_FAIL, "us0-0/chip1/link-x+"), 0);
        assert_int_equal(find("us0-0", "neuronlink", SEVERITY_WARN, "us0-0/chip2/link-x+"), 0);
        assert_int_equal(part("us0-0", "neuronlink", "us0-0/chip0", VERDICT_PASSED), 0);
        assert_int_equal(part("us0-0", "neuronlink", "us0-0/chip1", VERDICT_PASSED), 0);
        assert_int_equal(part("us0-0", "neuronlink", "us0-0/chip2", VERDICT_PASSED), 0);
        assert_int_equal(part("us0-0", "neuronlink", "us0-0/chip3", VERDICT_SKIPPED), 0);
        assert_int_equal(part_for("us0-0", "neuronlink", "us0-0/chip5", VERDICT_SKIPPED, REASON_BUDGET), 0);

        /* before its end: who was done is done, the others never reported */
        expect(0, RESULT_PASSED, VERDICT_PASSED, REASON_NONE);
        expect(4, RESULT_PASSED, VERDICT_ERROR, REASON_WORKER_CRASHED); /* the step is optional */

        assert_int_equal(end("us0-0", "neuronlink", VERDICT_FAILED, REASON_NONE), 0);
        expect(0, RESULT_PASSED, VERDICT_PASSED, REASON_NONE);
        expect(1, RESULT_FAILED, VERDICT_FAILED, REASON_NONE);
        expect(2, RESULT_WARNED, VERDICT_WARNED, REASON_NONE);
        expect(3, RESULT_PASSED, VERDICT_SKIPPED, REASON_OCCUPIED);
        expect(4, RESULT_FAILED, VERDICT_FAILED, REASON_NONE); /* nobody cleared it */
        expect(5, RESULT_PASSED, VERDICT_SKIPPED, REASON_BUDGET);
        assert_int_equal(server_result(), RESULT_FAILED);
        release();
}

static void test_a_failure_that_lies_in_no_chip_fails_the_server(void **state) {
        prepare("us0-0");
        all_round_well();
        assert_int_equal(server_result(), RESULT_PASSED); /* the optional step never ran */
        assert_int_equal(start("us0-0", "neuronlink"), 0);
        assert_int_equal(find("us0-0", "neuronlink", SEVERITY_FAIL, "us0-0"), 0);
        for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                char chip[32];

                (void) snprintf(chip, sizeof(chip), "us0-0/chip%u", c);
                assert_int_equal(part("us0-0", "neuronlink", chip, VERDICT_PASSED), 0);
        }
        assert_int_equal(end("us0-0", "neuronlink", VERDICT_FAILED, REASON_NONE), 0);
        expect(0, RESULT_PASSED, VERDICT_PASSED, REASON_NONE);
        assert_int_equal(server_result(), RESULT_FAILED);
        assert_int_equal(fixture.n_of_server, 1); /* and its record says why */
        release();
}

/* A roll-up that says more than its values show would cost the server its record. */
static void test_a_value_that_lies_in_no_chip_makes_the_server_no_better_than_its_row(void **state) {
        static const struct {
                const char *name;
                LimitType type;
                double value;
                Result result;
        } cases[] = {
                { "neuronlink_cable_moves", LIMIT_LESS_THAN_OR_EQUAL, 0, RESULT_PASSED },
                { "neuronlink_cable_moves", LIMIT_LESS_THAN_OR_EQUAL, 2, RESULT_INCONCLUSIVE },
                { "neuronlink_cable_moves", LIMIT_NONE, 0, RESULT_INCONCLUSIVE },
                { "neuronlink_ports_miscabled", LIMIT_EQUAL, -1, RESULT_INCONCLUSIVE },
                { "efa_packets_lost", LIMIT_LESS_THAN_OR_EQUAL, 2, RESULT_WARNED },
                { "neuronlink_bits_per_lane", LIMIT_NONE, 5, RESULT_PASSED },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                const MeasurementRow *row = measurement_named(cases[i].name);
                const Event event = { .type = EVENT_MEASUREMENT, .unit = "us0-0", .step = "neuronlink",
                                      .measurement = { .name = row->name, .value = cases[i].value, .unit = row->unit, .limit_type = cases[i].type, .where = at("us0-0") } };

                prepare("us0-0");
                all_round_well();
                assert_int_equal(start("us0-0", "neuronlink"), 0);
                assert_int_equal(tell(&event), 0);
                if (server_result() != cases[i].result)
                        fail_msg("case %zu is %s", i, result_to_string(server_result()));
                release();
        }
}

static void test_a_warning_that_lies_in_no_chip_is_that_of_the_scan(void **state) {
        RecordRun run = { .id = "x" };
        RecordScan scan;

        prepare("us0-0");
        all_round_well();
        assert_int_equal(start("us0-0", "neuronlink"), 0);
        assert_int_equal(find("us0-0", "neuronlink", SEVERITY_WARN, "us0-0"), 0);
        for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                char chip[32];

                (void) snprintf(chip, sizeof(chip), "us0-0/chip%u", c);
                assert_int_equal(part("us0-0", "neuronlink", chip, VERDICT_PASSED), 0);
        }
        assert_int_equal(end("us0-0", "neuronlink", VERDICT_WARNED, REASON_NONE), 0);
        assert_int_equal(tally_record(fixture.tally, 0, &run, &scan), 0);
        assert_int_equal(scan.result, RESULT_WARNED);
        assert_int_equal(tally_asked(&scan), RESULT_WARNED);
        tally_record_done(&scan);
        release();
}

static void test_a_finding_counts_where_it_lies_also_in_another_server(void **state) {
        RecordRun run = { .id = "x" };
        RecordScan scan;

        prepare("us0");
        round_well("us0-1/chip3");
        assert_int_equal(start("us0-0", "neuronlink"), 0);
        assert_int_equal(find("us0-0", "neuronlink", SEVERITY_FAIL, "us0-1/chip3/link-z-"), 0);
        assert_int_equal(tally_record(fixture.tally, 1, &run, &scan), 0);
        assert_int_equal(scan.chips[3].result, RESULT_FAILED);
        assert_int_equal(scan.chips[3].steps[1].n_diagnoses, 1);
        tally_record_done(&scan);
        release();
}

/* All chips of a server are told of as sound parts; the step itself failed, for what it found at WHERE. */
static void server_step_fails_for(const char *where) {
        prepare("us0");
        assert_int_equal(start("us0-0", "neuronlink"), 0);
        for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                char chip[32];

                (void) snprintf(chip, sizeof(chip), "us0-0/chip%u", c);
                round_well(chip);
                if (c != 2)
                        assert_int_equal(part("us0-0", "neuronlink", chip, VERDICT_PASSED), 0);
        }
        if (where)
                assert_int_equal(find("us0-0", "neuronlink", SEVERITY_FAIL, where), 0);
        assert_int_equal(end("us0-0", "neuronlink", VERDICT_FAILED, REASON_NONE), 0);
}

static void test_a_step_that_failed_for_another_server_fails_only_that_one(void **state) {
        static const struct {
                const char *where;
                Result result;
                Verdict untold; /* of the chip that the step did not tell of */
        } cases[] = {
                { "us0-1/chip3/link-z-", RESULT_PASSED, VERDICT_ERROR  }, /* of the chip nothing is known; the step is optional */
                { "us0-0/chip3/link-z-", RESULT_FAILED, VERDICT_FAILED },
                { "us0-0",               RESULT_FAILED, VERDICT_FAILED },
                { NULL,                  RESULT_FAILED, VERDICT_FAILED }, /* nobody says for what */
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
                RecordRun run = { .id = "x" };
                RecordScan scan;

                server_step_fails_for(cases[i].where);
                assert_int_equal(tally_record(fixture.tally, 0, &run, &scan), 0);
                assert_int_equal(scan.chips[2].steps[1].verdict, cases[i].untold);
                assert_int_equal(scan.chips[1].result, RESULT_PASSED);
                assert_int_equal(scan.result, cases[i].result);
                tally_record_done(&scan);
                release();
        }
}

/* The chip that nobody cleared fails by what failed the server, and its record has the value beside the finding. */
static void test_who_fails_with_the_server_has_its_value(void **state) {
        RecordRun run = { .id = "x" };
        RecordScan scan;

        prepare("us0-0");
        assert_int_equal(start("us0-0", "neuronlink"), 0);
        assert_int_equal(part("us0-0", "neuronlink", "us0-0/chip0", VERDICT_PASSED), 0);
        assert_int_equal(measure("us0-0", "neuronlink", "neuronlink_cable_moves", 2, LIMIT_LESS_THAN_OR_EQUAL, 0, "us0-0"), 0);
        assert_int_equal(find("us0-0", "neuronlink", SEVERITY_FAIL, "us0-0"), 0);
        assert_int_equal(end("us0-0", "neuronlink", VERDICT_FAILED, REASON_NONE), 0);
        assert_int_equal(tally_record(fixture.tally, 0, &run, &scan), 0);
        assert_int_equal(scan.chips[0].steps[1].n_measurements, 1);
        assert_string_equal(scan.chips[0].steps[1].measurements[0].name, "neuronlink_lane_errors");
        assert_int_equal(scan.chips[4].steps[1].verdict, VERDICT_FAILED);
        assert_int_equal(scan.chips[4].steps[1].n_diagnoses, 1);
        assert_int_equal(scan.chips[4].steps[1].n_measurements, 1);
        assert_string_equal(scan.chips[4].steps[1].measurements[0].name, "neuronlink_cable_moves");
        tally_record_done(&scan);
        release();
}

static void test_a_scan_of_one_chip_cannot_clear_the_server(void **state) {
        RecordRun run = { .id = "x" };
        RecordScan scan;

        prepare("us0-0/chip3");
        round_well("us0-0/chip3");
        expect(3, RESULT_PASSED, VERDICT_ERROR, REASON_WORKER_CRASHED);
        assert_int_equal(tally_record(fixture.tally, 0, &run, &scan), 0);
        assert_int_equal(scan.n_chips, 1);
        assert_int_equal(scan.n_chips_of_server, TARGET_CHIPS);
        assert_int_equal(scan.result, RESULT_INCONCLUSIVE);
        assert_int_equal(tally_asked(&scan), RESULT_PASSED);
        tally_record_done(&scan);
        release();
}

static void test_a_promise_that_was_not_kept_is_inconclusive(void **state) {
        static const struct {
                double value;
                const char *where;
                Verdict verdict;
                Reason reason;
                Result result;
        } cases[] = {
                { 100, "us0-0/chip0",       VERDICT_PASSED, REASON_NONE,          RESULT_PASSED       },
                { 99,  "us0-0/chip0",       VERDICT_PASSED, REASON_NONE,          RESULT_INCONCLUSIVE },
                { 100, "us0-0/chip0/core1", VERDICT_PASSED, REASON_NONE,          RESULT_INCONCLUSIVE },
                { 100, "us0-0/chip1",       VERDICT_PASSED, REASON_NONE,          RESULT_INCONCLUSIVE },
                { 100, "us0-0/chip0",       VERDICT_ERROR,  REASON_DEVICE_ERROR,  RESULT_INCONCLUSIVE },
                { 100, "us0-0/chip0",       VERDICT_FAILED, REASON_NONE,          RESULT_FAILED       },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Verdict verdict;
                Reason reason;
                Result server;

                prepare("us0-0");
                assert_int_equal(start("us0-0/chip0", "rounding"), 0);
                assert_int_equal(measure("us0-0/chip0", "rounding", "rounding_conversions_compared", cases[i].value, LIMIT_NONE, 0,
                                         cases[i].where), 0);
                say_values("us0-0/chip0", "rounding", "us0-0/chip0");
                assert_int_equal(end("us0-0/chip0", "rounding", cases[i].verdict, cases[i].reason), 0);
                if (judge(0, &verdict, &reason, &server) != cases[i].result)
                        fail_msg("case %zu", i);
                release();
        }
}

static void test_a_worker_cannot_talk_its_evidence_away(void **state) {
        enum { SOUND, SILENT, UNKNOWN_BEYOND, BEYOND, WITHOUT_LIMIT };
        static const struct {
                Verdict says;
                Reason reason;
                int severity; /* of a finding; -1: none */
                int values;
                Verdict verdict;
                Reason why;
        } cases[] = {
                { VERDICT_PASSED,  REASON_NONE,         SEVERITY_FAIL, SOUND,          VERDICT_FAILED,  REASON_NONE           },
                { VERDICT_WARNED,  REASON_NONE,         SEVERITY_FAIL, SOUND,          VERDICT_FAILED,  REASON_NONE           },
                { VERDICT_SKIPPED, REASON_BUDGET,       SEVERITY_FAIL, SOUND,          VERDICT_FAILED,  REASON_NONE           },
                { VERDICT_ERROR,   REASON_DEVICE_ERROR, SEVERITY_FAIL, SOUND,          VERDICT_FAILED,  REASON_NONE           },
                { VERDICT_PASSED,  REASON_NONE,         SEVERITY_WARN, SOUND,          VERDICT_WARNED,  REASON_NONE           },
                { VERDICT_PASSED,  REASON_NONE,         SEVERITY_INFO, SOUND,          VERDICT_PASSED,  REASON_NONE           },
                { VERDICT_PASSED,  REASON_NONE,         -1,            UNKNOWN_BEYOND, VERDICT_ERROR,   REASON_PROTOCOL       },
                { VERDICT_WARNED,  REASON_NONE,         -1,            UNKNOWN_BEYOND, VERDICT_WARNED,  REASON_NONE           },
                { VERDICT_PASSED,  REASON_NONE,         SEVERITY_WARN, UNKNOWN_BEYOND, VERDICT_WARNED,  REASON_NONE           },
                { VERDICT_SKIPPED, REASON_NONE,         -1,            SOUND,          VERDICT_SKIPPED, REASON_NOT_APPLICABLE },
                { VERDICT_ERROR,   REASON_NONE,         -1,            SOUND,          VERDICT_ERROR,   REASON_PROTOCOL       },
                { VERDICT_PASSED,  REASON_BUDGET,       -1,            SOUND,          VERDICT_PASSED,  REASON_NONE           },
                /* What it measured does not show what it says. */
                { VERDICT_PASSED,  REASON_NONE,         -1,            SILENT,         VERDICT_ERROR,   REASON_PROTOCOL       },
                { VERDICT_PASSED,  REASON_NONE,         SEVERITY_WARN, SILENT,         VERDICT_ERROR,   REASON_PROTOCOL       },
                { VERDICT_PASSED,  REASON_NONE,         SEVERITY_FAIL, SILENT,         VERDICT_FAILED,  REASON_NONE           },
                { VERDICT_FAILED,  REASON_NONE,         -1,            SILENT,         VERDICT_FAILED,  REASON_NONE           },
                { VERDICT_SKIPPED, REASON_BUDGET,       -1,            SILENT,         VERDICT_SKIPPED, REASON_BUDGET         },
                { VERDICT_WARNED,  REASON_NONE,         -1,            BEYOND,         VERDICT_ERROR,   REASON_PROTOCOL       },
                { VERDICT_FAILED,  REASON_NONE,         -1,            BEYOND,         VERDICT_FAILED,  REASON_NONE           },
                { VERDICT_PASSED,  REASON_NONE,         -1,            WITHOUT_LIMIT,  VERDICT_ERROR,   REASON_PROTOCOL       },
                { VERDICT_WARNED,  REASON_NONE,         -1,            WITHOUT_LIMIT,  VERDICT_ERROR,   REASON_PROTOCOL       },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Verdict verdict;
                Reason reason;
                Result server;

                prepare("us0-0");
                assert_int_equal(start("us0-0/chip0", "neuronlink"), 0);
                if (cases[i].severity >= 0)
                        assert_int_equal(find("us0-0/chip0", "neuronlink", (Severity) cases[i].severity, "us0-0/chip0"), 0);
                if (cases[i].values == SOUND || cases[i].values == UNKNOWN_BEYOND)
                        say_values("us0-0/chip0", "neuronlink", "us0-0/chip0");
                if (cases[i].values == BEYOND || cases[i].values == WITHOUT_LIMIT)
                        assert_int_equal(measure("us0-0/chip0", "neuronlink", "neuronlink_lane_errors", 8,
                                                 cases[i].values == BEYOND ? LIMIT_LESS_THAN_OR_EQUAL : LIMIT_NONE, 7, "us0-0/chip0"), 0);
                if (cases[i].values == UNKNOWN_BEYOND)
                        assert_int_equal(measure("us0-0/chip0", "neuronlink", "link_ber", 2, LIMIT_LESS_THAN_OR_EQUAL, 1,
                                                 "us0-0/chip0"), 0);
                assert_int_equal(end("us0-0/chip0", "neuronlink", cases[i].says, cases[i].reason), 0);
                (void) judge(0, &verdict, &reason, &server);
                if (verdict != cases[i].verdict || reason != cases[i].why)
                        fail_msg("case %zu is %s %s", i, verdict_to_string(verdict), reason_to_string(reason));
                release();
        }
}

/* It costs that chip the verdict of the step, and no other one its record. */
static void test_a_chip_that_passed_with_failed_regions_has_not_passed(void **state) {
        Event event = { .type = EVENT_REGIONS, .unit = "us0-0/chip1", .step = "neuronlink" };
        Regions regions = {};

        assert_int_equal(partition_parse("sid 3 row 16384/32", &regions.partition), 0);
        for (unsigned n_failed = 0; n_failed < 2; n_failed++) {
                prepare("us0-0");
                for (unsigned c = 0; c < TARGET_CHIPS; c++) {
                        char chip[32];

                        (void) snprintf(chip, sizeof(chip), "us0-0/chip%u", c);
                        round_well(chip);
                        assert_int_equal(start(chip, "neuronlink"), 0);
                        say_values(chip, "neuronlink", chip);
                        region_set_add(&regions.tested, 5);
                        if (n_failed > 0)
                                region_set_add(&regions.failed, 5);
                        event.regions = &regions;
                        if (c == 1)
                                assert_int_equal(tell(&event), 0);
                        assert_int_equal(end(chip, "neuronlink", VERDICT_PASSED, REASON_NONE), 0);
                }
                expect(0, RESULT_PASSED, VERDICT_PASSED, REASON_NONE);
                expect(1, RESULT_PASSED, n_failed > 0 ? VERDICT_ERROR : VERDICT_PASSED, n_failed > 0 ? REASON_PROTOCOL : REASON_NONE);
                release();
        }
}

static void test_what_nobody_asked_for_breaks_the_protocol(void **state) {
        prepare("us0-0/chip3");
        assert_int_equal(start("us0-0/chip4", "rounding"), -EPROTO);
        assert_int_equal(start("us0-1", "rounding"), -EPROTO);
        assert_int_equal(start("us0-0/chip3", "hbm"), -EPROTO);
        assert_int_equal(start("us0-0/chip3/core0", "rounding"), -EPROTO);
        assert_int_equal(start("?", "rounding"), -EPROTO);
        assert_int_equal(end("us0-0/chip3", "rounding", VERDICT_PASSED, REASON_NONE), -EPROTO);
        round_well("us0-0/chip3");
        assert_int_equal(start("us0-0/chip3", "rounding"), -EPROTO);
        assert_int_equal(find("us0-0/chip3", "rounding", SEVERITY_FAIL, "us0-0/chip3"), -EPROTO);
        assert_int_equal(start("us0-0", "neuronlink"), 0);
        assert_int_equal(part("us0-0", "neuronlink", "us0-0", VERDICT_PASSED), -EPROTO);
        release();
}

static void collect(const char *step_id, void *userdata) {
        char *all = userdata;

        (void) snprintf(all + strlen(all), 256 - strlen(all), "%s ", step_id);
}

static void collect_lost(const char *step_id, bool required, void *userdata) {
        collect(step_id, userdata);
        collect(required ? "required" : "optional", userdata);
}

static void test_what_was_open_is_lost_and_then_done(void **state) {
        char lost[256] = "", done[256] = "";
        unsigned total;

        prepare("us0-0");
        round_well("us0-0/chip3");
        assert_int_equal(start("us0-0/chip4", "rounding"), 0);
        assert_int_equal(start("us0-0", "neuronlink"), 0);
        tally_lose(fixture.tally, REASON_WORKER_TIMEOUT, "late", collect_lost, lost);
        assert_string_equal(lost, "us0-0/chip4:rounding required us0-0:neuronlink optional ");
        tally_done_steps(fixture.tally, collect, done);
        assert_string_equal(done, "us0-0/chip3:rounding us0-0/chip4:rounding us0-0:neuronlink ");
        expect(4, RESULT_INCONCLUSIVE, VERDICT_ERROR, REASON_WORKER_TIMEOUT);
        assert_int_equal(tally_progress(fixture.tally, &total), 2 + 16);
        assert_int_equal(total, 32);
        release();
}

/* However much is found: the record stays one that can be written, and it stays failed. */
static void test_more_findings_than_a_record_holds_are_bounded(void **state) {
        RecordRun run = { .id = "x" };
        RecordScan scan;

        prepare("us0-0/chip0");
        assert_int_equal(start("us0-0/chip0", "neuronlink"), 0);
        for (unsigned i = 0; i < 10000; i++) {
                assert_int_equal(find("us0-0/chip0", "neuronlink", SEVERITY_WARN, "us0-0/chip0"), 0);
                assert_int_equal(measure("us0-0/chip0", "neuronlink", "link_ber", 0, LIMIT_NONE, 0, "us0-0/chip0"), 0);
        }
        assert_int_equal(end("us0-0/chip0", "neuronlink", VERDICT_WARNED, REASON_NONE), 0);
        assert_int_equal(start("us0-0/chip0", "rounding"), 0);
        assert_int_equal(find("us0-0/chip0", "rounding", SEVERITY_FAIL, "us0-0/chip0"), 0);
        assert_int_equal(end("us0-0/chip0", "rounding", VERDICT_FAILED, REASON_NONE), 0);

        assert_int_equal(tally_record(fixture.tally, 0, &run, &scan), 0);
        assert_int_equal(scan.chips[0].steps[0].n_diagnoses, 1);
        assert_int_equal(scan.chips[0].steps[1].n_diagnoses, TALLY_FINDINGS_MAX);
        assert_int_equal(scan.chips[0].steps[1].n_measurements, TALLY_MEASUREMENTS_MAX);
        assert_int_equal(scan.chips[0].result, RESULT_FAILED);
        tally_record_done(&scan);
        release();
}

static void test_a_value_keeps_what_it_sums_up(void **state) {
        RecordRun run = { .id = "0190163d-8694-739b-aea5-966c26f8ad91", .stage = STAGE_PREFLIGHT, .plan = "two" };
        RecordScan scan;

        prepare("us0-0/chip0");
        assert_int_equal(start("us0-0/chip0", "rounding"), 0);
        assert_int_equal(tell(&(Event) { .type = EVENT_MEASUREMENT, .unit = "us0-0/chip0", .step = "rounding",
                                         .measurement = { .name = "rounding_time_p99", .value = 7, .unit = "us", .where = at("us0-0/chip0"),
                                                          .series = { STATISTIC_P99, 4096 } } }), 0);
        assert_int_equal(end("us0-0/chip0", "rounding", VERDICT_PASSED, REASON_NONE), 0);
        assert_int_equal(tally_record(fixture.tally, 0, &run, &scan), 0);
        assert_int_equal(scan.chips[0].steps[0].measurements[0].series.statistic, STATISTIC_P99);
        assert_int_equal(scan.chips[0].steps[0].measurements[0].series.count, 4096);
        tally_record_done(&scan);
        release();
}

static void test_a_step_has_the_counts_and_samples_of_its_check(void **state) {
        RecordRun run = { .id = "0190163d-8694-739b-aea5-966c26f8ad91", .stage = STAGE_PREFLIGHT, .plan = "two" };
        const CheckWord *rounding, *hbm = check_word_find("hbm");
        RecordScan scan;

        prepare("us0-0/chip0");
        rounding = fixture.plan->steps[0].check;
        fixture.plan->steps[0].check = hbm;
        assert_int_equal(tally_record(fixture.tally, 0, &run, &scan), 0);
        assert_non_null(hbm->samples);
        assert_ptr_equal(scan.chips[0].steps[0].samples, hbm->samples);
        assert_ptr_equal(scan.chips[0].steps[0].counts, hbm->counts);
        tally_record_done(&scan);
        fixture.plan->steps[0].check = rounding;
        release();
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_never_reported_is_an_error_with_the_reason_of_the_end),
                cmocka_unit_test(test_a_step_on_the_server_counts_for_each_chip_by_its_part),
                cmocka_unit_test(test_a_failure_that_lies_in_no_chip_fails_the_server),
                cmocka_unit_test(test_a_value_that_lies_in_no_chip_makes_the_server_no_better_than_its_row),
                cmocka_unit_test(test_a_warning_that_lies_in_no_chip_is_that_of_the_scan),
                cmocka_unit_test(test_a_finding_counts_where_it_lies_also_in_another_server),
                cmocka_unit_test(test_a_step_that_failed_for_another_server_fails_only_that_one),
                cmocka_unit_test(test_who_fails_with_the_server_has_its_value),
                cmocka_unit_test(test_a_scan_of_one_chip_cannot_clear_the_server),
                cmocka_unit_test(test_a_promise_that_was_not_kept_is_inconclusive),
                cmocka_unit_test(test_a_worker_cannot_talk_its_evidence_away),
                cmocka_unit_test(test_a_chip_that_passed_with_failed_regions_has_not_passed),
                cmocka_unit_test(test_what_nobody_asked_for_breaks_the_protocol),
                cmocka_unit_test(test_a_value_keeps_what_it_sums_up),
                cmocka_unit_test(test_a_step_has_the_counts_and_samples_of_its_check),
                cmocka_unit_test(test_what_was_open_is_lost_and_then_done),
                cmocka_unit_test(test_more_findings_than_a_record_holds_are_bounded),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
