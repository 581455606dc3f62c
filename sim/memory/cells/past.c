/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/cells/past.h"

#include <errno.h>

#include "checks/text/cleanup.h"
#include "sim/memory/cells/memory.h"
#include "sim/memory/structures/grow.h"

void memory_past_done(MemoryPast *past) {
        memory_content_done(&past->layers);
        free(past->boxes);
        free(past->table);
        *past = (MemoryPast) {};
}

/* ---- single accesses ---- */

static MemoryPastAccess *slot_of(MemoryPastAccess *table, size_t size, uint32_t linear) {
        size_t i = memory_splitmix64(linear) & (size - 1);

        while (table[i].used && table[i].linear != linear)
                i = (i + 1) & (size - 1);
        return &table[i];
}

int memory_past_reserve(Memory *memory) {
        MemoryPast *past = &memory->past;
        const MemorySpots *spots = &memory->spots;
        size_t size = 64, n = 0;
        MemoryPastAccess *table;

        if (past->n_boxes == 0 || 2 * (past->n_table + spots->n_spots + 1) <= past->table_size)
                return 0;

        /* A new one, of those that are still asked for. */
        while (size < 4 * (spots->n_spots + 16))
                size *= 2;
        table = calloc(size, sizeof(*table));
        if (!table)
                return -ENOMEM;
        for (size_t i = 0; i < spots->n_spots; i++)
                if (spots->spots[i].behind) {
                        *slot_of(table, size, spots->spots[i].linear) = *slot_of(past->table, past->table_size, spots->spots[i].linear);
                        n++;
                }

        free(past->table);
        past->table = table;
        past->table_size = size;
        past->n_table = n;
        return 0;
}

void memory_past_push(Memory *memory, MemorySpot *spot) {
        MemoryPast *past = &memory->past;
        MemoryPastAccess *slot = slot_of(past->table, past->table_size, spot->linear);

        past->n_table += !slot->used;
        *slot = (MemoryPastAccess) {
                .bits   = memory_spots_content(spot, &memory->content),
                .linear = spot->linear,
                .used   = true,
        };
        spot->behind = true;
}

MemoryBits memory_past_find(const Memory *memory, const MemorySpot *spot) {
        const MemoryPast *past = &memory->past;

        if (spot->behind)
                return slot_of(past->table, past->table_size, spot->linear)->bits;
        return memory_pattern_bits(memory_content_find(&past->layers, spot->at), spot->linear, spot->at[HBM_ROW]);
}

/* ---- layers ---- */

/* What lies in PLACES now is the past of it. */
static int keep_content(Memory *memory, const MemorySlice *places) {
        MemoryContent *content = &memory->content, *layers = &memory->past.layers;
        int r;

        r = memory_content_cut(content, places);
        if (r < 0)
                return r;
        r = memory_content_reserve(layers, content->n_fragments);
        if (r < 0)
                return r;

        for (size_t i = 0; i < content->n_fragments; i++)
                memory_content_write(layers, &content->fragments[i].slice, &content->fragments[i].pattern);
        return 0;
}

int memory_past_write(Memory *memory, const MemorySlice *places, const MemoryPattern *before) {
        MemoryPast *past = &memory->past;
        int r;

        for (size_t i = 0; i < past->n_boxes; i++) {
                MemorySlice common = memory_slice_of(&past->boxes[i].box);

                if (!memory_slice_intersect(&common, places, &common))
                        continue;
                if (!before) {
                        r = keep_content(memory, &common);
                        if (r < 0)
                                return r;
                        continue;
                }
                r = memory_content_reserve(&past->layers, 1);
                if (r < 0)
                        return r;
                memory_content_write(&past->layers, &common, before);
        }

        return 0;
}

/* ---- faults ---- */

static int begin(Memory *memory, const WireBox *box) {
        MemorySpots *spots = &memory->spots;
        MemorySlice places = memory_slice_of(box);
        int r;

        if (memory->past.layers.n_layers == 0) {
                r = memory_content_init(&memory->past.layers, &memory->shape, 0);
                if (r < 0)
                        return r;
        }
        r = memory_past_reserve(memory);
        if (r >= 0)
                r = keep_content(memory, &places);
        if (r < 0)
                return r;

        for (size_t i = 0; i < spots->n_spots; i++)
                if (spots->spots[i].held && memory_box_has(box, spots->spots[i].at))
                        memory_past_push(memory, &spots->spots[i]);
        return 0;
}

int memory_past_begin(Memory *memory, const Fault *fault, const WireBox *box) {
        MemoryPast *past = &memory->past;
        WireBox common;
        int r;

        for (size_t i = 0; i < past->n_boxes; i++)
                if (memory_box_intersect(&past->boxes[i].box, box, &common))
                        return -EEXIST;

        r = MEMORY_GROW(past, boxes, past->n_boxes + 1);
        if (r < 0)
                return r;
        past->boxes[past->n_boxes++] = (MemoryPastBox) { .fault = fault, .box = *box };
        r = begin(memory, box);
        if (r < 0)
                past->n_boxes--;
        return r;
}

void memory_past_end(Memory *memory, const Fault *fault) {
        MemoryPast *past = &memory->past;
        size_t n = 0;

        for (size_t i = 0; i < past->n_boxes; i++) {
                if (past->boxes[i].fault != fault) {
                        past->boxes[n++] = past->boxes[i];
                        continue;
                }
                for (size_t k = 0; k < memory->spots.n_spots; k++)
                        if (memory_box_has(&past->boxes[i].box, memory->spots.spots[k].at))
                                memory->spots.spots[k].behind = false;
        }

        if (n == 0)
                memory_past_done(past);
        past->n_boxes = n;
}
