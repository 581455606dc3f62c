/* SPDX-License-Identifier: Apache-2.0 */

/*
 * An element of PSUM is a word of 32 bits of an access, guarded by itself. A matmul that writes some of the eight reads the others
 * first; their check bits stay what they were.
 */

#include "sim/sram/psum.h"

#include <errno.h>
#include <string.h>

#include "sim/memory/cells/cells.h"
#include "sim/tensor/psum.h"

extern const Model model_tensor;

/* Shapes that tests give an array are nothing that a tensor engine reaches. */
static bool is_psum(const Memory *memory) {
        return memory->shape.size[SRAM_PARTITION] == PE_COLUMNS && memory->shape.size[SRAM_BANK] == PSUM_BANKS &&
               memory->shape.size[SRAM_ROW] == PSUM_ACCESSES && memory->shape.accesses == PE_COLUMNS * PSUM_BANKS * PSUM_ACCESSES;
}

static uint32_t linear_of(const PsumPlace *place) {
        return (place->partition * PSUM_BANKS + place->bank) * PSUM_ACCESSES + place->access;
}

static void at_of(const PsumPlace *place, uint16_t ret[static _MEMORY_AXIS_MAX]) {
        memset(ret, 0, _MEMORY_AXIS_MAX * sizeof(*ret));
        ret[SRAM_PARTITION] = (uint16_t) place->partition;
        ret[SRAM_BANK] = (uint16_t) place->bank;
        ret[SRAM_ROW] = (uint16_t) place->access;
}

static MemoryBits words_to_bits(const PsumWords *words) {
        MemoryBits bits;

        static_assert(sizeof(bits) == sizeof(*words), "an access");
        memcpy(&bits, words, sizeof(bits));
        return bits;
}

/* ---- for matmuls ---- */

static int begin(void *userdata, Execution *execution, bool *ret_keeps) {
        Sram *sram = userdata;
        Memory *memory = &sram->arrays[ARRAY_PSUM];

        *ret_keeps = is_psum(memory) && (memory->spots.n_spots > 0 || !memory_is_sound(memory));
        sram->tally = (MemoryEccTally) {};
        return *ret_keeps ? memory_prepare(memory, execution) : 0;
}

static uint64_t keeps(void *userdata, unsigned bank, unsigned partition) {
        const Memory *memory = &((Sram *) userdata)->arrays[ARRAY_PSUM];
        const MemorySpots *spots = &memory->spots;
        PsumPlace place = { bank, partition, 0 };
        uint32_t first = linear_of(&place);
        uint64_t kept = 0;
        size_t i;

        if (spots->n_opens > 0 && memory_spots_opens_of(spots, memory_spots_line(&memory->shape, first), &i) > 0)
                return UINT64_MAX; /* what is read there may be what was read of any other */

        for (i = memory_spots_from(spots, first); i < spots->n_spots && spots->spots[i].linear < first + PSUM_ACCESSES; i++)
                kept |= UINT64_C(1) << (spots->spots[i].linear - first);

        for (; memory->units.n_units > 0 && place.access < PSUM_ACCESSES; place.access++) {
                uint16_t at[_MEMORY_AXIS_MAX];

                at_of(&place, at);
                if (memory_units_at(&memory->units, &memory->shape, at) >= 0)
                        kept |= UINT64_C(1) << place.access;
        }

        return kept;
}

/* What a unit spoils is spoilt on its way out: unless something is wrong with the cells too, matmuls go on keeping it. */
static int write_words(void *userdata, const PsumPlace *place, const PsumWords *words, unsigned mask) {
        Memory *memory = &((Sram *) userdata)->arrays[ARRAY_PSUM];
        MemoryBits bits = words_to_bits(words), part;
        uint16_t at[_MEMORY_AXIS_MAX];
        uint32_t linear = linear_of(place);
        PsumWords masks;
        MemorySpot *spot;
        size_t first;
        int r;

        at_of(place, at);
        spot = memory_spots_find(&memory->spots, linear);
        if (!spot && memory_spots_opens_of(&memory->spots, memory_spots_line(&memory->shape, linear), &first) == 0)
                return 0;
        r = memory_spot_at(memory, linear, at, &spot);
        if (r < 0)
                return r;

        if (mask == 0xff) {
                memory_access_write(memory, spot, &bits, memory_serial_next(memory, 1));
                return 0;
        }
        for (unsigned i = 0; i < PSUM_ACCESS_ELEMENTS; i++)
                masks.words[i] = mask >> i & 1 ? UINT32_MAX : 0;
        part = words_to_bits(&masks);
        memory_access_write_part(memory, spot, &bits, &part, memory_serial_next(memory, 2));
        return 0;
}

static void read_words(void *userdata, const PsumPlace *place, PsumWords *ret) {
        Sram *sram = userdata;
        Memory *memory = &sram->arrays[ARRAY_PSUM];
        MemorySpot *spot = memory_spots_find(&memory->spots, linear_of(place));
        MemoryEffects effects = {};
        MemoryBits intended, stored;
        uint16_t at[_MEMORY_AXIS_MAX];
        int32_t unit;

        at_of(place, at);
        unit = memory_units_at(&memory->units, &memory->shape, at);
        if (unit >= 0)
                effects = memory->units.units[unit].effects;
        if (spot)
                stored = memory_access_read(memory, spot, memory_serial_next(memory, 1), &intended);
        else
                stored = intended = memory_plain_bits(memory, &memory->content, at);

        stored = memory_read(memory, &effects, stored, &intended, true, &sram->tally);
        memcpy(ret, &stored, sizeof(*ret));
}

