/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

#include "daemon/record/record.h"

/* A verified record as a CloudEvent on a line of its own, and a word on stderr where it is larger than every transport takes. An exit status. */
int event_print(FILE *file, const char *origin, const RecordVerified *verified, const char *envelope, size_t n);
