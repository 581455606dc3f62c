/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Archive
 *
 * An archive record tells of envelopes that have left the log. The lines that `export` writes of RECORD_ARCHIVE_RECORDS records, those of one bundle of
 * entries among the tiles, are a file of their own, whose digest is the record's subject. `dropped` names those of them, counted from the first
 * one, that are nowhere else from here on; all others stay in the log. `pruned` binds what the table `entry` says of these, of which no envelope tells any more.
 */

#include <jansson.h>

#include "checks/vocabulary/regions.h"
#include "daemon/record/statement/holes.h"

typedef struct Archive {
        uint64_t first; /* a multiple of RECORD_ARCHIVE_RECORDS */
        uint64_t size;  /* of the file, in bytes */
        RegionSet dropped;
        Holes pruned; /* those of `dropped`; none: an older assayd did not say */
} Archive;

void archive_print(Printer *predicate, const Archive *archive);
/* PREDICATE fits its schema. -EBADMSG: it speaks of other records than one bundle's, of one that comes after it, drops none, or binds others than it drops. */
int archive_parse(const json_t *predicate, Archive *ret);
