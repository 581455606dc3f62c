/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The lines below the table of a scan: its coverage, repairs and gaps, and the records that tell them. */

#include "cli/results/outcome.h"

void scan_summary_print(const Outcome *outcome, bool detailed);
