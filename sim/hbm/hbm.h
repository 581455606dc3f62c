/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Hbm
 *
 * One simulated stack: a memory (sim/memory/), what refresh, hammering and repair do to it, and its kinds of fault
 * (hbm-faults).
 */

#include "sim/hbm/disturb.h"
#include "sim/hbm/map.h"
#include "sim/hbm/place.h"
#include "sim/hbm/ranges.h"
#include "sim/memory/cells/memory.h"

#define HBM_BYTES_PER_NSEC  725u  /* 2.9 TB/s over four stacks */
#define HBM_ACTIVATE_NSEC   45u   /* tRC */
#define HBM_FAW_NSEC        15u   /* tFAW */
#define HBM_NSEC_MAX        (UINT64_C(86400) * 1000000000) /* of one pause or hammering */
#define HBM_SPARES_PER_BANK 8u    /* rows that repair may use up */
#define HBM_REPAIRS_MAX     512u  /* of one stack: pending, done and failed */

typedef struct HbmRepair {
        WireBox box; /* one row */
        WireRepairState state;
        uint64_t newest_fault; /* done: faults with a greater id sit in the spare, those up to it sat in what it replaced */
} HbmRepair;

typedef struct HbmLive { /* which rows carry live data (sim/fleet/in-use.c) */
        bool told; /* somebody said so; else the chip's occupancy tells */
        size_t n;
        HbmRange ranges[HBM_RANGES_MAX]; /* ascending, disjoint */
        uint64_t trespasses; /* accesses with live data that commands have written or left without refresh */
        uint64_t disturbed;  /* live cells that operations on other cells have turned over */
} HbmLive;

struct Hbm {
        Memory memory;
        HbmLive live;
        HbmRanges under_test; /* of the first stack: of the chip (sim/hbm/under-test.c) */
        HbmMap map; /* as built */
        const Fault *map_fault; /* what is wrong with it, or NULL */
        HbmRepair *repairs; /* in the order they were asked for */
        size_t n_repairs, repairs_allocated;
        const Fault **failing; /* of the kind repair-fails */
        size_t n_failing, failing_allocated;
        HbmDisturb disturb;
};

/* On-die ECC (sim/hbm/ecc.c): see MemoryRules. */
MemoryBits hbm_decode(MemoryBits got, const MemoryBits *intended, MemoryEccTally *tally);

/* The kinds of fault (sim/hbm/faults.c). */
extern const FaultKind hbm_fault_kinds[];
int hbm_inject(void *state, const Fault *fault);
void hbm_heal(void *state, const Fault *fault);

int hbm_copy_out(void *state, Execution *execution);

/* Reads by device physical address (sim/hbm/address.c). */
extern const FaultKind hbm_address_kinds[];
int hbm_address_inject(Hbm *hbm, const Fault *fault); /* -EEXIST; -EINVAL: no address of this stack goes astray */
int hbm_read_address(void *state, Execution *execution);
int hbm_read_map(void *state, Chip *chip, unsigned index, char *text, size_t size);

/* The stack becomes one of another geometry, powered up anew. For tests; -EBUSY while it has faults. */
int hbm_reshape(Hbm *hbm, const char *geometry);

extern const Model model_hbm;
