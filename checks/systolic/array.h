/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Array
 *
 * Runs patterns on the cores of a chip and keeps what was not golden. A healthy core costs a comparison of
 * memory.
 */

#include "checks/cleanup.h"
#include "checks/device.h"
#include "checks/systolic/patterns.h"

/* What came back of one pattern, by column of the array: as many numbers as it has vectors; NULL where golden. */
typedef struct Answers {
        uint32_t *columns[PE_COLUMNS];
} Answers;

/* What one core answered. Columns that were not golden are kept whole, up to OBSERVATION_BYTES_MAX. */
#define OBSERVATION_BYTES_MAX (8u << 20)

typedef struct Observation {
        bool ftz;                             /* the core flushes */
        Answers *answers[PATTERNS_MAX];       /* NULL where all was golden, or nothing is known */
        uint8_t ran[PATTERNS_MAX];            /* how often, at most 255 … */
        uint8_t failed[PATTERNS_MAX];         /* … and not golden */
        bool miswired[PE_COLUMNS];            /* columns that failed in patterns that are not one-hot */
        size_t n_mismatched;                  /* outputs, all rounds, all patterns */
        size_t n_mismatched_miswired;         /* of these in patterns that are not one-hot */
        size_t n_bytes;                       /* kept */
        size_t n_dropped;                     /* columns that there was no room for */
} Observation;

typedef struct Array {
        Device *device;
        void *weights, *values;             /* in the window */
        uint32_t *out[CORES];               /* too */
        const void *sent_weights, *sent_values; /* what stands there */
        uint32_t *copy;                     /* of one core's output */
        Observation cores[CORES];
        size_t n_compared;
        unsigned refused; /* the core that did not do what it was told, after -EREMOTEIO */
} Array;

/* Takes its pieces of the device's window. -ENOSPC, -ENOMEM. array_done() releases either way. */
int array_init(Array *array, Device *device);
Array *array_done(Array *array);

/*
 * Runs the first N_PATTERNS on the cores in MASK. A later round adds what it finds to the columns that were
 * golden before: so an intermittent fault shows itself bit by bit. Returns the number of cores that were
 * ever not golden, or an error of device.h.
 */
int array_measure(Array *array, unsigned mask, unsigned n_patterns);

bool observation_is_golden(const Observation *observation);

/* The answer of COLUMN of the array to pattern INDEX, pattern->moving numbers; NULL where it was golden. */
const uint32_t *observation_column(const Observation *observation, unsigned index, unsigned column);

DEFINE_CLEANUP(Array *, array_done);
