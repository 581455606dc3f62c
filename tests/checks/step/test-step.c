/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "checks/step/step.h"

/* ---- a device that does what the test says, and a writer that keeps all lines ---- */

static int port_result;
static uint8_t window[WIRE_WINDOW_MIN] __attribute__((aligned(64)));

static int port_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                        uint64_t deadline_usec) {
        for (size_t i = 0; i < n; i++)
                completions[i] = (WireCompletion) { .device_nsec = 1000 };
        return port_result;
}

static const DeviceTransport port = { .execute = port_execute };

static char written[1 << 20];
static int write_result;

static int keep(void *userdata, const char *lines) {
        assert_true(strlen(written) + strlen(lines) < sizeof(written));
        strcat(written, lines);
        return write_result;
}

static unsigned count(const char *word) {
        unsigned n = 0;

        for (const char *at = written; (at = strstr(at, word)) != NULL; at++)
                n++;
        return n;
}

static StepServer server = { .name = "us0-1", .included = 1 << 3, .trays = { [3] = "1" } };

static uint64_t progress_usec;

static Step *new_step(const char *unit) {
        StepSettings settings = {
                .progress_usec = progress_usec,
                .name = "try",
                .n_servers = 1,
                .servers = &server,
                .seed = 7,
                .budget_sec = 2.5,
                .write = keep,
                .required = true,
        };
        Step *step = NULL;

        written[0] = '\0';
        write_result = port_result = 0;
        server.device = device_free(server.device);
        assert_int_equal(device_new(&port, NULL, "us0-1", 3, window, sizeof(window), &server.device), 0);
        assert_int_equal(location_parse(unit, &settings.unit, NULL, NULL), 0);
        assert_int_equal(step_new(&settings, &step), 0);
        return step;
}

/* ---- checks, one line each ---- */

static int run_pass(Step *step, Verdict *ret) {
        WireCommand command = { .type = COMMAND_MATMUL };

        *ret = VERDICT_PASSED;
        return device_execute(step_device(step), &command, 1, NULL);
}

static int run_forgetful(Step *step, Verdict *ret) {
        (void) run_pass(step, ret);
        return 0; /* whatever the port said */
}

static int run_found_then_broken(Step *step, Verdict *ret) {
        (void) step_finding(step, ret, "hbm-cell", NULL, NULL, "found");
        return -ENODEV;
}

static int run_warn(Step *step, Verdict *ret) {
        *ret = VERDICT_PASSED;
        return step_finding(step, &(Verdict) { VERDICT_PASSED }, "hbm-corrected", NULL, NULL, "a few");
}

static int run_beyond(Step *step, Verdict *ret) {
        *ret = VERDICT_PASSED;
        assert_int_equal(step_measure(step, "try_within", 1, "1", LIMIT_LESS_THAN_OR_EQUAL, 1, NULL), 0);
        assert_int_equal(step_measure(step, "try_beyond", 2, "1", LIMIT_LESS_THAN_OR_EQUAL, 1, NULL), 1);
        return 0;
}

static int run_nan(Step *step, Verdict *ret) {
        *ret = VERDICT_PASSED;
        assert_int_equal(step_measure(step, "try_rate", NAN, "1", LIMIT_LESS_THAN_OR_EQUAL, 1, NULL), 1);
        return 0;
}

static int run_unknown_code(Step *step, Verdict *ret) {
        *ret = VERDICT_PASSED;
        return step_finding(step, ret, "no-such-code", NULL, NULL, "?");
}

static int run_bad_name(Step *step, Verdict *ret) {
        *ret = VERDICT_PASSED;
        return step_note(step, "Try-Rate", 1, "1", NULL);
}

static int run_many(Step *step, Verdict *ret) {
        int r = 0;

        *ret = VERDICT_PASSED;
        for (unsigned i = 0; i < 2 * STREAM_FINDINGS_MAX && r >= 0; i++)
                r = step_finding(step, ret, "hbm-cell", NULL, NULL, "%u", i);
        return r;
}

