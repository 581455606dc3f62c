/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The errors of the bus, and what every method refuses alike. */

#include <stdint.h>

#include <systemd/sd-bus.h>

/* Makes them known to sd-bus, each under its errno. */
int bus_errors_add(void);

/* Unknown bits are refused: whoever sets them means something by it. */
int bus_check_flags(uint64_t flags, uint64_t known, sd_bus_error *error);
