/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Window
 *
 * The memory that a client and the simulator share: a memfd whose size nobody can change any more, so that neither side
 * can make the other fault on it.
 */

#include <stddef.h>
#include <stdint.h>

typedef struct Window {
        uint8_t *bytes;
        size_t n;
} Window;

/* Maps a new one; *ret_fd goes to the client, and is closed here. */
int window_init(Window *window, size_t n, int *ret_fd);
void window_done(Window *window);
