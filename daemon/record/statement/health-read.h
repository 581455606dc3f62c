/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Health, read
 *
 * A verdict as facts again: the payload of a health record or of a roll-up becomes what the daemon had handed over. So there is one judge (judge.h), one
 * account of places (places.h) and one line of text (reason.h) for what is about to be signed and for what was.
 *
 * Facts say everything once, so they cannot say what a record says twice and differently: results of measurements, a status beside its result, reasons,
 * names of tests. Of all but the last `wrong` says so, and the facts are what they are. This is where the members of `…health:v1` and `…health-summary:v1` are named; a later form has a reader of its own into the same facts.
 */

#include <jansson.h>

#include "daemon/record/record.h"
#include "daemon/record/statement/arena.h"
#include "daemon/record/statement/judge.h"
#include "daemon/record/statement/places.h"

typedef struct Health {
        bool is_rollup;
        RecordScan scan;   /* its run; of a roll-up also its server, and of the chips where they sit and how they stand */
        RecordHealth chip; /* but of a roll-up */
        RecordStep *steps; /* those of the chip or the scan */

        /* of a roll-up */
        size_t n_named;
        RecordNamed *named; /* the records of the chips, as many */
        size_t n_untested;
        const RecordPlace *untested; /* where its steps left something out */
        bool tells_reaches;          /* those of older assayds do not say which steps their plans had */
        size_t n_reaches;
        const Reach *reaches;

        Judgement wrong;   /* "", or what contradicts itself before anything is judged */
        json_t *statement; /* a reference: texts are borrowed from it */
        Arena arena;
} Health;

/*
 * STATEMENT, of PREDICATE_TYPE, health or a roll-up, was found to fit (statement-read.h), or is as it was signed; what comes back of one that does not fit must
 * not be judged. -EBADMSG: a later form of it does not; -ENOMEM.
 */
int health_read(json_t *statement, const char *predicate_type, Health *ret);
/* The same of a verdict that was verified, from its payload. -EBADMSG: it is none. */
int health_read_verified(const RecordVerified *verified, Health *ret);
/* Whether the lists of names beside the steps are theirs. */
bool health_agrees(const Health *health, Judgement *wrong);
void health_done(Health *health);
#define _cleanup_health_ _cleanup_(health_done)

/* The run of any PREDICATE that has one; its texts are borrowed. What is not told is "", NULL or 0. */
void run_read(const json_t *predicate, RecordRun *ret);
