/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A server's scan as the daemon would hand it over: sixteen chips, six steps each; chip 3 has a broken multiplier. The checks are none that assay has, so
 * that a step may have what values a test likes.
 */

#include <stdio.h>
#include <string.h>

#include "tests/record/place.h"

#define SERVER_CHIPS 16
#define SERVER_STEPS 6
#define SERVER_BAD   3

typedef struct Server {
        RecordScan scan;
        RecordHealth chips[SERVER_CHIPS];
        RecordStep steps[SERVER_CHIPS][SERVER_STEPS];
        RecordStep own; /* of the server; the scan does not have it */
        Measurement measurements[SERVER_CHIPS][SERVER_STEPS + 1]; /* the last step has two */
        RecordPromise promise;
        RecordDiagnosis diagnosis;
        RecordRegionTest tests[2];
        RecordRegions regions;
        char serials[SERVER_CHIPS][32];
        char run[37];
} Server;

static inline Location server_location(const char *text) {
        Location location = {};

        if (location_parse(text, &location, NULL, NULL) < 0)
                abort();
        return location;
}

static inline void server_init(Server *server) {
        static const char *const names[SERVER_STEPS] = { "hbm", "systolic", "neuronlink", "efa", "rounding", "sparsity" };
        static const char *const checks[SERVER_STEPS] = { "test-hbm", "test-systolic", "test-neuronlink", "test-efa", "test-rounding", "test-sparsity" };
        static const char digest[] = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

        *server = (Server) {
                .run = "01934a6e-5e00-7000-8000-000000000001",
                .promise = { "hbm-bytes-tested", 103079215104, 103079215104 },
                .diagnosis = { .code = "systolic-pe", .severity = SEVERITY_FAIL,
                               .where = server_location("us0-2/chip3/core5/pe17.93"),
                               .message = "product bit 9 stuck at 1", .action = "quarantine", .expected = "0x3f80", .actual = "0x3f82",
                               .replaceable = "tray 0", .count = 512, .confidence = -1, .reproduced = 3, .runs = 3 },
        };
        server->scan = (RecordScan) {
                .run = { .id = server->run, .stage = STAGE_PREFLIGHT, .challenge = "c2F5IHNvbWV0aGluZw==",
                         .started_usec = 1795252442000000, .finished_usec = 1795252449500000, .seed = 7,
                         .plan = "preflight", .plan_sha256 = digest, .limits_sha256 = digest, .worker_sha256 = digest,
                         .evidence_name = "us0-2.ocp.jsonl", .evidence_sha256 = digest, .evidence_bytes = 4816 },
                .server = { .where = server_location("us0-2"), .serial = "SRV00017", .product = "Trn2" },
                .result = RESULT_FAILED,
                .n_chips = SERVER_CHIPS,
                .n_chips_of_server = SERVER_CHIPS,
                .chips = server->chips,
        };
        for (unsigned i = 0; i < SERVER_CHIPS; i++) {
                char path[32];

                (void) snprintf(path, sizeof(path), "us0-2/chip%u", i);
                (void) snprintf(server->serials[i], sizeof(server->serials[i]), "0123456789abc0%02x", i);
                server->chips[i] = (RecordHealth) {
                        .subject = { .where = server_location(path), .serial = server->serials[i], .product = "Trainium2",
                                     .firmware = "2.30.1", .firmware_build = "0x1b7", .tray = "0", .pci_address = "0000:4b:00.0" },
                        .host = server->scan.server,
                        .result = i == SERVER_BAD ? RESULT_FAILED : RESULT_PASSED,
                        .n_steps = SERVER_STEPS,
                        .steps = server->steps[i],
                        .n_promises = 1,
                        .promises = &server->promise,
                };
                for (unsigned k = 0; k < SERVER_STEPS; k++) {
                        server->measurements[i][k] = (Measurement) {
                                "mismatched_outputs", 0, "{output}", LIMIT_LESS_THAN_OR_EQUAL, 0, server_location(path)
                        };
                        server->steps[i][k] = (RecordStep) {
                                .name = names[k], .check = checks[k], .verdict = VERDICT_PASSED, .required = true,
                                .seed = 7, .device_nsec = 123456789, .n_measurements = 1,
                                .began_usec = 1795252443000000 + k * 500000, .ended_usec = 1795252443500000 + k * 500000,
                                .measurements = &server->measurements[i][k],
                        };
                }
        }
        for (unsigned i = 0; i < SERVER_CHIPS; i++) {
                server->measurements[i][SERVER_STEPS] = (Measurement) {
                        "hbm-bytes-tested", 103079215104, "By", LIMIT_NONE, 0, server->chips[i].subject.where
                };
                server->steps[i][SERVER_STEPS - 1].n_measurements = 2;
        }
        /* The memory of the first chip is tested region by region. */
        server->tests[0] = (RecordRegionTest) { "01934a6e-5e00-7000-8000-000000000000", 1795248849500000, "0-12,40" };
        server->tests[1] = (RecordRegionTest) { server->run, 1795252449500000, "41-59" };
        server->regions = (RecordRegions) {
                .partition = "sid 3 row 16384/32", .total = 96, .position = 60, .since_usec = 1795248849500000,
                .occupied = "13-39", .failed = "", .n_tests = 2, .tests = server->tests,
        };
        server->steps[0][0].regions = &server->regions;
        server->own = (RecordStep) { .name = "efa", .check = "efa", .verdict = VERDICT_PASSED, .required = true };
        server->measurements[SERVER_BAD][1].value = 512;
        server->measurements[SERVER_BAD][1].series = (Series) { STATISTIC_MAX, 32 };
        server->measurements[SERVER_BAD][1].where = server_location("us0-2/chip3/core5");
        server->measurements[0][0].where = server_location("us0-2/chip0/hbm2");
        server->steps[SERVER_BAD][1].verdict = VERDICT_FAILED;
        server->steps[SERVER_BAD][1].n_diagnoses = 1;
        server->steps[SERVER_BAD][1].diagnoses = &server->diagnosis;
}

/* The start of the run, or what the scan found, in the log: the index of its first record. */
static inline uint64_t server_start(const Server *server, RecordLog *log) {
        if (record_log_start(log, &server->scan.run, &server->scan.server, 1) < 0)
                abort();
        return place_take(log);
}

static inline uint64_t server_scan(const Server *server, RecordLog *log) {
        if (record_log_scan(log, &server->scan, 2) < 0)
                abort();
        return place_take(log);
}
