/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/record/payload.h"

typedef struct Case {
        const char *reason; /* part of it; of a good record the line it comes down to */
        const char *changes[24];
} Case;

static void expect_all(const char *payload, const Case *cases, size_t n, RecordTrust trust) {
        for (size_t i = 0; i < n; i++) {
                RecordVerified verified;

                if (payload_verify_changed(&payloads, payload, cases[i].changes, &verified) != trust)
                        fail_msg("case %zu (%s): %s", i, cases[i].reason, verified.reason);
                if (!strstr(verified.reason, cases[i].reason))
                        fail_msg("\"%s\" does not say \"%s\"", verified.reason, cases[i].reason);
                record_verified_done(&verified);
        }
}

#define P "predicate."
#define SKIPPED_EFA                                                                                          \
        P "steps.3.status", "\"SKIP\"", P "steps.3.result", "\"INCONCLUSIVE\"", P "steps.3.reason", "\"budget\""
#define LEFT_OUT                                                                                             \
        "[{\"name\":\"neuronlink_untested_silent\",\"value\":0,\"unit\":\"{port}\"},"                         \
        "{\"name\":\"neuronlink_untested_out_of_scan\",\"value\":1,\"unit\":\"{port}\"}]"
#define TRN9                                                                                                 \
        "subject.0.uri", "\"urn:dev:ops:1-Trn9-X\"", "subject.0.digest.sha256",                              \
                "\"4e8b24af9c60da6e8696144a2cee31a16356a819d27c88e26ad738a5c005b0b2\""
#define WARNED_SYSTOLIC                                                                                      \
        P "steps.1.result", "\"WARNED\"", P "result", "\"WARNED\"", P "warnedTests.0", "\"systolic\"", P "passedTests.1", NULL
#define OPEN_SYSTOLIC                                                                                        \
        P "steps.1.result", "\"INCONCLUSIVE\"", P "steps.1.status", "\"ERROR\"", P "steps.1.reason", "\"protocol\"", P "result", "\"INCONCLUSIVE\"",   \
                P "untestedTests.0", "{\"name\":\"systolic\",\"reason\":\"protocol\"}", P "passedTests.1", NULL
#define EFA_UNTESTED                                                                                         \
        P "passedTests", "[\"hbm\",\"systolic\",\"neuronlink\",\"rounding\",\"sparsity\"]",                  \
                P "untestedTests", "[{\"name\":\"efa\",\"reason\":\"budget\"}]"

