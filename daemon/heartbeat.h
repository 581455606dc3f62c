/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Heartbeat
 *
 * A record when the daemon begins to sign, and one at least every heartbeat_sec however idle it is: so silence in a log
 * means that nobody was there, or that its end was taken away.
 */

#include "daemon/manager.h"

/* Begins; once, before anything else is signed. */
int manager_start_heartbeat(Manager *manager);
/* Whether it waits for OUTCOME, which then tells what became of its last record. */
bool heartbeat_take_outcome(Heartbeat *heartbeat, const RecordOutcome *outcome);
Heartbeat *heartbeat_free(Heartbeat *heartbeat);
