/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The daemon signs what a scan comes to and the simulator scores it. Random streams, also those that no worker writes, come to the same
 * results in both, as long as each step of the plan stands somewhere in them.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "checks/wire/wire.h"
#include "daemon/tally.h"
#include "sim/fleet/sheet.h"
#include "tests/checks/sound.h"
#include "tests/draw.h"

#define SERVER "us0-0"
#define CASES  4000

static const char config_text[] = "origin: a\nproducer: urn:x\ntargets: [{device: sim:/a, servers: [" SERVER "]}]\n";
static const char plan_text[] = "plan: four\nsummary: s\nstage: PREFLIGHT\nbudget: 1\nsteps:\n"
                                "  - check: rounding\n  - {check: identity, required: false}\n"
                                "  - check: neuronlink\n  - {check: efa, required: false}\n"
                                "coverage: {rounding_conversions_compared: 100, efa_packets_accounted: 7}\n";

/* The steps of the plan; those of links are on the server. */
static const struct {
        const char *name, *counts;
        bool on_server, required;
} steps[] = {
        { "rounding", "rounding_conversions_compared", false, true },
        { "identity", "identity_serials_compared", false, false },
        { "neuronlink", "neuronlink_lanes", true, true },
        { "efa", "efa_packets_accounted", true, false },
};

typedef struct Judges {
        Config *config;
        Targets targets;
        Plan *plan;
        Tally *tally;
        Sheet *sheet;
} Judges;

static unsigned draw_below(unsigned n) {
        return draw() % n;
}

static Location at(const char *text) {
        Location where;

        assert_int_equal(location_parse(text, &where, NULL, NULL), 0);
        return where;
}

static Location chip_at(unsigned chip) {
        Location where = at(SERVER);

        assert_int_equal(location_append(&where, LOCATION_CHIP, chip), 0);
        return where;
}

static void judges_init(Judges *judges) {
        char *names[] = { (char *) (uintptr_t) SERVER, NULL }, *error = NULL;
        _cleanup_free_ Selected *selected = NULL;
        SelectError wrong;
        size_t n, index;

        *judges = (Judges) {};
        assert_int_equal(config_parse("f", config_text, strlen(config_text), &judges->config, &error), 0);
        assert_int_equal(targets_init(&judges->targets, judges->config), 0);
        assert_int_equal(plan_parse("four.yaml", plan_text, strlen(plan_text), &judges->plan, &error), 0);
        assert_int_equal(targets_select(&judges->targets, names, &selected, &n, &wrong, &index), 0);
        assert_int_equal(tally_new(judges->plan, selected, n, &judges->tally), 0);
        assert_int_equal(sheet_new(&judges->sheet), 0);
}

static void judges_done(Judges *judges) {
        judges->sheet = sheet_free(judges->sheet);
        judges->tally = tally_free(judges->tally);
        judges->plan = plan_free(judges->plan);
        targets_done(&judges->targets);
        judges->config = config_free(judges->config);
}

/* Both hear the same. */
static void tell(Judges *judges, size_t step, Event event) {
        const char *wrong;

        event.step = event.unit ? steps[step].name : NULL;
        assert_int_equal(sheet_event(judges->sheet, &event), 0);
        assert_int_equal(tally_event(judges->tally, &event, &wrong), 0);
}

/* A passing verdict mostly, so that few things come together. */
static Verdict any_verdict(void) {
        return draw_below(8) > 0 ? VERDICT_PASSED : (Verdict) draw_below(_VERDICT_MAX);
}

/* A step that passed has to say these: a daemon believes none that does not. */
static void say_sound(Judges *judges, size_t step, const char *unit, const Location *where) {
        Event event = { .type = EVENT_MEASUREMENT, .unit = unit };

        for (size_t cursor = 0; sound_value(steps[step].name, where, &cursor, &event.measurement);)
                if (strcmp(event.measurement.name, steps[step].counts) != 0)
                        tell(judges, step, event);
}

