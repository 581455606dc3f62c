/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Reach
 *
 * How much a step of a plan has tested, as its record tells: the check that ran, what it counted, and which regions of a memory it came to. A pass
 * clears a failure only where its own step of that name reached no less, so that a plan that was cut down clears nothing that it has not looked at.
 */

#include <stdbool.h>

#include "daemon/record/record.h"

#define REACH_UNTESTED "_untested_" /* in the names of measurements by which checks tell where they did not look, and why */

#define REACH_UNASKED  "_chips_not_requested" /* so end the names of measurements that tell how many chips of its server a step went without */

#define REACH_NEEDED_MAX 4 /* servers at the far ends of what a step found at one chip */

#define REACH_STEP_MAX   64   /* of a step's or a check's name, with the final zero */
#define REACH_COUNTS_MAX 8    /* a check counts fewer things */
#define REACH_TEXT_MAX   1024 /* of reach_format(), with the final zero */

typedef struct ReachCount {
        char name[REACH_STEP_MAX];
        double reached, promised; /* 0: nothing was promised */
} ReachCount;

typedef struct Reach {
        char step[REACH_STEP_MAX];  /* its name in the plan */
        char check[REACH_STEP_MAX]; /* "": not known */
        char plan[17];              /* the first half of the digest of its plan, in hex; "": not known */
        bool is_together;           /* of a failure: only tests together with other servers show it */
        bool is_with_servers;       /* it was tested with all other servers of the run that it could be tested with, and there were some */
        bool needs_servers;         /* of a failure: other servers were needed to see it, and of these … */
        char needed[REACH_NEEDED_MAX][LOCATION_SERVER_NAME_MAX]; /* … those at the far ends of what was found; "" behind the last one */
        char servers[RECORD_RUN_SERVERS_MAX][LOCATION_SERVER_NAME_MAX]; /* that were scanned together, its own among them */
        bool has_regions;           /* it tests its memory region by region */
        Partition partition;
        RegionSet tested; /* in this very run */
        size_t n_left_out; /* of a server: how often its chips, and what lies in none, tell that this step left something out there */
        size_t n_counts;
        ReachCount counts[REACH_COUNTS_MAX]; /* of the chip; of a server the least of its chips */
} Reach;

/* Whether the name of a measurement ends so, behind something else: several tell by that what they are. */
bool reach_name_ends_with(const char *name, const char *end);

/* Whether NAME is among the names of what STEP counts, or could have counted. */
bool step_counts(const RecordStep *step, const char *name);
/* Whether MEASUREMENT is one of the counts by which STEP of UNIT tells how much it has tested. */
bool reach_is_count(const RecordStep *step, const Measurement *measurement, const Location *unit);

/* In how many places STEP left something out, by what it measured. */
size_t reach_left_out(const RecordStep *step);
/* Of a step of a chip, and of step INDEX of a server, by its chips. */
void reach_of_step(const RecordRun *run, const RecordHealth *health, const RecordStep *step, Reach *ret);
void reach_of_server_step(const RecordScan *scan, size_t index, Reach *ret);

/* A step of which nothing is known yet; and the most that was counted of it: NULL where it is no amount, or there is no room. */
void reach_init(const char *step, const char *check, const char *plan_sha256, Reach *ret);
ReachCount *reach_count(Reach *reach, const char *name, double reached);

/* The reach that a pass needs to clear a failure of REACH, as one word without '/', and back. -EBADMSG: it is none. A bare name asks for that step alone. */
char *reach_format(const Reach *reach, char text[static REACH_TEXT_MAX]);
int reach_parse(const char *text, Reach *ret);

/* Whether it took other servers to see what FAILED had found, and PASS was tested without any, or without those. */
bool reach_lacks_servers(const Reach *pass, const Reach *failed);
/*
 * Whether the step of which PASS tells has reached what FAILED had found at WHERE. REMEMBERS: it is the same step of a later scan of the same plan,
 * which itself remembers the regions that failed.
 */
bool reach_covers(const Reach *pass, const Reach *failed, const Location *where, bool remembers);
