/* SPDX-License-Identifier: Apache-2.0 */

/* Sealed: see sealed.h. */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

#include "daemon/sealed.h"

int sealed_new(const char *name) {
        int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);

        return fd < 0 ? -errno : fd;
}

int sealed_open(int fd) {
        char path[64];
        int again;

        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) < 0)
                return -errno;

        /* A descriptor that is passed on shares its offset: the second reader would find the end. */
        (void) snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        again = open(path, O_RDONLY | O_CLOEXEC);
        return again < 0 ? -errno : again;
}
