/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <float.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "checks/stream/stream.h"
#include "checks/text/cleanup.h"

static Location parse(const char *text) {
        Location location;

        assert_int_equal(location_parse(text, &location, NULL, NULL), 0);
        return location;
}

/* jansson, which the writer does not use, reads what the writer wrote. */
static json_t *load_line(const char *line) {
        json_error_t error;
        json_t *object = json_loads(line, JSON_REJECT_DUPLICATES, &error);

        if (!object)
                fail_msg("%s\n%s", error.text, line);
        assert_int_equal(line[strlen(line) - 1], '\n');
        return object;
}

static json_t *member(json_t *object, const char *path) {
        char copy[200], *rest = copy, *name;

        (void) snprintf(copy, sizeof(copy), "%s", path);
        while ((name = strsep(&rest, ".")))
                object = name[0] >= '0' && name[0] <= '9' ? json_array_get(object, (size_t) atoi(name))
                                                          : json_object_get(object, name);

        if (!object)
                fail_msg("no %s", path);
        return object;
}

static void assert_text(json_t *object, const char *path, const char *expected) {
        assert_string_equal(json_string_value(member(object, path)), expected);
}

static void test_a_measurement_says_value_limit_and_place(void **state) {
        Measurement measurement = {
                .name = "hbm_bytes_tested",
                .value = 103079215104.0,
                .unit = "By",
                .limit_type = LIMIT_GREATER_THAN_OR_EQUAL,
                .limit = 0.1,
                .where = parse("us0-1/chip3/core5/pe17.93"),
                .series = { STATISTIC_MIN, 32 },
        };
        _cleanup_free_ char *line = stream_measurement("us0-1/chip3:hbm", &measurement);
        json_auto_t *object = load_line(line);

        assert_text(object, "testStepArtifact.testStepId", "us0-1/chip3:hbm");
        assert_text(object, "testStepArtifact.measurement.hardwareInfoId", "us0-1/chip3");
        assert_text(object, "testStepArtifact.measurement.subcomponent.name", "pe17.93");
        assert_text(object, "testStepArtifact.measurement.subcomponent.location", "us0-1/chip3/core5/pe17.93");
        assert_text(object, "testStepArtifact.measurement.validators.0.type", "GREATER_THAN_OR_EQUAL");
        assert_true(json_number_value(member(object, "testStepArtifact.measurement.validators.0.value")) == 0.1);
        assert_text(object, "testStepArtifact.measurement.metadata.statistic", "min");
        assert_int_equal(json_integer_value(member(object, "testStepArtifact.measurement.metadata.count")), 32);
        assert_non_null(strstr(line, "\"value\":103079215104,"));
        assert_non_null(strstr(line, "\"value\":0.1}"));
}

static void test_what_lies_outside_of_chips_belongs_to_the_server(void **state) {
        Measurement measurement = { .name = "x", .where = parse("us0-1") };
        _cleanup_free_ char *line = stream_measurement("us0-1:identity", &measurement);
        json_auto_t *object = load_line(line);

        assert_text(object, "testStepArtifact.measurement.hardwareInfoId", "us0-1");
        assert_null(json_object_get(member(object, "testStepArtifact.measurement"), "subcomponent"));
        assert_null(json_object_get(member(object, "testStepArtifact.measurement"), "validators"));
        assert_null(json_object_get(member(object, "testStepArtifact.measurement"), "metadata"));
        assert_null(json_object_get(member(object, "testStepArtifact.measurement"), "unit"));
}

