/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What no check may do: reach for the pipe of its own process. */

#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define MEMORY_IS_BOUNDED 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MEMORY_IS_BOUNDED 0
#endif
#endif
#ifndef MEMORY_IS_BOUNDED
#define MEMORY_IS_BOUNDED 1
#endif

static inline void write_raw(const char *bytes, size_t n) {
        for (int fd = 3; fd < 64; fd++) {
                struct stat st;

                if (fstat(fd, &st) >= 0 && S_ISFIFO(st.st_mode) && write(fd, bytes, n) < 0)
                        _exit(1);
        }
}
