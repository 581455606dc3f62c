/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Log open: the log as the configuration says, with its keys. */

#include "daemon/config.h"
#include "daemon/record/record.h"

/* *ret_public_key: of the records, PEM, malloc'd. Errors are logged; -EBADMSG, an alarm: nothing may be signed. */
int log_open(const Config *config, RecordLog **ret, char **ret_public_key);
/*
 * Goes on with a log that is refused for want of a decision: see record_log_decide(). Where root asks, as the owner of its folder. Errors are logged, and what was
 * accepted.
 */
int log_decide(const Config *config, const RecordDecision *decision);