static void say_of(Judges *judges, size_t step, const char *unit, const Location *where) {
        static const struct {
                Severity severity;
                const char *code;
        } found[] = { { SEVERITY_FAIL, "link-errors" }, { SEVERITY_WARN, "link-margin" }, { SEVERITY_INFO, "hbm-info" } };
        const MeasurementRow *counted = measurement_find(steps[step].name, steps[step].counts);
        unsigned kind = (unsigned) draw_below(40);

        say_sound(judges, step, unit, where);
        tell(judges, step, (Event) { .type = EVENT_MEASUREMENT, .unit = unit, .measurement = {
                .name = steps[step].counts, .value = draw_below(12) ? 100 : 3, .unit = counted ? counted->unit : "1", .where = *where } });
        if (draw_below(24) == 0)
                tell(judges, step, (Event) { .type = EVENT_MEASUREMENT, .unit = unit, .measurement = {
                        .name = "x", .value = 2, .unit = "1", .limit_type = LIMIT_LESS_THAN_OR_EQUAL, .limit = 1, .where = *where } });
        if (kind < 2)
                tell(judges, step, (Event) { .type = EVENT_FINDING, .unit = unit, .finding = {
                        .code = found[kind].code, .severity = found[kind].severity, .where = *where, .message = "m", .runs = 1 } });
}

static void end(Judges *judges, size_t step, const char *unit) {
        Verdict verdict = any_verdict();
        Reason reason = verdict == VERDICT_SKIPPED ? REASON_BUDGET : verdict == VERDICT_ERROR ? REASON_DEVICE_ERROR : REASON_NONE;

        if (draw_below(20) > 0)
                tell(judges, step, (Event) { .type = EVENT_STEP_END, .unit = unit,
                                             .end = { .verdict = verdict, .reason = reason, .required = steps[step].required } });
}

static void scan_server(Judges *judges, size_t step) {
        Location server = at(SERVER);

        tell(judges, step, (Event) { .type = EVENT_STEP_START, .unit = SERVER });
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Location where = chip_at(chip);

                say_of(judges, step, SERVER, &where);
                if (draw_below(6) > 0)
                        tell(judges, step, (Event) { .type = EVENT_PART_DONE, .unit = SERVER, .part = where, .verdict = any_verdict() });
        }
        say_of(judges, step, SERVER, &server);
        end(judges, step, SERVER);
}

static void scan_chips(Judges *judges, size_t step) {
        for (unsigned chip = 0; chip < CHIPS; chip++) {
                Location where = chip_at(chip);
                char unit[LOCATION_STRING_MAX];

                if (draw_below(30) == 0)
                        continue;
                (void) location_format(&where, unit);
                tell(judges, step, (Event) { .type = EVENT_STEP_START, .unit = unit });
                say_of(judges, step, unit, &where);
                end(judges, step, unit);
        }
}

static void scan(Judges *judges) {
        Promise promises[STREAM_PROMISES_MAX];

        for (size_t i = 0; i < judges->plan->n_promises; i++)
                promises[i] = (Promise) { judges->plan->promises[i].measurement, judges->plan->promises[i].value };
        tell(judges, 0, (Event) { .type = EVENT_RUN_START, .n_promises = judges->plan->n_promises, .promises = promises });
        tell(judges, 0, (Event) { .type = EVENT_HARDWARE, .hardware = { .where = at(SERVER), .serial = "s" } });
        for (unsigned chip = 0; chip < CHIPS; chip++)
                tell(judges, 0, (Event) { .type = EVENT_HARDWARE, .hardware = { .where = chip_at(chip), .serial = "s" } });
        for (size_t step = 0; step < ELEMENTS(steps); step++)
                if (steps[step].on_server)
                        scan_server(judges, step);
                else
                        scan_chips(judges, step);
}

