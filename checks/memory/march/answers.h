/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MarchAnswers
 *
 * Whether what a device answers to a march adds up: accesses visited, mismatches counted and mismatches listed. What does not is
 * a lie, noted in the outcome of the part.
 */

#include "checks/memory/march/march.h"

/* Notes something that no sound device says. */
void march_outcome_lie(MarchOutcome *outcome, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Mismatches that COMMAND counted, no more than it has reads. */
uint64_t march_outcome_count(MarchOutcome *outcome, const WireMarch *command, const MemoryAnswer *answer);

/* The same of every march of BATCH, for answers that are not looked at one by one. */
void march_answers_check(const MemoryBatch *batch, const MemoryPart *parts, unsigned n_parts, MarchOutcome *outcomes);
