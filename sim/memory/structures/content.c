/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/structures/content.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"

/* Bit b of a word of 64 is (b >> shift) & 1. */
static const uint64_t stripes[] = {
        0xaaaaaaaaaaaaaaaau, 0xccccccccccccccccu, 0xf0f0f0f0f0f0f0f0u,
        0xff00ff00ff00ff00u, 0xffff0000ffff0000u, 0xffffffff00000000u,
};

static uint64_t stripe_word(unsigned shift, unsigned word) {
        if (shift < ELEMENTS(stripes))
                return stripes[shift];
        return word >> (shift - ELEMENTS(stripes)) & 1 ? UINT64_MAX : 0;
}

static uint64_t pattern_word(const MemoryPattern *pattern, uint32_t linear, unsigned row, unsigned word) {
        switch (pattern->background) {
        case MEMORY_BACKGROUND_SOLID:
                return 0;
        case MEMORY_BACKGROUND_CHECKER:
                return stripe_word(0, word) ^ (row & 1 ? UINT64_MAX : 0);
        case MEMORY_BACKGROUND_ROW_STRIPE:
                return row & 1 ? UINT64_MAX : 0;
        case MEMORY_BACKGROUND_COLUMN_STRIPE:
                return stripe_word(0, word);
        case MEMORY_BACKGROUND_BIT_STRIPE:
                return stripe_word(pattern->parameter, word);
        default:
                return memory_splitmix64(pattern->seed ^ (4 * (uint64_t) linear + word));
        }
}

MemoryBits memory_pattern_bits(const MemoryPattern *pattern, uint32_t linear, unsigned row) {
        uint64_t invert = pattern->data ? UINT64_MAX : 0;
        MemoryBits bits;

        linear += pattern->shift;
        row ^= pattern->odd;
        for (unsigned word = 0; word < ELEMENTS(bits.w); word++)
                bits.w[word] = pattern_word(pattern, linear, row, word) ^ invert;
        return bits;
}

static int layers_grow(MemoryLayer **layers, size_t *allocated, size_t wanted, size_t max) {
        size_t n = *allocated > 0 ? *allocated : 8;
        MemoryLayer *grown;

        if (wanted <= *allocated)
                return 0;
        if (wanted > max)
                return -ENOSPC;

        while (n < wanted)
                n *= 2;
        grown = reallocarray(*layers, n, sizeof(MemoryLayer));
        if (!grown)
                return -ENOMEM;

        *layers = grown;
        *allocated = n;
        return 0;
}

int memory_content_init(MemoryContent *content, const MemoryShape *shape, uint64_t power_up_seed) {
        int r;

        *content = (MemoryContent) {};
        r = layers_grow(&content->layers, &content->allocated, 1, MEMORY_LAYERS_MAX);
        if (r < 0)
                return r;

        content->layers[0] = (MemoryLayer) {
                .slice   = { .box = memory_box_whole(shape) },
                .pattern = { .background = MEMORY_PATTERN_POWER_UP, .seed = power_up_seed },
        };
        content->n_layers = 1;
        return 0;
}

void memory_content_done(MemoryContent *content) {
        free(content->layers);
        free(content->fragments);
        free(content->rest);
        free(content->next);
        *content = (MemoryContent) {};
}

int memory_content_reserve(MemoryContent *content, size_t n) {
        return layers_grow(&content->layers, &content->allocated, content->n_layers + n, MEMORY_LAYERS_MAX);
}

static bool pattern_equal(const MemoryPattern *a, const MemoryPattern *b) {
        return a->background == b->background && a->parameter == b->parameter && a->data == b->data &&
                        a->seed == b->seed && a->shift == b->shift && a->odd == b->odd;
}

