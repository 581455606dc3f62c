/* SPDX-License-Identifier: Apache-2.0 */

/*
 * One operation on the address of a spot, all 256 bits: through the decoder to the accesses it reaches, and from there back.
 * Check bits go where data goes, so ECC finds nothing wrong with what a decoder brings from elsewhere.
 *
 * Stuck-open: a cell without its access transistor is not written, and a read gives what the sense amplifier of its bit line
 * still holds: the value of the last read in the same column and bit of its bank, whatever the row. (The bit line is what cells
 * have in common before anything is selected; that it ends at a subarray is left out.) 0 when the fault comes.
 */

#include <assert.h>
#include <string.h>

#include "sim/memory/cells/cells.h"

static void set_bit(MemoryBits *bits, unsigned bit, bool value) {
        uint64_t mask = UINT64_C(1) << (bit % 64);

        bits->w[bit / 64] = value ? bits->w[bit / 64] | mask : bits->w[bit / 64] & ~mask;
}

static bool get_bit(const MemoryBits *bits, unsigned bit) {
        return bits->w[bit / 64] >> (bit % 64) & 1;
}

/* The accesses that the address of SPOT leads to: 0, 1 or 2. */
static unsigned reach(const Memory *memory, MemorySpot *spot, MemorySpot *ret[static 2]) {
        const MemoryDecoder *decoder = spot->decoder >= 0 ? &memory->traps.decoders[spot->decoder] : NULL;
        bool is_x = decoder && spot->linear - decoder->x < decoder->n;
        MemorySpot *partner;

        ret[0] = spot;
        if (!decoder || !decoder->active)
                return 1;
        if (decoder->class == DECODER_A)
                return 0;

        partner = memory_spots_find(&memory->spots, is_x ? spot->linear - decoder->x + decoder->y :
                                                           spot->linear - decoder->y + decoder->x);
        assert(partner);
        ret[1] = partner;
        switch (decoder->class) {
        case DECODER_B:
                return is_x ? 0 : 2;
        case DECODER_C:
                ret[0] = is_x ? partner : spot;
                return 1;
        case DECODER_D:
                return is_x ? 2 : 1;
        case DECODER_SHORT:
                return 2;
        case DECODER_A:
        case _DECODER_MAX:
                break;
        }
        assert(false);
        return 0;
}

/* ---- the sense amplifiers of stuck-open cells ---- */

static void hear(Memory *memory, const MemorySpot *spot, const MemoryBits *bits) {
        size_t first, n = memory_spots_opens_of(&memory->spots, memory_spots_line(&memory->shape, spot->linear), &first);

        for (size_t i = first; i < first + n; i++) {
                const MemoryTrap *trap = &memory->traps.traps[memory->spots.opens[i].trap];
                const MemoryPlace *place = &memory->traps.places[trap->first_place];

                memory->spots.cells[place->cell].latch = get_bit(bits, place->bit);
        }
}

/* The access of LINEAR's column that VISIT came to last before AT (NULL: before its end). */
static bool last_before(const Memory *memory, const MemoryVisit *visit, uint32_t linear, const uint16_t *at,
                        uint16_t ret[static _MEMORY_AXIS_MAX]) {
        const WireBox *box = visit->box;
        unsigned first = box->first[HBM_ROW], last = box->last[HBM_ROW], row = at ? at[HBM_ROW] : 0;
        unsigned rows[3] = { visit->descending ? first : last, row, visit->descending ? row + 1 : row - 1 };
        uint32_t end = at ? memory_shape_key(&memory->shape, visit->order, at) : 0;

        memory_shape_at(&memory->shape, linear, ret);
        for (unsigned i = 0; i < (at ? 3 : 1); i++) { /* latest first */
                uint32_t key;

                if (rows[i] < first || rows[i] > last)
                        continue;
                ret[HBM_ROW] = (uint16_t) rows[i];
                if (!memory_box_has(box, ret))
                        return false;
                key = memory_shape_key(&memory->shape, visit->order, ret);
                if (!at || (visit->descending ? key > end : key < end))
                        return true;
        }

        return false;
}

/* Reads of accesses that are no spots are not run: what a sense amplifier has of them is worked out here. */
static void catch_up(Memory *memory, const MemoryVisit *visit, const MemoryTrap *trap, const uint16_t *at) {
        const MemoryPlace *place = &memory->traps.places[trap->first_place];
        uint16_t from[_MEMORY_AXIS_MAX];
        uint32_t linear;
        MemoryBits bits;
        int data = -1; /* of the last write before the last read */

        if (!last_before(memory, visit, place->linear, at, from))
                return;
        linear = memory_shape_linear(&memory->shape, from);
        if (memory_spots_find(&memory->spots, linear))
                return; /* was heard */

        for (unsigned i = 0, written = 0; i < visit->n_ops; i++)
                if (visit->ops[i] & MARCH_WRITE)
                        written = 1u + (visit->ops[i] & MARCH_DATA);
                else
                        data = (int) written - 1;

        if (data < 0)
                bits = memory_pattern_bits(memory_content_find(&memory->content, from), linear, from[HBM_ROW]);
        else {
                bits = memory_pattern_bits(visit->pattern, linear, from[HBM_ROW]);
                for (unsigned word = 0; data && word < 4; word++)
                        bits.w[word] = ~bits.w[word];
        }
        memory->spots.cells[place->cell].latch = get_bit(&bits, place->bit);
}

static bool visit_reads(const MemoryVisit *visit) {
        for (unsigned i = 0; i < visit->n_ops; i++)
                if (!(visit->ops[i] & MARCH_WRITE))
                        return true;
        return false;
}

