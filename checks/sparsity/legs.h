/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Legs
 *
 * Which bits of which inputs of the selectors are stuck, read one by one: weights of 1, a moving column for each input of each
 * group of 4:16 with one value in it, so that an output is the image of the input that an element let through.
 */

#include "checks/sparsity/diagnose.h"
#include "checks/sparsity/engine.h"

/* Looks at COLUMNS of CORE until each of them has shown what is wrong with it, or for a while. BANK: of PSUM, see bank.h. Returns
 * how many diagnoses there are, or an error of engine_run(). Columns that showed nothing that can be told are left in COLUMNS; those of
 * a line (line.h) are set in LINE, and no selector in them is named. */
int legs_measure(Engine *engine, unsigned core, unsigned bank, bool columns[static PE_COLUMNS], bool line[static PE_COLUMNS],
                 SparseDiagnosis *diagnoses, unsigned n_max);
