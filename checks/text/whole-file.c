/* SPDX-License-Identifier: Apache-2.0 */
#include "checks/text/whole-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "checks/text/cleanup.h"

#define FIRST_BYTES ((size_t) 16384)

/* Twice the room, and one for a zero; up to one byte more than MAX, by which it shows that there are more. */
static int grow(char **text, size_t *room, size_t max) {
        size_t more = *room > 0 ? 2 * *room : FIRST_BYTES;
        char *larger;

        if (more > max)
                more = max + 1;
        larger = realloc(*text, more + 1);
        if (!larger)
                return -ENOMEM;
        *text = larger;
        *room = more;
        return 0;
}

/* What a file says of its size is not asked: it may grow, and a pipe has none. */
int whole_file_take(int fd, size_t max, char **ret, size_t *ret_n) {
        _cleanup_free_ char *text = NULL;
        size_t n = 0, room = 0;

        for (ssize_t k = 1; k > 0;) {
                int r = n == room ? grow(&text, &room, max) : 0;

                if (r < 0)
                        return r;
                do
                        k = read(fd, text + n, room - n);
                while (k < 0 && errno == EINTR);
                if (k < 0)
                        return -errno;
                n += (size_t) k;
                if (n > max)
                        return -EFBIG;
        }
        text[n] = '\0';
        *ret = realloc(text, n + 1) ?: text;
        text = NULL;
        *ret_n = n;
        return 0;
}

int whole_file_read(int dir, const char *path, size_t max, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        struct stat st;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADMSG;
        return st.st_size > 0 && (size_t) st.st_size > max ? -EFBIG : whole_file_take(fd, max, ret, ret_n);
}

int whole_file_drain(const char *path, size_t max, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

        return fd < 0 ? -errno : whole_file_take(fd, max, ret, ret_n);
}

static int write_all(int fd, const char *bytes, size_t n) {
        while (n > 0) {
                ssize_t k = write(fd, bytes, n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                bytes += k;
                n -= (size_t) k;
        }
        return fsync(fd) < 0 ? -errno : 0;
}

static int write_new(int dir, const char *path, mode_t mode, const void *bytes, size_t n) {
        _cleanup_close_ int fd = -EBADF;

        (void) unlinkat(dir, path, 0); /* of a writer that died */
        fd = openat(dir, path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, mode);
        return fd < 0 ? -errno : write_all(fd, bytes, n);
}

int whole_file_settle(int dir, const char *path) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *folder = slash ? strndup(path, slash == path ? 1 : (size_t) (slash - path)) : strdup(".");
        _cleanup_close_ int fd = -EBADF;

        if (!folder)
                return -ENOMEM;
        fd = openat(dir, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* *RET_FRESH (malloc'd): PATH.new, which holds the bytes and is durable. */
static int write_beside(int dir, const char *path, mode_t mode, const void *bytes, size_t n, char **ret_fresh) {
        _cleanup_free_ char *fresh = NULL;
        int r;

        if (asprintf(&fresh, "%s.new", path) < 0)
                return -ENOMEM;
        r = write_new(dir, fresh, mode, bytes, n);
        if (r < 0) {
                (void) unlinkat(dir, fresh, 0);
                return r;
        }
        *ret_fresh = TAKE_PTR(fresh);
        return 0;
}

int whole_file_replace(int dir, const char *path, mode_t mode, const void *bytes, size_t n) {
        _cleanup_free_ char *fresh = NULL;
        int r;

        r = write_beside(dir, path, mode, bytes, n, &fresh);
        if (r < 0)
                return r;
        if (renameat(dir, fresh, dir, path) < 0) {
                r = -errno;
                (void) unlinkat(dir, fresh, 0);
                return r;
        }
        return whole_file_settle(dir, path);
}

int whole_file_probe(int dir, const char *path) {
        static const char some[4096];
        _cleanup_free_ char *fresh = NULL;
        struct stat st;
        int r;

        if (fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
                return -EISDIR;
        r = write_beside(dir, path, 0600, some, sizeof(some), &fresh);
        if (r < 0)
                return r;
        return unlinkat(dir, fresh, 0) < 0 ? -errno : 0;
}
