/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Lanes
 *
 * From the answers of an engine that is not as it should be to findings: each lane is diagnosed, with further questions where its
 * answers do not tell enough.
 */

#include "checks/rounding/session.h"
#include "checks/step/step.h"
#include "checks/text/cleanup.h"

/* Of all engines together. */
typedef struct Tally {
        double compared, mismatched, counted;
        Least least;
        unsigned n_retests;
} Tally;

/* What one engine answered to its script, copied: the window may change under us, and further questions go through it. */
typedef struct Answers Answers;

/* NULL without memory. */
Answers *answers_copy(const Session *session, WireEngine engine);
Answers *answers_free(Answers *answers);
DEFINE_CLEANUP(Answers *, answers_free);

/* WHERE: the engine. Afterwards no engine's answers are in the window any more. */
int lanes_judge(Step *step, Verdict *verdict, Session *session, unsigned core, WireEngine engine, const Location *where,
                const Answers *answers, Tally *tally);
