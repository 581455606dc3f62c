/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * StandingLog
 *
 * How a server or chip stands by what the log has, read and verified: what was found of it and what no later look has cleared. Nothing is tested and
 * nothing is believed that does not verify. What a scan found and the log has not got, standing.h alone knows, by which everybody else asks.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/vocabulary/location.h"
#include "checks/vocabulary/verdict.h"
#include "daemon/record/record.h"
#include "daemon/standing.h"

/* As standing_read(), standing_parts() and standing_is_unreachable(). */
void standing_log_read(RecordLog *log, const Location *subject, const char *plan, uint64_t max_age_usec, RecordPart *ret);
void standing_log_parts(RecordLog *log, const Location *server, const char *plan, uint64_t max_age_usec, RecordPart ret[static STANDING_PARTS]);
bool standing_log_is_unreachable(RecordLog *log, const Location *server);