/* Forty of each chip, one chip after the other. */
static int run_many_of_each(Step *step, Verdict *ret) {
        int r = 0;

        *ret = VERDICT_PASSED;
        for (unsigned i = 0; i < 40 * CHIPS && r >= 0; i++) {
                Location where = *step_unit(step);

                (void) location_append(&where, LOCATION_CHIP, i / 40);
                r = step_finding(step, ret, "link-down", &where, NULL, "%u", i);
        }
        return r;
}

static int run_long(Step *step, Verdict *ret) {
        char text[2 * STREAM_MESSAGE_MAX];

        for (size_t i = 0; i < sizeof(text) - 3; i += 3)
                memcpy(text + i, "…", 4); /* three bytes */
        *ret = VERDICT_PASSED;
        return step_finding(step, ret, "hbm-cell", NULL, NULL, "x%s", text);
}

static int run_skip_oddly(Step *step, Verdict *ret) {
        return step_skip(step, ret, REASON_WORKER_CRASHED, "no reason to skip");
}

static void test_every_end_is_judged(void **state) {
        static const struct {
                const char *unit;
                int (*run)(Step *step, Verdict *ret);
                int port, write;
                Verdict verdict;
                Reason reason;
        } cases[] = {
                { "us0-1/chip3", run_pass, 0, 0, VERDICT_PASSED, REASON_NONE },
                { "us0-1/chip3", run_pass, -ETIMEDOUT, 0, VERDICT_ERROR, REASON_DEVICE_TIMEOUT },
                { "us0-1/chip3", run_pass, -EPROTO, 0, VERDICT_ERROR, REASON_PROTOCOL },
                { "us0-1/chip3", run_pass, -ENODEV, 0, VERDICT_ERROR, REASON_DEVICE_UNREACHABLE },
                { "us0-1/chip3", run_pass, -ENOMEM, 0, VERDICT_ERROR, REASON_RESOURCE },
                { "us0-1/chip3", run_forgetful, -ENODEV, 0, VERDICT_ERROR, REASON_DEVICE_UNREACHABLE },
                { "us0-1/chip3", run_found_then_broken, 0, 0, VERDICT_FAILED, REASON_NONE },
                { "us0-1", run_found_then_broken, 0, 0, VERDICT_ERROR, REASON_DEVICE_UNREACHABLE },
                { "us0-1/chip3", run_warn, 0, 0, VERDICT_WARNED, REASON_NONE },
                { "us0-1/chip3", run_warn, 0, -EIO, VERDICT_ERROR, REASON_DEVICE_ERROR },
                { "us0-1/chip3", run_beyond, 0, 0, VERDICT_ERROR, REASON_PROTOCOL },
                { "us0-1/chip3", run_nan, 0, 0, VERDICT_ERROR, REASON_PROTOCOL },
                { "us0-1/chip3", run_unknown_code, 0, 0, VERDICT_ERROR, REASON_DEVICE_ERROR },
                { "us0-1/chip3", run_bad_name, 0, 0, VERDICT_ERROR, REASON_DEVICE_ERROR },
                { "us0-1/chip3", run_skip_oddly, 0, 0, VERDICT_ERROR, REASON_PROTOCOL },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(step_freep) Step *step = new_step(cases[i].unit);
                Check check = { .name = "try", .run = cases[i].run };
                StepEnd end;

                port_result = cases[i].port;
                write_result = cases[i].write;
                (void) step_run(step, &check, &end);
                if (end.verdict != cases[i].verdict || end.reason != cases[i].reason)
                        print_error("case %zu: %s %s\n", i, verdict_to_string(end.verdict),
                                    reason_to_string(end.reason));
                assert_int_equal(end.verdict, cases[i].verdict);
                assert_int_equal(end.reason, cases[i].reason);
                assert_true(reason_fits(end.reason, end.verdict));
                assert_int_equal(end.message != NULL, end.verdict == VERDICT_ERROR);
        }
}

