/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Judge
 *
 * A record's verdict made again from what it holds: limits from values, what diagnoses mean from the catalogue,
 * steps from measurements and diagnoses, coverage from what steps measured, the result from steps and coverage,
 * the lists of names from the steps, a roll-up from its chips. Evidence is a lower bound: a step, or a server,
 * may be called worse than its numbers, never better; a chip's result must be exactly the fold.
 */

#include <jansson.h>
#include <stdbool.h>

#include "daemon/record/record.h"

typedef struct Judgement {
        char wrong[192]; /* "" where the record agrees with itself */
} Judgement;

/* PREDICATE fits its schema; URI is that of its subject, "" where it has none. */
bool judge_predicate(const json_t *predicate, const char *predicate_type, const char *uri, Judgement *ret);

/*
 * The step of a health record in the words of assay; _VERDICT_INVALID where status and result contradict
 * each other.
 */
Verdict judge_step_verdict(const json_t *step);
