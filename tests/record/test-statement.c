/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/encode/timestamp.h"
#include "daemon/record/statement/statement.h"
#include "tests/record/payload.h"

static const char *text_at(const json_t *value, const char *path) {
        char parts[128], *part, *saved;

        (void) snprintf(parts, sizeof(parts), "%s", path);
        for (part = strtok_r(parts, ".", &saved); part && value; part = strtok_r(NULL, ".", &saved))
                value = payload_child((json_t *) value, part);
        return json_is_string(value) ? json_string_value(value) : value ? "(no text)" : "(nothing)";
}

static void assert_time(uint64_t usec, const char *expected) {
        Printer p = {};

        timestamp_print(&p, "t", usec);
        assert_int_equal(p.error, 0);
        printer_raw(&p, "", 1);
        assert_string_equal(p.text, expected);
        printer_done(&p);
}

/* date -u -d @… */
static void test_times_are_those_of_utc(void **state) {
        (void) setenv("TZ", "America/New_York", 1);
        tzset();
        assert_time(0, "\"t\":\"1970-01-01T00:00:00.000Z\"");
        assert_time(951782400123456, "\"t\":\"2000-02-29T00:00:00.123Z\"");
        assert_time(1795252442000000, "\"t\":\"2026-11-21T09:14:02.000Z\"");
        assert_time(253402300799999999, "\"t\":\"9999-12-31T23:59:59.999Z\"");
        (void) unsetenv("TZ");
        tzset();
}

static void test_a_failed_chip_tells_what_where_and_how_often(void **state) {
        json_t *payload = json_loads(payloads.bad, JSON_REJECT_DUPLICATES, NULL);
        static const char *const expected[][2] = {
                { "_type", "https://in-toto.io/Statement/v1" },
                { "subject.0.name", "accelerator" },
                { "subject.0.uri", "urn:dev:ops:32473-Trainium2-0123456789abc003" },
                { "predicate.host.uri", "urn:dev:ops:32473-Trn2-SRV00017" },
                { "predicate.producer.scanner.uri", "pkg:generic/assayd@0.1.0" },
                { "predicate.run.stage", "PREFLIGHT" },
                { "predicate.run.startedOn", "2026-11-21T09:14:02.000Z" },
                { "predicate.run.finishedOn", "2026-11-21T09:14:09.500Z" },
                { "predicate.run.challenge", "c2F5IHNvbWV0aGluZw==" },
                { "predicate.location.path", "us0-2/chip3" },
                { "predicate.location.pciAddress", "0000:4b:00.0" },
                { "predicate.location.tray", "0" },
                { "predicate.location.reportedSerial", "(nothing)" },
                { "predicate.environment.0.name", "firmware" },
                { "predicate.environment.0.version", "2.30.1" },
                { "predicate.environment.0.build", "0x1b7" },
                { "predicate.configuration.0.name", "preflight" },
                { "predicate.configuration.1.name", "preflight/limits" },
                { "predicate.run.worker.name", "assay-run" },
                { "predicate.evidence.0.mediaType", "application/jsonl" },
                { "predicate.evidence.0.annotations.size", "(no text)" },
                { "predicate.evidence.0.name", "us0-2.ocp.jsonl" },
                { "predicate.status", "COMPLETE" },
                { "predicate.result", "FAILED" },
                { "predicate.failedTests.0", "systolic" },
                { "predicate.failedTests.1", "(nothing)" },
                { "predicate.passedTests.4", "sparsity" },
                { "predicate.steps.1.measurements.0.result", "FAILED" },
                { "predicate.steps.0.measurements.0.component", "(nothing)" }, /* the subject itself */
                { "predicate.steps.0.measurements.0.statistic", "(nothing)" }, /* it stands for itself */
                { "predicate.steps.1.measurements.0.statistic", "max" },
                { "predicate.steps.1.measurements.0.count", "(no text)" },
                { "predicate.steps.1.measurements.0.component.location", "us0-2/chip3/core5" },
                { "predicate.steps.1.measurements.0.limits.0.type", "LESS_THAN_OR_EQUAL" },
                { "predicate.steps.1.diagnoses.0.verdict", "systolic-pe" },
                { "predicate.steps.1.diagnoses.0.type", "FAIL" },
                { "predicate.steps.1.diagnoses.0.component.name", "pe17.93" },
                { "predicate.steps.1.diagnoses.0.component.type", "FUNCTION" },
                { "predicate.steps.1.diagnoses.0.component.location", "us0-2/chip3/core5/pe17.93" },
                { "predicate.steps.1.diagnoses.0.annotations.expected", "0x3f80" },
                { "predicate.steps.1.diagnoses.0.annotations.replaceable", "tray 0" },
                { "predicate.steps.1.diagnoses.0.annotations.action", "quarantine" }, /* what was decided, whatever is usual for the code */
                { "predicate.steps.1.diagnoses.0.annotations.confidence", "(nothing)" },
                { "predicate.coverage.0.name", "hbm-bytes-tested" },
        };

        for (size_t i = 0; i < ELEMENTS(expected); i++)
                if (strcmp(text_at(payload, expected[i][0]), expected[i][1]) != 0)
                        fail_msg("%s is %s, not %s", expected[i][0], text_at(payload, expected[i][0]),
                                 expected[i][1]);
        json_decref(payload);
}

