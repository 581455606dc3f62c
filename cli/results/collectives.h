/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a verified record tells of collectives of which its chip was rank 0, as the table of nccom-test. */

#include <jansson.h>

/* Prints a table for each collective in STATEMENT, which is of WHERE; nothing where there is none. 0, or a negative errno. */
int collectives_print(const json_t *statement, const char *where);
