/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Several parts in a few words. */

#include <stddef.h>

#define PART_LIST_MAX 64

/* "us0-1/chip3", "us0-1/chip0-8,10" for chips of one server in rising order, else "us0-1/chip0 and 61 more". N is at least 1. RET is filled and returned. */
const char *part_list_format(const char *const *parts, size_t n, char ret[static PART_LIST_MAX]);
