/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From what was injected to what a command works on: which cells there are, in which spots, what an operation on a spot
 * can spring, and which conditions have to be looked at after it. All is allocated first, so that it happens whole or not at
 * all.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/memory/structures/link.h"


static int compare_u32(const void *a, const void *b) {
        uint32_t x = *(const uint32_t *) a, y = *(const uint32_t *) b;

        return (x > y) - (x < y);
}

static uint64_t key_of(uint32_t linear, unsigned bit) {
        return (uint64_t) linear << 8 | bit;
}

/* By radix, a byte of the key at a time: there may be thousands, and they come in any order. */
static void sort_entries(MemoryLinking *l, size_t n) {
        for (unsigned shift = 0; shift < 40; shift += 8) {
                size_t starts[256] = {}, at = 0;
                MemoryEntry *swap = l->entries;

                for (size_t i = 0; i < n; i++)
                        starts[l->entries[i].key >> shift & 0xff]++;
                for (unsigned digit = 0; digit < 256; digit++) {
                        size_t count = starts[digit];

                        starts[digit] = at;
                        at += count;
                }
                for (size_t i = 0; i < n; i++)
                        l->spare[starts[l->entries[i].key >> shift & 0xff]++] = l->entries[i];
                l->entries = l->spare;
                l->spare = swap;
        }
}

static void linking_done(MemoryLinking *l) {
        free(l->entries);
        free(l->spare);
        free(l->wanted);
        free(l->spot_of);
        free(l->parents);
        free(l->components);
        memory_spots_done(&l->new);
}

static int allocate(MemoryLinking *l) {
        size_t n_places = l->traps->n_places, n_traps = l->traps->n_traps;

        l->n_wanted = n_places;
        for (size_t i = 0; i < l->traps->n_decoders; i++)
                l->n_wanted += 2 * (size_t) l->traps->decoders[i].n;
        l->new.spots_allocated = l->n_wanted + l->old->n_spots;
        l->new.cells_allocated = n_places;

        /* One more each: none of them is of size 0. */
        l->entries = reallocarray(NULL, n_places + 1, sizeof(MemoryEntry));
        l->spare = reallocarray(NULL, n_places + 1, sizeof(MemoryEntry));
        l->wanted = reallocarray(NULL, l->n_wanted + 1, sizeof(uint32_t));
        l->spot_of = reallocarray(NULL, n_places + 1, sizeof(uint32_t));
        l->parents = reallocarray(NULL, l->new.spots_allocated + 1, sizeof(uint32_t));
        l->components = calloc(l->new.spots_allocated + 1, sizeof(uint32_t));
        l->new.cells = reallocarray(NULL, n_places + 1, sizeof(MemoryCell));
        l->new.spots = reallocarray(NULL, l->new.spots_allocated + 1, sizeof(MemorySpot));
        l->new.triggers = reallocarray(NULL, n_traps + 1, sizeof(MemoryTrigger));
        l->new.fired = reallocarray(NULL, n_traps + 1, sizeof(MemoryTrigger));
        l->new.states = reallocarray(NULL, n_traps + 1, sizeof(uint32_t));
        l->new.opens = reallocarray(NULL, n_traps + 1, sizeof(MemoryOpen));
        return l->entries && l->spare && l->wanted && l->spot_of && l->parents && l->components && l->new.cells &&
                               l->new.spots && l->new.triggers && l->new.fired && l->new.states && l->new.opens ?
                       0 :
                       -ENOMEM;
}

/* ---- cells ---- */

static bool get_bit(const MemoryBits *bits, unsigned bit) {
        return bits->w[bit / 64] >> (bit % 64) & 1;
}

/* Data that were not held before have check bits of their own. */
static void hold(MemorySpot *spot, const MemoryBits *bits) {
        if (!spot->held)
                spot->wrong = (MemoryBits) {};
        spot->data = *bits;
        spot->held = true;
}

/* A cell that nobody looks at any more leaves what it holds, where its access should hold something else. */
static void keep_value(MemoryLinking *l, const MemoryCell *cell) {
        MemorySpot *spot = memory_spots_find(l->old, cell->linear);
        MemoryBits bits = memory_spots_content(spot, l->content);

        if (get_bit(&bits, cell->bit) == cell->value)
                return;
        bits.w[cell->bit / 64] ^= UINT64_C(1) << (cell->bit % 64);
        hold(spot, &bits);
}

static MemoryCell new_cell(const MemoryLinking *l, uint32_t linear, uint8_t bit) {
        const MemorySpot *spot = memory_spots_find(l->old, linear);
        MemorySpot alone = { .linear = linear };
        MemoryBits bits;

        if (!spot) {
                memory_shape_at(l->shape, linear, alone.at);
                spot = &alone;
        }
        bits = memory_spots_content(spot, l->content);
        return (MemoryCell) { .linear = linear, .bit = bit, .value = get_bit(&bits, bit) };
}

/* What an old cell of KEY holds goes on; those before it were left out. */
static const MemoryCell *old_cell(MemoryLinking *l, size_t *i, uint64_t key) {
        const MemorySpots *old = l->old;

        for (; *i < old->n_cells; (*i)++) {
                const MemoryCell *cell = &old->cells[*i];

                if (key_of(cell->linear, cell->bit) >= key)
                        return key_of(cell->linear, cell->bit) == key ? cell : NULL;
                keep_value(l, cell);
        }

        return NULL;
}

