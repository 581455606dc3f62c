/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * LoneStack
 *
 * One HBM stack with a chip that is just enough for it, to drive the model without port or scenario. Defines what a
 * model asks of its chip, so it goes into one file of a program that does not link the real one.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/hbm/hbm.h"

#define LONE_SPLIT(x) ((x) * 0x2545f4914f6cdd1dull)

struct Chip {
        unsigned hbm_part;
        uint64_t counted[_COUNTER_MAX];
        Hbm *stack; /* its only one */
        bool write_wins;
        double celsius;
        NoiseRates noise;
        uint64_t nsec;
};

typedef struct LoneStack {
        struct Chip chip;
        Hbm hbm;
        uint64_t number; /* of the next command */
        uint8_t *window;
        size_t window_bytes;
} LoneStack;

bool chip_write_wins(const Chip *chip) {
        return chip->write_wins;
}

uint64_t chip_seed(const Chip *chip) {
        return 1;
}

unsigned chip_index(const Chip *chip) {
        return 0;
}

bool chip_is_occupied(const Chip *chip) {
        return false;
}

unsigned chip_hbm_part(const Chip *chip) {
        return chip->hbm_part;
}

double chip_temperature(const Chip *chip) {
        return chip->celsius;
}

NoiseRates chip_noise(const Chip *chip) {
        return chip->noise;
}

uint64_t chip_newest_fault(const Chip *chip) {
        return 0;
}

uint64_t chip_nsec(const Chip *chip) {
        return chip->nsec;
}

void *chip_part(Chip *chip, const Model *model, unsigned index) {
        return model == &model_hbm && index == 0 ? chip->stack : NULL;
}

void chip_count(Chip *chip, Counter counter, unsigned stack, uint64_t n) {
        chip->counted[counter] += n;
}

/* The half of an intermittent fault's commands in which it acts: nothing but a hash, as the real one. */
bool fault_is_active(const Fault *fault, const Execution *execution) {
        if (fault->persistence == PERSISTENCE_TRANSIENT) {
                if (fault->fired == 0 && (double) execution->start_nsec >= fault->after * 1e9)
                        ((Fault *) fault)->fired = execution->number + 1;
                return fault->fired == execution->number + 1;
        }
        return fault->persistence == PERSISTENCE_PERMANENT ||
                        LONE_SPLIT(LONE_SPLIT(fault->id + 1) ^ execution->number) >> 63;
}

static void lone_stack_open(LoneStack *lone, const char *geometry, size_t window_bytes) {
        memset(lone, 0, sizeof(*lone));
        lone->chip.celsius = 45;
        lone->window = calloc(1, window_bytes);
        lone->window_bytes = window_bytes;
        lone->chip.stack = &lone->hbm;
        if (!lone->window || model_hbm.init(&lone->hbm, &lone->chip, 0) < 0 ||
            hbm_reshape(&lone->hbm, geometry) < 0)
                abort();
}

static void lone_stack_close(LoneStack *lone) {
        model_hbm.done(&lone->hbm);
        free(lone->window);
}

/* All of the window is the command's in and out area. */
static WireCompletion lone_stack_run(LoneStack *lone, WireCommand command) {
        WireCompletion completion = {};
        Execution execution = {
                .chip         = &lone->chip,
                .command      = &command,
                .in           = lone->window,
                .out          = lone->window,
                .window       = lone->window,
                .window_bytes = lone->window_bytes,
                .number       = lone->number++,
                .start_nsec   = lone->chip.nsec,
                .completion   = &completion,
        };

        if (command.out_bytes == 0)
                command.out_bytes = (uint32_t) lone->window_bytes;
        if (model_hbm.commands[command.type](&lone->hbm, &execution) < 0)
                completion.status = STATUS_NRT_RESOURCE;
        lone->chip.nsec += completion.device_nsec;
        return completion;
}

/* One operation over all of it, which meets no error that it could tell. */
static __attribute__((unused)) WireCompletion lone_stack_march(LoneStack *lone, uint8_t op, bool ecc) {
        WireCommand command = { .type = COMMAND_HBM_MARCH, .march = { .box = memory_box_whole(&lone->hbm.memory.shape), .n_ops = 1,
                                .ops = { op }, .ecc = ecc, .mismatches_max = (uint32_t) (lone->window_bytes / sizeof(WireMismatch)) } };
        WireCompletion completion = lone_stack_run(lone, command);

        if (completion.status != STATUS_NRT_SUCCESS)
                abort();
        return completion;
}
