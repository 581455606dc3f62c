/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A scan by assay-run-selftest, and what its stream said: every line is read by the strict reader, so that a
 * scan that could be read at all is a whole and valid one.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/stream/stream.h"
#include "tests/checks/worker/fake-server.h"

#define SCAN_STEPS_MAX    256
#define SCAN_FINDINGS_MAX 512

typedef struct ScanFinding {
        char unit[64], step[32], code[32], where[LOCATION_STRING_MAX], message[256], replaceable[32], actual[32];
        unsigned reproduced, runs;
} ScanFinding;

typedef struct ScanStep {
        char unit[64], step[32];
        bool ended;
        char message[256];
        StepEnd end;
} ScanStep;

typedef struct ScanPart {
        char step[32], where[LOCATION_STRING_MAX];
        Verdict verdict;
} ScanPart;

typedef struct SelftestScan {
        int status;  /* exit */
        int read;    /* 0, or what the reader made of the stream */
        bool ended;
        Result result;
        unsigned n_errors, n_hardware, n_run_starts, n_measurements, n_particulars;
        size_t n_steps, n_findings, n_parts;
        ScanStep steps[SCAN_STEPS_MAX];
        ScanFinding findings[SCAN_FINDINGS_MAX];
        ScanPart parts[SCAN_STEPS_MAX];
        double seconds;
} SelftestScan;

/* ARGUMENTS follow `assay-run-selftest --device sim:…#PARTS --plan …`; the plan has the STEPS (a NULL at the
 * end). */
SelftestScan *selftest_scan(const FakeOptions *options, const char *parts, const char *const *steps,
                            const char *const *arguments);
SelftestScan *selftest_scan_free(SelftestScan *scan);
DEFINE_CLEANUP(SelftestScan *, selftest_scan_free);

/* Reads a stream from FD into SCAN. */
void selftest_read(SelftestScan *scan, int fd, uint64_t first);

const char *selftest_worker(void); /* the path of the program */
const char *selftest_folder(void); /* of this test's files */
void selftest_write_plan(const char *path, const char *const *steps, const char *more);

/* NULL where there is none. */
const ScanStep *selftest_step(const SelftestScan *scan, const char *unit, const char *step);
const ScanFinding *selftest_finding(const SelftestScan *scan, const char *where, const char *code);
