/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/log-files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks/whole-file.h"
#include "cli/assayctl.h"
#include "daemon/record/record.h"

#define LINES          "records.intoto.jsonl"
#define LINE_BYTES_MAX (RECORD_ENVELOPE_MAX + 1) /* one more than any envelope has */
#define BUFFER_BYTES   ((size_t) LINE_BYTES_MAX + 1)

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
        files->lines = open_lines(files->folder);
        if (files->lines < 0 && files->lines != -ENOENT)
                return failed(files, LINES, files->lines);
        r = whole_file_read(files->folder, "checkpoint", FILE_BYTES_MAX, &files->checkpoint, &files->n_checkpoint);
        if (r != -ENOENT)
                return r < 0 ? failed(files, "checkpoint", r) : 0;
        return files->lines < 0 && faccessat(files->folder, "tile", F_OK, 0) < 0 ? -ENOMSG : 0;
}

int log_files_open(LogFiles *files, const char *path) {
        struct stat st;

        files->lines = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        if (files->lines < 0 || fstat(files->lines, &st) < 0)
                return -errno;
        files->buffer = malloc(BUFFER_BYTES);
        if (!files->buffer)
                return -ENOMEM;
        return S_ISDIR(st.st_mode) ? open_folder(files) : 0;
}

void log_files_done(LogFiles *files) {
        files->folder = close_fd(files->folder);
        files->lines = close_fd(files->lines);
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

/* 1234067 is x001/x234/067. */
static void tile_path(uint64_t tile, char path[static 64]) {
        char parts[32] = "", more[32];
        bool is_last = true;

        do {
                (void) snprintf(more, sizeof(more), "/%s%03u%s", is_last ? "" : "x", (unsigned) (tile % 1000), parts);
                (void) strcpy(parts, more);
                is_last = false;
                tile /= 1000;
        } while (tile > 0);
        (void) snprintf(path, 64, "tile/0%s", parts);
}

/* The whole tile, or the largest part of it. */
static int read_tile(LogFiles *files, uint64_t tile) {
        _cleanup_free_ char *leaves = NULL;
        char path[64], part[80];
        size_t n = 0;
        int r;

        tile_path(tile, path);
        (void) strcpy(part, path);
        r = whole_file_read(files->folder, part, sizeof(files->leaves), &leaves, &n);
        for (unsigned w = LOG_TILE_LEAVES - 1; r == -ENOENT && w > 0; w--) {
                (void) snprintf(part, sizeof(part), "%s.p/%u", path, w);
                r = whole_file_read(files->folder, part, sizeof(files->leaves), &leaves, &n);
        }
        if (r < 0 && r != -ENOENT)
                return failed(files, part, r);
        files->tile = tile;
        files->n_leaves = n / LOG_LEAF_BYTES;
        if (n > 0)
                memcpy(files->leaves, leaves, files->n_leaves * LOG_LEAF_BYTES);
        return 0;
}

int log_files_leaf(LogFiles *files, uint64_t index, uint8_t ret[static LOG_LEAF_BYTES]) {
        int r;

        if (files->folder < 0)
                return -ENOENT;
        if (files->tile != index / LOG_TILE_LEAVES) {
                r = read_tile(files, index / LOG_TILE_LEAVES);
                if (r < 0)
                        return r;
        }
        if (index % LOG_TILE_LEAVES >= files->n_leaves)
                return -ENOENT;
        memcpy(ret, files->leaves[index % LOG_TILE_LEAVES], LOG_LEAF_BYTES);
        return 0;
}
