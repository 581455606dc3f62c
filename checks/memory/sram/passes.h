/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "checks/memory/sram/run.h"

/* Device seconds that pass INDEX takes, as forecast. */
double sram_pass_sec(const SramRun *run, unsigned index);
unsigned sram_passes(const SramRun *run); /* that are asked for */
/* Marches over all arrays, a pass per background and repeat, as many as the budget has room for: run->n_passes. 0, -E2BIG: more
 * than can be kept apart, or could not judge. */
int sram_passes_run(SramRun *run);