static void test_device_time_and_seed_are_told(void **state) {
        _cleanup_(step_freep) Step *step = new_step("us0-1/chip3");
        Check check = { .name = "try", .run = run_pass };
        StepEnd end;

        assert_int_equal(step_run(step, &check, &end), 0);
        assert_int_equal(end.device_nsec, 1000);
        assert_int_equal(end.seed, 7);
        assert_true(end.required);
        assert_int_equal(step_chip(step), 3);
}

static void test_a_finding_names_the_tray_of_its_chip(void **state) {
        _cleanup_(step_freep) Step *step = new_step("us0-1/chip3");
        Verdict verdict = VERDICT_PASSED;

        assert_int_equal(step_finding(step, &verdict, "hbm-cell", NULL, NULL, "here"), 0);
        assert_non_null(strstr(written, "\"replaceable\":\"tray 1\""));

        written[0] = '\0';
        assert_int_equal(step_finding(step, &verdict, "hbm-cell", NULL,
                                      &(Evidence){ .replaceable = "cable 7" }, "here"),
                         0);
        assert_non_null(strstr(written, "\"replaceable\":\"cable 7\""));
        assert_null(strstr(written, "tray 1"));
        assert_non_null(strstr(written, "\"reproduced\":1,\"runs\":1"));
        assert_int_equal(verdict, VERDICT_FAILED);

        assert_int_equal(step_finding(step, &verdict, "hbm-cell", NULL, &(Evidence){ .seen = 3, .tried = 4 }, "here"), 0);
        assert_non_null(strstr(written, "\"reproduced\":3,\"runs\":4"));
}

/* A broken port and a trace of the board have no cable that could be reseated, and a chip that does not go on may do so after a reset. */
static void test_a_finding_is_given_the_action_of_its_part(void **state) {
        static const struct {
                const char *code, *where, *replaceable, *action;
        } cases[] = {
                { "link-down", "us0-1/chip3/link-y+", "cable NLC0123", "reseat-cable" },
                { "link-down", "us0-1/chip3/link-y+", "cable", "reseat-cable" },
                { "link-down", "us0-1/chip3/link-y+", NULL, "replace-tray" },
                { "collective-hang", "us0-1/chip3", NULL, "reset-chip" },
                { "collective-hang", "us0-1/chip3/link-x+", NULL, "reset-chip" },
                { "collective-hang", "us0-1/chip3/link-y+", "cable", "reseat-cable" },
                { "link-degraded", "us0-1/chip3/link-x+", NULL, "reset-chip" },
                { "link-degraded", "us0-1/chip3/link-y+", "cable NLC0123", "reset-chip" },
                { "host-link", "us0-1/chip3", "cable to the CPU tray", "reseat-cable" },
                { "hbm-column", "us0-1/chip3/hbm1", NULL, "replace-tray" },
        };

        for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
                _cleanup_(step_freep) Step *step = new_step("us0-1/chip3");
                Verdict verdict = VERDICT_PASSED;
                char wanted[64];
                Location where;

                assert_int_equal(location_parse(cases[i].where, &where, NULL, NULL), 0);
                (void) snprintf(wanted, sizeof(wanted), "\"action\":\"%s\"", cases[i].action);
                assert_int_equal(step_finding(step, &verdict, cases[i].code, &where, &(Evidence) { .replaceable = cases[i].replaceable }, "here"), 0);
                if (!strstr(written, wanted))
                        fail_msg("%s with %s: no %s in %s", cases[i].code, cases[i].replaceable ?: "its tray", wanted, written);
        }
}

static void test_findings_past_the_bound_are_counted(void **state) {
        _cleanup_(step_freep) Step *step = new_step("us0-1/chip3");
        Check check = { .name = "try", .run = run_many };
        StepEnd end;

        assert_int_equal(step_run(step, &check, &end), 0);
        assert_int_equal(end.verdict, VERDICT_FAILED);
        assert_int_equal(count("\"diagnosis\""), STREAM_FINDINGS_MAX - 1);
        assert_non_null(strstr(written, "\"try_findings_not_written\",\"value\":257"));
}

