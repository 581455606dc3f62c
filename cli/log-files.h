/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A log in files: its records as JSON lines, or the folder of an export in tiles (c2sp.org/tlog-tiles) with them:
 *
 *     checkpoint  records.intoto.jsonl  tile/0/x001/x234/067[.p/W]
 *
 * Read piece by piece, however large it is.
 */

#include <stddef.h>
#include <stdint.h>

#define LOG_TILE_LEAVES 256
#define LOG_LEAF_BYTES  32

typedef struct LogFiles {
        int folder, lines;
        char failed[80]; /* what of the folder could not be read, after an error; "": the folder or file itself */
        char *buffer;
        size_t start, end;
        char *checkpoint; /* of the folder; NULL: there is none */
        size_t n_checkpoint;
        uint64_t tile; /* that is kept here */
        size_t n_leaves;
        uint8_t leaves[LOG_TILE_LEAVES][LOG_LEAF_BYTES];
} LogFiles;

#define LOG_FILES_INIT { .folder = -EBADF, .lines = -EBADF, .tile = UINT64_MAX }

/*
 * A folder or a file; a folder may lack its records, where all were pruned. -EBADMSG: what should be a file of the folder is none, here and for
 * a leaf; -ENOMSG: a folder without any of the above.
 */
int log_files_open(LogFiles *files, const char *path);
void log_files_done(LogFiles *files);

/* The next line, without its end; 0: there is none. One longer than any record comes in pieces, of which none is one. */
int log_files_next(LogFiles *files, const char **ret, size_t *ret_n);

/* The hash of leaf INDEX, as tiles tell it. -ENOENT: they do not. */
int log_files_leaf(LogFiles *files, uint64_t index, uint8_t ret[static LOG_LEAF_BYTES]);
