/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/hbm/parameters.h"

#include <string.h>

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

static const HbmBackgroundWord words[] = {
        { "solid", MEMORY_BACKGROUND_SOLID, 0 },
        { "checker", MEMORY_BACKGROUND_CHECKER, 0 },
        { "row-stripe", MEMORY_BACKGROUND_ROW_STRIPE, 0 },
        { "column-stripe", MEMORY_BACKGROUND_COLUMN_STRIPE, 0 },
        { "bit-stripe-0", MEMORY_BACKGROUND_BIT_STRIPE, 0 },
        { "bit-stripe-1", MEMORY_BACKGROUND_BIT_STRIPE, 1 },
        { "bit-stripe-2", MEMORY_BACKGROUND_BIT_STRIPE, 2 },
        { "bit-stripe-3", MEMORY_BACKGROUND_BIT_STRIPE, 3 },
        { "bit-stripe-4", MEMORY_BACKGROUND_BIT_STRIPE, 4 },
        { "bit-stripe-5", MEMORY_BACKGROUND_BIT_STRIPE, 5 },
        { "bit-stripe-6", MEMORY_BACKGROUND_BIT_STRIPE, 6 },
        { "bit-stripe-7", MEMORY_BACKGROUND_BIT_STRIPE, 7 },
        { "address", MEMORY_BACKGROUND_ADDRESS, 0 },
};

#define WORD_SOLID   0
#define WORD_ADDRESS 12

const HbmBackgroundWord *hbm_background_word(unsigned index) {
        return index < ELEMENTS(words) ? &words[index] : NULL;
}

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
        .backgrounds = { 2, { WORD_SOLID, WORD_ADDRESS } },
        .findings    = 32,
        .mismatches  = 1024,
        .pause_sec   = 0.1,
};

static int read_march(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        const char *text, *wrong;
        size_t offset;
        int r;

        r = yaml_scalar(yaml, node, "the name of a march test or a notation such as any(w0);up(r0,w1);dn(r1)", &text);
        if (r < 0)
                return r;
        if (march_read(text, ret, &wrong, &offset) < 0)
                return yaml_refuse(yaml, node, offset, "%s", wrong);
        return 0;
}

#define BACKGROUNDS "solid, checker, row-stripe, column-stripe, bit-stripe-0 to 7 or address"

static int read_background(Yaml *yaml, yaml_node_t *item, size_t index, void *userdata) {
        HbmBackgrounds *backgrounds = userdata;
        const char *text;
        int r;

        r = yaml_scalar(yaml, item, "a background: " BACKGROUNDS, &text);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < ELEMENTS(words); i++)
                if (strcmp(words[i].word, text) == 0) {
                        backgrounds->indices[index] = (uint8_t) i;
                        backgrounds->n = (unsigned) index + 1;
                        return 0;
                }

        return yaml_refuse(yaml, item, 0, "'%.60s' is no background, expected " BACKGROUNDS, text);
}

static int read_backgrounds(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        HbmBackgrounds backgrounds = {};
        int r;

        r = yaml_items(yaml, node, HBM_BACKGROUNDS_MAX, "a list of backgrounds", read_background, &backgrounds);
        if (r < 0)
                return r;
        if (backgrounds.n == 0)
                return yaml_refuse(yaml, node, 0, "expected at least one background");

        *(HbmBackgrounds *) ret = backgrounds;
        return 0;
}

const YamlField parameters_hbm[] = {
        YAML_CUSTOM("march", HbmParameters, march, read_march,
                    .summary = "test on the first background: a name such as March SS, or a notation"),
        YAML_CUSTOM("others", HbmParameters, others, read_march, .summary = "test on each further background"),
        YAML_CUSTOM("backgrounds", HbmParameters, backgrounds, read_backgrounds, .summary = "a list of: " BACKGROUNDS),
        YAML_WORD("order", HbmParameters, order, order_words, .summary = "what moves fastest: column, row or bank"),
        YAML_UNSIGNED("bytes", HbmParameters, bytes, 0, UINT64_C(1) << 50,
                      .summary = "how much of the chip, from row 0 of every bank on; 0: all"),
        YAML_UNSIGNED("findings", HbmParameters, findings, 1, 200,
                      .summary = "the most findings told one by one"),
        YAML_UNSIGNED("mismatches", HbmParameters, mismatches, 16, 65536,
                      .summary = "the most mismatches asked back per element and stack"),
        YAML_NUMBER("pause", HbmParameters, pause_sec, 0, 3600, .summary = "device seconds of each Del"),
        {}
};
const size_t parameters_hbm_bytes = sizeof(HbmParameters);
const void *const parameters_hbm_defaults = &defaults;