static void content_words(void *userdata, const PsumPlace *place, PsumWords *ret) {
        const Memory *memory = &((Sram *) userdata)->arrays[ARRAY_PSUM];
        const MemorySpot *spot = memory_spots_find(&memory->spots, linear_of(place));
        uint16_t at[_MEMORY_AXIS_MAX];
        MemoryBits bits;

        at_of(place, at);
        bits = spot ? memory_spots_content(spot, &memory->content) :
                      memory_pattern_bits(memory_content_find(&memory->content, at), linear_of(place), at[SRAM_ROW]);
        memcpy(ret, &bits, sizeof(*ret));
}

static WireStatus end(void *userdata) {
        Sram *sram = userdata;

        return memory_count(&sram->arrays[ARRAY_PSUM], &sram->tally);
}

/* ---- for marches and copies ---- */

static bool find(void *userdata, const Memory *memory, const uint16_t at[static _MEMORY_AXIS_MAX], MemoryBits *bits) {
        const PsumPlace place = { at[SRAM_BANK], at[SRAM_PARTITION], at[SRAM_ROW] };
        const Psum *psum = userdata;
        PsumWords words;
        unsigned mask;

        if (!is_psum(memory))
                return false;
        memcpy(&words, bits, sizeof(words));
        mask = psum_find(psum, &place, &words);
        memcpy(bits, &words, sizeof(words));
        return mask != 0;
}

/* The part of BOX in a bank. */
static PsumArea area_of(const WireBox *box) {
        unsigned first = box->first[SRAM_ROW], last = box->last[SRAM_ROW];

        return (PsumArea) {
                .partition = box->first[SRAM_PARTITION],
                .partitions = (uint16_t) (box->last[SRAM_PARTITION] - box->first[SRAM_PARTITION] + 1),
                .element = (uint16_t) (first * PSUM_ACCESS_ELEMENTS),
                .elements = (uint16_t) ((last - first + 1) * PSUM_ACCESS_ELEMENTS),
        };
}

static bool holds(const Sram *sram, const WireBox *box) {
        for (unsigned bank = box->first[SRAM_BANK]; bank <= box->last[SRAM_BANK]; bank++)
                if (psum_has(sram->psum, bank, area_of(box)))
                        return true;
        return false;
}

/* What a march reads before it writes must be there: it becomes data that were copied in. */
static int hand_over(Memory *memory, const WireBox *box) {
        uint16_t at[_MEMORY_AXIS_MAX];

        memory_walk_first(box, false, at);
        do {
                MemoryBits bits = {};
                MemorySpot *spot;
                int r;

                if (!memory->guest.find(memory->guest.userdata, memory, at, &bits))
                        continue;
                r = memory_spot_at(memory, memory_shape_linear(&memory->shape, at), at, &spot);
                if (r < 0)
                        return r;
        } while (memory_walk_next(box, MEMORY_ORDER_COLUMN_FAST, false, at));

        return 0;
}

static bool march_writes(const WireMarch *march) {
        for (unsigned i = 0; i < march->n_ops && i < MARCH_OPS_MAX; i++)
                if (march->ops[i] & MARCH_WRITE)
                        return true;
        return false;
}

int sram_psum_march(Sram *sram, Execution *execution) {
        const WireMarch *march = &execution->command->march;
        Memory *memory = &sram->arrays[ARRAY_PSUM];
        bool has = is_psum(memory) && memory_box_is_valid(&memory->shape, &march->box) && holds(sram, &march->box);
        int r = 0;

        if (has && !(march->ops[0] & MARCH_WRITE)) {
                r = memory_prepare(memory, execution);
                if (r >= 0)
                        r = hand_over(memory, &march->box);
        }
        if (r >= 0)
                r = memory_march(memory, execution);

        has = has && execution->completion->status != STATUS_NRT_INVALID && march_writes(march);
        for (unsigned bank = march->box.first[SRAM_BANK]; has && bank <= march->box.last[SRAM_BANK] && r >= 0; bank++)
                r = psum_yield(sram->psum, bank, area_of(&march->box));
        return r;
}

static int settle_at(Sram *sram, uint32_t linear) {
        Memory *memory = &sram->arrays[ARRAY_PSUM];
        uint16_t at[_MEMORY_AXIS_MAX];
        MemoryBits bits = {};
        MemorySpot *spot;

        memory_shape_at(&memory->shape, linear, at);
        return find(sram->psum, memory, at, &bits) ? memory_spot_at(memory, linear, at, &spot) : 0;
}

int sram_psum_settle(Sram *sram) {
        const MemoryTraps *traps = &sram->arrays[ARRAY_PSUM].traps;
        int r = 0;

        for (size_t i = 0; i < traps->n_places && r >= 0; i++)
                r = settle_at(sram, traps->places[i].linear);
        for (size_t i = 0; i < traps->n_decoders && r >= 0; i++) {
                r = settle_at(sram, traps->decoders[i].x);
                if (r >= 0)
                        r = settle_at(sram, traps->decoders[i].y);
        }
        return r;
}

/* ---- both ---- */

int sram_psum_attach(Sram *sram, Chip *chip, unsigned core) {
        static const PsumSram ways = {
                .begin = begin, .keeps = keeps, .write = write_words, .read = read_words, .content = content_words, .end = end,
        };
        void *tensor = chip_part(chip, &model_tensor, core);

        if (!tensor)
                return -ENOMEM;
        sram->psum = tensor_psum(tensor);
        sram->psum->sram = &ways;
        sram->psum->userdata = sram;
        sram->arrays[ARRAY_PSUM].guest = (MemoryGuest) { find, sram->psum };
        return 0;
}