static void test_a_passed_record_that_contradicts_itself_is_refused(void **state) {
        static const Case cases[] = {
                { "called PASSED against its limit", { P "steps.0.measurements.0.value", "3" } },
                { "called PASSED against its limit", { P "steps.0.measurements.0.value", "1e-300" } },
                { "called PASSED against its limit", { P "steps.0.measurements.0.limits.0.value", "-1" } },
                { "called FAILED against its limit", { P "steps.0.measurements.0.result", "\"FAILED\"" } },
                { "face of its own evidence", { P "steps.0.measurements.0.value", "3", P "steps.0.measurements.0.result", "\"FAILED\"" } },
                { "face of its own evidence", { P "steps.0.measurements.0.value", "3", P "steps.0.measurements.0.result", NULL } },
                { "face of its own evidence", { P "steps.0.diagnoses", "[{\"verdict\":\"hbm-cell\",\"type\":\"FAIL\"}]" } },
                { "face of its own evidence", { P "steps.0.diagnoses", "[{\"verdict\":\"hbm-cell\",\"type\":\"UNKNOWN\"}]" } },
                { "face of its own evidence", { P "steps.0.errors", "[{\"symptom\":\"not-a-number\"}]" } },
                { "called PASSED although regions have failed", { P "steps.0.regions.failed", "\"12\"" } },
                { "called WARNED although regions have failed", { P "steps.0.regions.failed", "\"12\"", P "steps.0.result", "\"WARNED\"", P "result", "\"WARNED\"" } },
                { "cannot be recomputed", { P "steps.0.measurements.0.value", "\"0\"" } },
                { "cannot be recomputed", { P "steps.0.measurements.0.limits.0", "{\"type\":\"REGEX_MATCH\",\"value\":\".*\"}" } },
                { "status ERROR with result PASSED", { P "steps.0.status", "\"ERROR\"" } },
                { "status SKIP with result PASSED", { P "steps.0.status", "\"SKIP\"" } },
                { "status COMPLETE with result INCONCLUSIVE", { P "steps.0.result", "\"INCONCLUSIVE\"" } },
                { "status ERROR with result PASSED", { P "status", "\"ERROR\"" } },
                { "status SKIP with result PASSED", { P "status", "\"SKIP\"" } },
                { "called PASSED, its steps and coverage come to FAILED", { P "steps.0.result", "\"FAILED\"" } },
                { "called PASSED, its steps and coverage come to WARNED", { P "steps.0.result", "\"WARNED\"" } },
                { "called PASSED, its steps and coverage come to INCONCLUSIVE", { SKIPPED_EFA, EFA_UNTESTED } },
                { "called PASSED, its steps and coverage come to INCONCLUSIVE", { P "coverage.0.reached", "103079215103" } },
                { "called PASSED, its steps and coverage come to INCONCLUSIVE", { P "steps", "[]", P "passedTests", "[]", P "coverage", "[]" } },
                { "called WARNED, its steps and coverage come to PASSED", { P "result", "\"WARNED\"" } },
                { "called INCONCLUSIVE, its steps and coverage come to PASSED", { P "result", "\"INCONCLUSIVE\"" } },
                { "passedTests does not name hbm", { P "passedTests.0", "\"hbn\"" } },
                { "passedTests names what is no such step", { P "passedTests.6", "\"burn\"" } },
                { "failedTests names what is no such step", { P "failedTests.0", "\"hbm\"" } },
                { "untestedTests names what is no such step", { P "untestedTests.0", "{\"name\":\"efa\",\"reason\":\"budget\"}" } },
                { "two steps are called hbm", { P "steps.1.name", "\"hbm\"" } },
                { "two steps are called a?[2J??", { P "steps.0.name", "\"a\\u001b[2J\u00e9\"", P "steps.1.name", "\"a\\u001b[2J\u00e9\"" } },
                { "a reason is given", { P "steps.0.reason", "\"budget\"" } },
                { "a reason is missing", { P "steps.3.status", "\"SKIP\"", P "steps.3.result", "\"INCONCLUSIVE\"" } },
                { "untestedTests does not name efa", { SKIPPED_EFA, EFA_UNTESTED, P "untestedTests.0.reason", "\"occupied\"", P "steps.3.required", "false" } },
                { "is called PASSED without a limit", { P "steps.0.measurements.0.limits", NULL } },
                { "is called PASSED without a limit", { P "steps.0.measurements.0.limits", "[]" } },
                { "cannot be recomputed", { P "steps.0.measurements.0.limits.0.value", "\"0\"" } },
                { "cannot be recomputed", { P "steps.0.measurements.0.limits.0.value", "false" } },
                /* Both are the same double, and not the same number. */
                { "is no number that all readers know", { P "steps.0.measurements.0.value", "9007199254740993", P "steps.0.measurements.0.limits.0.value", "9007199254740992" } },
                { "is no number that all readers know", { P "steps.0.measurements.0.value", "9223372036854775807", P "steps.0.measurements.0.limits", NULL, P "steps.0.measurements.0.result", NULL } },
                { "cannot be recomputed", { P "steps.0.measurements.0.limits.0.value", "9007199254740993" } },
                { "is no number that all readers know", { P "coverage.0.promised", "9007199254740993" } },
                { "face of its own evidence", { P "steps.0.diagnoses", "[{\"verdict\":\"hbm-cell\",\"type\":\"PASS\"}]" } },
                { "reproduced more often", { P "steps.0.diagnoses", "[{\"verdict\":\"good\",\"type\":\"PASS\",\"reproduced\":3,\"runs\":2}]" } },
                { "two steps are called systolic", { P "steps.1.id", "\"0\"" } },
                { "worker-crashed is no reason for SKIP", { SKIPPED_EFA, EFA_UNTESTED, P "steps.3.reason", "\"worker-crashed\"", P "steps.3.required", "false" } },
                { "budget is no reason for ERROR", { SKIPPED_EFA, EFA_UNTESTED, P "steps.3.status", "\"ERROR\"", P "steps.3.required", "false" } },
                { "beyond what was measured", { P "coverage.0.reached", "103079215105" } },
                { "beyond what was measured", { P "steps.5.measurements.1.value", "103079215103" } },
                { "beyond what was measured", { P "steps.5.measurements.1.value", "\"103079215104\"" } },
                { "beyond what was measured", { P "steps.5.measurements.1.component", "{\"name\":\"hbm0\"}" } },
                { "beyond what was measured", { P "steps.5.status", "\"SKIP\"", P "steps.5.result", "\"INCONCLUSIVE\"", P "steps.5.reason", "\"budget\"", P "steps.5.required", "false" } },
                { "is promised twice", { P "coverage.1", "{\"name\":\"hbm-bytes-tested\",\"reached\":0,\"promised\":0}" } },
                { "hbm-bytes-tested is called open", { SKIPPED_EFA, EFA_UNTESTED, P "steps.3.required", "false", P "untestedTests.0.coverage", "[\"hbm-bytes-tested\"]" } },
                { "efa_packets is called open", { SKIPPED_EFA, EFA_UNTESTED, P "steps.3.required", "false", P "untestedTests.0.coverage", "[\"efa_packets\"]" } },
                { "its regions are not those of its memory", { P "steps.0.regions.tested.1.regions", "\"3-1,5-6,-,7\"" } },
                { "its regions are not those of its memory", { P "steps.0.regions.tested.1.regions", "\"41-59,96\"" } },
                { "its regions are not those of its memory", { P "steps.0.regions.tested.1.regions", "\"12,41-59\"" } },
                { "its regions are not those of its memory", { P "steps.0.regions.position", "96" } },
                { "its regions are not those of its memory", { P "steps.0.regions.partition", "\"sid 3\"" } },
                { "is called FAILED without a limit", { P "steps.0.measurements.0.limits", NULL, P "steps.0.measurements.0.result", "\"FAILED\"" } },
                { "the run ended before it began", { P "run.finishedOn", "\"2021-11-21T09:14:09.500Z\"" } },
                { "the run ended before it began", { P "run.startedOn", "\"2026-11-22T09:14:09.501Z\"" } },
                { "the digest is not that of urn:dev:ops:32473-Trainium2-0123456789abc001", { "subject.0.uri", "\"urn:dev:ops:32473-Trainium2-0123456789abc001\"" } },
                { "the digest is not that of urn:dev:ops:32473-Trainium2-0123456789abc000",
                  { "subject.0.digest.sha256", "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"" } },
                { "the digest is not that of urn:dev:ops:32473-Trn2-SRV00018", { P "host.uri", "\"urn:dev:ops:32473-Trn2-SRV00018\"" } },
                { "predicate.run.servers", { P "run.servers", "[\"\"]" } },
                { "predicate.run.servers", { P "run.servers", "[1]" } },
                { "predicate.run.servers", { P "run.servers", "null" } },
                /* What so many outputs mean, the record cannot make less of. */
                { "systolic: called WARNED in the face of its own evidence",
                  { P "steps.1.check", "\"systolic\"", P "steps.1.measurements.0.name", "\"systolic_mismatched_outputs\"", P "steps.1.measurements.0.value", "249",
                    P "steps.1.measurements.0.result", "\"FAILED\"", WARNED_SYSTOLIC } },
                { "us0-2 is no chip", { P "location.path", "\"us0-2\"" } },
                { "us0-2/chip3/core5 is no chip", { P "location.path", "\"us0-2/chip3/core5\"" } },
                { "previous record is missing", { P "previous", NULL } },
                { "previous record is named in the first", { P "log.index", "0" } },
        };

        expect_all(payloads.health, cases, ELEMENTS(cases), RECORD_REFUSED);
}

static void test_a_failed_record_cannot_be_called_better(void **state) {
        static const Case cases[] = {
                { "come to FAILED", { P "result", "\"PASSED\"" } },
                { "come to FAILED", { P "result", "\"WARNED\"" } },
                { "come to FAILED", { P "result", "\"INCONCLUSIVE\"" } },
                { "face of its own evidence", { P "steps.1.result", "\"WARNED\"" } },
                { "face of its own evidence", { P "steps.1.result", "\"PASSED\"", P "result", "\"PASSED\"" } },
                { "face of its own evidence", { P "steps.1.result", "\"INCONCLUSIVE\"", P "steps.1.status", "\"SKIP\"", P "steps.1.reason", "\"budget\"" } },
                { "face of its own evidence", { P "steps.1.result", "\"INCONCLUSIVE\"", P "steps.1.status", "\"ERROR\"", P "steps.1.reason", "\"device-error\"", P "result", "\"INCONCLUSIVE\"" } },
                { "face of its own evidence", { P "steps.1.result", "\"WARNED\"", P "steps.1.diagnoses.0.type", "\"UNKNOWN\"", P "result", "\"WARNED\"" } },
                { "failedTests does not name systolic", { P "failedTests", "[]" } },
        };

        expect_all(payloads.bad, cases, ELEMENTS(cases), RECORD_REFUSED);
}

static void test_what_agrees_with_itself_is_taken_and_told_in_one_line(void **state) {
        static const Case good[] = {
                { "us0-2/chip0: 6 tests passed, hbm: 33 of 96 regions since 2026-11-21T08:14:09.500Z", { NULL } },
                { "6 tests passed, hbm: 0 of 96 regions", { P "steps.0.regions.tested", "[]" } },
                { "6 tests passed, hbm: 3 of 96 regions since 2", { P "steps.0.regions.tested.0.regions", "\"\"", P "steps.0.regions.tested.1.regions", "\"3,5-6\"" } },
                { "us0-2/chip0: 5 tests passed, hbm: 33 of 96 regions since 2026-11-21T08:14:09.500Z, not tested: efa (the plan's device time was used up)",
                  { SKIPPED_EFA, EFA_UNTESTED, P "steps.3.required", "false" } },
                { "us0-2/chip0: 6 tests passed, hbm: 0 of 96 regions, neuronlink: 1 left out", { P "steps.0.regions.tested", "[]", P "steps.2.measurements", LEFT_OUT } },
                { "us0-2/chip0: not tested: efa (the plan's device time was used up)", { SKIPPED_EFA, EFA_UNTESTED, P "result", "\"INCONCLUSIVE\"" } },
                { "us0-2/chip0: not tested: efa (the daemon ended while the step was open)",
                  { SKIPPED_EFA, EFA_UNTESTED, P "result", "\"INCONCLUSIVE\"", P "steps.3.message", "\"the daemon ended while the step was open\"" } },
                { "us0-2/chip0: hbm-bytes-tested reached 1 of 103079215104", { P "coverage.0.reached", "1", P "result", "\"INCONCLUSIVE\"" } },
                { "us0-2/chip0: nothing was tested", { P "steps", "[]", P "passedTests", "[]", P "result", "\"INCONCLUSIVE\"", P "coverage", "[]" } },
                { "us0-2/chip0 hbm: hbm-corrected at hbm2",
                  { P "steps.0.result", "\"WARNED\"", P "result", "\"WARNED\"", P "warnedTests.0", "\"hbm\"", P "passedTests.0", NULL,
                    P "steps.0.diagnoses", "[{\"verdict\":\"hbm-corrected\",\"type\":\"UNKNOWN\",\"component\":{\"name\":\"hbm2\",\"location\":\"us0-2/chip0/hbm2\"}}]" } },
                { "us0-2/chip0 hbm: failed",
                  { P "steps.0.result", "\"FAILED\"", P "result", "\"FAILED\"", P "failedTests.0", "\"hbm\"", P "passedTests.0", NULL } },
                { "us0-2/chip0 h?m??: failed",
                  { P "steps.0.name", "\"h\\u001bm\\u0085\"", P "steps.0.result", "\"FAILED\"", P "result", "\"FAILED\"",
                    P "failedTests.0", "\"h\\u001bm\\u0085\"", P "passedTests.0", NULL } },
                { "us0-2/chip0: not tested: systolic (what came back was not what was agreed)",
                  { P "steps.1.check", "\"systolic\"", P "steps.1.measurements.0.name", "\"systolic_mismatched_outputs\"", P "steps.1.measurements.0.value", "249",
                    P "steps.1.measurements.0.result", "\"FAILED\"", OPEN_SYSTOLIC } },
                { "us0-2/chip0 systolic: warned", /* by another limit than the check's */
                  { P "steps.1.check", "\"systolic\"", P "steps.1.measurements.0.name", "\"systolic_mismatched_outputs\"", P "steps.1.measurements.0.value", "249",
                    P "steps.1.measurements.0.limits.0.value", "248", P "steps.1.measurements.0.result", "\"FAILED\"", WARNED_SYSTOLIC } },
                /* Version 1 was signed before checks said all of their values. */
                { "us0-2/chip0: 6 tests passed", { P "steps.1.check", "\"telemetry\"" } },
                { "us0-2/chip0: 6 tests passed", { P "steps.0.regions.total", "97" } },
                { "us0-2/chip0: 6 tests passed", { P "run.startedOn", "\"2026-11-22T09:14:09.500Z\"" } }, /* a clock was set back meanwhile */
                { "us0-2/chip0: 6 tests passed", { "subject.0.uri", "\"urn:example:0123456789abc001\"" } }, /* of another issuer, who has documents of his own */
                { "us0-2/chip0: 6 tests passed", { P "more", "{\"later\":1}", P "steps.0.more", "1" } },
                { "us0-2/chip0: 6 tests passed", { P "steps.0.measurements.0.limits.1", "{\"type\":\"NOT_EQUAL\",\"value\":5}" } },
                { "us0-2/chip0: 6 tests passed", { P "steps.0.measurements.0.limits.0", "{\"type\":\"EQUAL\",\"value\":9007199254740994}", P "steps.0.measurements.0.value", "9007199254740994" } },
                { "us0-2/chip0: 6 tests passed", { P "steps.0.measurements.0.limits.0", "{\"type\":\"EQUAL\",\"value\":true}", P "steps.0.measurements.0.value", "true" } },
                { "urn:dev:ops:32473-Trainium2-0123456789abc000: 6 tests passed", { P "location", NULL } },
        };
        static const Case bad[] = {
                { "us0-2/chip3 systolic: systolic-pe at core5/pe17.93", { NULL } },
                { "us0-2/chip3 systolic: systolic-pe at core5/pe17.93 and 1 more",
                  { P "steps.1.diagnoses.1", "{\"verdict\":\"systolic-row\",\"type\":\"FAIL\"}" } },
        };

        expect_all(payloads.health, good, ELEMENTS(good), RECORD_VERIFIED);
        expect_all(payloads.bad, bad, ELEMENTS(bad), RECORD_VERIFIED);
}

/* One step more, of a check of this name, as it is told in version 2. */
#define TELEMETRY P "steps.telemetry"
#define SOUND_TELEMETRY                                                                                      \
        TELEMETRY, "{\"result\":\"PASSED\",\"measured\":{\"hbm_uncorrected\":[[0,0],\"<=\",0,{\"at\":[\"hbm0-1\"]}],\"hbm_repairable\":[0,\"<=\",0]," \
                   "\"hbm_corrected\":[3,\"<=\",100],\"sram_uncorrected\":[0,\"<=\",0],\"sram_corrected\":[0,\"<=\",10]," \
                   "\"temperature\":[58.9,\"Cel\",\"<=\",95],\"heartbeats\":[4,\">=\",1]}}"
#define WARNED TELEMETRY ".result", "\"WARNED\"", P "result", "\"WARNED\""
#define HBM P "steps.memory"
#define SOUND_HBM                                                                                            \
        HBM, "{\"check\":\"hbm\",\"result\":\"PASSED\",\"measured\":{\"bytes_tested\":[1024,\"By\"],\"mismatches\":[0,\"<=\",0]," \
             "\"plants_returned\":[720,\"==\",720],\"samples_wrong\":[0,\"<=\",0],\"rows_guarded\":7}}"
#define REGIONS P "steps.hbm.regions."
#define HOST_LINK P "steps.host-link"
#define SOUND_HOST_LINK                                                                                      \
        HOST_LINK, "{\"result\":\"PASSED\",\"counted\":{\"bytes_moved\":[268435456,\"By\"]}," \
                   "\"measured\":{\"bandwidth_min\":[228.4,\"Gbit/s\",\">=\",200,{\"min\":8}]}}"

static void test_a_step_that_passed_has_the_values_and_limits_of_its_check(void **state) {
        static const Case refused[] = {
                { "telemetry: called PASSED without a value of telemetry_temperature", { SOUND_TELEMETRY, TELEMETRY ".measured.temperature", NULL } },
                { "telemetry: called WARNED without a value of telemetry_temperature", { SOUND_TELEMETRY, TELEMETRY ".measured.temperature", NULL, WARNED } },
                { "telemetry: called PASSED without a value of telemetry_hbm_uncorrected", { TELEMETRY, "{\"result\":\"PASSED\"}" } },
                { "telemetry_temperature: a value lacks its limit", { SOUND_TELEMETRY, TELEMETRY ".measured.temperature", "[99,\"Cel\"]" } },
                { "telemetry_temperature: a value lacks its limit", { SOUND_TELEMETRY, TELEMETRY ".measured.temperature", "[99,\"Cel\"]", WARNED } },
                { "telemetry_hbm_uncorrected: a value lacks its limit", { SOUND_TELEMETRY, TELEMETRY ".measured.hbm_uncorrected", "{\"each\":[[0,\"<=\",0],[3,{\"at\":[\"hbm1\"]}]]}" } },
                { "telemetry_temperature: a value is held against its limit in another way", { SOUND_TELEMETRY, TELEMETRY ".measured.temperature", "[99,\"Cel\",\">=\",95]" } },
                { "telemetry_heartbeats: a value is held against its limit in another way", { SOUND_TELEMETRY, TELEMETRY ".measured.heartbeats", "[0,\"<=\",1]" } },
                { "telemetry_hbm_uncorrected: a value has another limit", { SOUND_TELEMETRY, TELEMETRY ".measured.hbm_uncorrected", "[1,\"<=\",1]" } },
                { "telemetry_hbm_uncorrected: a value has another limit", { SOUND_TELEMETRY, TELEMETRY ".measured.hbm_uncorrected", "[2,\"<=\",1]", WARNED } },
                { "telemetry_temperature: a value has another unit", { SOUND_TELEMETRY, TELEMETRY ".measured.temperature", "[58.9,\"K\",\"<=\",95]" } },
                { "telemetry: called WARNED in the face of its own evidence", { SOUND_TELEMETRY, TELEMETRY ".measured.temperature", "[99,\"Cel\",\"<=\",95]", WARNED } },
                { "telemetry: called WARNED without a value of telemetry_heartbeats", /* not a number */
                  { SOUND_TELEMETRY, TELEMETRY ".measured.heartbeats", NULL, TELEMETRY ".errors", "[{\"symptom\":\"not-a-number\",\"message\":\"telemetry_heartbeats\"}]", WARNED } },
                { "memory: called PASSED without a value of hbm_bytes_tested", { SOUND_HBM, HBM ".measured.bytes_tested", NULL } },
                { "hbm_reads_wrong: a value lacks its limit", { SOUND_HBM, HBM ".measured.reads_wrong", "3" } },
                { "host-link: called PASSED without a value that has a limit", { SOUND_HOST_LINK, HOST_LINK ".measured", NULL } },
                { "host-link: called PASSED without a value that has a limit", { SOUND_HOST_LINK, HOST_LINK ".measured", "{\"later\":[0,\"<=\",0]}" } },
                /* Values that show nothing of this chip. */
                { "telemetry_hbm_uncorrected is of no part of the chip", { SOUND_TELEMETRY, TELEMETRY ".measured.hbm_uncorrected", "[0,\"<=\",0,{\"at\":[\"/us0-2/chip9/hbm0\"]}]" } },
                { "telemetry_hbm_uncorrected is of no part of the chip", { SOUND_TELEMETRY, TELEMETRY ".measured.hbm_uncorrected", "[0,\"<=\",0,{\"at\":[\"hbm9\"]}]" } },
                { "telemetry_hbm_uncorrected is said twice of one part", { SOUND_TELEMETRY, TELEMETRY ".measured.hbm_uncorrected", "[[0,0],\"<=\",0,{\"at\":[\"hbm0\",\"hbm0\"]}]" } },
                { "telemetry_temperature is said twice of one part", { SOUND_TELEMETRY, TELEMETRY ".measured./telemetry_temperature", "[20,\"Cel\",\"<=\",95]" } },
                { "telemetry_hbm_corrected: a value is less than anything can be", { SOUND_TELEMETRY, TELEMETRY ".measured.hbm_corrected", "[-3,\"<=\",100]" } },
                { "telemetry_hbm_uncorrected: a value is less than anything can be", { SOUND_TELEMETRY, TELEMETRY ".measured.hbm_uncorrected", "[-0.5,\"<=\",0]" } },
                { "telemetry_temperature: a value is less than anything can be", { SOUND_TELEMETRY, TELEMETRY ".measured.temperature", "[-300,\"Cel\",\"<=\",95]" } },
                { "hbm_bytes_tested: a value is less than anything can be", { SOUND_HBM, HBM ".measured.bytes_tested", "[-5,\"By\"]" } },
                { "telemetry_temperature: a value has another limit", { SOUND_TELEMETRY, TELEMETRY ".measured.temperature", "[1e300,\"Cel\",\"<=\",1e308]" } },
                { "host_link_bandwidth_min: a value does not sum up what the table says",
                  { SOUND_HOST_LINK, HOST_LINK ".measured.bandwidth_min", "[228.4,\"Gbit/s\",\">=\",200,{\"max\":8}]" } },
                { "host_link_bandwidth_min: a value does not sum up what the table says", { SOUND_HOST_LINK, HOST_LINK ".measured.bandwidth_min", "[228.4,\"Gbit/s\",\">=\",200]" } },
                { "host-link: called PASSED without a value that has a limit",
                  { SOUND_HOST_LINK, HOST_LINK ".measured.bandwidth_min", "[228.4,\"Gbit/s\",\">=\",200,{\"min\":0}]" } },
                { "links: called PASSED without a value of neuronlink_lane_errors",
                  { P "steps.links", "{\"check\":\"neuronlink\",\"result\":\"PASSED\",\"measured\":{\"lane_errors\":[0,\"<=\",0,{\"max\":0}]}}" } },
                { "its regions are more or fewer than its memory is cut into", { P "steps.hbm.regions.total", "97" } },
                { "its regions are more or fewer than its memory is cut into", { P "steps.hbm.regions.total", "95" } },
                { "hbm_bytes_tested: a value is less than any limit", { SOUND_HBM, HBM ".measured.bytes_tested", "[0,\"By\"]" } },
                { "telemetry_temperature_rise is said twice of one part", { SOUND_TELEMETRY, TELEMETRY ".measured.temperature_rise", "{\"each\":[[1,\"K\",\"<=\",5],[4,\"K\",\"<=\",5]]}" } },
                { "predicate.host: is missing", { P "host", NULL } },
                /* Regions against what the step is called, and what it counted of them. */
                { "hbm: called PASSED although regions are not as they were left", { REGIONS "altered", "\"41\"" } },
                { "hbm: called WARNED although regions are not as they were left", { REGIONS "altered", "\"41\"", P "steps.hbm.result", "\"WARNED\"", P "result", "\"WARNED\"" } },
                { "hbm: called PASSED although regions are not as they were left", { REGIONS "suspicious", "\"41\"" } },
                { "hbm: called PASSED, and no region was tested", { REGIONS "tested", "[]" } },
                { "hbm_regions is not what its regions come to", { P "steps.hbm.measured./hbm_regions", "95" } },
                { "hbm_regions_tested is not what its regions come to", { P "steps.hbm.measured./hbm_regions_tested", "0" } },
                { "hbm_regions_tested is not what its regions come to", { P "steps.hbm.measured./hbm_regions_tested", "34" } },
                { "host-link: host_link_bytes_moved: a step that passed or warned has counted some",
                  { SOUND_HOST_LINK, HOST_LINK ".counted.bytes_moved", "[0,\"By\"]" } },
                { "hbm_regions_occupied is not what its regions come to", { P "steps.hbm.measured./hbm_regions_occupied", "26" } },
                { "hbm_regions_unproven is not what its regions come to", { P "steps.hbm.measured./hbm_regions_unproven", "1" } },
        };
        static const Case good[] = {
                { "us0-2/chip0: 7 tests passed", { SOUND_TELEMETRY } },
                { "us0-2/chip0: 8 tests passed", { SOUND_TELEMETRY, SOUND_HBM } },
                { "us0-2/chip0: 8 tests passed", { SOUND_HBM, SOUND_HOST_LINK, HBM ".measured.bytes_tested", "[1024,\"By\",\">=\",1024]" } },
                { "us0-2/chip0: 7 tests passed",
                  { P "steps.links", "{\"check\":\"neuronlink\",\"result\":\"PASSED\",\"measured\":{\"lane_errors\":[0,\"<=\",0,{\"max\":1}]}}" } },
                { "us0-2/chip0: 7 tests passed", { SOUND_TELEMETRY, TELEMETRY ".measured.hbm_uncorrected", "[0,\"<=\",0,{\"at\":[\"hbm0-3\",\".\"]}]" } },
                { "us0-2/chip0: 7 tests passed", /* what is not said each time may be of any part */
                  { SOUND_TELEMETRY, TELEMETRY ".measured.temperature_rise", "[1,\"K\",\"<=\",20,{\"at\":[\"/us0-2/chip9\"]}]" } },
                { "us0-2/chip0 hbm: warned", { REGIONS "suspicious", "\"41\"", P "steps.hbm.result", "\"WARNED\"", P "result", "\"WARNED\"" } },
                { "us0-2/chip0: 6 tests passed", { P "steps.hbm.measured./hbm_regions_tested", "19", P "steps.hbm.measured./hbm_regions_occupied", "27" } },
                { "us0-2/chip0 telemetry: warned", { SOUND_TELEMETRY, TELEMETRY ".measured.hbm_corrected", "[101,\"<=\",100]", WARNED } },
                /* Of later versions: a check, a value of a known one, and a limit where there was none. */
                { "us0-2/chip0: 7 tests passed", { SOUND_TELEMETRY, TELEMETRY ".check", "\"later\"", TELEMETRY ".measured", NULL } },
                { "since 2026-11-21T08:14:09.500Z, not known here: hbm, systolic, neuronlink, efa and 2 more", { NULL } },
                { "us0-2/chip0: 1 test passed, not tested: other (the plan's device time was used up), not known here: coolant",
                  { P "steps", "{\"coolant\":{\"check\":\"later\",\"result\":\"PASSED\"},\"other\":{\"result\":\"INCONCLUSIVE\",\"status\":\"SKIP\",\"reason\":\"budget\",\"required\":false}}" } },
                { "not known here: hbm, systolic, neuronlink, efa and 3 more", { P "steps.memory", "{\"check\":\"later\",\"result\":\"PASSED\"}" } },
                { "us0-2/chip0: 7 tests passed", { SOUND_TELEMETRY, TELEMETRY ".measured.later", "[5,\"lx\"]" } },
                { "us0-2/chip0: 7 tests passed", { SOUND_HBM, HBM ".measured.rows_guarded", "[7,\">=\",1]" } },
                /* What did not test, or failed, may have any values. */
                { "us0-2/chip0: not tested: telemetry (the plan's device time was used up)",
                  { TELEMETRY, "{\"result\":\"INCONCLUSIVE\",\"status\":\"SKIP\",\"reason\":\"budget\",\"measured\":{\"temperature\":[99,\"Cel\"]}}", P "result", "\"INCONCLUSIVE\"" } },
                { "us0-2/chip0: not tested: telemetry (what came back was not what was agreed)",
                  { SOUND_TELEMETRY, TELEMETRY ".result", "\"INCONCLUSIVE\"", TELEMETRY ".status", "\"ERROR\"", TELEMETRY ".reason", "\"protocol\"",
                    TELEMETRY ".measured.temperature", "[99,\"Cel\",\"<=\",95]", P "result", "\"INCONCLUSIVE\"" } },
        };
        static const Case failed[] = {
                { "us0-2/chip0 telemetry: failed", { TELEMETRY, "{\"result\":\"FAILED\"}", P "result", "\"FAILED\"" } },
                { "us0-2/chip0 telemetry: failed",
                  { TELEMETRY, "{\"result\":\"FAILED\",\"measured\":{\"temperature\":[99,\"Cel\",\"<=\",95]}}", P "result", "\"FAILED\"" } },
        };

        expect_all(payloads.signed_health, refused, ELEMENTS(refused), RECORD_REFUSED);
        expect_all(payloads.signed_health, good, ELEMENTS(good), RECORD_VERIFIED);
        expect_all(payloads.signed_health, failed, ELEMENTS(failed), RECORD_VERIFIED);
}

/* A value that lies in no chip. */
#define OWN(name, value, limit) P "measurements", "[{\"name\":\"" name "\",\"value\":" value ",\"unit\":\"{error}\"" limit "}]"
#define AT_MOST(limit, result) ",\"limits\":[{\"type\":\"LESS_THAN_OR_EQUAL\",\"value\":" limit "}],\"result\":\"" result "\""

static void test_a_server_is_no_better_than_its_worst_chip(void **state) {
        static const Case refused[] = {
                { "called PASSED, its chips and its own evidence come to FAILED", { P "result", "\"PASSED\"" } },
                { "called WARNED, its chips and its own evidence come to FAILED", { P "result", "\"WARNED\"" } },
                { "called PASSED, its chips and its own evidence come to INCONCLUSIVE", { P "result", "\"PASSED\"", P "components", "[]" } },
                { "called PASSED, its chips and its own evidence come to FAILED",
                  { P "components.3.annotations.result", "\"PASSED\"", P "result", "\"PASSED\"",
                    P "diagnoses", "[{\"verdict\":\"link-cabling\",\"type\":\"FAIL\"}]" } },
                { "called PASSED, its chips and its own evidence come to WARNED",
                  { P "components.3.annotations.result", "\"PASSED\"", P "result", "\"PASSED\"",
                    P "diagnoses", "[{\"verdict\":\"strange\",\"type\":\"UNKNOWN\"}]" } },
                { "called PASSED, its chips and its own evidence come to FAILED", /* whatever the record says that the code means */
                  { P "components.3.annotations.result", "\"PASSED\"", P "result", "\"PASSED\"",
                    P "diagnoses", "[{\"verdict\":\"link-cabling\",\"type\":\"PASS\"}]" } },
                { "called PASSED, its chips and its own evidence come to WARNED",
                  { P "components.3.annotations.result", "\"PASSED\"", P "result", "\"PASSED\"",
                    P "measurements", "[{\"name\":\"efa_packets_lost\",\"value\":2,\"unit\":\"{packet}\","
                                      "\"limits\":[{\"type\":\"LESS_THAN_OR_EQUAL\",\"value\":0}],\"result\":\"FAILED\"}]" } },
                { "called PASSED, its chips and its own evidence come to INCONCLUSIVE", { P "components.3.annotations.result", "\"PASSED\"", P "result", "\"PASSED\"", OWN("telemetry_hbm_uncorrected", "249", "") } },
                { "called WARNED, its chips and its own evidence come to INCONCLUSIVE",
                  { P "components.3.annotations.result", "\"PASSED\"", P "result", "\"WARNED\"", OWN("telemetry_hbm_uncorrected", "249", AT_MOST("0", "FAILED")) } },
                { "called PASSED, its chips and its own evidence come to INCONCLUSIVE",
                  { P "components.3.annotations.result", "\"PASSED\"", P "result", "\"PASSED\"", OWN("telemetry_hbm_uncorrected", "249", AT_MOST("1000", "PASSED")) } },
                { "called PASSED, its chips and its own evidence come to INCONCLUSIVE",
                  { P "components.3.annotations.result", "\"PASSED\"", P "result", "\"PASSED\"", OWN("telemetry_hbm_uncorrected", "-1", AT_MOST("0", "PASSED")) } },
                { "called PASSED, its chips and its own evidence come to WARNED",
                  { P "components.3.annotations.result", "\"PASSED\"", P "result", "\"PASSED\"", OWN("later", "2", AT_MOST("0", "FAILED")) } },
                { "the server: efa_packets_lost is called PASSED against its limit",
                  { P "measurements", "[{\"name\":\"efa_packets_lost\",\"value\":2,\"unit\":\"{packet}\","
                                      "\"limits\":[{\"type\":\"LESS_THAN_OR_EQUAL\",\"value\":0}],\"result\":\"PASSED\"}]" } },
                { "called PASSED, its chips and its own evidence come to INCONCLUSIVE", { P "components.3", NULL, P "result", "\"PASSED\"" } },
                { "called WARNED, its chips and its own evidence come to INCONCLUSIVE", { P "components.3", NULL, P "result", "\"WARNED\"" } },
                /* Of a server that nobody here knows the record itself tells how many chips it has. */
                { "called PASSED, its chips and its own evidence come to INCONCLUSIVE",
                  { P "components.3", NULL, P "result", "\"PASSED\"", TRN9 } },
                { "called PASSED, its chips and its own evidence come to INCONCLUSIVE",
                  { P "components.3", NULL, P "chipCount", "15", P "result", "\"PASSED\"" } },
                { "called PASSED, its chips and its own evidence come to INCONCLUSIVE",
                  { P "components.3.annotations.result", "\"PASSED\"", P "chipCount", "17", P "result", "\"PASSED\"" } },
                { "us0-2/chip0 or its record is named twice", { P "components.3.annotations.slot", "\"us0-2/chip0\"" } },
                { "us0-2/chip3 or its record is named twice", { P "components.3.annotations.logIndex", "3" } },
                { "the record of us0-2/chip3 is none before", { P "components.3.annotations.logIndex", "17" } },
                { "the record of us0-2/chip15 is none before", { P "components.15.annotations.recordSha256", "\"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\"" } },
                { "us0-20/chip3 is no chip of the server", { P "components.3.annotations.slot", "\"us0-20/chip3\"" } },
                { "us0-2/chip3/core5 is no chip of the server", { P "components.3.annotations.slot", "\"us0-2/chip3/core5\"" } },
                { "us0-2/chip0 is no server", { P "location.path", "\"us0-2/chip0\"" } },
                { "status ERROR with result FAILED", { P "status", "\"ERROR\"" } },
        };
        static const Case good[] = {
                { "us0-2: 16 chips, 15 PASSED, 1 FAILED (chip3); link-cabling and 1 more",
                  { P "diagnoses", "[{\"verdict\":\"link-cabling\",\"type\":\"FAIL\"},{\"verdict\":\"efa-fabric\",\"type\":\"FAIL\"}]" } },
                { "us0-2: 16 chips, 15 PASSED, 1 FAILED (chip3)", { NULL } },
                { "us0-2: 16 chips, 11 PASSED, 5 FAILED (chip0, chip1, chip2, chip3, ...)",
                  { P "components.0.annotations.result", "\"FAILED\"", P "components.1.annotations.result", "\"FAILED\"",
                    P "components.2.annotations.result", "\"FAILED\"", P "components.4.annotations.result", "\"FAILED\"" } },
                { "us0-2: 16 chips, 16 PASSED", { P "components.3.annotations.result", "\"PASSED\"" } }, /* called worse */
                { "us0-2: 15 chips, 15 PASSED", { P "components.3", NULL, P "result", "\"INCONCLUSIVE\"" } },
                { "us0-2: 15 chips, 15 PASSED",
                  { P "components.3", NULL, P "chipCount", "15", P "result", "\"PASSED\"", TRN9 } },
                /* as records were made before they told it */
                { "us0-2: 15 chips, 15 PASSED",
                  { P "components.3", NULL, P "chipCount", NULL, P "result", "\"PASSED\"", TRN9 } },
                { "us0-2: 0 chips", { P "components", "[]", P "result", "\"INCONCLUSIVE\"" } },
        };

        expect_all(payloads.summary, refused, ELEMENTS(refused), RECORD_REFUSED);
        expect_all(payloads.summary, good, ELEMENTS(good), RECORD_VERIFIED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_passed_record_that_contradicts_itself_is_refused),
                cmocka_unit_test(test_a_failed_record_cannot_be_called_better),
                cmocka_unit_test(test_what_agrees_with_itself_is_taken_and_told_in_one_line),
                cmocka_unit_test(test_a_step_that_passed_has_the_values_and_limits_of_its_check),
                cmocka_unit_test(test_a_server_is_no_better_than_its_worst_chip),
        };

        return cmocka_run_group_tests(tests, payloads_setup, payloads_teardown);
}
