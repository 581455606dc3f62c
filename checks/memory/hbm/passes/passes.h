/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmPasses
 *
 * Runs the passes that the schedule has, as far as the budget goes: what does not fit is left out and the next is tried.
 */

#include "checks/memory/hbm/report/run.h"

/* 0, or could not judge. Passes that were run have `ran` set; run->taken: nothing that they met is known to be the memory's. */
int hbm_passes_run(HbmRun *run);
bool hbm_passes_complete(const HbmRun *run);
/* Sees to it that the box holds own-address data at the end, and marks, which tell later scans whose a row is (apart.h, marks.h). Nothing
 * is written where a job has begun; run->taken also tells where one did meanwhile. */
int hbm_passes_leave_tags(HbmRun *run);
/* Says which pass could not judge, unless that was said; returns ERROR. */
int hbm_passes_error(HbmRun *run, int error);