static void test_numbers_come_back_as_they_were_and_short(void **state) {
        static const struct {
                double value;
                const char *text;
        } cases[] = {
                { 0, "0" },
                { -0.0, "-0" },
                { 1, "1" },
                { -42, "-42" },
                { 0.1, "0.1" },
                { 1e-9, "1.0000000000000001e-09" },
                { 1.0 / 3, "0.3333333333333333" },
                { 999999999999999, "999999999999999" },
                { 1e15, "1e+15" },
                { 1e300, "1.0000000000000001e+300" },
                { DBL_MAX, NULL },
                { DBL_MIN, NULL },
                { 4.9406564584124654e-324, NULL },
                { -1.7976931348623157e308, NULL },
                { 9007199254740993.0, NULL },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Measurement measurement = { .name = "x", .value = cases[i].value, .where = parse("a") };
                _cleanup_free_ char *line = stream_measurement("a:x", &measurement), *expected = NULL;
                json_auto_t *object = load_line(line);
                double value = json_number_value(member(object, "testStepArtifact.measurement.value"));

                if (fabs(cases[i].value) > 1e-320) /* jansson refuses none of these, but reads subnormals its own way */
                        assert_true(value == cases[i].value);
                if (!cases[i].text || strchr(cases[i].text, 'e'))
                        continue;

                assert_true(asprintf(&expected, "\"value\":%s,", cases[i].text) > 0);
                if (!strstr(line, expected))
                        fail_msg("%s is not in %s", expected, line);
        }
}

static void test_numbers_have_a_point_in_every_locale(void **state) {
        static const char *const names[] = { "de_DE.UTF-8", "fr_FR.UTF-8", "C.UTF-8", "C" };
        Measurement measurement = { .name = "x", .value = 0.5, .where = parse("a") };

        for (size_t i = 0; i < ELEMENTS(names); i++) {
                _cleanup_free_ char *line = NULL;

                (void) setlocale(LC_ALL, names[i]);
                line = stream_measurement("a:x", &measurement);
                (void) setlocale(LC_ALL, "C");
                assert_non_null(strstr(line, "\"value\":0.5,"));
        }
}

