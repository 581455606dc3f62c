/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Request
 *
 * What a worker is asked to do, by options or over the connection that worker.h describes.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/plan/plan.h"
#include "checks/step/target.h"
#include "checks/vocabulary/regions.h"
#include "checks/vocabulary/topology.h"

#define REQUEST_HEADER_MAX  (1u << 20) /* bytes, with the newline */
#define REQUEST_DONE_MAX    8192       /* step ids */
#define REQUEST_SEED_MAX    INT64_MAX  /* what JSON numbers of our reader hold */
#define REQUEST_SCALE_MIN   0.001
#define REQUEST_SCALE_MAX   1000.0
#define REQUEST_BUDGET_MAX  1e9
#define REQUEST_COMMAND_MAX 512
#define REQUEST_ROTATIONS_MAX 1024

/* What is known of the regions of one step on one chip, from earlier scans. */
typedef struct RequestRotation {
        char *step_id;
        char *serial; /* of the chip that was scanned then: another one in its place begins anew */
        Rotation rotation;
} RequestRotation;

typedef struct Request {
        Target target;
        Plan *plan;
        Topology *topology; /* of its servers; NULL: they are named by their place */
        char command_line[REQUEST_COMMAND_MAX]; /* for the stream */
        uint64_t seed;
        double deadline_scale; /* of every deadline in wall time */
        double budget_sec;     /* device time of one unit: the plan's, or less */
        unsigned position; /* of the first region, where nothing is known of earlier scans */
        size_t n_rotations;
        RequestRotation *rotations;
        uint64_t first_sequence;
        size_t n_done;
        char **done; /* ids of steps that ended before */
        size_t n_only;
        char **only; /* names of steps; none: all */
} Request;

/*
 * Reads a request from FD, all of it and nothing after it. Returns 0; -ECONNABORTED where the peer closed
 * before it was complete; -EINVAL with *ret_error, malloc'd, where it is not what worker.h describes; or the
 * errno of reading.
 */
int request_read(int fd, Request *ret, char **ret_error);
void request_done(Request *request);

/* Takes from TOPOLOGY, called NAME in messages, what concerns the servers of the request. -EINVAL with *ret_error where it does not
 * name them, or where they are not of one ring. */
int request_set_topology(Request *request, const Topology *topology, const char *name, char **ret_error);

/* What is known of STEP_ID's regions on the chip SERIAL; NULL: nothing. */
const Rotation *request_rotation(const Request *request, const char *step_id, const char *serial);

bool request_is_done(const Request *request, const char *step_id);
bool request_asks_for(const Request *request, const char *step);

/* The seed of STEP: the same for every unit, so that what a check prepares for one chip serves all; below 2^53, so that every reader of JSON
 * gets it whole. */
uint64_t request_step_seed(const Request *request, const char *step);

/* The digest of the plan's text in hex. */
int request_digest(const Request *request, char ret[static 65]);