static json_t *read_again(RecordLog *log, uint64_t index) {
        _cleanup_free_ char *text = payload_of(&payloads, log, index);

        return json_loads(text, 0, NULL);
}

static json_t *sign_again(const Server *server) {
        json_t *payload;
        RecordLog *log;

        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        payload = read_again(log, server_scan(server, log));
        (void) record_log_free(log);
        return payload;
}

static json_t *roll_up_again(const Server *server) {
        json_t *payload;
        RecordLog *log;

        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        payload = read_again(log, server_scan(server, log) + SERVER_CHIPS);
        (void) record_log_free(log);
        return payload;
}

/* What all records of a run would say alike stands in the one of its server. */
static void test_a_roll_up_tells_how_the_run_was_made(void **state) {
        json_t *payload = json_loads(payloads.summary, JSON_REJECT_DUPLICATES, NULL);
        static const char *const expected[][2] = {
                { "predicate.producer.scanner.uri", "pkg:generic/assayd@0.1.0" },
                { "predicate.run.worker.name", "assay-run" },
                { "predicate.run.challenge", "c2F5IHNvbWV0aGluZw==" },
                { "predicate.configuration.0.name", "preflight" },
                { "predicate.configuration.1.name", "preflight/limits" },
                { "predicate.evidence.0.mediaType", "application/jsonl" },
                { "predicate.evidence.0.annotations.size", "(no text)" },
                { "predicate.evidence.0.name", "us0-2.ocp.jsonl" },
        };

        for (size_t i = 0; i < ELEMENTS(expected); i++)
                assert_string_equal(text_at(payload, expected[i][0]), expected[i][1]);
        json_decref(payload);
}

static void test_a_chip_tells_the_server_it_sat_in(void **state) {
        static const struct {
                const char *serial, *uri;
        } hosts[] = {
                { "SRV00017", "urn:dev:ops:32473-Trn2-SRV00017" }, /* the server that was scanned */
                { "SRV00099", "urn:dev:ops:32473-Trn2-SRV00099" },
                { "", "urn:dev:ops:32473-Trn2-unknown_us0-2" },
        };

        for (size_t i = 0; i < ELEMENTS(hosts); i++) {
                json_t *payload;

                server_init(&payloads.server);
                payloads.server.chips[0].host.serial = hosts[i].serial;
                payload = sign_again(&payloads.server);
                assert_string_equal(text_at(payload, "predicate.host.uri"), hosts[i].uri);
                json_decref(payload);
        }
}

static const char *json_at(const json_t *payload, const char *key, char text[static 512]) {
        _cleanup_free_ char *dumped = json_dumps(json_object_get(json_object_get(payload, "predicate"), key), JSON_COMPACT | JSON_ENCODE_ANY);

        (void) snprintf(text, 512, "%s", dumped ? dumped : "");
        return text;
}

