/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Timestamp: a time of CLOCK_REALTIME in UTC as RFC 3339 writes it, yyyy-mm-ddThh:mm:ss[.fff…]Z. */

#include <stdint.h>

#include "daemon/record/encode/printer.h"

/* TEXT has that form, as the schemas check it. -EINVAL where there is no such time (the 30th of February, before 1970). */
int timestamp_parse(const char *text, uint64_t *ret_usec);
/* With milliseconds. -EINVAL: in a year that no calendar has. */
#define TIMESTAMP_MAX 48
int timestamp_format(uint64_t usec, char ret[static TIMESTAMP_MAX]);
/* The same as a member of an object. A year that has no four digits is an error of the printer. */
void timestamp_print(Printer *printer, const char *key, uint64_t usec);
