/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Closing
 *
 * Runs that were begun and that nobody goes on with, however many: each gets an INCONCLUSIVE end in the words of its own run-start, as does each chip that
 * was to be tested, for it may have found anything; where the run-start does not name them that is all of its server. A group at a
 * time, so that other records find room between and the event loop is never busy for long. What a daemon does not come to, its table of
 * unfinished runs has for the next one; until a run has its end, what passed before on its server says nothing. One that cannot be closed would hide
 * that for ever, so a newer look of its plan at all of a part, which ended with a verdict, ends it there.
 */

#include "daemon/manager.h"

/* Begins with ENTRIES (malloc'd, taken over), N run-starts. */
void manager_close_runs(Manager *manager, RecordEntry *entries, size_t n);
/* The next group, if the one before is through. NULL is nothing to do. */
void closing_go_on(Closing *closing);
/* Whether OUTCOME is of one of them. */
bool closing_take_outcome(Closing *closing, const RecordOutcome *outcome);
/* Whether a run of SUBJECT's server is among those that are not closed, whose plan has not looked at all of SUBJECT again. */
bool closing_has(const Closing *closing, const Location *subject);
Closing *closing_free(Closing *closing);
