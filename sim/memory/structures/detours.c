/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/structures/detours.h"

#include <errno.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/memory/structures/grow.h"

void memory_detours_done(MemoryDetours *detours) {
        free(detours->detours);
        free(detours->parts);
        free(detours->rest);
        *detours = (MemoryDetours) {};
}

int memory_detours_add(MemoryDetours *detours, const MemoryDetour *detour) {
        WireBox common;
        int r;

        for (size_t i = 0; i < detours->n_detours; i++)
                if (memory_box_intersect(&detours->detours[i].box, &detour->box, &common))
                        return -EEXIST;

        r = MEMORY_GROW(detours, detours, detours->n_detours + 1);
        if (r < 0)
                return r;
        detours->detours[detours->n_detours++] = *detour;
        return 0;
}

void memory_detours_remove(MemoryDetours *detours, const Fault *fault) {
        size_t n = 0;

        for (size_t i = 0; i < detours->n_detours; i++)
                if (detours->detours[i].fault != fault)
                        detours->detours[n++] = detours->detours[i];
        detours->n_detours = n;
}

void memory_detours_ask(MemoryDetours *detours, const Execution *execution) {
        detours->any = false;
        for (size_t i = 0; i < detours->n_detours; i++) {
                detours->detours[i].active = execution && fault_is_active(detours->detours[i].fault, execution);
                detours->any |= detours->detours[i].active;
        }
}

const MemoryDetour *memory_detours_at(const MemoryDetours *detours, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        for (size_t i = 0; i < detours->n_detours && detours->any; i++)
                if (detours->detours[i].active && memory_box_has(&detours->detours[i].box, at))
                        return &detours->detours[i];
        return NULL;
}

bool memory_detour_is_straight(const MemoryDetour *detour, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        return (at[detour->axis] >> detour->bit & 1) == detour->value;
}

void memory_detour_turn(const MemoryDetour *detour, uint16_t at[static _MEMORY_AXIS_MAX]) {
        at[detour->axis] ^= (uint16_t) (1u << detour->bit);
}

void memory_detours_lead(const MemoryDetours *detours, uint16_t at[static _MEMORY_AXIS_MAX]) {
        const MemoryDetour *detour = memory_detours_at(detours, at);

        if (detour && !memory_detour_is_straight(detour, at))
                memory_detour_turn(detour, at);
}

uint32_t memory_reach_shift(const MemoryShape *shape, const MemoryReach *part) {
        uint16_t at[_MEMORY_AXIS_MAX];

        if (!part->detour)
                return 0;
        memcpy(at, part->places.box.first, sizeof(at));
        memory_detour_turn(part->detour, at);
        return memory_shape_linear(shape, at) - memory_shape_linear(shape, part->places.box.first);
}

MemoryPattern memory_reach_pattern(const MemoryShape *shape, const MemoryReach *part, MemoryPattern pattern) {
        if (memory_pattern_is_hash(&pattern))
                pattern.shift = memory_reach_shift(shape, part);
        else
                pattern.odd = part->detour && part->detour->axis == HBM_ROW && part->detour->bit == 0;
        return pattern;
}

/* Takes COMMON, which lies in one of them, out of the boxes that are left. */
static int take_out(MemoryDetours *detours, const WireBox *common) {
        size_t n = detours->n_rest;
        int r;

        for (size_t i = n; i-- > 0;) {
                WireBox box = detours->rest[i], here, pieces[MEMORY_BOX_PIECES_MAX];
                unsigned n_pieces;

                if (!memory_box_intersect(&box, common, &here))
                        continue;
                n_pieces = memory_box_subtract(&box, &here, pieces);
                r = MEMORY_GROW(detours, rest, detours->n_rest + n_pieces);
                if (r < 0)
                        return r;

                detours->rest[i] = detours->rest[--detours->n_rest];
                for (unsigned k = 0; k < n_pieces; k++)
                        detours->rest[detours->n_rest++] = pieces[k];
        }

        return 0;
}

static int add_part(MemoryDetours *detours, const MemoryReach *part) {
        int r;

        r = MEMORY_GROW(detours, parts, detours->n_parts + 1);
        if (r < 0)
                return r;
        detours->parts[detours->n_parts++] = *part;
        return 0;
}

/* The two halves of what a detour has of the box. Partners differ in one coordinate: ascending, the one comes last. */
static int part_detour(MemoryDetours *detours, const MemoryDetour *detour, const WireBox *common, bool descending) {
        MemorySlice whole = memory_slice_of(common);
        int r;

        for (unsigned bit = 0; bit < 2; bit++) {
                MemoryReach part = { .second = bit == !descending };

                if (!memory_slice_half(&whole, detour->axis, detour->bit, bit, &part.places))
                        continue;
                if (bit != detour->value) {
                        part.detour = detour;
                        memory_slice_flip(&part.places, detour->axis, detour->bit);
                }
                r = add_part(detours, &part);
                if (r < 0)
                        return r;
        }

        return 0;
}

int memory_detours_part(MemoryDetours *detours, const WireBox *box, bool descending) {
        int r;

        r = MEMORY_GROW(detours, rest, 1);
        if (r < 0)
                return r;
        detours->rest[0] = *box;
        detours->n_rest = 1;
        detours->n_parts = 0;

        for (size_t i = 0; i < detours->n_detours && detours->any; i++) {
                WireBox common;

                if (!detours->detours[i].active || !memory_box_intersect(&detours->detours[i].box, box, &common))
                        continue;
                r = take_out(detours, &common);
                if (r >= 0)
                        r = part_detour(detours, &detours->detours[i], &common, descending);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < detours->n_rest; i++) {
                MemoryReach part = { .places = memory_slice_of(&detours->rest[i]) };

                r = add_part(detours, &part);
                if (r < 0)
                        return r;
        }

        return 0;
}
