/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Microseconds of a clock: CLOCK_REALTIME in what is signed, CLOCK_MONOTONIC for everything that waits. */

#include <stdint.h>
#include <time.h>

static inline uint64_t clock_usec(clockid_t clock) {
        struct timespec now;

        (void) clock_gettime(clock, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}
