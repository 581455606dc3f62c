/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Companions
 *
 * On the bus: what a record says in the words of in-toto, signed when somebody asks. Nobody needs permission, since what is signed says nothing that
 * the log does not say to everyone; but each costs a signature, of a token perhaps, between those of records. So few are in work at once, and
 * of each user one.
 */

#include "daemon/manager.h"

int companion_bus_attach(Manager *manager, sd_bus *bus);
Companions *companions_free(Companions *companions);

/* Whether a call waits for OUTCOME, and now has its answer. */
bool companions_take_outcome(Companions *companions, const RecordOutcome *outcome);
