/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Holes
 *
 * Records without an envelope. Of these nothing but the station's tables tells what they said, so a record that is signed binds that by a digest: that of an archive what it
 * drops; a decision what is in no archive, since assayds that made none have pruned it.
 */

#include <jansson.h>

#include "daemon/record/encode/digest.h"
#include "daemon/record/encode/printer.h"
#include "daemon/record/record.h"

typedef struct Holes {
        uint64_t n, first, end; /* how many; the first one, and what follows the last */
        uint8_t digest[DIGEST_BYTES]; /* of what the table `entry` says of each: see holes_take() */
} Holes;

/*
 * The next one, of ENTRY: the digest becomes the SHA-256 of what it was, 32 zero bytes at first, and the line "INDEX ID TYPE SUBJECT RESULT PLAN RUN FINISHED\n",
 * where FINISHED is in microseconds since the epoch. -EIO
 */
int holes_take(Holes *holes, const RecordEntry *entry);
bool holes_equal(const Holes *a, const Holes *b);
/* The member `pruned` of PREDICATE; nothing where there are none. */
void holes_print(Printer *predicate, const Holes *holes);
/* -ENOENT: it has none that could be one. */
int holes_parse(const json_t *predicate, Holes *ret);
/* The member `range`, up to before END. */
void range_print(Printer *predicate, uint64_t first, uint64_t end);
