/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/arena.h"

#include <stdlib.h>

typedef struct ArenaPiece {
        struct ArenaPiece *older;
        max_align_t bytes[];
} ArenaPiece;

void *arena_take(Arena *arena, size_t n, size_t size) {
        ArenaPiece *piece;
        size_t bytes;

        if (__builtin_mul_overflow(n, size, &bytes) || __builtin_add_overflow(bytes, sizeof(*piece) + 1, &bytes))
                return NULL;
        piece = calloc(1, bytes);
        if (!piece)
                return NULL;
        piece->older = arena->newest;
        arena->newest = piece;
        return piece->bytes;
}

void arena_done(Arena *arena) {
        while (arena->newest) {
                ArenaPiece *piece = arena->newest;

                arena->newest = piece->older;
                free(piece);
        }
}
