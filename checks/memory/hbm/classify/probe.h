/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmProbe
 *
 * Follow-up marches on one stack, bank by bank: where the list of mismatches was cut short, what fails first hides
 * what fails elsewhere, but each bank can be asked for its own.
 */

#include "checks/memory/march/failures.h"

typedef struct HbmBankTally {
        uint64_t count; /* failing accesses, the most of any pattern */
        uint32_t lanes; /* that had all beats wrong in every failure that was told of one pattern */
        uint64_t columns; /* bit per column (modulo 64) that fails; 0: not known */
} HbmBankTally;

/* A pattern to write and read back. */
typedef struct HbmProbePattern {
        MemoryField field;
        unsigned data;
} HbmProbePattern;

/*
 * Patterns in which the stuck lanes read as they should. Bit stripe p < 5 is bit p of the lane's number in all beats:
 * with the right data it agrees with a lane, and every other lane has the other value in one of the five. Of several
 * lanes only patterns that suit them all are left; of none the solid ones, for they show all.
 */
#define HBM_PROBE_PATTERNS_MAX 12u
size_t hbm_probe_patterns(uint32_t lanes, uint32_t values, HbmProbePattern ret[static HBM_PROBE_PATTERNS_MAX]);

typedef struct HbmProbe {
        const MemoryGeometry *geometry;
        const WireBox *box;    /* what may be written and read, of the stack */
        MemoryBatch *batch;
        unsigned stack;
        MarchFailures *failures; /* gets what was told */
        uint32_t list_max;     /* mismatches asked for, per bank (or piece of it) and pattern */
} HbmProbe;

uint32_t hbm_bank_count(const MemoryGeometry *geometry);                    /* of a stack */
uint32_t hbm_bank_accesses(const MemoryGeometry *geometry);                 /* of a bank */
uint32_t hbm_banks_of_pseudo_channel(const MemoryGeometry *geometry);
WireBox hbm_bank_box(const MemoryGeometry *geometry, uint32_t first, uint32_t n); /* one bank, one part of a pseudo-channel, or more */

/* The box of banks FIRST … FIRST + N - 1 as far as it may be touched; false where none of it may. */
bool hbm_probe_box(const HbmProbe *probe, uint32_t first, uint32_t n, WireBox *ret);

/*
 * Writes every pattern into banks FIRST … FIRST + N - 1 (one bank, one part of a pseudo-channel, or all) and reads each bank
 * back on its own, into tallies[bank - first]. Banks with skip[bank] set are left out; SKIP may be NULL.
 */
int hbm_probe_banks(const HbmProbe *probe, uint32_t first, uint32_t n, const HbmProbePattern *patterns,
                    size_t n_patterns, const bool *skip, HbmBankTally *tallies);
/* The same for one bank, read in pieces of ROWS rows, so that each has a list of its own. */
int hbm_probe_pieces(const HbmProbe *probe, uint32_t bank, unsigned rows, const HbmProbePattern *patterns, size_t n_patterns);
