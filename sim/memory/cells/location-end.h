/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Locations by their ends: "bit3", "row9/col5/bit3" below what another location has in common with them. */

#include "checks/vocabulary/location.h"

/*
 * TEXT is the end of a location of the same sort as AT, whose beginning it shares: at least SHARED_MIN parts. Returns 0, or
 * -EINVAL with what is wrong (a static sentence) and its byte offset in TEXT.
 */
int memory_location_end(const char *text, const Location *at, unsigned shared_min, Location *ret, const char **ret_wrong,
                        size_t *ret_offset);
