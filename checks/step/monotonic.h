/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The one clock of deadlines. */

#include <stdint.h>
#include <time.h>

static inline uint64_t monotonic_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_MONOTONIC, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}
