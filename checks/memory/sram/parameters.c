/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/sram/parameters.h"

#include <assert.h>

#include "checks/memory/march/failures.h"
#include "checks/plan/plan.h"

extern const YamlField parameters_sram[];
extern const size_t parameters_sram_bytes;
extern const void *const parameters_sram_defaults;
const char *parameters_sram_refuse(const void *parameters);

static const char *const order_words[] = {
        [MEMORY_ORDER_COLUMN_FAST] = "column",
        [MEMORY_ORDER_ROW_FAST]    = "row",
        [MEMORY_ORDER_BANK_FAST]   = "bank",
        NULL,
};

/* March SS solid, then MATS++ by address: what preflight asks for, see sram.c. */
static const SramParameters defaults = {
        .march       = MARCH_DEFAULT,
        .others      = MARCH_OTHERS_DEFAULT,
        .backgrounds = { 2, { MARCH_BACKGROUND_SOLID, MARCH_BACKGROUND_ADDRESS } },
        .repeats     = 1,
        .ecc         = 2,
        .findings    = 32,
        .mismatches  = 64,
};

const YamlField parameters_sram[] = {
        YAML_CUSTOM("march", SramParameters, march, march_yaml_test,
                    .summary = "test on the first background: a name such as March SS, or a notation"),
        YAML_CUSTOM("others", SramParameters, others, march_yaml_test, .summary = "test on each further background"),
        YAML_CUSTOM("backgrounds", SramParameters, backgrounds, march_yaml_backgrounds, .summary = "a list of: " MARCH_BACKGROUNDS),
        YAML_WORD("order", SramParameters, order, order_words, .summary = "what moves fastest: column, row or bank"),
        YAML_UNSIGNED("repeats", SramParameters, repeats, 1, 60,
                      .summary = "how often the backgrounds are marched over, each time with other addresses; 63 passes at most"),
        YAML_UNSIGNED("ecc", SramParameters, ecc, 0, 64,
                      .summary = "reads of every error that is planted for parity and SECDED; 0: none is"),
        YAML_UNSIGNED("findings", SramParameters, findings, 1, 200, .summary = "the most cells of an array told one by one"),
        YAML_UNSIGNED("mismatches", SramParameters, mismatches, 16, 65536,
                      .summary = "the most mismatches asked back per element and array"),
        {}
};
const size_t parameters_sram_bytes = sizeof(SramParameters);
const void *const parameters_sram_defaults = &defaults;

/* As many as sram_passes() counts. */
const char *parameters_sram_refuse(const void *given) {
        const SramParameters *parameters = given;

        static_assert(MARCH_STEP_PASSES_MAX == 64, "the sentence says so");
        return parameters->backgrounds.n * parameters->repeats >= MARCH_STEP_PASSES_MAX
                               ? "these parameters ask for more than 63 passes, expected fewer backgrounds or repeats" : NULL;
}
