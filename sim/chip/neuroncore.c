/* SPDX-License-Identifier: Apache-2.0 */

/*
 * NeuronCore: what the driver tells of each core under neuron_coreN/ (layout of 2.30), beside what its engines say: how
 * many commands ended well and how many did not, and how often it was reset. A write clears, as in the driver.
 */

#include <inttypes.h>
#include <stdio.h>

#include "sim/chip/chip.h"

/* What had been counted when somebody cleared the counters. */
typedef struct NeuronCore {
        uint64_t successes, failures;
} NeuronCore;

static uint64_t failures_of(const Chip *chip, unsigned core) {
        return chip->engine_failures[ENGINE_CORE + core];
}

static uint64_t successes_of(const Chip *chip, unsigned core) {
        return chip->engine_commands[ENGINE_CORE + core] - failures_of(chip, core);
}

static int read_arch(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "NCv3");
        return 0;
}

static int read_success(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%" PRIu64, successes_of(chip, index) - ((NeuronCore *) state)->successes);
        return 0;
}

static int clear_success(void *state, Chip *chip, unsigned index, const char *text) {
        ((NeuronCore *) state)->successes = successes_of(chip, index);
        return 0;
}

static int read_failure(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%" PRIu64, failures_of(chip, index) - ((NeuronCore *) state)->failures);
        return 0;
}

static int clear_failure(void *state, Chip *chip, unsigned index, const char *text) {
        ((NeuronCore *) state)->failures = failures_of(chip, index);
        return 0;
}

static int read_resets(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        (void) snprintf(text, size, "%" PRIu64, chip->core_resets[index]);
        return 0;
}

#define CORE "neuron_core%u/"

static const Attribute attributes[] = {
        { CORE "info/architecture/arch_type",     read_arch,    NULL          },
        { CORE "stats/status/success/total",      read_success, clear_success },
        { CORE "stats/status/failure/total",      read_failure, clear_failure },
        { CORE "stats/other_info/reset_req_count", read_resets, NULL          },
        {},
};

const Model model_neuroncore = {
        .name       = "neuroncore",
        .part       = LOCATION_CORE,
        .state_size = sizeof(NeuronCore),
        .attributes = attributes,
};
