/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Anchor
 *
 * The newest checkpoint that was published, in a file beside the database and outside of it: a database that is put back from an old copy
 * does not take this file with it, and is found out.
 */

#include <stddef.h>

/* The whole file, malloc'd. -ENOENT: there is none; -EBADMSG: it is no file, or larger than any note. */
int anchor_read(const char *path, char **ret, size_t *ret_n);
/* It is on disk, whole, or what was there before still is. */
int anchor_write(const char *path, const char *note, size_t n);
