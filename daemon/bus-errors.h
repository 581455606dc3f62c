/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The errors of the bus, known to sd-bus under their errno. */

int bus_errors_add(void);
