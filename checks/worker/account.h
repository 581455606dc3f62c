/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Account
 *
 * What the steps of a scan amount to: a result per chip and for the scan, by the fold of verdict.h. A step
 * on a server counts for each of its chips: failed where a failing finding lies in the chip; else what was
 * said when the step was done with that chip; else how the step ended. What never ended is an error.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/plan/plan.h"
#include "checks/step/target.h"
#include "checks/stream/stream.h"
#include "checks/vocabulary/catalogue.h"

typedef struct Account Account;

/* Borrows both. */
int account_new(const Plan *plan, const Target *target, Account **ret);
Account *account_free(Account *account);
DEFINE_CLEANUP(Account *, account_free);

/* STEP is an index in the plan; UNIT is the unit the step runs on. A step left out was judged before,
 * elsewhere. */
void account_leave_out(Account *account, const Location *unit, size_t step);
void account_measurement(Account *account, const Location *unit, size_t step,
                         const Measurement *measurement);
void account_finding(Account *account, const Location *unit, size_t step, const Finding *finding);
void account_part(Account *account, const Location *chip, size_t step, Verdict verdict);
void account_end(Account *account, const Location *unit, size_t step, Verdict verdict);

/* Where several chips of one server were tested and the same code failed on every one of them in one step.
 */
typedef struct Suspect {
        size_t server, step;
        const CatalogueEntry *entry;
        unsigned n_chips;
} Suspect;
#define SUSPECT_CHIPS_MIN 4

/* Calls EACH for every such code. */
void account_suspects(const Account *account, void (*each)(const Suspect *suspect, void *userdata),
                      void *userdata);

/* WHOLE: every step of the plan was this account's business, so the plan's promises of coverage must be
 * kept. */
Result account_result(const Account *account, bool whole);
