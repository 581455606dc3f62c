/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmSchedule
 *
 * From the parameters of a step to its passes, with the device's time that each will take.
 */

#include "checks/memory/hbm/report/run.h"

/* The geometry and box of RUN must stand. Returns 0; -E2BIG: more than MARCH_STEP_PASSES_MAX; -EOPNOTSUPP: phases that cannot go
 * around live data. */
int hbm_schedule(HbmRun *run);
int hbm_schedule_error(HbmRun *run, int error); /* says so; returns ERROR */
double hbm_schedule_sec(const HbmRun *run); /* of all passes */
double hbm_schedule_read_sec(const HbmRun *run); /* of one read of the box */
MemoryField hbm_schedule_tags(const HbmRun *run); /* own-address data of the step: see memory_tag_seed() */
