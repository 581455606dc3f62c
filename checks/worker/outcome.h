/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Outcome
 *
 * What one run of a step has said so far. It is kept until the run has ended and then either accepted as a whole or dropped as a whole: a run
 * in which a job began on its chip may have met the job's data, and nothing of it may be told. Inside of the worker only.
 */

#include <stddef.h>

#include "checks/stream/stream.h"
#include "checks/worker/account.h"
#include "checks/worker/findings.h"
#include "checks/worker/outlet.h"

typedef struct OutcomeLine {
        EventType type;          /* EVENT_MEASUREMENT, EVENT_PART_DONE or EVENT_REGIONS */
        Measurement measurement; /* with a name of its own */
        Location part;
        Verdict verdict;
        Reason reason; /* of EVENT_PART_DONE */
        size_t n;
        char *text; /* n bytes with the newline, and room for one more */
} OutcomeLine;

typedef struct Outcome {
        Findings findings;
        size_t n, n_allocated;
        OutcomeLine *lines;
} Outcome;

/* Keeps the N bytes of TEXT, the line that EVENT was read from. -ENOMEM. */
int outcome_keep(Outcome *outcome, const Event *event, const char *text, size_t n);

/* Writes its lines and adds them to ACCOUNT, as of step STEP on UNIT. The findings are left to the caller, who unites them with those of other runs. */
void outcome_write(Outcome *outcome, Outlet *outlet, Account *account, const Location *unit, size_t step);

/* The chips of SERVER whose part the run ended with REASON, bit per chip: REASON_OCCUPIED where it left one alone because a job had it before it began. */
uint16_t outcome_parts(const Outcome *outcome, const char *server, Reason reason);

/* Whether it has found anything that data or traffic of a job could have caused: that a device hangs or makes no sense is its own. */
bool outcome_blames(const Outcome *outcome);
/* Forgets all that it may have met of a job. */
void outcome_withdraw(Outcome *outcome);

/* Forgets all of it, findings too. */
void outcome_clear(Outcome *outcome);
