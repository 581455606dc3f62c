/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The spots of a march element, one by one in the order of the visit.
 *
 * Most spots are a faulty cell or two in an access that is otherwise as good as all around it. What the good bits do is
 * worked out once for the element, and only the bits of cells are run; an access is put together where it differs. Spots
 * with data of their own, behind a decoder, within a unit, on the bit line of a stuck-open cell, or read through ECC take
 * the long way, all bits in every operation.
 */

#include "sim/memory/cells/cells.h"
#include "sim/memory/march/region.h"

#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"

typedef struct Replay {
        MemoryElement *element;
        MemoryVisit visit;
        uint64_t serial; /* of the element's first operation, or 0 */
        const MemoryPattern *pattern; /* what lies in all of the box, or NULL: in several layers */
        bool clean[3]; /* what good bits give is what is wanted: where they hold data 0 or 1 of the pattern, or something else */
} Replay;

/* Whether good bits that hold DATA (2: of another pattern) agree with all reads of the element. */
static bool runs_clean(const WireMarch *march, unsigned data) {
        for (unsigned i = 0; i < march->n_ops; i++)
                if (march->ops[i] & MARCH_WRITE)
                        data = march->ops[i] & MARCH_DATA;
                else if (data != (march->ops[i] & MARCH_DATA))
                        return false;
        return true;
}

static bool is_clean(const Replay *replay, const MemorySpot *spot) {
        const MemoryElement *element = replay->element;
        const MemoryPattern *pattern = replay->pattern;

        if (spot->held || spot->decoder >= 0 || spot->unit >= 0 || spot->opens || spot->heard || element->march->ecc)
                return false;
        if (!pattern)
                pattern = memory_content_find(&element->memory->content, spot->at);
        if (pattern->background != element->pattern.background || pattern->parameter != element->pattern.parameter ||
            pattern->seed != element->pattern.seed || pattern->shift != 0 || pattern->odd)
                return replay->clean[2];
        return replay->clean[pattern->data];
}

static MemoryBits inverted(MemoryBits bits, bool invert) {
        for (unsigned word = 0; invert && word < 4; word++)
                bits.w[word] = ~bits.w[word];
        return bits;
}

static int mismatch(MemoryElement *element, const uint16_t at[static _MEMORY_AXIS_MAX], unsigned op, const MemoryBits *actual) {
        int r;

        if (element->blind >> op & 1)
                return 0;

        element->mismatches++;
        if (element->n_spot_records < element->march->mismatches_max) {
                r = memory_element_record(element, at, op, actual);
                if (r < 0)
                        return r;
                element->n_spot_records++;
        }
        return 0;
}

/* ---- bits of cells only ---- */

static int mismatch_bits(MemoryElement *element, const MemoryStroke *stroke, const MemoryBits *background, unsigned op) {
        const MemoryCell *cells = &element->memory->spots.cells[stroke->spot->first_cell];
        MemoryBits actual = inverted(*background, element->march->ops[op] & MARCH_DATA);

        for (unsigned i = 0; i < stroke->spot->n_cells; i++) {
                uint64_t *word = &actual.w[cells[i].bit / 64];
                unsigned shift = cells[i].bit % 64;

                *word = (*word & ~(UINT64_C(1) << shift)) | (uint64_t) stroke->bits[i] << shift;
        }
        return mismatch(element, stroke->spot->at, op, &actual);
}

