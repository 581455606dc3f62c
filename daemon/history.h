/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * History
 *
 * The scans of earlier daemons, out of what the log holds of them: a scan is the run-start records that stand in a row, of the same plan and with run
 * IDs of the same millisecond, which no two scans have, and what their runs ended with. So its number is how many there were up to it, and nothing
 * else has to be kept. The last ASSAY_SCANS_KEPT are remembered, and the log is walked through once.
 */

#include "daemon/manager.h"

typedef struct History History;

/* The remains of a scan of an earlier daemon. */
typedef struct Past {
        char plan[64];
        size_t n_targets, n_runs;
        char **targets;              /* as they were asked for */
        char (*runs)[RUN_ID_BYTES];  /* of its servers */
} Past;

Past *past_free(Past *past);

/* Adds those that have ended to MANAGER, whose next scan has the number after the last one of the log. */
int history_read(Manager *manager, History **ret);
/* The number of the scan that RUN belongs to; 0: it is none of the last. HISTORY may be NULL. */
uint64_t history_number(const History *history, const char *run);
History *history_free(History *history);
DEFINE_CLEANUP(History *, history_free);
