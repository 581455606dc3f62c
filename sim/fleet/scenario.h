/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scenario
 *
 * A file that says what stands in the hall, what of it carries work, what is broken, and what a scan should say:
 *
 *     scenario: a weak row and a stuck multiplier
 *     seed: 7
 *     topology: {ultraservers: 1}          # or servers: N; hbm: which stacks, 12-high-16gb (default) or 8-high-24gb
 *     temperature: 60                      # °C of a chip at rest
 *     sram: {sbuf: secded, psum: parity}   # what guards the arrays of a core: secded, parity or none
 *     tensor: {ftz: true, formats: [bf16]} # of every core's tensor engine: flush to zero, and which formats it has (all)
 *     coupling-together: fault             # or write: what wins in a cell that one access writes together with what disturbs it
 *     noise: true                          # off by default; or {soft-errors: …, corrected: …} per chip and hour
 *     occupied: [us0-3, us0-2/chip9]
 *     in-use: [{at: us0-1/chip3, rows: "0:0-8191"}]   # live data, see sim/fleet/in-use.h
 *     faults: [{at: us0-1/chip5/…, kind: …}]
 *     expect: {us0-1/chip5: {verdict: failed, findings: [{code: hbm-cell, at: …/bit77}]}}
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/text/cleanup.h"
#include "checks/text/yaml.h"
#include "checks/vocabulary/catalogue.h"
#include "sim/chip/topology.h"

#define SCENARIO_FAULTS_MAX      65536u
#define SCENARIO_EXPECT_MAX      4096u
#define SCENARIO_OCCUPIED_MAX    65536u
#define EXPECTED_FINDINGS_MAX    64u

typedef struct ExpectedFinding {
        const char *code; /* of the catalogue */
        char *at;         /* owned; a whole location, or what it must end with */
        bool is_suffix;
} ExpectedFinding;

typedef struct Expectation {
        Location at; /* a chip or a server */
        Result result;
        bool more;   /* other findings may stand beside these */
        size_t n_findings;
        ExpectedFinding *findings;
} Expectation;

typedef struct Scenario {
        char *name;
        Hall *hall; /* with the faults in their chips */
        size_t n_faults;
        bool has_expectations;
        size_t n_expectations;
        Expectation *expectations;
} Scenario;

/*
 * Return 0; -EINVAL (or the errno of opening) with *ret_error set to a malloc'd "FILE:LINE:COLUMN: …", which the caller
 * frees.
 */
int scenario_parse(const char *filename, const char *text, size_t n_text, Scenario **ret, char **ret_error);
int scenario_load(const char *path, Scenario **ret, char **ret_error);
/* Reads a location that must be a server of HALL or a chip of one. */
int scenario_read_unit(Yaml *yaml, yaml_node_t *node, const Hall *hall, Location *ret);

Scenario *scenario_free(Scenario *scenario);
DEFINE_CLEANUP(Scenario *, scenario_free);