static void add_particulars(Server *server, Particulars chips[static SERVER_CHIPS], Particulars *own) {
        for (unsigned i = 0; i < SERVER_CHIPS; i++) {
                char text[64];

                chips[i] = (Particulars) { .where = server->chips[i].subject.where, .n_assemblies = 5, .n_readings = 1, .readings = { { "clock", 2400, "MHz" } } };
                chips[i].assemblies[0] = (Assembly) { "tray", chips[i].where, "", "SLED", "" };
                (void) snprintf(chips[i].assemblies[0].serial, PARTICULARS_TEXT_MAX, "TR%u", i / 8);
                for (unsigned k = 0; k < 4; k++) {
                        (void) snprintf(text, sizeof(text), "us0-2/chip%u/hbm%u", i, k);
                        chips[i].assemblies[1 + k] = (Assembly) { "stack", server_location(text), "", "HBM3", "B0" };
                        chips[i].assemblies[1 + k].version[1] = k == 3 ? '1' : '0';
                        (void) snprintf(chips[i].assemblies[1 + k].serial, PARTICULARS_TEXT_MAX, "H%u.%u", i, k);
                }
                server->chips[i].subject.particulars = &chips[i];
        }
        *own = (Particulars) { .where = server->scan.server.where, .n_softwares = 1, .softwares = { { "bios", "1.0.14" } }, .n_readings = 1,
                               .readings = { { "inlet-temperature", 24.5, "Cel" } } };
        server->scan.server.particulars = own;
}

/* What lies in a chip stands in its own record, all else once in that of the server. */
static void test_parts_and_circumstances_are_told_once(void **state) {
        Server *server = &payloads.server;
        Particulars chips[SERVER_CHIPS], own;
        json_t *chip, *roll_up;
        uint64_t first;
        RecordLog *log;
        char text[512];

        server_init(server);
        add_particulars(server, chips, &own);
        server->scan.run.note = "WO-4711, \"module 3\"";
        server->scan.run.has_operator = true;
        server->scan.run.operator_uid = 1000;
        server->scan.run.operator = "eva";
        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        first = server_scan(server, log);
        chip = read_again(log, first + 2);
        roll_up = read_again(log, first + SERVER_CHIPS);
        (void) record_log_free(log);

        assert_string_equal(json_at(chip, "assemblies", text),
                            "[{\"name\":\"stack\",\"partNumber\":\"HBM3\",\"version\":\"B0\",\"at\":[\"hbm0\",\"hbm1\",\"hbm2\"],\"serials\":[\"H2.0\",\"H2.1\",\"H2.2\"]},"
                            "{\"name\":\"stack\",\"partNumber\":\"HBM3\",\"version\":\"B1\",\"at\":[\"hbm3\"],\"serials\":[\"H2.3\"]}]");
        assert_string_equal(json_at(chip, "readings", text), "{\"clock\":[2400,\"MHz\"]}");
        assert_string_equal(text_at(chip, "predicate.run.note"), "(nothing)");
        assert_string_equal(json_at(roll_up, "assemblies", text), "[{\"name\":\"tray\",\"partNumber\":\"SLED\",\"at\":[\"chip0\",\"chip8\"],\"serials\":[\"TR0\",\"TR1\"]}]");
        assert_string_equal(json_at(roll_up, "software", text), "{\"bios\":\"1.0.14\"}");
        assert_string_equal(json_at(roll_up, "readings", text), "{\"inlet-temperature\":[24.5,\"Cel\"]}");
        assert_string_equal(text_at(roll_up, "predicate.run.note"), "WO-4711, \"module 3\"");
        assert_string_equal(text_at(roll_up, "predicate.run.operator.name"), "eva");
        json_decref(chip);
        json_decref(roll_up);
}

static void test_a_note_that_is_none_is_not_signed(void **state) {
        static const char *const notes[] = { "", "a\nb", "\x1b[2J", "\xff", ("\xe2\x80\xae" "a") };
        Server *server = &payloads.server;
        RecordLog *log;

        server_init(server);
        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        for (size_t i = 0; i < ELEMENTS(notes); i++) {
                server->scan.run.note = notes[i];
                assert_int_equal(record_log_scan(log, &server->scan, 2), -EINVAL);
                assert_int_equal(record_log_start(log, &server->scan.run, &server->scan.server, 1), -EINVAL);
        }
        (void) record_log_free(log);
}