/* Or a chip would have failed of which its record tells nothing. */
static void test_of_each_chip_something_is_told(void **state) {
        _cleanup_(step_freep) Step *step = new_step("us0-1");
        Check check = { .name = "try", .run = run_many_of_each };
        unsigned n_written;
        StepEnd end;

        assert_int_equal(step_run(step, &check, &end), 0);
        n_written = count("\"diagnosis\"");
        assert_in_range(n_written, 150, STREAM_FINDINGS_MAX - 1);
        for (unsigned c = 0; c < CHIPS; c++) {
                char place[40];

                (void) snprintf(place, sizeof(place), "\"location\":\"us0-1/chip%u\"", c);
                assert_non_null(strstr(written, place));
        }
        assert_non_null(strstr(written, "\"try_findings_not_written\""));
        assert_int_equal(strtol(strstr(written, "not_written\",\"value\":") + strlen("not_written\",\"value\":"), NULL, 10), 40 * CHIPS - n_written);
}

static void test_a_message_is_cut_between_characters(void **state) {
        _cleanup_(step_freep) Step *step = new_step("us0-1/chip3");
        Check check = { .name = "try", .run = run_long };
        StepEnd end;
        const char *from, *to;

        assert_int_equal(step_run(step, &check, &end), 0);
        from = strstr(written, "\"x");
        assert_non_null(from);
        to = strchr(from + 1, '"');
        assert_non_null(to);
        assert_in_range(to - from, STREAM_MESSAGE_MAX - 8, STREAM_MESSAGE_MAX + 1);
        assert_int_equal((to - from - 2) % 3, 0);
}

static void test_only_what_is_in_the_scan_is_included(void **state) {
        _cleanup_(step_freep) Step *step = new_step("us0-1");

        assert_true(step_includes(step, "us0-1", 3));
        assert_false(step_includes(step, "us0-1", 4));
        assert_false(step_includes(step, "us0-1", CHIPS));
        assert_false(step_includes(step, "us0-2", 3));
        assert_null(step_neighbour(step, "us0-2"));
        assert_int_equal(step_chip(step), WIRE_CHIP_ALL);
}

static void test_progress_only_moves_forward(void **state) {
        _cleanup_(step_freep) Step *step = new_step("us0-1/chip3");

        for (unsigned i = 0; i < 1000; i++)
                step_progress(step, i % 300);
        assert_int_equal(count("assay-progress"), 100);
}

static void test_progress_takes_its_time(void **state) {
        _cleanup_(step_freep) Step *step = NULL;

        progress_usec = 3600000000;
        step = new_step("us0-1/chip3");
        step_progress(step, 50);
        assert_int_equal(count("assay-progress"), 0);
        step = step_free(step);

        progress_usec = 2000;
        step = new_step("us0-1/chip3");
        (void) usleep(4000);
        step_progress(step, 1);
        assert_int_equal(count("assay-progress"), 1);
        progress_usec = 0;
}

static int free_device(void **state) {
        server.device = device_free(server.device);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_end_is_judged),
                cmocka_unit_test(test_device_time_and_seed_are_told),
                cmocka_unit_test(test_a_finding_names_the_tray_of_its_chip),
                cmocka_unit_test(test_a_finding_is_given_the_action_of_its_part),
                cmocka_unit_test(test_findings_past_the_bound_are_counted),
                cmocka_unit_test(test_of_each_chip_something_is_told),
                cmocka_unit_test(test_a_message_is_cut_between_characters),
                cmocka_unit_test(test_only_what_is_in_the_scan_is_included),
                cmocka_unit_test(test_progress_only_moves_forward),
                cmocka_unit_test(test_progress_takes_its_time),
        };

        return cmocka_run_group_tests(tests, NULL, free_device);
}
