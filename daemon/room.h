/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Room
 *
 * Of the memory that is free the C library keeps a MiB, and not 128 KiB: the records of an UltraServer's servers, which are signed together,
 * take more than that, and gave it back to the kernel with every commit to have it cleared and mapped anew for the next one. A twentieth of their
 * emission went into that.
 */

#include <malloc.h>

#define ROOM_BYTES (1 << 20)

static inline void room_keep(void) {
        (void) mallopt(M_TRIM_THRESHOLD, ROOM_BYTES);
        (void) mallopt(M_MMAP_THRESHOLD, ROOM_BYTES); /* else what is larger than 128 KiB is mapped anew each time, now that the other is set */
}
