/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reason: the one line a verified record comes down to, for tables, hooks and logs. */

#include <jansson.h>

#include "checks/verdict.h"
#include "daemon/record/encode/printer.h"

/* "us0-2/chip3 hbm: hbm-cell at hbm2/…/bit77 and 2 more". PREDICATE agrees with its schema and itself. */
void reason_print(Printer *printer, const json_t *predicate, const char *predicate_type, const char *uri);
/* The same of a whole statement, malloc'd. */
int reason_of(const json_t *statement, const char *predicate_type, char **ret);
/* Of the roll-up PREDICATE of SUBJECT, of what lies in none of its chips and comes to RESULT: "us0-2 efa: efa-plane and 1 more", malloc'd. */
int reason_of_server(const json_t *predicate, const char *subject, Result result, char **ret);
