/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Archive, holes
 *
 * An archive record tells of envelopes that have left the log. The lines that `export` writes of RECORD_ARCHIVE_RECORDS records, those of one bundle of
 * entries among the tiles, are a file of their own, whose digest is the record's subject. `dropped` names those of them, counted from the first
 * one, that are nowhere else from here on; all others stay in the log. Holes are records without an envelope that are in no archive: assayds that made none
 * have pruned them, and only a decision tells of these.
 */

#include <jansson.h>

#include "checks/regions.h"
#include "daemon/record/encode/digest.h"
#include "daemon/record/encode/printer.h"
#include "daemon/record/record.h"

typedef struct Archive {
        uint64_t first; /* a multiple of RECORD_ARCHIVE_RECORDS */
        uint64_t size;  /* of the file, in bytes */
        RegionSet dropped;
} Archive;

typedef struct Holes {
        uint64_t n, first, end; /* how many; the first one, and what follows the last */
        uint8_t digest[DIGEST_BYTES]; /* of what the table `entry` says of each: see holes_take() */
} Holes;

void archive_print(Printer *predicate, const Archive *archive);
/* PREDICATE fits its schema. -EBADMSG: it speaks of other records than one bundle's, of one that comes after it, or drops none. */
int archive_parse(const json_t *predicate, Archive *ret);

/*
 * The next one, of ENTRY: the digest becomes the SHA-256 of what it was, 32 zero bytes at first, and the line "INDEX ID TYPE SUBJECT RESULT PLAN RUN FINISHED\n",
 * where FINISHED is in microseconds since the epoch. -EIO
 */
int holes_take(Holes *holes, const RecordEntry *entry);
bool holes_equal(const Holes *a, const Holes *b);
/* The member `pruned` of a decision. */
void holes_print(Printer *predicate, const Holes *holes);
/* -ENOENT: it has none that could be one. */
int holes_parse(const json_t *predicate, Holes *ret);
