/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What stands below the table of a scan: what was covered, repaired and left out, and which records tell it. */

#include "cli/outcome.h"

void scan_summary_print(const Outcome *outcome);
