/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Rotation
 *
 * What is known of the regions of a memory that scans test by and by: read from the newest signed record that tells it,
 * told to the worker that goes on, and carried into the next record with what the worker did. There is no other place
 * where it stands: what is not committed was not tested, and what cannot be read begins anew.
 */

#include <jansson.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/regions.h"
#include "daemon/record/record.h"

/* What PAYLOAD, of a verified health record, knows of STEP. -ENOENT: nothing that can be gone on from. */
int rotation_read(const char *payload, size_t n, const char *step, RecordKnownRegions **ret);

/* Takes the passes out of KNOWN, which records that are lost may take back. What was found wrong stands. */
void rotation_forget_passes(RecordKnownRegions *known);

/* For the request of a worker (see checks/worker/worker.h); NULL without memory. */
json_t *rotation_to_request(const RecordKnownRegions *rotation, const char *step_id, uint64_t now_usec);

/*
 * The facts of a record: what BEFORE knew (NULL: nothing) and NOW tells (NULL: nothing new) of the chip SERIAL (NULL or "":
 * unknown). *ret is NULL where there is nothing to say; release with rotation_facts_free().
 */
int rotation_facts(const RecordKnownRegions *before, const Regions *now, const char *serial, const RecordRun *run,
                   RecordRegions **ret);
RecordRegions *rotation_facts_free(RecordRegions *facts);