static bool is_coverage(const json_t *payload, size_t step, size_t measurement) {
        const json_t *steps = json_object_get(json_object_get(payload, "predicate"), "steps");
        const json_t *measurements = json_object_get(json_array_get(steps, step), "measurements");

        return json_is_true(json_object_get(json_array_get(measurements, measurement), "isCoverage"));
}

/* Of a memory that is tested region by region, samples are none: its check says which of its counts these are, and no name does. */
static void test_samples_of_pieces_are_no_coverage(void **state) {
        static const char *const counts[] = { "rows_walked", "bytes_samples_read", "pieces_compared", NULL };
        static const char *const samples[] = { "pieces_compared", NULL };
        Server *server = &payloads.server;

        for (unsigned by_regions = 0; by_regions < 2; by_regions++) {
                Measurement measured[3];
                json_t *payload;

                server_init(server);
                for (unsigned i = 0; i < 3; i++)
                        measured[i] = (Measurement) { counts[i], 4096, "1", LIMIT_NONE, 0, server->chips[0].subject.where };
                server->steps[0][0].counts = counts;
                server->steps[0][0].samples = samples;
                server->steps[0][0].measurements = measured;
                server->steps[0][0].n_measurements = 3;
                if (!by_regions)
                        server->steps[0][0].regions = NULL;
                payload = sign_again(server);
                assert_true(is_coverage(payload, 0, 0));
                assert_true(is_coverage(payload, 0, 1));
                assert_int_equal(is_coverage(payload, 0, 2), !by_regions);
                json_decref(payload);
        }
}

static void test_what_was_not_tested_is_told_with_its_reason(void **state) {
        static const char *const counts[] = { "efa_packets", "efa_paths", NULL };
        RecordPromise promises[] = { { "hbm-bytes-tested", 1, 1 }, { "efa_paths", 0, 0 }, { "efa_packets", 0, 1000 } };
        Server *server = &payloads.server;
        json_t *payload;

        server_init(server);
        server->chips[0].promises = promises;
        server->chips[0].n_promises = ELEMENTS(promises);
        server->steps[0][3].counts = server->steps[0][0].counts = counts;
        server->steps[0][3].verdict = VERDICT_SKIPPED;
        server->steps[0][3].reason = REASON_OCCUPIED;
        server->steps[0][3].required = false;
        server->steps[0][4].verdict = VERDICT_ERROR;
        server->steps[0][4].reason = REASON_WORKER_CRASHED;
        server->steps[0][4].message = "gone\xff";
        server->chips[0].result = RESULT_INCONCLUSIVE;
        payload = sign_again(server);
        assert_string_equal(text_at(payload, "predicate.status"), "ERROR");
        assert_string_equal(text_at(payload, "predicate.result"), "INCONCLUSIVE");
        assert_string_equal(text_at(payload, "predicate.untestedTests.0.name"), "efa");
        assert_string_equal(text_at(payload, "predicate.untestedTests.0.reason"), "occupied");
        assert_string_equal(text_at(payload, "predicate.untestedTests.0.coverage.0"), "efa_packets");
        assert_string_equal(text_at(payload, "predicate.untestedTests.0.coverage.1"), "(nothing)");
        assert_string_equal(text_at(payload, "predicate.untestedTests.1.name"), "rounding");
        assert_string_equal(text_at(payload, "predicate.untestedTests.1.reason"), "worker-crashed");
        assert_string_equal(text_at(payload, "predicate.untestedTests.1.coverage"), "(nothing)");
        assert_string_equal(text_at(payload, "predicate.steps.3.errors"), "(nothing)");
        assert_string_equal(text_at(payload, "predicate.steps.4.errors.0.symptom"), "worker-crashed");
        assert_string_equal(text_at(payload, "predicate.steps.4.errors.0.message"), "gone\ufffd");
        assert_string_equal(text_at(payload, "predicate.steps.3.status"), "SKIP");
        assert_string_equal(text_at(payload, "predicate.steps.4.status"), "ERROR");
        assert_string_equal(text_at(payload, "predicate.steps.4.message"), "gone\ufffd");
        json_decref(payload);
}

