/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Keys
 *
 * The keys of records on the bus: which ones there are, and the change from one to the next. A change waits for no scan and no scan
 * waits for it: while any is not finished it is refused, and after it none begins until the daemon is started with the new key. So
 * nothing that was begun under one key ends under another, or not at all.
 */

#include "daemon/manager.h"

int keys_bus_attach(Manager *manager, sd_bus *bus);
Keys *keys_free(Keys *keys);

/* Whether it waits for OUTCOME, which then tells what became of the change. */
bool keys_take_outcome(Keys *keys, const RecordOutcome *outcome);
/* The ID of the key that is to sign after a restart; NULL: none was named. */
const char *keys_successor(const Keys *keys);
/* Whether a scan may begin; negative with ERROR filled in. */
int keys_check_scan(const Keys *keys, sd_bus_error *error);
