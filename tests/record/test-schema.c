/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/record/payload.h"

static RecordTrust verify_twin(const json_t *twin, RecordVerified *ret) {
        json_t *root = json_loads(payloads.health, 0, NULL), *value;
        RecordTrust trust;
        const char *path;
        char *text;
        size_t i;

        json_object_foreach(json_object_get(twin, "set"), path, value) {
                text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
                payload_set(root, path, text);
                free(text);
        }
        json_array_foreach(json_object_get(twin, "remove"), i, value)
                payload_set(root, json_string_value(value), NULL);
        text = json_dumps(root, JSON_COMPACT);
        trust = payload_verify(&payloads, text, strlen(text), ret);
        free(text);
        json_decref(root);
        return trust;
}

static void test_every_twin_that_the_published_schema_refuses_is_refused(void **state) {
        json_t *twins = json_load_file(getenv("RECORD_TWINS"), 0, NULL), *twin;
        size_t i;

        assert_true(json_array_size(twins) > 50);
        json_array_foreach(twins, i, twin) {
                RecordVerified verified;

                if (verify_twin(twin, &verified) != RECORD_REFUSED)
                        fail_msg("taken: %s", json_string_value(json_object_get(twin, "why")));
                record_verified_done(&verified);
        }
        json_decref(twins);
}

static void test_what_is_wrong_is_named_with_its_place(void **state) {
        static const struct {
                const char *reason, *changes[3];
        } cases[] = {
                { "predicate.steps[2].measurements[0].unit: is missing", { "predicate.steps.2.measurements.0.unit", NULL } },
                { "predicate.run.stage: is not what it must be", { "predicate.run.stage", "\"PRELUDE\"" } },
                { "predicate.passedTests: is no list of the right length", { "predicate.passedTests", "{}" } },
                { "predicate.passedTests[1]: is not what it must be", { "predicate.passedTests.1", "7" } },
                { "predicate.steps: is no list of the right length", { "predicate.steps", "{}" } },
                { "predicate.steps[0]: is not an object", { "predicate.steps.0", "7" } },
                { "predicate.producer.scanner: has neither", { "predicate.producer.scanner", "{}" } },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                RecordVerified verified;

                assert_int_equal(payload_verify_changed(&payloads, payloads.health, cases[i].changes, &verified), RECORD_REFUSED);
                if (!strstr(verified.reason, cases[i].reason))
                        fail_msg("\"%s\" does not say \"%s\"", verified.reason, cases[i].reason);
                record_verified_done(&verified);
        }
}

/* Each of its promises is looked for in all measurements: a record of many would keep its reader busy. */
static void test_coverage_has_an_end(void **state) {
        json_t *coverage = json_array();
        RecordVerified verified;
        char name[32], *text;

        for (unsigned i = 0; i < 256; i++) {
                (void) snprintf(name, sizeof(name), "promise-%u", i);
                (void) json_array_append_new(coverage, json_pack("{s:s, s:i, s:i}", "name", name, "reached", 0, "promised", 0));
        }
        text = json_dumps(coverage, JSON_COMPACT);
        assert_int_equal(payload_verify_changed(&payloads, payloads.health, (const char *[]) { "predicate.coverage", text, NULL }, &verified), RECORD_VERIFIED);
        record_verified_done(&verified);
        free(text);

        (void) json_array_append_new(coverage, json_pack("{s:s, s:i, s:i}", "name", "one more", "reached", 0, "promised", 0));
        text = json_dumps(coverage, JSON_COMPACT);
        assert_int_equal(payload_verify_changed(&payloads, payloads.health, (const char *[]) { "predicate.coverage", text, NULL }, &verified), RECORD_REFUSED);
        assert_non_null(strstr(verified.reason, "coverage: is no list of the right length"));
        record_verified_done(&verified);
        free(text);
        json_decref(coverage);
}

static void test_run_starts_and_roll_ups_have_a_shape_too(void **state) {
        static const char *const start[][3] = {
                { "predicate.run", NULL }, { "predicate.run.startedOn", NULL }, { "predicate.configuration", NULL },
                { "predicate.log", NULL }, { "predicate.producer", NULL },      { "subject.0.digest", NULL },
        };
        static const char *const summary[][3] = {
                { "predicate.run.finishedOn", NULL },
                { "predicate.components", NULL },
                { "predicate.chipCount", "0" },
                { "predicate.tests", "{}" },
                { "predicate.tests", "[{\"name\": \"efa\"}]" },
                { "predicate.tests", "[{\"name\": \"efa\", \"check\": 7}]" },
                { "predicate.chipCount", "1025" },
                { "predicate.chipCount", "\"16\"" },
                { "predicate.components.0.annotations", NULL },
                { "predicate.components.0.annotations.result", NULL },
                { "predicate.components.0.annotations.logIndex", "\"1\"" },
                { "predicate.components.0.annotations.recordSha256", "\"00\"" },
                { "predicate.components.0.annotations.slot", NULL },
                { "predicate.result", NULL },
                { "predicate.status", NULL },
                { "predicate.previous", NULL },
                { "predicate.diagnoses", "{}" },
                { "predicate.measurements", "{}" },
                { "predicate.measurements", "[{\"name\":\"efa_packets_lost\",\"value\":0}]" },
                { "predicate.diagnoses", "[{\"verdict\":\"link-cabling\"}]" },
        };
        RecordVerified verified;

        for (size_t i = 0; i < ELEMENTS(start); i++) {
                assert_int_equal(payload_verify_changed(&payloads, payloads.start, start[i], &verified), RECORD_REFUSED);
                record_verified_done(&verified);
        }
        for (size_t i = 0; i < ELEMENTS(summary); i++) {
                assert_int_equal(payload_verify_changed(&payloads, payloads.summary, summary[i], &verified), RECORD_REFUSED);
                record_verified_done(&verified);
        }
}

static void test_times_and_places_that_do_not_exist_are_refused(void **state) {
        static const char *const changes[][3] = {
                { "predicate.run.finishedOn", "\"2026-02-30T09:14:02Z\"" },
                { "predicate.run.finishedOn", "\"2026-13-01T09:14:02Z\"" },
                { "predicate.run.startedOn", "\"2026-11-21T25:14:02Z\"" },
                { "predicate.location.path", "\"us0-2/chip3/elbow\"" },
        };
        RecordVerified verified;

        for (size_t i = 0; i < ELEMENTS(changes); i++) {
                assert_int_equal(payload_verify_changed(&payloads, payloads.health, changes[i], &verified), RECORD_REFUSED);
                record_verified_done(&verified);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_twin_that_the_published_schema_refuses_is_refused),
                cmocka_unit_test(test_what_is_wrong_is_named_with_its_place),
                cmocka_unit_test(test_coverage_has_an_end),
                cmocka_unit_test(test_run_starts_and_roll_ups_have_a_shape_too),
                cmocka_unit_test(test_times_and_places_that_do_not_exist_are_refused),
        };

        return cmocka_run_group_tests(tests, payloads_setup, payloads_teardown);
}
