/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmAddresses
 *
 * Whether the device physical addresses of a stack reach what the map says: tags are planted by coordinates and read by
 * address. For each row bit one row is taken in which it alone is set, so any one bit too many or too few in the hash leads to a
 * known wrong place, and there another tag lies that names it.
 */

#include "checks/hbm/run.h"

typedef struct HbmAddress { /* one that leads astray */
        uint16_t at[_MEMORY_AXIS_MAX];
        uint64_t address;
        MemoryData expected, actual;
        int axis;    /* which axis is off in one bit, or -1: it is not known where it led */
        unsigned bit;
        int row_bit; /* the only one set in its row; -1: none is */
} HbmAddress;

typedef struct HbmAddresses {
        unsigned n_asked;    /* addresses tried */
        unsigned n_compared; /* those whose place holds what was planted */
        unsigned n_wrong;
        HbmAddress first;
} HbmAddresses;

/* Overwrites up to seven accesses for each address, all in BOX. -ENOSPC: the window is smaller than any may be. */
int hbm_addresses_run(const MemoryMap *map, const WireBox *box, unsigned stack, uint64_t seed, MemoryBatch *batch,
                      HbmAddresses *ret);

/* Tries all stacks of a run and tells what is wrong as findings (hbm-map). */
int hbm_addresses_judge(HbmRun *run);
