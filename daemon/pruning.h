/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Pruning: where the configuration says how long envelopes are kept, those that are older go into archives once a day, and after the start. */

#include "daemon/manager.h"

/* Begins; nothing where all is kept. */
int manager_start_pruning(Manager *manager);
/* Whether it waits for OUTCOME, which then tells what became of it. */
bool pruning_take_outcome(Pruning *pruning, const RecordOutcome *outcome);
Pruning *pruning_free(Pruning *pruning);
