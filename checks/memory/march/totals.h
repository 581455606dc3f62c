/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MarchTotals
 *
 * What every check that marches measures of it, under names that begin with the check's word.
 */

#include "checks/memory/march/march.h"
#include "checks/step/step.h"

void march_totals_add(MarchTotals *totals, const MarchTotals *more);

/* WORD_mismatches, WORD_plants_returned, WORD_samples_compared and WORD_samples_wrong. 0, or what step_measure() returns. */
int march_totals_measure(const MarchTotals *totals, Step *step, const char *word, uint64_t mismatches);
/* WORD_bytes_tested. Without all of what was PLANNED (accesses) it is 0, and no measure of anything. */
int march_totals_measure_coverage(Step *step, const char *word, uint64_t accesses, uint64_t planned, bool complete);