static int run_bits(MemoryElement *element, MemorySpot *spot, uint64_t serial) {
        Memory *memory = element->memory;
        const MemoryCell *cells = &memory->spots.cells[spot->first_cell];
        const WireMarch *march = element->march;
        MemoryBits background = memory_element_bits(element, spot->linear, spot->at[HBM_ROW]);
        uint8_t wanted[MEMORY_CELLS_MAX];
        unsigned n_cells = spot->n_cells;
        MemoryStroke stroke;
        int r;

        stroke.spot = spot;
        for (unsigned c = 0; c < n_cells; c++)
                wanted[c] = background.w[cells[c].bit / 64] >> (cells[c].bit % 64) & 1;

        for (unsigned i = 0; i < march->n_ops; i++) {
                uint8_t data = march->ops[i] & MARCH_DATA, differs = 0;
                bool write = march->ops[i] & MARCH_WRITE;

                for (unsigned c = 0; write && c < n_cells; c++)
                        stroke.bits[c] = wanted[c] ^ data;
                memory_cells_operate(memory, &stroke, 1, write, serial > 0 ? serial + i : 0);
                for (unsigned c = 0; !write && c < n_cells; c++)
                        differs |= stroke.bits[c] ^ wanted[c] ^ data;
                if (!differs)
                        continue;
                r = mismatch_bits(element, &stroke, &background, i);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* Good cells do what they are told; only others ask what they hold, and not now. */
static void pass_by(MemoryElement *element, const MemorySpot *spot) {
        MemoryBits left = inverted(memory_element_bits(element, spot->linear, spot->at[HBM_ROW]), element->last_data);

        for (unsigned c = 0; element->n_writes > 0 && c < spot->n_cells; c++) {
                MemoryCell *cell = &element->memory->spots.cells[spot->first_cell + c];

                cell->value = left.w[cell->bit / 64] >> (cell->bit % 64) & 1;
        }
}

/* ---- all bits ---- */

/* The address AT leads to the place of SPOT. */
static int run_access(Replay *replay, MemorySpot *spot, const uint16_t at[static _MEMORY_AXIS_MAX], uint64_t serial) {
        static const MemoryEffects none = {};
        MemoryElement *element = replay->element;
        Memory *memory = element->memory;
        const WireMarch *march = element->march;
        const MemoryEffects *effects = spot->unit >= 0 ? &memory->units.units[spot->unit].effects : &none;
        MemoryBits background = memory_element_bits(element, memory_shape_linear(&memory->shape, at), at[HBM_ROW]);
        int r;

        memory_access_begin(memory, &replay->visit, spot);
        for (unsigned i = 0; i < march->n_ops; i++) {
                MemoryBits wanted = inverted(background, march->ops[i] & MARCH_DATA), intended, actual;
                uint64_t now = serial > 0 ? serial + i : 0, differs = 0;

                if (march->ops[i] & MARCH_WRITE) {
                        memory_access_write(memory, spot, &wanted, now);
                        continue;
                }

                actual = memory_access_read(memory, spot, now, &intended);
                actual = memory_read(memory, effects, actual, &intended, march->ecc, &element->tally);
                for (unsigned word = 0; word < 4; word++)
                        differs |= actual.w[word] ^ wanted.w[word];
                if (!differs)
                        continue;
                r = mismatch(element, at, i, &actual);
                if (r < 0)
                        return r;
        }

        return 0;
}

/* The layers that this element leaves say the same, but not of what a decoder reaches. WAS_HELD: before the visit. */
static void release(MemoryElement *element, MemorySpot *spot, bool was_held) {
        if (element->n_writes == 0 || !spot->held || spot->decoder >= 0)
                return;

        spot->held = false;
        if (element->n_writes > 1 || !was_held)
                spot->behind = false;
        element->n_released++;
}

/* ---- the visit ---- */

static Replay replay_of(MemoryElement *element) {
        const WireMarch *march = element->march;
        const MemoryContent *content = &element->memory->content;
        Replay replay = {
                .element = element,
                .visit = {
                        .box        = &march->box,
                        .order      = (MemoryOrder) march->order,
                        .descending = march->descending,
                        .ops        = march->ops,
                        .n_ops      = march->n_ops,
                        .pattern    = &element->pattern,
                },
                .serial = memory_serial_next(element->memory, memory_box_volume(&march->box) * march->n_ops),
        };

        if (!element->astray && content->n_fragments == 1)
                replay.pattern = &content->fragments[0].pattern;
        for (unsigned data = 0; data < 3; data++)
                replay.clean[data] = runs_clean(march, data);
        return replay;
}

static uint64_t serial_of(const Replay *replay, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        const MemoryVisit *visit = &replay->visit;

        return replay->serial > 0 ? replay->serial + visit->n_ops * memory_box_position(visit->box, visit->order, visit->descending, at) : 0;
}

/* ---- where addresses lead elsewhere: a place may be visited from two, or from none ---- */

typedef struct Astray {
        uint64_t position; /* in the visit */
        uint16_t at[_MEMORY_AXIS_MAX];
        size_t spot;
} Astray;

static int compare_astray(const void *a, const void *b) {
        const Astray *x = a, *y = b;

        return (x->position > y->position) - (x->position < y->position);
}

static size_t list_astray(const Replay *replay, Astray *ret) {
        const Memory *memory = replay->element->memory;
        size_t n = 0;

        for (size_t i = 0; i < memory->spots.n_spots; i++) {
                const MemoryDetour *detour = memory_detours_at(&memory->detours, memory->spots.spots[i].at);
                Astray astray = { .spot = i };

                memcpy(astray.at, memory->spots.spots[i].at, sizeof(astray.at));
                if (detour && !memory_detour_is_straight(detour, astray.at))
                        continue;
                for (unsigned k = 0; k < (detour ? 2 : 1); k++) {
                        if (k > 0)
                                memory_detour_turn(detour, astray.at);
                        if (!memory_box_has(replay->visit.box, astray.at))
                                continue;
                        astray.position = memory_box_position(replay->visit.box, replay->visit.order, replay->visit.descending, astray.at);
                        ret[n++] = astray;
                }
        }

        return n;
}

static int run_astray(Replay *replay) {
        MemorySpots *spots = &replay->element->memory->spots;
        _cleanup_free_ Astray *visits = reallocarray(NULL, 2 * spots->n_spots + 1, sizeof(Astray));
        size_t n;
        int r;

        if (!visits)
                return -ENOMEM;
        n = list_astray(replay, visits);
        if (n > 1)
                qsort(visits, n, sizeof(Astray), compare_astray);

        for (size_t i = 0; i < n; i++) {
                r = run_access(replay, &spots->spots[visits[i].spot], visits[i].at, serial_of(replay, visits[i].at));
                if (r < 0)
                        return r;
        }

        /* Not before: the second visit finds what the first has left. */
        for (size_t i = 0; i < n; i++)
                if (!spots->spots[visits[i].spot].behind)
                        release(replay->element, &spots->spots[visits[i].spot], true);

        memory_access_end(replay->element->memory, &replay->visit);
        return 0;
}

int memory_spots_run(MemoryElement *element) {
        Memory *memory = element->memory;
        const WireMarch *march = element->march;
        Replay replay = replay_of(element);
        bool whole = memory_box_volume(&march->box) == memory->shape.accesses;
        size_t first, end;
        int r;

        if (element->astray)
                return run_astray(&replay);
        r = memory_spots_range(&memory->spots, &memory->shape, replay.visit.order, &march->box, &first, &end);
        if (r < 0)
                return r;

        for (size_t i = 0; i < end - first; i++) {
                MemorySpot *spot = memory_spots_nth(&memory->spots, replay.visit.order,
                                                    march->descending ? end - 1 - i : first + i);
                uint64_t serial;

                if (!whole && !memory_box_has(&march->box, spot->at))
                        continue;
                /* Behind a decoder the spots that are reached must know. */
                serial = spot->pairs || spot->decoder >= 0 ? serial_of(&replay, spot->at) : 0;
                if (!is_clean(&replay, spot)) {
                        bool was_held = spot->held;

                        r = run_access(&replay, spot, spot->at, serial);
                        release(element, spot, was_held);
                } else if (!spot->quiet || spot->n_states > 0)
                        r = run_bits(element, spot, serial);
                else
                        pass_by(element, spot);
                if (r < 0)
                        return r;
        }

        memory_access_end(memory, &replay.visit);
        return 0;
}
