/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unrecorded
 *
 * What was found and the log has not taken, since its disk is full or does not write: until it has, what is known from before of the parts that were
 * scanned passes nothing. It is tried again until the log takes it; what only a newly opened log can take, the next daemon offers it, which knows of it from
 * evidence and job files. So no scan that it is of is forgotten, however many come after it.
 */

#include <stddef.h>

#include "checks/vocabulary/location.h"
#include "daemon/job-file.h"
#include "daemon/manager.h"

#define UNRECORDED_REASON_MAX 192

/* Whether that is so of SUBJECT, a server or chip, and why. What passed as a whole hides nothing. */
bool unrecorded_hides(const Manager *manager, const Location *subject, char ret_reason[static UNRECORDED_REASON_MAX]);
/* Why SCAN has no records of a server; "" where it has, or none were offered to the log. */
void unrecorded_scan(const Scan *scan, char ret_reason[static UNRECORDED_REASON_MAX]);
/* Whether the log has not taken records of SCAN that were offered to it, by us or an earlier daemon. */
bool unrecorded_has(const Scan *scan);
/* How many scans that is so of, and why of the first; "" where there is none. */
void unrecorded_status(const Manager *manager, char ret[static UNRECORDED_REASON_MAX]);

/*
 * FILE holds a result that the log had refused, and the log has no beginning of the run of its server of index SERVER: an old copy of it was put back, or it
 * went on without its last records. Then nobody can sign the result, and what passed before of its parts counts no more until its plan has looked there again.
 * Returns whether that is so of any part, and remembers it; -ENOMEM.
 */
int unrecorded_keep(Manager *manager, const JobFile *file, size_t server);
void unrecorded_forget_all(Manager *manager);