static void test_a_value_that_is_no_number_is_an_error_of_the_step(void **state) {
        Server *server = &payloads.server;
        json_t *payload;

        server_init(server);
        server->measurements[0][1].value = 0.0 / 0.0;
        server->steps[0][1].verdict = VERDICT_FAILED;
        server->chips[0].result = RESULT_FAILED;
        payload = sign_again(server);
        assert_string_equal(text_at(payload, "predicate.steps.1.measurements.0"), "(nothing)");
        assert_string_equal(text_at(payload, "predicate.steps.1.errors.0.symptom"), "not-a-number");
        assert_string_equal(text_at(payload, "predicate.steps.1.errors.0.message"), "mismatched_outputs");
        json_decref(payload);
}

static void test_a_seed_that_no_double_holds_is_text(void **state) {
        Server *server = &payloads.server;
        json_t *payload;

        server_init(server);
        server->scan.run.seed = UINT64_MAX;
        payload = roll_up_again(server);
        assert_string_equal(text_at(payload, "predicate.run.seed"), "18446744073709551615");
        json_decref(payload);
        server->scan.run.seed = 9007199254740992;
        payload = roll_up_again(server);
        assert_string_equal(text_at(payload, "predicate.run.seed"), "9007199254740992");
        json_decref(payload);
        server->scan.run.seed = 9007199254740991;
        payload = roll_up_again(server);
        assert_string_equal(text_at(payload, "predicate.run.seed"), "(no text)");
        json_decref(payload);
}

static void test_a_serial_that_is_none_is_kept_beside_the_slot(void **state) {
        Server *server = &payloads.server;
        json_t *payload;

        server_init(server);
        server->chips[0].subject.serial = "not a serial";
        payload = sign_again(server);
        assert_string_equal(text_at(payload, "subject.0.name"), "slot");
        assert_string_equal(text_at(payload, "subject.0.uri"), "urn:dev:ops:32473-Trn2-SRV00017_chip0");
        assert_string_equal(text_at(payload, "predicate.location.reportedSerial"), "not a serial");
        json_decref(payload);
}

static void test_facts_that_no_envelope_holds_are_refused(void **state) {
        Server *server = &payloads.server;
        char *text = malloc(RECORD_ENVELOPE_MAX);
        RecordLog *log;

        server_init(server);
        memset(text, 'x', RECORD_ENVELOPE_MAX - 1);
        text[RECORD_ENVELOPE_MAX - 1] = '\0';
        server->steps[0][0].message = text;
        assert_int_equal(place_open(&payloads.place, &log, NULL), 0);
        assert_int_equal(record_log_scan(log, &server->scan, 3), -E2BIG);
        /* The largest that is taken is also signed, and read. */
        text[RECORD_ENVELOPE_MAX / 4 * 3 - 6000] = '\0';
        (void) record_log_free(log);
        json_decref(sign_again(server));
        free(text);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_times_are_those_of_utc),
                cmocka_unit_test(test_a_failed_chip_tells_what_where_and_how_often),
                cmocka_unit_test(test_a_roll_up_tells_how_the_run_was_made),
                cmocka_unit_test(test_a_chip_tells_the_server_it_sat_in),
                cmocka_unit_test(test_parts_and_circumstances_are_told_once),
                cmocka_unit_test(test_a_note_that_is_none_is_not_signed),
                cmocka_unit_test(test_samples_of_pieces_are_no_coverage),
                cmocka_unit_test(test_what_was_not_tested_is_told_with_its_reason),
                cmocka_unit_test(test_a_value_that_is_no_number_is_an_error_of_the_step),
                cmocka_unit_test(test_a_seed_that_no_double_holds_is_text),
                cmocka_unit_test(test_a_serial_that_is_none_is_kept_beside_the_slot),
                cmocka_unit_test(test_facts_that_no_envelope_holds_are_refused),
        };

        return cmocka_run_group_tests(tests, payloads_setup, payloads_teardown);
}
