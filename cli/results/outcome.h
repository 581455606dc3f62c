/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Outcome
 *
 * What a finished scan came to, by its signed records, each fetched and verified here. What the daemon says of the scan beside them can make
 * that worse and never better: a record that it keeps back, or a target that no record tells of, is nothing that passed.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "cli/results/view.h"
#include "daemon/record/record.h"

typedef struct OutcomeAsked {
        uint64_t id;
        const char *path;     /* of the scan's object */
        const char *plan;     /* its records must be of it */
        char *const *targets; /* with a final NULL: each must be told of, beside those that the daemon names */
} OutcomeAsked;

/* Records that did not verify, for one reason. */
typedef struct OutcomeDoubt {
        size_t n;
        uint64_t first; /* index of the first */
        char *reason;   /* of that one; NULL: none was told */
        RecordLack lack; /* of that one */
} OutcomeDoubt;

typedef struct Outcome {
        uint64_t id; /* of the scan */
        size_t n;
        RecordEntry *entries; /* of what verified, each once, in the order of the daemon */
        View **views;
        Result proven;        /* what they say of what was asked for */
        Result said;          /* the daemon's word; negative: it is none */
        Result result;        /* the same, where what is in doubt or missing is INCONCLUSIVE */
        OutcomeDoubt doubts[_RECORD_TRUST_MAX];
        size_t n_missing;     /* of targets, and of chips that a server's record names */
        char missing[LOCATION_STRING_MAX]; /* the first of them */
} Outcome;

/* Returns 0, or an exit status where the scan could not be read, having complained. */
int outcome_read(sd_bus *bus, const OutcomeAsked *asked, Outcome **ret);
Outcome *outcome_free(Outcome *outcome);
DEFINE_CLEANUP(Outcome *, outcome_free);

/* Says why it is not what was hoped for, where no record does, and returns the exit status. */
int outcome_conclude(const Outcome *outcome);
