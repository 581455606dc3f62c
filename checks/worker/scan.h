/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scan
 *
 * The state of one worker: what its parts share. Inside of the worker only.
 */

#include <sys/types.h>

#include "checks/step/check.h"
#include "checks/worker/account.h"
#include "checks/worker/inventory.h"
#include "checks/worker/outlet.h"
#include "checks/worker/request.h"

/* Of the window of each connection: room for every step that a plan may ask for. Pages cost only where they are touched. */
#define SCAN_WINDOW_BYTES (32u << 20)

typedef struct Unit Unit;

typedef struct ScanServer {
        const TargetServer *target;
        Device *device; /* holds the claims of its chips, see claim.h; NULL: it could not be reached */
        int error;     /* it could not be reached; -EBUSY: another scan has it */
        int claim_errors[CHIPS]; /* what a chip did instead of taking or refusing the claim, as ChipFacts.error */
        bool silent;   /* when it was last asked, nothing on it answered */
        uint16_t lost; /* chips that do not answer any more */
        uint16_t doubtful; /* chips that were silent in a step on another server, in runs of which nothing was told */
        Inventory inventory;
} ScanServer;

typedef struct Scan {
        const Request *request;
        pid_t pid; /* of the worker */
        Account *account;
        int input_fd; /* end of file cancels; negative: nobody can */
        int null_fd;
        size_t n_servers;
        ScanServer servers[TARGET_SERVERS_MAX];
        size_t n_units;
        Unit *units; /* chips, then servers */
        Outlet outlet;
} Scan;

/* The chips of SERVER that a check which disturbs DISTURBS may include. */
uint16_t scan_included(const Scan *scan, size_t server, Disturbs disturbs);

/* How long a command may take, in wall time. */
double scan_deadline_sec(const Scan *scan);

/* A connection to one chip, or to all (WIRE_CHIP_ALL), with the plan's deadline. */
int scan_open(const Scan *scan, size_t server, unsigned chip, size_t window_bytes, Device **ret);
