/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The parts of apart.h: apart.c reads, apart-judge.c says what came of it. */

#include "checks/memory/hbm/live/apart.h"
#include "checks/memory/march/field.h"

typedef struct Tags { /* of the four stacks: what a test has left in a slice */
        MemoryTag tags[STACKS];
        bool found[STACKS];
        HbmDoubt other; /* what samples of a stack gave back that has none of its own */
} Tags;

typedef struct Stray { /* an access that does not give back its tag */
        uint32_t row; /* of all stacks */
        unsigned bits;
        unsigned stack;
        uint16_t at[_MEMORY_AXIS_MAX];
        MemoryData got;
} Stray;

typedef struct Apart {
        HbmRun *run;
        const WireBox *boxes;
        unsigned n;
        HbmDoubt *doubts;
        unsigned rounds;
        Tags *tags; /* of each box */
        Stray *strays;
        size_t n_strays, allocated;
        unsigned n_rounds;                /* in which they were met; of a crowd the first is not complete */
        bool crowded[STACKS];             /* a list had no room for all … */
        unsigned crowded_columns[STACKS]; /* … of this column, the first of which that is so */
} Apart;

/* Which tags each box has, by samples. */
int apart_read_tags(Apart *apart);
/*
 * Adds what differs in N columns of BOX to the strays, but for marks all columns with TAGS; stacks without any are left out. Sets *blind where of some stack a
 * read that must not agree does: a comparator that is silent has shown nothing.
 */
int apart_read_columns(Apart *apart, const WireBox *box, const Tags *tags, unsigned first, unsigned n, bool *blind);
/* Reads COLUMN of BOX, which should give back TAG or a mark; of what differs as many as LIST are listed. */
WireMarch apart_read(const HbmRun *run, const MemoryTag *tag, WireBox box, unsigned column, uint32_t list);

/* Sets the doubts of N boxes from FIRST on by strays that are complete. */
void apart_judge_strays(Apart *apart, unsigned first, unsigned n);
/* Sets that of box I, of which more differs than lists have room for. Returns 0, or could not judge. */
int apart_judge_crowd(Apart *apart, unsigned i);
