/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmFailures
 *
 * The failing accesses of a chip, each once: which bits, how often, and the first difference as evidence.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/device-memory.h"
#include "checks/march/field.h"

#define HBM_FAILURES_MAX (128u << 10)

typedef struct HbmFailure {
        unsigned stack;
        uint32_t linear;
        uint64_t count; /* reads that differed */
        MemoryData bits;   /* that differed in any of them */
        MemoryData ones;   /* that were 1 and should not be, in any of them */
        MemoryData expected, actual; /* of the first */
} HbmFailure;

typedef struct HbmFailures {
        HbmFailure *failures;
        size_t n, allocated;
        bool full; /* some were dropped */
} HbmFailures;

void hbm_failures_done(HbmFailures *failures);
int hbm_failures_add(HbmFailures *failures, unsigned stack, uint32_t linear, const MemoryData *expected,
                     const MemoryData *actual);
/* Sorts by stack and place and makes those of one access one. */
void hbm_failures_merge(HbmFailures *failures);
/* After a merge: those of STACK. */
HbmFailure *hbm_failures_of(const HbmFailures *failures, unsigned stack, size_t *ret_n);

unsigned hbm_data_count(const MemoryData *bits);          /* bits that are set */
int hbm_data_first(const MemoryData *bits);               /* the lowest, -1 without */
uint32_t hbm_data_lanes(const MemoryData *bits);          /* data lanes that have all 8 beats set */
MemoryData hbm_data_without(MemoryData bits, uint32_t lanes); /* with these lanes cleared */
