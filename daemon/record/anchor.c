/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/anchor.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "daemon/record/note.h"

int anchor_read(const char *path, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = -EBADF;
        _cleanup_free_ char *text = NULL;
        struct stat st;
        size_t n = 0;

        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        if (fstat(fd, &st) < 0)
                return -errno;
        if (!S_ISREG(st.st_mode) || st.st_size > NOTE_MAX)
                return -EBADMSG;
        text = malloc(NOTE_MAX + 1);
        if (!text)
                return -ENOMEM;
        while (n < NOTE_MAX) {
                ssize_t k = read(fd, text + n, NOTE_MAX - n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                n += (size_t) k;
        }
        *ret = TAKE_PTR(text);
        *ret_n = n;
        return 0;
}

static int write_whole(const char *path, const char *text, size_t n) {
        _cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);

        if (fd < 0)
                return -errno;
        while (n > 0) {
                ssize_t k = write(fd, text, n);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                text += k;
                n -= (size_t) k;
        }
        return fsync(fd) < 0 ? -errno : 0;
}

/* The name is durable when its folder is. */
static int sync_folder(const char *path) {
        const char *slash = strrchr(path, '/');
        _cleanup_free_ char *folder = slash ? strndup(path, slash == path ? 1 : (size_t) (slash - path)) : strdup(".");
        _cleanup_close_ int fd = -EBADF;

        if (!folder)
                return -ENOMEM;
        fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

int anchor_write(const char *path, const char *note, size_t n) {
        _cleanup_free_ char *temporary = NULL;
        int r;

        if (asprintf(&temporary, "%s.new", path) < 0)
                return -ENOMEM;
        r = write_whole(temporary, note, n);
        if (r == 0 && rename(temporary, path) < 0)
                r = -errno;
        if (r < 0) {
                (void) unlink(temporary);
                return r;
        }
        return sync_folder(path);
}
