/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmHammer
 *
 * Rows between two that are opened again and again. Data alternate from row to row, so every victim differs from both of its
 * aggressors. A sweep that opens the rows beside every fourth row opens every second row once: each of the rows between is
 * a victim of its two neighbours. Two sweeps make victims of all rows.
 *
 * Stack IDs one after another: an opening takes the longer the more banks there are, and refresh takes away what a
 * row has been through. So does the end of a command for the row at its seam; seams lie elsewhere at every repeat.
 */

#include "checks/memory/hbm/diagnose/pass.h"

/* Openings beside a row that are as bad for it as ACTIVATIONS of no more than tRAS, when each lasts OPEN_NSEC longer (wire.h). */
double hbm_hammer_openings(uint64_t activations, uint64_t open_nsec);

/* Fills in PASS's victims and turns, by its parity: all rows of BOX, of banks with SIZE rows, or ROWS of them (0: all) at a
 * place chosen by SEED. What lies beside the box within reach of an aggressor is left alone. */
void hbm_hammer_aim(HbmPass *pass, const WireBox *box, unsigned size, uint64_t rows, uint64_t seed);
/* Device seconds of the sweep of one pass. */
double hbm_hammer_sec(const HbmPass *pass);
/* Victims in one bank in one pass. */
unsigned hbm_hammer_rows(const HbmPass *pass);
int hbm_hammer_sweep(const HbmPass *pass, MemoryBatch *batch);
