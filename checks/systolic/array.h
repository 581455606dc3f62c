/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Array
 *
 * Runs the patterns on the cores of a chip and keeps what was not golden. A healthy core costs a comparison
 * of memory.
 */

#include "checks/cleanup.h"
#include "checks/device.h"
#include "checks/systolic/patterns.h"

/* What one core answered. */
typedef struct Observation {
        uint32_t *bits[ONE_HOT];      /* [PE_COLUMNS][PE_ROWS]; NULL where all was golden */
        bool miswired[PE_COLUMNS];    /* columns that failed P7 and later ones */
        size_t n_mismatched;          /* outputs, first round, all patterns */
        size_t n_mismatched_miswired; /* of these in P7 and later ones */
} Observation;

typedef struct Array {
        Device *device;
        uint16_t *weights, *values;                 /* in the window */
        uint32_t *out[CORES];                       /* too */
        const uint16_t *sent_weights, *sent_values; /* what stands there */
        uint32_t *copy;                             /* of one core's output */
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

/* The answer of COLUMN to one-hot pattern INDEX: PE_ROWS numbers; NULL where it was golden. */
const uint32_t *observation_column(const Observation *observation, unsigned index, unsigned column);

DEFINE_CLEANUP(Array *, array_done);
