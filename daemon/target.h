/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Target
 *
 * A server of the configuration: what may be asked for, what is being done with it, and how it stands in the
 * log.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"
#include "checks/vocabulary/verdict.h"
#include "daemon/config.h"

#define TARGET_CHIPS       16u /* of a Trn2 server */
#define TARGET_CHIPS_ALL   ((UINT32_C(1) << TARGET_CHIPS) - 1)
#define TARGET_CHIP_MODEL  "Trainium2"
#define TARGET_CACHED      (TARGET_CHIPS + 1) /* the chips, and the server itself as the last */

typedef struct Job Job;

/* How a part stood when it was last looked up or a record of it was signed. */
typedef struct TargetStanding {
        bool known;
        Result result; /* _RESULT_INVALID: no record */
} TargetStanding;

typedef struct Target {
        const ConfigServer *config;
        char ultraserver[LOCATION_SERVER_NAME_MAX]; /* "us0" of us0-1; "" for a server of its own */
        Job *job;           /* that runs or signs */
        unsigned n_waiting; /* jobs that wait for it */
        bool reach_is_known;
        bool is_unreachable; /* by the newest scan, once that is known */
        TargetStanding standings[TARGET_CACHED];
} Target;

typedef struct Targets {
        size_t n_items;
        Target *items;
} Targets;

/* CONFIG must outlive them. */
int targets_init(Targets *targets, const Config *config);
void targets_done(Targets *targets);
Target *targets_find(Targets *targets, const char *server); /* NULL if there is none */

/* One server and which of its chips are asked for. */
typedef struct Selected {
        Target *target;
        uint32_t chips;
} Selected;

typedef enum SelectError {
        SELECT_OK,
        SELECT_NOTHING,   /* an empty list */
        SELECT_MALFORMED, /* no location */
        SELECT_UNKNOWN,   /* no such server, chip or UltraServer */
        SELECT_DEPTH,     /* neither a server nor a chip */
        SELECT_TWICE,
        _SELECT_ERROR_MAX,
} SelectError;

const char *select_error_to_string(SelectError error);

/*
 * Resolves NAMES (servers, chips, UltraServers; ends with NULL) in the order of the configuration. Returns 0
 * with *ret_error SELECT_OK and the malloc'd selection; or 0 with what is wrong and the index of the name;
 * or -ENOMEM.
 */
int targets_select(Targets *targets, char *const *names, Selected **ret, size_t *ret_n,
                   SelectError *ret_error, size_t *ret_at);

/* A record of SUBJECT, a chip or the server, was committed with RESULT. */
void target_take(Target *target, const Location *subject, Result result);
/* The slot of a chip or, for a location without one, of the server. */
TargetStanding *target_standing(Target *target, const Location *subject);
