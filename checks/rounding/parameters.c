/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/parameters.h"

#include <inttypes.h>
#include <stdio.h>

#include "checks/plan/plan.h"
#include "checks/rounding/budget.h"

/* 400,000 chips are the largest fleet we know of in one place (Project Rainier). */
static const RoundingParameters defaults = {
        .false_alarms = 0.01, .fleet = 400000, .bias = 0.25, .samples = 4096, .words = ROUNDING_WORDS_DEFAULT,
        .resets = ROUNDING_RESETS_DEFAULT, .every_format = true, .every_value = true,
};

extern const YamlField parameters_rounding[];
extern const size_t parameters_rounding_bytes;
extern const void *const parameters_rounding_defaults;
const char *parameters_rounding_refuse(const void *parameters);

const YamlField parameters_rounding[] = {
        YAML_UNSIGNED("seed", RoundingParameters, seed, 0, UINT32_MAX, .summary = "of the generators; 0: another one in each scan, from the seed of its step"),
        YAML_NUMBER("false_alarms", RoundingParameters, false_alarms, 1e-280, 1e3,
                    .summary = "sound lanes that counting may call biased, on average over the whole fleet"),
        YAML_UNSIGNED("fleet", RoundingParameters, fleet, 1, 1000000000, .summary = "chips of one sweep"),
        YAML_NUMBER("bias", RoundingParameters, bias, 1e-4, 0.25,
                    .summary = "the smallest deviation of the probability of rounding up, towards the nearer end, that counting has to see"),
        YAML_UNSIGNED("samples", RoundingParameters, samples, 4, 8192, .summary = "the most conversions of a lane that counting may take"),
        YAML_UNSIGNED("words", RoundingParameters, words, 0, ROUNDING_WORDS_MAX,
                      .summary = "random words of each lane read out in one stream; 0: those of the short passes alone"),
        YAML_UNSIGNED("resets", RoundingParameters, resets, 0, ROUNDING_RESETS_MAX,
                      .summary = "resets of each core for each engine: generators must begin anew, and take the next seed"),
        YAML_BOOLEAN("every_format", RoundingParameters, every_format, .summary = "all target formats, not only bf16 and fp8_e5m2"),
        YAML_BOOLEAN("every_value", RoundingParameters, every_value, .summary = "to nearest around every number of the 8-bit formats"),
        {}
};
const size_t parameters_rounding_bytes = sizeof(RoundingParameters);
const void *const parameters_rounding_defaults = &defaults;

/* The sentence lives until the next call of this thread. */
const char *parameters_rounding_refuse(const void *given) {
        static _Thread_local char sentence[256];
        const RoundingParameters *parameters = given;
        uint64_t needed = budget_samples(parameters);

        if (needed <= parameters->samples)
                return NULL;
        (void) snprintf(sentence, sizeof(sentence),
                        "%g false alarms of %" PRIu64 " chips with bias %g need %s%" PRIu64 " conversions a lane, expected at most the %" PRIu64
                        " that 'samples' allows", parameters->false_alarms, parameters->fleet, parameters->bias,
                        needed >= BUDGET_SAMPLES_MAX ? "more than " : "", needed, parameters->samples);
        return sentence;
}
