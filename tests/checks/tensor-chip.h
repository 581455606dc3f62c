/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A chip of nothing but eight tensor engines behind a device, and a step that keeps what a check finds: for
 * the tests and the benchmark of systolic and sparsity. No process, no socket.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/port/device.h"
#include "checks/step/check.h"
#include "checks/step/step.h"
#include "sim/chip/model.h"
#include "sim/tensor/faults.h"

#define TENSOR_FAULTS_MAX   160u
#define TENSOR_FINDINGS_MAX 300u

typedef TensorFault TensorParameters;

typedef struct TensorFinding {
        char code[32];
        char where[LOCATION_STRING_MAX];
        char message[256];
        unsigned reproduced, runs;
} TensorFinding;

typedef struct TensorChip TensorChip;

struct TensorChip {
        void *states[CORES];
        uint64_t numbers[CORES];
        uint8_t *window;
        size_t window_bytes;
        Device *device;
        Fault faults[TENSOR_FAULTS_MAX];
        TensorParameters parameters[TENSOR_FAULTS_MAX];
        size_t n_faults;
        double droop; /* mV, of faults that are injected from now on */
        /* tampering */
        uint64_t n_commands;
        uint64_t fail_at; /* this command (from 1) completes with fail_status */
        uint32_t fail_status;
        uint64_t silent_from; /* from this command on nothing is written, but success is said */
        uint64_t break_at;    /* the batch with this command ends in break_error */
        int break_error;
        unsigned tampered;        /* cores that do what follows, a bit each */
        bool repeats;             /* every matmul gives what the one before gave */
        bool is_short;            /* every matmul writes all but the last number, and says so */
        unsigned loses;           /* this line of 64 bytes (from 1) of every column is not written */
        uint8_t refuses;          /* what is in this WireFormat is UNSUPPORTED, 0: none (fp32 is never refused so) */
        const char *formats;      /* attribute assay/tensor/formats in place of the model's; "": there is none */
        void (*watch)(const TensorChip *chip, const WireCommand *command); /* is shown every command */
        uint32_t *before[CORES];  /* what the last matmul gave, room for the largest */
        double model_sec; /* CPU spent in the model, where wanted */
        bool measure;
};

/* Of all chips that are made from now on. */
extern TensorSettings tensor_chip_settings;

void tensor_chip_init(TensorChip *chip);
void tensor_chip_done(TensorChip *chip);

/* WHERE without the chip: "core5/pe17.93". */
void tensor_chip_inject(TensorChip *chip, const char *kind, const char *where, TensorParameters parameters,
                        double probability);
void tensor_chip_heal(TensorChip *chip);

typedef struct TensorOutcome {
        int error;
        Verdict verdict;
        TensorFinding findings[TENSOR_FINDINGS_MAX];
        size_t n_findings;
        size_t n_beyond; /* measurements beyond their limit */
} TensorOutcome;

void tensor_chip_run(TensorChip *chip, const Check *check, const void *parameters, TensorOutcome *ret);
