/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmLiveRows
 *
 * Judges by reads alone the rows with live data, before anything is written beside them.
 *
 * An address may open a row of its own and a live one too (AF D). What it gives back is then the wired AND or OR of both, and
 * as long as the live row holds nothing but ones, or zeros, that is what its own row holds: no read can tell. So every live row
 * must have some of both. One column of each row is looked at, and the rest of those rows that have but one value there: a
 * row that holds K bits of one value hides such a fault with the chance (1 + K) / 2^K, nothing where it has data.
 *
 * That is so of all banks of a SID together: addresses go round channels, bank groups and banks below the row, so that zeros of
 * 512 KiB and more lie in every bank of a stack, and a proof by banks would leave out as much.
 *
 * And a live row that a job has not yet written may hold what a test left: then it must be its own, and not that of another
 * row or a mixture.
 */

#include "checks/memory/hbm/report/doubt.h"
#include "checks/memory/hbm/report/in-use.h"
#include "checks/memory/hbm/report/run.h"

#define HBM_LIVE_COLUMNS 8u /* what all of this takes at the most, in reads of one column of the live rows of four stacks side by side */

/* Sets *RET: the row of AT in STACK, and what it does. SUSPICIOUS as above. */
void hbm_doubt_row(const HbmRun *run, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], bool suspicious,
                   const char *what, HbmDoubt *ret);
/* The same of a row that gives back the data of PLACE in the stack. */
void hbm_doubt_other(const HbmRun *run, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], uint32_t place, HbmDoubt *ret);

/* Of the rows of SID that IN_USE names; RUN has the geometry of the whole part. 0 with *ret set, or could not judge. */
int hbm_live_rows_judge(HbmRun *run, const HbmInUse *in_use, unsigned sid, HbmDoubt *ret);

/* The tag that a sample of ROWS, of one column, gives back as its own. *ret_found: there is one. */
int hbm_live_rows_find_tag(HbmRun *run, unsigned stack, const WireBox *rows, MemoryTag *ret_tag, bool *ret_found, HbmDoubt *doubt);
/* Looks at the rows that read as nothing but DATA in COLUMN, some rows of one column: whether they are bare, or another row's. */
int hbm_live_rows_close_in(HbmRun *run, unsigned stack, const WireBox *column, unsigned data, HbmDoubt *ret);
