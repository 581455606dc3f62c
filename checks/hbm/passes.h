/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmPasses
 *
 * The march passes of a step: the first background's test and the others', as far as the budget goes.
 */

#include "checks/hbm/run.h"

/* Device seconds of pass INDEX. */
double hbm_pass_sec(const HbmRun *run, unsigned index);
/* Returns how many passes the budget had room for, or could not judge. */
int hbm_passes_run(HbmRun *run);
