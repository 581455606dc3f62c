/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Places
 *
 * Where a record of a chip or server found something broken, and where it did not look. A failure stands until a later record of the same has
 * looked there: a server that is scanned without its neighbours passes, and says nothing of the links that lead to them, nor of the fabric.
 */

#include <stdbool.h>

#include "daemon/record/record.h"

#define PLACE_STEP_MAX 64 /* with the final zero */

typedef struct RecordPlace {
        char step[PLACE_STEP_MAX]; /* its name in the plan */
        Location where;
} RecordPlace;

typedef struct Places {
        Stage stage;
        bool in_part; /* it was not asked to look at all that its plan promises; of what it was asked for nothing is in doubt. See places_of_health() */
        size_t n_failed, n_untested;
        RecordPlace *failed, *untested;
} Places;

/* In part: a server without all its chips, of which nothing was looked at as it should be. -ENOMEM. */
int places_of_scan(const RecordScan *scan, bool in_part, Places *ret);
/*
 * In part: a chip of which steps were left out by who asked, as those of links are in a scan of one chip, and with them the promises that only they could
 * have kept, so that it is INCONCLUSIVE or FAILED. Where anything else could not be judged it is none. -ENOMEM.
 */
int places_of_health(Stage stage, const RecordHealth *health, Places *ret);
/* The same out of STATEMENT, the payload of a verdict that ENTRY is of. -EBADMSG: a place in it is none; -ENOMEM. */
struct json_t;
int places_of(const struct json_t *statement, const RecordEntry *entry, Places *ret);
void places_done(Places *places);

/* Whether what STEP may find at WHERE was left out. A port that one step could not try, no step has tried. */
bool places_leave_out(const Places *places, const char *step, const Location *where);
