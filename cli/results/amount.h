/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Amounts of what a scan counts: bytes as memory is sold, everything else as a number. */

#include <stddef.h>

#define AMOUNT_MAX 48

/* "96 GiB" where MEASUREMENT counts bytes; else "2957312". RET is filled and returned. */
const char *amount_format(const char *measurement, double amount, char ret[static AMOUNT_MAX]);
