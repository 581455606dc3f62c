/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Under what circumstances a scan took place: who asked for it and why, which software ran, and what sensors read. */

#include <jansson.h>

/* Prints lines of STATEMENT, a verified one of server WHERE; nothing where it tells nothing. */
void scan_context_print(const json_t *statement, const char *where);
