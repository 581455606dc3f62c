/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <systemd/sd-bus.h>

/* From the number a person types to the object. Returns 0, or an exit status, having complained. */
int scan_path(sd_bus *bus, const char *id, char **ret);
