/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>
#include <systemd/sd-bus.h>

/* From what a person types, a number or the ID of one of its records, to the scan's number and object. Returns 0, or an exit status, having complained. */
int scan_path(sd_bus *bus, const char *name, uint64_t *ret_id, char **ret);