static void test_daemon_and_scorer_come_to_the_same(void **unused) {
        unsigned n[_RESULT_MAX] = {};

        for (unsigned i = 0; i < CASES; i++) {
                RecordRun run = { .id = "0190163d-8694-739b-aea5-966c26f8ad91", .stage = STAGE_PREFLIGHT, .plan = "four",
                                  .plan_sha256 = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" };
                Location server = at(SERVER);
                RecordScan record;
                Judges judges;

                judges_init(&judges);
                scan(&judges);
                assert_int_equal(tally_record(judges.tally, 0, &run, &record), 0);
                assert_int_equal(record.n_chips, CHIPS);
                for (size_t chip = 0; chip < record.n_chips; chip++) {
                        assert_int_equal(sheet_result(judges.sheet, &record.chips[chip].subject.where), record.chips[chip].result);
                        n[record.chips[chip].result]++;
                }
                assert_int_equal(sheet_result(judges.sheet, &server), record.result);
                tally_record_done(&record);
                judges_done(&judges);
        }
        for (Result result = 0; result < _RESULT_MAX; result++)
                assert_true(n[result] > CASES / 10);
}

/* As it was found: a step on the server that was skipped for budget was nobody's business. */
static void test_what_was_skipped_on_the_server_was_not_judged(void **unused) {
        Location chip = chip_at(3);
        Promise promise = { "efa_packets_accounted", 7 };
        Sheet *sheet;

        assert_int_equal(sheet_new(&sheet), 0);
        assert_int_equal(sheet_event(sheet, &(Event) { .type = EVENT_RUN_START, .n_promises = 0, .promises = &promise }), 0);
        assert_int_equal(sheet_event(sheet, &(Event) { .type = EVENT_HARDWARE, .hardware = { .where = at(SERVER) } }), 0);
        assert_int_equal(sheet_event(sheet, &(Event) { .type = EVENT_HARDWARE, .hardware = { .where = chip } }), 0);
        assert_int_equal(sheet_event(sheet, &(Event) { .type = EVENT_STEP_END, .unit = SERVER "/chip3", .step = "hbm",
                                                       .end = { .verdict = VERDICT_PASSED, .required = true } }), 0);
        assert_int_equal(sheet_result(sheet, &chip), RESULT_PASSED);
        assert_int_equal(sheet_event(sheet, &(Event) { .type = EVENT_STEP_END, .unit = SERVER, .step = "collective",
                                                       .end = { .verdict = VERDICT_SKIPPED, .reason = REASON_BUDGET, .required = true } }), 0);
        assert_int_equal(sheet_result(sheet, &chip), RESULT_INCONCLUSIVE);
        sheet_free(sheet);
}

static void test_a_promise_that_is_not_kept_is_no_pass(void **unused) {
        Location chip = chip_at(3);
        Promise promise = { "efa_packets_accounted", 7 };
        Sheet *sheet;

        assert_int_equal(sheet_new(&sheet), 0);
        assert_int_equal(sheet_event(sheet, &(Event) { .type = EVENT_RUN_START, .n_promises = 1, .promises = &promise }), 0);
        assert_int_equal(sheet_event(sheet, &(Event) { .type = EVENT_HARDWARE, .hardware = { .where = chip } }), 0);
        for (unsigned packets = 6; packets <= 7; packets++) {
                Measurement measurement = { .name = "efa_packets_accounted", .value = packets, .unit = "1", .where = chip };

                assert_int_equal(sheet_event(sheet, &(Event) { .type = EVENT_MEASUREMENT, .unit = SERVER "/chip3", .step = "efa",
                                                               .measurement = measurement }), 0);
                assert_int_equal(sheet_event(sheet, &(Event) { .type = EVENT_STEP_END, .unit = SERVER "/chip3", .step = "efa",
                                                               .end = { .verdict = VERDICT_PASSED, .required = true } }), 0);
                assert_int_equal(sheet_result(sheet, &chip), packets < 7 ? RESULT_INCONCLUSIVE : RESULT_PASSED);
        }
        sheet_free(sheet);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_daemon_and_scorer_come_to_the_same),
                cmocka_unit_test(test_what_was_skipped_on_the_server_was_not_judged),
                cmocka_unit_test(test_a_promise_that_is_not_kept_is_no_pass),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
