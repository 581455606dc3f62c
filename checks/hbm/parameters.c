/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/parameters.h"

#include "checks/plan.h"

extern const YamlField parameters_hbm[];
extern const size_t parameters_hbm_bytes;
extern const void *const parameters_hbm_defaults;

static const char *const order_words[] = {
        [MEMORY_ORDER_COLUMN_FAST] = "column",
        [MEMORY_ORDER_ROW_FAST]    = "row",
        [MEMORY_ORDER_BANK_FAST]   = "bank",
        NULL,
};

#define R0 0
#define R1 MARCH_DATA
#define W0 MARCH_WRITE
#define W1 (MARCH_WRITE | MARCH_DATA)

/* March SS solid, then MATS++ by address: what preflight asks for, see hbm.c. */
static const HbmParameters defaults = {
        .march = {
                .n_elements = 6,
                .elements = {
                        { MARCH_ANY, 1, { W0 } },
                        { MARCH_UP, 5, { R0, R0, W0, R0, W1 } },
                        { MARCH_UP, 5, { R1, R1, W1, R1, W0 } },
                        { MARCH_DOWN, 5, { R0, R0, W0, R0, W1 } },
                        { MARCH_DOWN, 5, { R1, R1, W1, R1, W0 } },
                        { MARCH_ANY, 1, { R0 } },
                },
        },
        .others = {
                .n_elements = 3,
                .elements = {
                        { MARCH_ANY, 1, { W0 } },
                        { MARCH_UP, 2, { R0, W1 } },
                        { MARCH_DOWN, 3, { R1, W0, R0 } },
                },
        },
        .backgrounds = { 2, { MARCH_BACKGROUND_SOLID, MARCH_BACKGROUND_ADDRESS } },
        .findings    = 32,
        .mismatches  = 1024,
        .pause_sec   = 0.1,
        .seconds     = 1,
};

const YamlField parameters_hbm[] = {
        YAML_CUSTOM("march", HbmParameters, march, march_yaml_test,
                    .summary = "test on the first background: a name such as March SS, or a notation"),
        YAML_CUSTOM("others", HbmParameters, others, march_yaml_test, .summary = "test on each further background"),
        YAML_CUSTOM("backgrounds", HbmParameters, backgrounds, march_yaml_backgrounds, .summary = "a list of: " MARCH_BACKGROUNDS),
        YAML_WORD("order", HbmParameters, order, order_words, .summary = "what moves fastest: column, row or bank"),
        YAML_UNSIGNED("bytes", HbmParameters, bytes, 0, UINT64_C(1) << 50,
                      .summary = "how much of the chip, from row 0 of every bank on; 0: all"),
        YAML_UNSIGNED("findings", HbmParameters, findings, 1, 200,
                      .summary = "the most findings told one by one"),
        YAML_UNSIGNED("mismatches", HbmParameters, mismatches, 16, 65536,
                      .summary = "the most mismatches asked back per element and stack"),
        YAML_NUMBER("pause", HbmParameters, pause_sec, 0, 3600, .summary = "device seconds of each Del"),
        YAML_UNSIGNED("slices", HbmParameters, slices, 0, 256,
                      .summary = "cut the rows of each SID into so many and test some of them, around live data; 0: test all"),
        YAML_NUMBER("seconds", HbmParameters, seconds, 0.001, 1e6,
                    .summary = "device seconds for the slices of one scan, at least one slice"),
        {}
};
const size_t parameters_hbm_bytes = sizeof(HbmParameters);
const void *const parameters_hbm_defaults = &defaults;
