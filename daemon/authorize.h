/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Authority
 *
 * Whether a caller may change something. polkit is asked without waiting for it: a method handler calls
 * authorize() after it has read and validated and before it acts, and is run a second time when the answer
 * is there.
 */

#include <stdbool.h>

#include <systemd/sd-bus.h>

#include "checks/text/cleanup.h"

#define AUTHORITY_QUESTIONS_MAX         256 /* open at the same time */
#define AUTHORITY_QUESTIONS_PER_UID_MAX 32
#define AUTHORITY_NAME_BYTES            32 /* of a unique name of the bus, with the final zero */

typedef struct Authority Authority;

int authority_new(sd_bus *bus, Authority **ret);
Authority *authority_free(Authority *authority);
DEFINE_CLEANUP(Authority *, authority_free);

/*
 * 1: allowed. 0: polkit is being asked, the handler returns 1 and runs again. Negative: refused, ERROR is
 * filled in. DETAILS are shown to who is asked: pairs of key and value, ends with NULL.
 */
int authorize(Authority *authority, sd_bus_message *message, const char *action, const char *const *details,
              sd_bus_error *error);

/* Whether polkit has answered what was asked for MESSAGE, whose handler is about to run again. */
bool authority_has_answer(const Authority *authority, const sd_bus_message *message);

/*
 * The user of a sender, as the bus has told it, is remembered for as long as no 256 others came since: to ask again is to read all that the bus has for
 * us before it answers, which a flood makes a hundred megabytes. NAME NULL, as on a direct connection: nothing is remembered.
 */
void authority_remember(Authority *authority, const char *name, uid_t uid);
bool authority_knows(const Authority *authority, const char *name, uid_t *ret);

/* The uid of the sender, as it is remembered, or from the bus or the socket; never from what it says. */
int authorize_sender_uid(const Authority *authority, sd_bus_message *message, uid_t *ret);
