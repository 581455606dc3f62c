/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Check
 *
 * A check judges one unit: a chip, or a server where several chips are needed. It is one file (or folder) that ends in
 * its declaration `const Check check_<name>`, and sequential code: it calls the device, measures, finds.
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/vocabulary/location.h"
#include "checks/vocabulary/verdict.h"

typedef struct Step Step;

typedef struct Check {
        const char *name;
        const char *summary;
        const char *reads;             /* what it uses of the device: for the manual, `assay-run --describe` */
        const char *const *codes;      /* of the catalogue; ends with NULL */
        const char *skips;             /* when and why it skips; NULL: never */
        LocationKind unit;             /* LOCATION_CHIP or LOCATION_SERVER: a step is this check on one such part */
        Disturbs disturbs;
        /* NULL, or what a step with these PARAMETERS disturbs, where that may be less; disturbs says when. */
        Disturbs (*disturbs_with)(const void *parameters);
        unsigned deadline_sec;         /* wall time of one step; past it the child is killed */
        /*
         * NULL (none), or the device seconds that a step with these PARAMETERS cannot do without. Steps that come before it on the same
         * unit leave it as many of the plan's budget, whatever they find.
         */
        double (*least_sec)(const void *parameters);
        /*
         * Judges the unit. Returns 0 with *ret set, or a negative errno: could not judge. What the device itself did
         * wrong is a finding, never an errno.
         */
        int (*run)(Step *step, Verdict *ret);
        /*
         * NULL, or computes what every unit shares (golden values) once, in the worker before it forks its children; they
         * inherit it. run() must cope with it not having been called.
         */
        void (*prepare)(void);
        /* The same where it depends on PARAMETERS or the SEED of a step: called for each step that is one of this check. */
        void (*prepare_for)(const void *parameters, uint64_t seed);
} Check;

const Check *check_find(const char *name); /* NULL if there is none */
const Check *check_at(size_t index);       /* NULL past the end */

/* What a step of CHECK with PARAMETERS disturbs. */
static inline Disturbs check_disturbs(const Check *check, const void *parameters) {
        return check->disturbs_with ? check->disturbs_with(parameters) : check->disturbs;
}

/* The device seconds that a step of CHECK with PARAMETERS cannot do without. */
static inline double check_least_sec(const Check *check, const void *parameters) {
        return check->least_sec ? check->least_sec(parameters) : 0;
}
