/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/files/log-files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
#include "checks/text/whole-file.h"
#include "cli/files/file-kind.h"
#include "daemon/record/record.h"

#define LINES          "records.intoto.jsonl"
#define LINE_BYTES_MAX (RECORD_ENVELOPE_MAX + 1) /* one more than any envelope has */
#define BUFFER_BYTES   ((size_t) LINE_BYTES_MAX + 1)
#define ENTRIES        (ELEMENTS(((LogFiles *) NULL)->tiles) - 1) /* among the tiles that are kept */
#define TILE_BYTES_MAX (LOG_TILE_WIDTH * ((size_t) UINT16_MAX + 2))

static int open_lines(int folder) {
        _cleanup_close_ int fd = openat(folder, LINES, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        return S_ISREG(st.st_mode) ? TAKE_FD(fd) : -EBADMSG;
}

static int failed(LogFiles *files, const char *part, int r) {
        (void) snprintf(files->failed, sizeof(files->failed), "%s", part);
        return r;
}

static int open_folder(LogFiles *files) {
        int r;

        files->folder = TAKE_FD(files->lines);
        files->has_tiles = faccessat(files->folder, "tile", F_OK, 0) == 0;
        files->lines = open_lines(files->folder);
        if (files->lines < 0 && files->lines != -ENOENT)
                return failed(files, LINES, files->lines);
        r = whole_file_read(files->folder, "checkpoint", FILE_BYTES_MAX, &files->checkpoint, &files->n_checkpoint);
        if (r != -ENOENT)
                return r < 0 ? failed(files, "checkpoint", r) : 0;
        return files->lines < 0 && !files->has_tiles ? -ENOMSG : 0;
}

int log_files_open(LogFiles *files, const char *path) {
        struct stat st;

        files->lines = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (files->lines < 0 || fstat(files->lines, &st) < 0)
                return -errno;
        for (size_t i = 0; i < ELEMENTS(files->tiles); i++)
                files->tiles[i].index = UINT64_MAX;
        files->buffer = malloc(BUFFER_BYTES);
        if (!files->buffer)
                return -ENOMEM;
        return S_ISDIR(st.st_mode) ? open_folder(files) : 0;
}

void log_files_done(LogFiles *files) {
        files->folder = close_fd(files->folder);
        files->lines = close_fd(files->lines);
        for (size_t i = 0; i < ELEMENTS(files->tiles); i++)
                free(files->tiles[i].data);
        free(files->buffer);
        free(files->checkpoint);
}

/* Moves what is left to the front and reads on. 0: the file has ended. */
static int fill(LogFiles *files) {
        ssize_t n;

        memmove(files->buffer, files->buffer + files->start, files->end - files->start);
        files->end -= files->start;
        files->start = 0;
        do
                n = files->lines < 0 ? 0 : read(files->lines, files->buffer + files->end, BUFFER_BYTES - files->end);
        while (n < 0 && errno == EINTR);
        if (n > 0)
                files->end += (size_t) n;
        return n < 0 ? -errno : n > 0;
}

int log_files_next(LogFiles *files, const char **ret, size_t *ret_n) {
        for (bool is_whole = false;;) {
                char *line = files->buffer + files->start, *end = memchr(line, '\n', files->end - files->start);
                size_t n = end ? (size_t) (end - line) : files->end - files->start;
                int r;

                if (end || is_whole || n >= LINE_BYTES_MAX) {
                        files->start += n + (end != NULL);
                        if (n == 0 && end)
                                continue;
                        *ret = line;
                        *ret_n = n;
                        return n > 0;
                }
                r = fill(files);
                if (r < 0)
                        return r;
                is_whole = r == 0;
        }
}

/* Tile INDEX of KIND, whole, or the largest part of it that there is. */
static int read_tile(LogFiles *files, unsigned kind, uint64_t index) {
        char level[8] = "entries", path[RECORD_TILE_PATH];
        LogTile *tile = &files->tiles[kind];
        int r = -ENOENT;

        if (tile->index == index)
                return 0;
        free(tile->data);
        *tile = (LogTile) { .index = UINT64_MAX };
        if (kind != ENTRIES)
                (void) snprintf(level, sizeof(level), "%u", kind);
        for (unsigned width = LOG_TILE_WIDTH; r == -ENOENT && width > 0; width--)
                r = whole_file_read(files->folder, record_tile_path(level, index, width, path), TILE_BYTES_MAX, &tile->data, &tile->n);
        if (r < 0 && r != -ENOENT)
                return failed(files, path, r);
        tile->index = index;
        return 0;
}

int log_files_hash(LogFiles *files, unsigned level, uint64_t index, uint8_t ret[static LOG_HASH_BYTES]) {
        const LogTile *tile = &files->tiles[level / LOG_TILE_HEIGHT];
        size_t at = index % LOG_TILE_WIDTH * LOG_HASH_BYTES;
        int r;

        if (!files->has_tiles)
                return -ENOENT;
        r = read_tile(files, level / LOG_TILE_HEIGHT, index / LOG_TILE_WIDTH);
        if (r < 0 || at + LOG_HASH_BYTES > tile->n)
                return r < 0 ? r : -ENOENT;
        memcpy(ret, tile->data + at, LOG_HASH_BYTES);
        return 0;
}

/* Each stands behind its length in two bytes. */
int log_files_entry(LogFiles *files, uint64_t index, const void **ret, size_t *ret_n) {
        const LogTile *tile = &files->tiles[ENTRIES];
        size_t at = 0, n = 0;
        int r;

        r = read_tile(files, ENTRIES, index / LOG_TILE_WIDTH);
        if (r < 0)
                return r;
        for (uint64_t i = 0; i <= index % LOG_TILE_WIDTH; i++) {
                at += n;
                if (tile->n < at + 2)
                        return -ENOENT;
                n = (size_t) (uint8_t) tile->data[at] << 8 | (uint8_t) tile->data[at + 1];
                at += 2;
                if (tile->n - at < n)
                        return -ENOENT;
        }
        *ret = tile->data + at;
        *ret_n = n;
        return 0;
}
