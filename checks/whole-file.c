/* SPDX-License-Identifier: Apache-2.0 */
#include "checks/whole-file.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "checks/cleanup.h"

/* A file may grow while it is read: no more than MAX bytes of it are taken. */
static int read_all(int fd, size_t max, char *text, size_t *ret_n) {
        size_t n = 0;

        while (n <= max) {
                ssize_t k = read(fd, text + n, max + 1 - n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                n += (size_t) k;
        }
        *ret_n = n;
        return n > max ? -EFBIG : 0;
}

int whole_file_read(int dir, const char *path, size_t max, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        _cleanup_free_ char *text = NULL;
        struct stat st;
        size_t n = 0;
        int r;

        if (fd < 0 || fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode))
                return -EBADMSG;
        if (st.st_size > 0 && (size_t) st.st_size > max)
                return -EFBIG;
        text = malloc(max + 1);
        if (!text)
                return -ENOMEM;
        r = read_all(fd, max, text, &n);
        if (r < 0)
                return r;
        text[n] = '\0';
        *ret = realloc(text, n + 1) ?: text;
        text = NULL;
        *ret_n = n;
        return 0;
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

/* A name is durable when its folder is. */
static int sync_folder(int dir, const char *path) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *folder = slash ? strndup(path, slash == path ? 1 : (size_t) (slash - path)) : strdup(".");
        _cleanup_close_ int fd = -EBADF;

        if (!folder)
                return -ENOMEM;
        fd = openat(dir, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int whole_file_replace(int dir, const char *path, mode_t mode, const void *bytes, size_t n) {
        _cleanup_free_ char *fresh = NULL;
        int r;

        if (asprintf(&fresh, "%s.new", path) < 0)
                return -ENOMEM;
        r = write_new(dir, fresh, mode, bytes, n);
        if (r == 0 && renameat(dir, fresh, dir, path) < 0)
                r = -errno;
        if (r < 0) {
                (void) unlinkat(dir, fresh, 0);
                return r;
        }
        return sync_folder(dir, path);
}
