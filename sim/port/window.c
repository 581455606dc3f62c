/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/port/window.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "checks/text/cleanup.h"

int window_init(Window *window, size_t n, int *ret_fd) {
        _cleanup_close_ int fd = -EBADF;
        void *bytes;

        fd = memfd_create("assay-window", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fd < 0 || ftruncate(fd, (off_t) n) < 0)
                return -errno;
        if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
                return -errno;
        bytes = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (bytes == MAP_FAILED)
                return -errno;

        *window = (Window) { bytes, n };
        *ret_fd = TAKE_FD(fd);
        return 0;
}

void window_done(Window *window) {
        if (window->bytes)
                (void) munmap(window->bytes, window->n);
        *window = (Window) {};
}
