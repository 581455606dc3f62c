/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Errors planted for parity and SECDED
 *
 * A few accesses of every array, one in each bank, are written with their check bits and then get one wrong bit, and two in
 * one word, that the check bits do not know of. SECDED must correct the one and tell the two; parity must tell the one and
 * pass on the two. What is corrected or told must be counted. Places where the march met failures are left out, and so is an
 * array that has no other: its code cannot be judged. The places hold good words again at the end of each batch; what counters
 * will count of it is announced before, and those that have counted nothing else are cleared at the end.
 */

#include "checks/memory/sram/run.h"

/* Findings go to the run. 0, or could not judge. */
int sram_ecc_run(SramRun *run);
