/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The verdict table of a finished scan, read from its signed records. */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "cli/results/outcome.h"

/* Prints it (or JSON) and returns the exit status of the scan; complains itself. DETAILED: with the tables of its collectives. */
int verdicts_print(sd_bus *bus, const OutcomeAsked *asked, bool detailed);
