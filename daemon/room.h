/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Room
 *
 * Of the memory that is free the C library keeps a MiB, and not 128 KiB: the records of an UltraServer's servers, which are signed together,
 * take more than that, and gave it back to the kernel with every commit to have it cleared and mapped anew for the next one. A twentieth of their
 * emission went into that.
 *
 * Blocks of 128 KiB and more are mapped each by itself, as the library does until either limit is set or a larger block was freed: among long
 * messages of the bus small ones would come to lie, and hold gigabytes that are long free.
 */

#include <malloc.h>

#define ROOM_BYTES        (1 << 20)
#define ROOM_MAPPED_BYTES (128 << 10)

static inline void room_keep(void) {
        (void) mallopt(M_TRIM_THRESHOLD, ROOM_BYTES);
        (void) mallopt(M_MMAP_THRESHOLD, ROOM_MAPPED_BYTES);
}
