/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmApart
 *
 * Whether the rows of slices reach no row with live data: proven by reads alone, before anything is written.
 *
 * A row that gives back its own tag (march/field.h) has cells that hold that tag, so nothing that a job wrote: had it written to
 * any address that leads there, the tag would be gone; and where the row's address led to live cells, or to those of another
 * row, it would give back these. What an address opens beside its own row (AF D, word lines that touch) is mixed with the tag,
 * unless it holds but one value: for that live rows are looked at too (live-rows.h). The rows are read column by column, each in a
 * command of its own, and that HBM_APART_ROUNDS times, so that a fault which acts in a command with the chance p is missed with
 * (1 - p)^155 and less where a row has 32 columns, of which two hold marks (marks.h): 0.04 % where it acts once in twenty.
 *
 * An address of a live row that leads to a free row is looked for from its own side (live-watch.h), 128 times before the first
 * write, and again after each pass.
 *
 * One bit of one access of a row may differ, for that is a cell, which the march is there to find; more may be an alias.
 *
 * Guard rows are for faults that reads do not show: word lines that touch or cells that couple across the end
 * of a slice, and openings that wear a live row down. Cells that are coupled over more than HBM_GUARD_ROWS rows are not excluded.
 */

#include "checks/memory/hbm/live/live-watch.h"

#define HBM_GUARD_ROWS   2u /* beside live rows: see in-use in wire.h */
#define HBM_APART_ROUNDS 5u /* each takes as long as one operation of the march */

/* The knowledge about the live rows of one SID, kept from one question to the next of a scan; all zero at first. */
typedef struct HbmLiveKnown {
        bool known;
        unsigned sid;
        HbmInUse in_use;
        HbmDoubt doubt;
        HbmLiveWatch *watch;
} HbmLiveKnown;

/* Whether it is of these rows. */
bool hbm_live_known_has(const HbmLiveKnown *known, const HbmInUse *in_use, unsigned sid);
void hbm_live_known_done(HbmLiveKnown *known);

/*
 * BOXES are N slices of the whole part, which is RUN's geometry, side by side in one SID, free by IN_USE. Sets a doubt for each: none
 * where it may be written. Returns 0, or could not judge.
 */
int hbm_apart_judge(HbmRun *run, const HbmInUse *in_use, HbmLiveKnown *known, const WireBox boxes[], unsigned n, HbmDoubt doubts[]);

/* Whether what the passes of RUN have met so far is single cells; else something that reads did not show, as it comes and goes. */
bool hbm_apart_holds(HbmRun *run);
/* Tells where it was not (hbm-region-stopped). */
int hbm_apart_tell(HbmRun *run);
