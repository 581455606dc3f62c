/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reason: the one line a verified record comes down to, for tables, hooks and logs. */

#include <jansson.h>

#include "daemon/record/statement/health-read.h"

/* "us0-2/chip3 hbm: hbm-cell at hbm2/…/bit77 and 2 more", malloc'd. HEALTH: what STATEMENT says where it is a verdict, else it is not looked at. -ENOMEM. */
int reason_of(const json_t *statement, const char *predicate_type, const Health *health, char **ret);
/* Of a roll-up, of what lies in none of its chips and comes to RESULT: "us0-2 efa: efa-plane and 1 more", malloc'd. */
int reason_of_server(const Health *health, Result result, char **ret);
/* Of a verdict that today's rules do not agree with: "us0-2/chip3: signed under older rules: hbm: called WARNED in the face of its own evidence", malloc'd. */
int reason_of_older(const Location *where, const char *wrong, char **ret);
