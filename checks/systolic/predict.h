/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Predict
 *
 * What one column of the array would answer to a one-hot pattern if certain bits were stuck: the check's own
 * idea of a processing element. Only rows with something stuck and the row of the one non-zero operand need
 * arithmetic; all others add a zero.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/systolic/patterns.h"

typedef enum PeRegister {
        PE_WEIGHT,
        PE_ACTIVATION,
        PE_PRODUCT,
        PE_PSUM,
        _PE_REGISTER_MAX,
} PeRegister;

const char *pe_register_to_string(PeRegister at); /* "weight" */
unsigned pe_register_bits(PeRegister at);

/* One stuck bit of one processing element. An activation's counts from its own column on. */
typedef struct Candidate {
        PeRegister at;
        uint8_t row, bit, value;
} Candidate;

/* What column_predict() takes: a few of them, by row. */
#define SUSPECTS_MAX 8u

typedef struct Suspects {
        unsigned n;
        Candidate all[SUSPECTS_MAX];
} Suspects;

/* Adds one in its place; false when there is no room. */
bool suspects_add(Suspects *suspects, Candidate candidate);

/* What the column gives for the moving vector whose row N is not zero. */
uint32_t column_predict(const Suspects *suspects, const Pattern *pattern, unsigned n);
