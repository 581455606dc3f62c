/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "checks/sram/run.h"

/* Device seconds that pass INDEX takes, as forecast. */
double sram_pass_sec(const SramRun *run, unsigned index);
/* Marches over all arrays, a pass per background, as many as the budget has room for: run->n_passes. 0, or could not judge. */
int sram_passes_run(SramRun *run);
