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

#include "checks/cleanup.h"
#include "daemon/record/record.h"

#define LINE_BYTES_MAX  (RECORD_ENVELOPE_MAX + 1) /* one more than any envelope has */
#define BUFFER_BYTES    ((size_t) LINE_BYTES_MAX + 1)
#define SMALL_BYTES_MAX ((size_t) 1 << 17)

/* As much as there is, up to N. */
static ssize_t read_some(int fd, void *to, size_t n) {
        size_t got = 0;

        while (got < n) {
                ssize_t k = read(fd, (char *) to + got, n - got);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                got += (size_t) k;
        }
        return (ssize_t) got;
}

int read_small_file(int folder, const char *path, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        _cleanup_free_ char *text = NULL;
        ssize_t n;

        if (fd < 0)
                return -errno;
        text = malloc(SMALL_BYTES_MAX + 1);
        if (!text)
                return -ENOMEM;
        n = read_some(fd, text, SMALL_BYTES_MAX + 1);
        if (n < 0 || (size_t) n > SMALL_BYTES_MAX)
                return n < 0 ? (int) n : -EFBIG;
        *ret = TAKE_PTR(text);
        *ret_n = (size_t) n;
        return 0;
}

static int open_folder(LogFiles *files) {
        int r;

        files->folder = TAKE_FD(files->lines);
        files->lines = openat(files->folder, "records.intoto.jsonl", O_RDONLY | O_CLOEXEC);
        if (files->lines < 0 && errno != ENOENT)
                return -errno;
        r = read_small_file(files->folder, "checkpoint", &files->checkpoint, &files->n_checkpoint);
        return r == -ENOENT ? 0 : r;
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
        n = files->lines < 0 ? 0 : read_some(files->lines, files->buffer + files->end, BUFFER_BYTES - files->end);
        if (n > 0)
                files->end += (size_t) n;
        return n < 0 ? (int) n : n > 0;
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
static int open_tile(LogFiles *files, uint64_t tile) {
        char path[64], part[80];
        int fd;

        tile_path(tile, path);
        fd = openat(files->folder, path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        for (unsigned w = LOG_TILE_LEAVES - 1; fd < 0 && errno == ENOENT && w > 0; w--) {
                (void) snprintf(part, sizeof(part), "%s.p/%u", path, w);
                fd = openat(files->folder, part, O_RDONLY | O_CLOEXEC | O_NOCTTY);
        }
        return fd < 0 ? -errno : fd;
}

static int read_tile(LogFiles *files, uint64_t tile) {
        _cleanup_close_ int fd = open_tile(files, tile);
        ssize_t n;

        files->tile = tile;
        files->n_leaves = 0;
        if (fd < 0)
                return fd == -ENOENT ? 0 : fd;
        n = read_some(fd, files->leaves, sizeof(files->leaves));
        if (n < 0)
                return (int) n;
        files->n_leaves = (size_t) n / LOG_LEAF_BYTES;
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