void memory_content_write(MemoryContent *content, const MemorySlice *slice, const MemoryPattern *pattern) {
        MemoryLayer *layers = content->layers;
        size_t n = 0;

        assert(content->n_layers < content->allocated);

        for (size_t i = 0; i < content->n_layers; i++)
                if (!memory_slice_contains(slice, &layers[i].slice))
                        layers[n++] = layers[i];
        layers[n++] = (MemoryLayer) { .slice = *slice, .pattern = *pattern };

        /* Neighbours in time that wrote the same are one: tests that go bank by bank stay few layers. */
        while (n > 1 && pattern_equal(&layers[n - 1].pattern, &layers[n - 2].pattern) &&
               memory_slice_join(&layers[n - 2].slice, &layers[n - 1].slice))
                n--;

        content->n_layers = n;
}

const MemoryPattern *memory_content_find(const MemoryContent *content, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        for (size_t i = content->n_layers; i-- > 1;)
                if (memory_slice_has(&content->layers[i].slice, at))
                        return &content->layers[i].pattern;
        return &content->layers[0].pattern;
}

/* Takes LAYER out of everything in rest: what it covers becomes fragments, what it does not stays in rest. */
static int cut_one(MemoryContent *content, const MemoryLayer *layer) {
        MemoryLayer *swap;
        size_t allocated;
        int r;

        content->n_next = 0;
        for (size_t i = 0; i < content->n_rest; i++) {
                MemorySlice common, pieces[MEMORY_SLICE_PIECES_MAX];
                unsigned n = 1;

                r = layers_grow(&content->next, &content->next_allocated,
                                content->n_next + MEMORY_SLICE_PIECES_MAX, MEMORY_FRAGMENTS_MAX);
                if (r < 0)
                        return r;

                if (memory_slice_intersect(&content->rest[i].slice, &layer->slice, &common)) {
                        r = layers_grow(&content->fragments, &content->fragments_allocated,
                                        content->n_fragments + 1, MEMORY_FRAGMENTS_MAX);
                        if (r < 0)
                                return r;
                        content->fragments[content->n_fragments++] =
                                        (MemoryLayer) { .slice = common, .pattern = layer->pattern };
                        n = memory_slice_subtract(&content->rest[i].slice, &common, pieces);
                } else
                        pieces[0] = content->rest[i].slice;

                for (unsigned k = 0; k < n; k++)
                        content->next[content->n_next++].slice = pieces[k];
        }

        swap = content->rest;
        allocated = content->rest_allocated;
        content->rest = content->next;
        content->rest_allocated = content->next_allocated;
        content->n_rest = content->n_next;
        content->next = swap;
        content->next_allocated = allocated;
        return 0;
}

/* Room to work in is large and rarely needed: a memory that rests has none. */
static void forget_rest(MemoryContent *content) {
        free(content->rest);
        free(content->next);
        content->rest = content->next = NULL;
        content->n_rest = content->rest_allocated = content->n_next = content->next_allocated = 0;
}

static int cut(MemoryContent *content, const MemorySlice *slice) {
        int r;

        r = layers_grow(&content->rest, &content->rest_allocated, 1, MEMORY_FRAGMENTS_MAX);
        if (r < 0)
                return r;

        content->rest[0].slice = *slice;
        content->n_rest = 1;

        /* Newest first: what it covers hides the older. */
        for (size_t i = content->n_layers; i-- > 0 && content->n_rest > 0;) {
                r = cut_one(content, &content->layers[i]);
                if (r < 0)
                        return r;
        }

        assert(content->n_rest == 0);
        return 0;
}

int memory_content_cut(MemoryContent *content, const MemorySlice *slice) {
        const MemoryLayer *newest = &content->layers[content->n_layers - 1];
        int r;

        content->n_fragments = 0;
        if (memory_slice_contains(&newest->slice, slice)) {
                r = layers_grow(&content->fragments, &content->fragments_allocated, 1, MEMORY_FRAGMENTS_MAX);
                if (r < 0)
                        return r;
                content->fragments[content->n_fragments++] = (MemoryLayer) { .slice = *slice, .pattern = newest->pattern };
                return 0;
        }

        r = cut(content, slice);
        forget_rest(content);
        return r;
}
