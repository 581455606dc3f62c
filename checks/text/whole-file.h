/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * WholeFile
 *
 * Small files that are read and replaced whole. PATH is looked up from the folder that DIR is an open descriptor of, AT_FDCWD for the
 * process's own, as with openat().
 */

#include <stddef.h>
#include <sys/types.h>

/*
 * The whole of a regular file of at most MAX bytes, malloc'd and with a zero behind it. -EFBIG: it is longer; -EBADMSG: it is no regular file (one
 * that is a pipe or a device is not waited for); or the errno of opening and reading.
 */
int whole_file_read(int dir, const char *path, size_t max, char **ret, size_t *ret_n);

/* The same of FD from where it stands, whatever it is. */
int whole_file_take(int fd, size_t max, char **ret, size_t *ret_n);

/*
 * The same of whatever somebody names, from the process's own folder: of a pipe, which is waited for, all that comes through it up to its end.
 * -EISDIR: it is a folder.
 */
int whole_file_drain(const char *path, size_t max, char **ret, size_t *ret_n);

/*
 * Makes the N bytes the content of PATH: whoever opens it, also after this process was killed or power lost, finds the old file or the new one,
 * whole. On return it is durable. A file PATH.new is made beside it on the way, which whatever died leaves behind; two writers of one file
 * need a lock of their own. -ENOSPC, -EIO …: the old one stands.
 */
int whole_file_replace(int dir, const char *path, mode_t mode, const void *bytes, size_t n);

/* Whether that can be done with a few KiB, as far as can be told without doing it: PATH.new is written, synced and removed. Errors as there; -EISDIR. */
int whole_file_probe(int dir, const char *path);

/* Makes it durable that a file was made, renamed or removed at PATH: its folder is synced, which must be there. */
int whole_file_settle(int dir, const char *path);
