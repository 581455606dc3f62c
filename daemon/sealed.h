/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Sealed
 *
 * Bulk data for bus clients: a memfd that nobody can change any more, each reader with an offset of its own.
 */

#include <stddef.h>

/* An empty memfd to be written. */
int sealed_new(const char *name);
/* Seals FD, which stays the caller's, and opens it again for reading alone, at its start. */
int sealed_open(int fd);
