/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The errors of the bus, and what every method refuses alike. */

#include <stdint.h>

#include <systemd/sd-bus.h>

/* Makes them known to sd-bus, each under its errno. */
int bus_errors_add(void);

/* As sd_bus_error_setf(), of a text that may have been cut within a character or come from a file: the bus carries UTF-8 alone, and an error of anything
 * else would never be sent. */
__attribute__((format(printf, 3, 4))) int bus_error_set(sd_bus_error *error, const char *name, const char *format, ...);
/* Each byte of TEXT that is no UTF-8 becomes '?'. */
void bus_text_mend(char *text);

/* Unknown bits are refused: whoever sets them means something by it. */
int bus_check_flags(uint64_t flags, uint64_t known, sd_bus_error *error);