static void link_cells(MemoryLinking *l) {
        MemoryTraps *traps = l->traps;
        size_t n = 0, old = 0;

        for (size_t i = 0; i < traps->n_places; i++)
                l->entries[i] = (MemoryEntry) { key_of(traps->places[i].linear, traps->places[i].bit), (uint32_t) i };
        sort_entries(l, traps->n_places);

        for (size_t i = 0; i < traps->n_places; i++) {
                uint64_t key = l->entries[i].key;

                if (i == 0 || l->entries[i - 1].key != key) {
                        const MemoryCell *known = old_cell(l, &old, key);

                        if (known) {
                                l->new.cells[n++] = *known;
                                old++;
                        } else
                                l->new.cells[n++] = new_cell(l, (uint32_t) (key >> 8), (uint8_t) key);
                }
                traps->places[l->entries[i].place].cell = (uint32_t) n - 1;
        }

        (void) old_cell(l, &old, UINT64_MAX);
        l->new.n_cells = n;
}

/* ---- spots ---- */

static void want_spots(MemoryLinking *l) {
        size_t n = 0;

        for (size_t i = 0; i < l->new.n_cells; i++)
                if (i == 0 || l->new.cells[i - 1].linear != l->new.cells[i].linear)
                        l->wanted[n++] = l->new.cells[i].linear;
        for (size_t i = 0; i < l->traps->n_decoders; i++) {
                const MemoryDecoder *decoder = &l->traps->decoders[i];

                for (uint32_t k = 0; k < decoder->n; k++) {
                        l->wanted[n++] = decoder->x + k;
                        l->wanted[n++] = decoder->y + k;
                }
        }

        l->n_wanted = n;
        if (l->traps->n_decoders > 0)
                qsort(l->wanted, n, sizeof(uint32_t), compare_u32);
}

static void add_cells(MemoryLinking *l, MemorySpot *spot, size_t *cell) {
        size_t first = *cell;

        while (*cell < l->new.n_cells && l->new.cells[*cell].linear == spot->linear)
                l->spot_of[(*cell)++] = (uint32_t) l->new.n_spots;
        spot->first_cell = (uint32_t) first;
        spot->n_cells = (uint16_t) (*cell - first);
        spot->n_triggers = spot->n_states = 0;
        spot->last = 0;
        spot->decoder = -1;
        spot->opens = spot->pairs = false;
        spot->quiet = true;
}

/* Merges the old spots that hold data with those that are wanted. */
static void link_spots(MemoryLinking *l) {
        size_t old = 0, wanted = 0, cell = 0;

        while (old < l->old->n_spots || wanted < l->n_wanted) {
                MemorySpot *spot = &l->new.spots[l->new.n_spots];
                const MemorySpot *was = old < l->old->n_spots ? &l->old->spots[old] : NULL;

                if (wanted > 0 && wanted < l->n_wanted && l->wanted[wanted] == l->wanted[wanted - 1]) {
                        wanted++;
                        continue;
                }
                if (was && (wanted == l->n_wanted || was->linear <= l->wanted[wanted])) {
                        bool is_wanted = wanted < l->n_wanted && was->linear == l->wanted[wanted];

                        old++;
                        wanted += is_wanted;
                        if (!is_wanted && !was->held && !was->behind)
                                continue;
                        *spot = *was;
                } else {
                        *spot = (MemorySpot) { .linear = l->wanted[wanted++], .unit = -1 };
                        memory_shape_at(l->shape, spot->linear, spot->at);
                }
                add_cells(l, spot, &cell);
                l->new.n_spots++;
        }

        assert(cell == l->new.n_cells);
}

/* Behind a decoder data no longer is where it was written: it is told for each access. */
static void link_decoders(MemoryLinking *l) {
        for (size_t i = 0; i < l->traps->n_decoders; i++) {
                const MemoryDecoder *decoder = &l->traps->decoders[i];

                for (uint32_t k = 0; k < 2 * decoder->n; k++) {
                        uint32_t linear = (k & 1 ? decoder->y : decoder->x) + k / 2;
                        MemorySpot *spot = memory_spots_find(&l->new, linear);
                        MemoryBits bits = memory_spots_content(spot, l->content);

                        spot->decoder = (int32_t) i;
                        hold(spot, &bits);
                }
        }
}

int memory_spots_link(MemorySpots *spots, MemoryTraps *traps, const MemoryShape *shape, const MemoryContent *content) {
        _cleanup_(linking_done) MemoryLinking l = { .old = spots, .traps = traps, .shape = shape, .content = content };
        MemorySpots old;
        int r;

        r = allocate(&l);
        if (r < 0)
                return r;

        link_cells(&l);
        want_spots(&l);
        link_spots(&l);
        link_decoders(&l);
        memory_link_triggers(&l);

        old = *spots;
        *spots = l.new;
        l.new = old;
        spots->unsettled = true;
        traps->dirty = false;
        return 0;
}
