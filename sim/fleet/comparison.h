/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Comparison
 *
 * What a scan said against what its scenario expects. Chips that are not named must have PASSED; findings must be exactly
 * those listed, code and place, unless `more: true`. Only servers that the stream is about are compared.
 */

#include <stdio.h>

#include "sim/fleet/scenario.h"

/*
 * Reads the OCP stream in FILE and writes one line per difference to OUT. Returns how many there are, or a negative errno
 * where FILE is no whole stream (which is said too).
 */
int expectations_compare(const Scenario *scenario, FILE *file, FILE *out);
