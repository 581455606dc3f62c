/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmTaken
 *
 * Whether a job has begun on the rows that a step writes since it began itself. Whoever writes asks before each pass and behind the last one,
 * before the failures of each stack are located and behind that, and before each row that was repaired is tried, for nothing keeps a job from
 * beginning: so it is never harmed by more than the one of these that was under way, and that is never taken for a test of anything.
 */

#include "checks/memory/hbm/report/run.h"

#define HBM_TAKEN_WHY "a job began during the scan: rows that it took during a pass or while failures were located may have been written over, and no others"

/*
 * Asks the chip whether it carries work, or with slices whether some of the rows of the box do. Returns 0 and sets run->taken
 * (which stays), or the errors of the device.
 */
int hbm_taken_ask(HbmRun *run);
