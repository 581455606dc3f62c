/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A folder of archives, files of RECORD_ARCHIVE_RECORDS lines each, by the names that the log's records give them. One of them at a time is read. */

#include <stddef.h>
#include <stdint.h>

#include "daemon/record/record.h"

typedef struct ArchiveFolder {
        int fd; /* -EBADF: there is none */
        char name[RECORD_ARCHIVE_NAME_MAX]; /* that was read last */
        char *text; /* NULL: there is no such file */
        size_t n;
        unsigned n_lines;
} ArchiveFolder;

#define ARCHIVE_FOLDER_INIT { .fd = -EBADF }

/* The errno of opening it. */
int archive_folder_open(ArchiveFolder *folder, const char *path);
void archive_folder_done(ArchiveFolder *folder);

/* The line of record INDEX, without its end; borrowed until the next call. -ENOENT: no archive there has it, nor does a file of fewer or more lines. */
int archive_folder_line(ArchiveFolder *folder, uint64_t index, const char **ret, size_t *ret_n);
/* The SHA-256 and the size of the file that is to have record INDEX. -ENOENT: it is not there. */
int archive_folder_digest(ArchiveFolder *folder, uint64_t index, char ret[static RECORD_ID_HEX], uint64_t *ret_size);
