/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What an audit has found, for whoever answers for a fleet. */

#include "daemon/record/record.h"

/* Returns the exit status. */
int audit_report_print(const RecordAuditReport *report);
