/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of slices.h: slices.c tests, slices-tell.c says what came of it. */

#include "checks/memory/hbm/far-alias.h"
#include "checks/memory/hbm/live/apart.h"
#include "checks/memory/hbm/hbm.h"
#include "checks/memory/hbm/report/in-use.h"
#include "checks/memory/hbm/slices.h"
#include "checks/memory/hbm/together.h"

typedef struct Slices {
        HbmRun *run;
        MemoryGeometry whole;
        Regions regions;
        const Rotation *before;  /* what earlier scans did; NULL: nothing is known */
        Rotation mapped;         /* where they did it to other slices */
        uint16_t queue[REGIONS_MAX]; /* what may be tested, in this order */
        unsigned n_queue;
        unsigned n_again;        /* the first of them failed before, were suspicious or are half written */
        unsigned room;           /* for so many there is time */
        HbmTogether together;    /* what failed in one pass, of this and earlier scans */
        HbmLiveKnown live;
        HbmDoubt doubts[REGIONS_MAX]; /* of unproven regions */
        uint64_t guarded;        /* rows of tested regions that were left alone, in all banks of a SID */
        double region_sec;       /* forecast */
        double row_sec;          /* of a read of one column of one row in all banks */
        double allowed_sec;      /* of all tests, without the look for aliases behind them */
        HbmInUse in_use;         /* when the step began */
        HbmInUse under_test;     /* rows that an interrupted test may have left half written, by then */
        bool taken;              /* a job began on rows that were being tested */
        uint64_t bytes, mismatches;
        Verdict verdict;
} Slices;

/* Tells an alias that no pass has shown; the regions between its rows have failed in one scan. Returns 0, or could not tell. */
int slices_tell_alias(Slices *slices, const HbmFarAlias *alias);
/* Tells what was measured and found, and of earlier scans what stands. Returns 0 with *ret set, or could not judge. */
int slices_conclude(Slices *slices, Verdict *ret);
