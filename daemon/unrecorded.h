/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unrecorded
 *
 * What was found and the log has not taken, since its disk is full or does not write: until it has, what is known from before of the parts that were
 * scanned passes nothing. The log tries again by itself; a restart changes nothing, since the next daemon reads it from evidence and job files.
 */

#include <stddef.h>

#include "checks/location.h"
#include "daemon/manager.h"

#define UNRECORDED_REASON_MAX 160

/* Whether that is so of SUBJECT, a server or chip, and why. What passed as a whole hides nothing. */
bool unrecorded_hides(const Manager *manager, const Location *subject, char ret_reason[static UNRECORDED_REASON_MAX]);
/* Why SCAN has no records of a server; "" where it has, or none were offered to the log. */
void unrecorded_scan(const Scan *scan, char ret_reason[static UNRECORDED_REASON_MAX]);
/* How many scans wait for the log to take their records, and *ret_refusal (-errno; 0: nobody knows) why the first does. */
size_t unrecorded_count(const Manager *manager, int *ret_refusal);
