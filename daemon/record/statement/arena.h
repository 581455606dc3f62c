/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Arena: memory that is taken in pieces and given back at once. */

#include <stddef.h>

typedef struct Arena {
        struct ArenaPiece *newest;
} Arena;

/* Room for N objects of SIZE bytes, all zero, and for one byte at least. NULL: there is no memory. */
void *arena_take(Arena *arena, size_t n, size_t size);
void arena_done(Arena *arena);
