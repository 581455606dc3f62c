/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * A log in files: its records as JSON lines, or the folder of an export in tiles (c2sp.org/tlog-tiles) with them:
 *
 *     checkpoint  records.intoto.jsonl  tile/0/x001/x234/067[.p/W]  tile/entries/x001/x234/067[.p/W]
 *
 * Read piece by piece, however large it is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_TILE_WIDTH  256 /* hashes, or entries */
#define LOG_TILE_HEIGHT 8   /* levels of the tree in one of tiles */
#define LOG_HASH_BYTES  32

/* One of a level, or of entries, that is kept. */
typedef struct LogTile {
        uint64_t index;
        char *data; /* NULL: there is none */
        size_t n;
} LogTile;

typedef struct LogFiles {
        int folder, lines;
        bool has_tiles;
        char failed[80]; /* what of the folder could not be read, after an error; "": the folder or file itself */
        char *buffer;
        size_t start, end;
        char *checkpoint; /* of the folder; NULL: there is none */
        size_t n_checkpoint;
        LogTile tiles[64 / LOG_TILE_HEIGHT + 1]; /* of each level, then of entries */
} LogFiles;

#define LOG_FILES_INIT { .folder = -EBADF, .lines = -EBADF }

/*
 * A folder or a file; a folder may lack its records, where all were dropped. -EBADMSG: what should be a file of the folder is none, here and for
 * what tiles tell; -ENOMSG: a folder without any of the above.
 */
int log_files_open(LogFiles *files, const char *path);
void log_files_done(LogFiles *files);

/* The next line, without its end; 0: there is none. One longer than any record comes in pieces, of which none is one. */
int log_files_next(LogFiles *files, const char **ret, size_t *ret_n);

/* Node INDEX of LEVEL, a multiple of LOG_TILE_HEIGHT, and the entry of leaf INDEX, as tiles tell them. -ENOENT: they do not. */
int log_files_hash(LogFiles *files, unsigned level, uint64_t index, uint8_t ret[static LOG_HASH_BYTES]);
int log_files_entry(LogFiles *files, uint64_t index, const void **ret, size_t *ret_n);
