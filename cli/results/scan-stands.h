/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <systemd/sd-bus.h>

#include "cli/results/outcome.h"

/* Prints which parts of a scan stand FAILED by a record of another one, though this one has passed them: so `gate` says, whatever the scan passed. */
void scan_stands_print(sd_bus *bus, const Outcome *outcome);
