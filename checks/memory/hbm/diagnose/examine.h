/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Examine
 *
 * Cells and words one by one, by replays (replay.h) of the pass they failed in:
 *
 *  - Repeats over their bank, of which every read that can fail is a trial. All fail: a fault that is always there. Some: it is
 *    intermittent. None: over all that was tested, as what disturbs the cell may lie in another bank.
 *  - Each repeat begins with the pass that ran before, so the pass begins with the data it began with in the test. Only what was
 *    wrong once between two writes, and never again so, is called a soft error: a fault that acts in one command of fifty, one of
 *    which shows it in each repeat, at most once in a hundred times. Where what came before cannot be done again nothing is.
 *  - Of a cell that always fails, which reads fail: the candidates of syndrome.h.
 *  - Where it is sound alone, halves of its bank are replayed with it until one access is left that disturbs it, and that with
 *    stripes of data until its bit is known. Where it fails alone, stripes tell a bit of its own access.
 */

#include "checks/memory/hbm/diagnose/diagnose.h"

/* Judges the defects of C from number FIRST on. CUT_SHORT: lists of the passes were. 0, or could not judge. */
int hbm_examine(const HbmDiagnosis *diagnosis, HbmCase *c, size_t first, bool cut_short);