void memory_access_begin(Memory *memory, const MemoryVisit *visit, MemorySpot *spot) {
        MemorySpot *reached[2];
        unsigned n;

        if (memory->spots.n_opens == 0 || !visit_reads(visit))
                return;

        n = reach(memory, spot, reached);
        for (unsigned k = 0; k < n; k++) {
                size_t first, opens;

                if (!reached[k]->opens)
                        continue;
                opens = memory_spots_opens_of(&memory->spots, memory_spots_line(&memory->shape, reached[k]->linear), &first);
                for (size_t i = first; i < first + opens; i++) {
                        const MemoryTrap *trap = &memory->traps.traps[memory->spots.opens[i].trap];

                        if (memory->traps.places[trap->first_place].linear == reached[k]->linear)
                                catch_up(memory, visit, trap, spot->at);
                }
        }
}

void memory_access_end(Memory *memory, const MemoryVisit *visit) {
        if (memory->spots.n_opens == 0 || !visit_reads(visit))
                return;
        for (size_t i = 0; i < memory->spots.n_opens; i++)
                catch_up(memory, visit, &memory->traps.traps[memory->spots.opens[i].trap], NULL);
}

/* ---- operations ---- */

/* What the check bits of an access belong to. */
static MemoryBits guarded(const Memory *memory, const MemorySpot *spot) {
        MemoryBits bits = memory_spots_content(spot, &memory->content);

        for (unsigned word = 0; spot->held && word < 4; word++)
                bits.w[word] ^= spot->wrong.w[word];
        return bits;
}

static bool is_stale(const Memory *memory, const MemorySpot *spot) {
        return spot->unit >= 0 && memory->units.units[spot->unit].effects.stale;
}

/* OLD: bits whose check bits stay what they were; NULL: none. */
static void write_access(Memory *memory, MemorySpot *spot, const MemoryBits *bits, const MemoryBits *old, uint64_t serial) {
        MemorySpot *reached[2];
        MemoryStroke strokes[2];
        unsigned n = reach(memory, spot, reached);

        for (unsigned k = 0; k < n; k++) {
                MemoryBits code = old ? guarded(memory, reached[k]) : *bits;

                if (is_stale(memory, reached[k]))
                        memory_past_push(memory, reached[k]);
                strokes[k].spot = reached[k];
                for (unsigned i = 0; i < reached[k]->n_cells; i++)
                        strokes[k].bits[i] = get_bit(bits, memory->spots.cells[reached[k]->first_cell + i].bit);
                reached[k]->data = *bits;
                reached[k]->held = true;
                for (unsigned word = 0; word < 4; word++)
                        reached[k]->wrong.w[word] = (bits->w[word] ^ code.w[word]) & (old ? old->w[word] : 0);
        }
        memory_cells_operate(memory, strokes, n, true, serial);
}

void memory_access_write(Memory *memory, MemorySpot *spot, const MemoryBits *bits, uint64_t serial) {
        write_access(memory, spot, bits, NULL, serial);
}

void memory_access_plant(Memory *memory, MemorySpot *spot, const MemoryBits *bits, uint64_t serial) {
        static const MemoryBits all = { { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX } };

        write_access(memory, spot, bits, &all, serial);
}

void memory_access_write_part(Memory *memory, MemorySpot *spot, const MemoryBits *bits, const MemoryBits *part, uint64_t serial) {
        MemoryBits intended, whole = memory_access_read(memory, spot, serial, &intended), old;

        for (unsigned word = 0; word < 4; word++) {
                whole.w[word] = (whole.w[word] & ~part->w[word]) | (bits->w[word] & part->w[word]);
                old.w[word] = ~part->w[word];
        }
        write_access(memory, spot, &whole, &old, serial > 0 ? serial + 1 : 0);
}

static MemoryBits combine(const MemoryDecoder *decoder, const MemoryBits bits[static 2], unsigned n) {
        MemoryBits both = bits[0];

        for (unsigned word = 0; word < 4 && n != 1; word++)
                if (n == 0)
                        both.w[word] = decoder->ones ? UINT64_MAX : 0;
                else
                        both.w[word] = decoder->wired_or ? bits[0].w[word] | bits[1].w[word] :
                                                           bits[0].w[word] & bits[1].w[word];
        return both;
}

MemoryBits memory_access_read(Memory *memory, MemorySpot *spot, uint64_t serial, MemoryBits *ret_intended) {
        MemoryBits good[2] = {}, got[2] = {}, bits;
        const MemoryDecoder *decoder = spot->decoder >= 0 ? &memory->traps.decoders[spot->decoder] : NULL;
        MemorySpot *reached[2];
        MemoryStroke strokes[2];
        unsigned n = reach(memory, spot, reached);

        for (unsigned k = 0; k < n; k++)
                strokes[k].spot = reached[k];
        memory_cells_operate(memory, strokes, n, false, serial);

        for (unsigned k = 0; k < n; k++) {
                got[k] = memory_spots_content(reached[k], &memory->content);
                good[k] = guarded(memory, reached[k]);
                for (unsigned i = 0; i < reached[k]->n_cells; i++)
                        set_bit(&got[k], memory->spots.cells[reached[k]->first_cell + i].bit, strokes[k].bits[i]);
                if (is_stale(memory, reached[k]))
                        got[k] = good[k] = memory_past_find(memory, reached[k]);
        }

        bits = combine(decoder, got, n);
        *ret_intended = combine(decoder, good, n);
        if (spot->heard)
                hear(memory, spot, &bits);
        return bits;
}
