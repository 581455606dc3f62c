/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmAddresses
 *
 * Whether the device physical addresses of a stack reach what the map says: one column of everything gets tags by coordinates,
 * and some are read by address. For each row bit one row is taken in which it alone is set, so that any one bit too many or too
 * few in the hash leads to a known wrong place, and the tag that lies there names it.
 *
 * Where all of them held, one address more is read again and again, whose row has all bits set: what leads astray in a share p of the
 * reads, whichever bit it is, escapes with (1 - p)^HBM_ADDRESS_READS. Then rows of one bit are, until one shows which bit it is.
 *
 * Memory of its own faults hides none of that: stuck lanes leave enough of a tag to know it, and where a place does not hold
 * one, the row is tried again in other parts of the stack.
 */

#include "checks/memory/hbm/report/run.h"

#define HBM_ADDRESS_READS 64u

typedef struct HbmAddress { /* one that leads astray */
        uint16_t at[_MEMORY_AXIS_MAX];
        uint64_t address;
        MemoryData expected, actual;
        int axis;    /* which axis is off in one bit, or -1: it is not known where it led */
        unsigned bit;
        int row_bit; /* the only one set in its row; -1: none is, or more */
} HbmAddress;

typedef struct HbmAddresses {
        unsigned n_asked;    /* addresses tried */
        unsigned n_compared; /* those that gave their tag, and those that did not though their place holds it */
        unsigned n_wrong;
        unsigned n_again, n_again_wrong; /* reads of one address */
        HbmAddress first;
} HbmAddresses;

/* Of each stack. Overwrites up to eight columns of BOX. -ENOSPC: the window is smaller than any may be. */
int hbm_addresses_run(const MemoryMap *map, const WireBox *box, uint64_t seed, MemoryBatch *batch, HbmAddresses ret[static STACKS]);

/* Tries all stacks of a run and tells what is wrong as findings (hbm-map). */
int hbm_addresses_judge(HbmRun *run);
