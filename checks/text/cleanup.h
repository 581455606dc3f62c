/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Ownership by scope.
 *
 * Whatever must be released is declared with one of the _cleanup_… attributes and so is released on every way
 * out; handing it on is visible as TAKE_PTR() or TAKE_FD(). A destructor takes NULL, copes with half-built
 * objects and returns NULL.
 */

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

/* Makes fp(), which releases the variable it is given the address of: _cleanup_(scan_freep) Scan *scan = NULL; */
#define DEFINE_CLEANUP(type, f)                                                                              \
        static inline void f##p(type *p) {                                                                   \
                if (*p)                                                                                      \
                        (void) f(*p);                                                                        \
        }                                                                                                    \
        struct cleanup_##f##_needs_a_semicolon

#define TAKE_PTR(p)                                                                                          \
        ({                                                                                                   \
                __typeof__(p) *_taken_from = &(p);                                                           \
                __typeof__(p) _taken = *_taken_from;                                                         \
                *_taken_from = NULL;                                                                         \
                _taken;                                                                                      \
        })

#define TAKE_FD(fd)                                                                                          \
        ({                                                                                                   \
                int *_fd_from = &(fd);                                                                       \
                int _fd = *_fd_from;                                                                         \
                *_fd_from = -EBADF;                                                                          \
                _fd;                                                                                         \
        })

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

/* Closes and keeps errno, so that it can stand on an error path. Returns -EBADF, the empty descriptor. */
static inline int close_fd(int fd) {
        if (fd >= 0) {
                int saved = errno;
                (void) close(fd);
                errno = saved;
        }
        return -EBADF;
}

static inline void close_fdp(int *fd) {
        *fd = close_fd(*fd);
}

static inline void free_address(void *p) {
        free(*(void **) p);
}

#define _cleanup_free_  _cleanup_(free_address)
#define _cleanup_close_ _cleanup_(close_fdp)
