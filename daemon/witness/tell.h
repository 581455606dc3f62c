/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Tell: lines for whoever runs a program of this folder, on stderr, with their priority where that is the journal. */

#include <syslog.h>

void tell(int level, const char *format, ...) __attribute__((format(printf, 2, 3)));