static void test_text_of_strangers_is_made_harmless(void **state) {
        static const struct {
                const char *text, *expected;
        } cases[] = {
                { "plain", "plain" },
                { "say \"hi\" \\ bye", "say \"hi\" \\ bye" },
                { "two\nlines\tand a tab", "two\nlines\tand a tab" },
                { "\x1b[31mred\x07\x7f", "�[31mred��" },
                { "\xc2\x9b" "31m", "�31m" },
                { "münchen ☃ 😀", "münchen ☃ 😀" },
                { "\xff\xfe", "��" },
                { "\xc0\xaf", "��" },
                { "\xed\xa0\x80", "���" },
                { "\xf4\x90\x80\x80", "����" },
                { "cut \xe2\x98", "cut ��" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_free_ char *line = stream_log("INFO", cases[i].text);
                json_auto_t *object = load_line(line);

                assert_text(object, "testRunArtifact.log.message", cases[i].expected);
        }
}

static void test_long_text_is_cut_between_characters(void **state) {
        char text[2 * STREAM_MESSAGE_MAX];

        for (size_t shift = 0; shift < 4; shift++) {
                _cleanup_free_ char *line = NULL;
                json_auto_t *object = NULL;
                const char *message;

                memset(text, 'a', shift);
                for (size_t i = shift; i + 4 < sizeof(text); i += 4)
                        memcpy(text + i, "😀", 5);

                line = stream_log("INFO", text);
                object = load_line(line);
                message = json_string_value(member(object, "testRunArtifact.log.message"));
                assert_true(strlen(message) < STREAM_MESSAGE_MAX && strlen(message) > STREAM_MESSAGE_MAX - 8);
                assert_string_equal(message + strlen(message) - strlen("…"), "…");
        }

        memset(text, 'a', sizeof(text));
        text[STREAM_MESSAGE_MAX - 1] = '\0';
        {
                _cleanup_free_ char *line = stream_log("INFO", text);
                json_auto_t *object = load_line(line);

                assert_text(object, "testRunArtifact.log.message", text);
        }
}

static void test_the_end_of_a_step_has_the_status_of_its_verdict(void **state) {
        static const struct {
                Verdict verdict;
                Reason reason;
                const char *status;
                unsigned n_lines;
        } cases[] = {
                { VERDICT_PASSED, REASON_NONE, "{\"status\":\"COMPLETE\"}", 2 },
                { VERDICT_WARNED, REASON_NONE, "{\"status\":\"COMPLETE\"}", 2 },
                { VERDICT_FAILED, REASON_NONE, "{\"status\":\"COMPLETE\"}", 2 },
                { VERDICT_SKIPPED, REASON_OCCUPIED, "{\"status\":\"SKIP\"}", 2 },
                { VERDICT_ERROR, REASON_WORKER_CRASHED, "{\"status\":\"ERROR\"}", 3 },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                StepEnd end = { .verdict = cases[i].verdict, .reason = cases[i].reason, .seed = UINT64_MAX };
                _cleanup_free_ char *lines = stream_step_end("a/chip1:x", &end);
                unsigned n = 0;

                for (const char *at = lines; (at = strchr(at, '\n')); at++)
                        n++;

                assert_int_equal(n, cases[i].n_lines);
                assert_non_null(strstr(lines, cases[i].status));
                assert_non_null(strstr(lines, "\"seed\":\"18446744073709551615\""));
                assert_int_equal(strstr(lines, "\"error\":{\"symptom\":\"worker-crashed\"") != NULL, n == 3);
        }
}

static void test_numbering_puts_sequence_and_time_in_front(void **state) {
        _cleanup_free_ char *line = stream_schema_version(), *numbered = stream_number(line, UINT64_MAX / 2);
        json_auto_t *object = load_line(numbered);
        struct tm tm = {};
        time_t then;
        const char *rest;

        assert_true((uint64_t) json_integer_value(member(object, "sequenceNumber")) == UINT64_MAX / 2);
        assert_int_equal(json_integer_value(member(object, "schemaVersion.major")), 2);

        rest = strptime(json_string_value(member(object, "timestamp")), "%Y-%m-%dT%H:%M:%S", &tm);
        assert_non_null(rest);
        assert_int_equal(strlen(rest), strlen(".123Z"));
        then = timegm(&tm);
        assert_true(llabs((long long) (time(NULL) - then)) < 60);
}

static void test_the_start_of_the_largest_run_fits_one_line(void **state) {
        static char long_text[300];
        Hardware hardware[68];
        RunStart start = { .version = "1", .command_line = "x", .plan = "production", .dut = "a", .n_hardware = 68, .hardware = hardware };

        memset(long_text, '"', sizeof(long_text) - 1);
        for (unsigned i = 0; i < 68; i++) {
                char text[LOCATION_STRING_MAX];

                (void) snprintf(text, sizeof(text), "a23456789012345678901234567890%u/chip%u", i / 17, i % 16);
                hardware[i] = (Hardware) { parse(text), long_text, long_text, long_text, long_text, long_text, long_text, long_text };
        }

        for (unsigned pass = 0; pass < 2; pass++) {
                _cleanup_free_ char *line = stream_run_start(&start);
                json_auto_t *object = NULL;

                assert_non_null(line);
                assert_true(strlen(line) < STREAM_LINE_MAX - 90);
                object = load_line(line);
                assert_int_equal(json_array_size(member(object, "testRunArtifact.testRunStart.dutInfo.hardwareInfos")), 68);
                start.command_line = start.dut = long_text;
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_measurement_says_value_limit_and_place),
                cmocka_unit_test(test_what_lies_outside_of_chips_belongs_to_the_server),
                cmocka_unit_test(test_numbers_come_back_as_they_were_and_short),
                cmocka_unit_test(test_numbers_have_a_point_in_every_locale),
                cmocka_unit_test(test_text_of_strangers_is_made_harmless),
                cmocka_unit_test(test_long_text_is_cut_between_characters),
                cmocka_unit_test(test_the_end_of_a_step_has_the_status_of_its_verdict),
                cmocka_unit_test(test_numbering_puts_sequence_and_time_in_front),
                cmocka_unit_test(test_the_start_of_the_largest_run_fits_one_line),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
