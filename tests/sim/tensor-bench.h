/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor bench
 *
 * A tensor engine alone, run by its commands in a window of its own. What it would ask its chip for stands here: intermittent faults
 * act in every other command, and those that need a droop where the supply sags.
 */

#include <stdlib.h>
#include <string.h>

#include "sim/chip/model.h"
#include "sim/tensor/memo.h"
#include "tests/draw.h"

#define WINDOW  (4u << 20)
#define WEIGHTS 0u
#define TAGS    (1u << 17)
#define MOVING  (1u << 18)
#define OUT     (2u << 20)

extern const Model model_tensor;

/* Of engines that are made from now on. */
static TensorSettings settings;

TensorSettings chip_tensor(const Chip *chip) {
        return settings;
}

bool fault_is_active(const Fault *fault, const Execution *execution) {
        return execution->sag >= fault->droop && (fault->persistence != PERSISTENCE_INTERMITTENT || execution->number % 2 == 0);
}

typedef struct TensorBench {
        void *state;
        uint8_t *window;
        const uint32_t *out; /* in the window */
        WireCompletion completion;
        uint64_t number; /* of the next command */
} TensorBench;

static inline void tensor_bench_init(TensorBench *bench) {
        *bench = (TensorBench){ .state = calloc(1, model_tensor.state_size), .window = calloc(1, WINDOW) };
        assert_non_null(bench->state);
        assert_non_null(bench->window);
        bench->out = (const uint32_t *) (bench->window + OUT);
        assert_int_equal(model_tensor.init(bench->state, NULL, 0), 0);
}

static inline void tensor_bench_done(TensorBench *bench) {
        model_tensor.done(bench->state);
        free(bench->state);
        free(bench->window);
        memo_forget();
}

static inline WireStatus tensor_bench_run(TensorBench *bench, const WireCommand *command) {
        Execution execution = {
                .command = command,
                .in = bench->window + command->in_offset,
                .out = bench->window + command->out_offset,
                .window = bench->window,
                .window_bytes = WINDOW,
                .number = bench->number++,
                .completion = &bench->completion,
        };

        bench->completion = (WireCompletion){};
        assert_int_equal(model_tensor.commands[command->type](bench->state, &execution), 0);
        return bench->completion.status;
}

static inline const FaultKind *tensor_kind(const char *name) {
        for (const FaultKind *const *table = model_tensor.faults; *table; table++)
                for (const FaultKind *kind = *table; kind->name; kind++)
                        if (strcmp(kind->name, name) == 0)
                                return kind;

        fail_msg("no kind is called %s", name);
        return NULL;
}
