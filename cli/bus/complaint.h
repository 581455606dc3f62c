/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Why a call of the daemon came to nothing, for people, and the exit status that follows. */

#include <systemd/sd-bus.h>

/* Complains about WHAT. Returns 64 where what was asked is at fault, 69 where there is no daemon, 77 where it is not allowed, else 2. */
int complain_bus(const sd_bus_error *error, int r, const char *what);
