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
#include "daemon/record/statement/reach.h"

#define PLACE_STEP_MAX REACH_STEP_MAX

typedef struct RecordPlace {
        char step[PLACE_STEP_MAX]; /* its name in the plan */
        Location where;
        bool is_together;  /* of what was left out: only what is tested together with other servers */
} RecordPlace;

typedef struct Places {
        Stage stage;
        bool in_part; /* it was not asked to look at all that its plan promises; of what it was asked for nothing is in doubt. See places_of_health() */
        size_t n_failed, n_untested;
        RecordPlace *failed, *untested;
        bool tells_reaches; /* roll-ups of older assayds do not say which steps their plans had */
        size_t n_reaches;
        Reach *reaches; /* of all steps, also of those that were left out */
} Places;

/* Of a component that has no location, or one that is none. */
#define PLACE_UNNAMED ((Location) { .server = "?" })

static inline bool place_is_unnamed(const Location *where) {
        return *where->server == '?';
}

/* In part: a server without all its chips, of which nothing was looked at as it should be. -ENOMEM. */
int places_of_scan(const RecordScan *scan, Places *ret);
/*
 * In part: a chip of which steps were left out by who asked, as those of links are in a scan of one chip, or had to do without chips of the server that nobody
 * asked for, and with them the promises that only they could have kept, so that it is INCONCLUSIVE or FAILED. Where anything else could not be judged it is
 * none. -ENOMEM.
 */
int places_of_health(const RecordRun *run, const RecordHealth *health, Places *ret);
/* Of what was signed. -EBADMSG: a place in it has no name; -ENOMEM. */
struct Health;
int places_of(const struct Health *health, Places *ret);
/* The same of a verdict with its payload, and what that says. -EBADMSG, -ENOMEM. */
int places_of_verified(const RecordVerified *verified, struct Health *ret_health, Places *ret);
void places_done(Places *places);

/* Whether ENTRY, of PLACES, may clear at all what a plan of that name and stage has found: it is of that plan, or a pass of one that looks at as much. */
bool places_may_clear(const Places *places, const RecordEntry *entry, const char *plan, Stage stage);
/* Of step STEP, or NULL: there was none, or nobody says. */
const Reach *places_reach(const Places *places, const char *step);
/*
 * Whether a record of PLACES has reached what FAILED found at WHERE: it had that step, which tested no less. SAME_PLAN: both are of one plan, whatever
 * that says by now. TOLD: the record of the failure said which steps there were; where neither does, as in older logs, it is taken to have had it.
 */
bool places_have_reached(const Places *places, const Reach *failed, const Location *where, bool same_plan, bool told);
/*
 * Whether what STEP may find at WHERE was left out. A port that one step could not try, no step has tried. IS_TOGETHER: only tests together with other
 * servers show it, so it is left out where these were.
 */
bool places_leave_out(const Places *places, const char *step, const Location *where, bool is_together);
/*
 * Whether what a record of PLACES found there, FAILED, stands until a later one of the same has looked there. What was found of a server although that was
 * left out (its fabric, from itself alone), whoever leaves out the same can clear; a chip's does not go by that.
 */
bool places_keep(const Places *places, const RecordPlace *failed);
