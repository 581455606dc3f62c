/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmOverdue
 *
 * What earlier scans leave this one to say: regions that failed when they were last tested and could not be tested again, regions in
 * which reads found something wrong and that were not tested since, and regions whose last test is longer ago than the plan allows.
 */

#include "checks/step/step.h"
#include "checks/vocabulary/regions.h"

/* BEFORE may be NULL. */
int hbm_overdue_tell(Step *step, const Regions *regions, const Rotation *before, Verdict *verdict);
