/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmLiveWatch
 *
 * Whether live rows of one SID, and the guard rows beside them, give back the same each time that they are read.
 *
 * A job's data are not known and too many to be copied out, but the device counts how many accesses of a box agree with what a read
 * expects. Three such counts are taken, each of one column of up to 2^20 accesses, over and over: those that read as zeros and as ones
 * in the columns of marks (marks.h), and those that read as their own tags. Nothing but a job's writes changes the memory of a sound
 * chip. An address of a live row that leads to a free row at times does: where it alone is reached (AF C) both marks come to be read;
 * where it is mixed with the live row's own data (AF B, D, word lines that touch) the wired AND with zeros is zeros, and the OR with ones
 * is ones; and a row that no job has written loses its tag. So does an address of a free row that leads to a live one, once marks
 * were written through it. A fault that acts in a command with the chance p is missed by N rounds with (1 - p)^N + p^N, and AF C, which
 * shows in both marks, with the square of that.
 *
 * A count that changes blames nothing, for a job may have written zeros there: it is a reason to write no more. So a job that writes
 * zeros or ones into these two columns while its chip is scanned leaves regions untested.
 *
 * Not seen is an address of a live row that always opened a free row too (AF B, D) from before the first count on, and only since a job has
 * written the live row: what it reads is mixed in every round. No job has data in the free row then, for it gives back its own tag, and a write
 * of the job through that address would have taken it away; what the job reads is mixed whether the free row is tested or not. To look
 * for such rows by their content would prove little: a mixture by AND is a subset of the tag of the free row, and zeros, of which jobs
 * hold many, are a subset of every tag. So rows of jobs would be left out for what they hold, and none be proven.
 */

#include "checks/memory/hbm/live/live-rows.h"

#define HBM_WATCH_ROUNDS 128u /* before the first write */
#define HBM_WATCH_LOOKS  8u   /* rounds after each pass, and after all that is written behind the last */
#define HBM_WATCH_MARKS  2u   /* reads of one column in a round */

typedef struct HbmLiveWatch HbmLiveWatch;

/* RUN has the geometry of the whole part. Takes the first counts, and HBM_WATCH_ROUNDS more. *ret_doubt as hbm_live_rows_judge() has it. */
int hbm_live_watch_new(HbmRun *run, const HbmInUse *in_use, unsigned sid, HbmLiveWatch **ret, HbmDoubt *ret_doubt);
HbmLiveWatch *hbm_live_watch_free(HbmLiveWatch *watch);

/* N rounds more. Sets *ret where a count is another than the first. The batch is confined as it was before. */
int hbm_live_watch_look(HbmLiveWatch *watch, unsigned n, HbmDoubt *ret);
