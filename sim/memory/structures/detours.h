/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryDetours
 *
 * Address bits that are stuck on their way into a part of a memory: there, addresses with the other value lead to the place of
 * their partner, which differs in that bit alone, and their own place is not reached. Spots, units and content are of
 * places; marches and copies name addresses.
 *
 * Of two partners in one box the visit comes to one first and leaves there what the other then finds. A box is parted so
 * that nothing else depends on the order: straight and astray addresses of each detour, first and second of their pairs. In each
 * part the way from address to place is the same step along one axis.
 */

#include "sim/chip/model.h"
#include "sim/memory/structures/content.h"

typedef struct MemoryDetour {
        const Fault *fault;
        WireBox box;
        MemoryAxis axis;
        unsigned bit;
        bool value;  /* what the bit is stuck at */
        bool active; /* in this command */
} MemoryDetour;

typedef struct MemoryReach {
        MemorySlice places;
        const MemoryDetour *detour; /* that leads there from addresses with the bit the other way; NULL: a place is its address */
        bool second;                /* of pairs, or of none: then after all others too */
} MemoryReach;

typedef struct MemoryDetours {
        MemoryDetour *detours;
        MemoryReach *parts;
        WireBox *rest;
        size_t n_detours, detours_allocated;
        size_t n_parts, parts_allocated;
        size_t n_rest, rest_allocated;
        bool any; /* of them is active */
} MemoryDetours;

void memory_detours_done(MemoryDetours *detours);
int memory_detours_add(MemoryDetours *detours, const MemoryDetour *detour); /* -EEXIST: another has some of its addresses */
void memory_detours_remove(MemoryDetours *detours, const Fault *fault);
/* Before a command. EXECUTION NULL: none acts. */
void memory_detours_ask(MemoryDetours *detours, const Execution *execution);

/* The active one that AT lies in, astray or not, or NULL. */
const MemoryDetour *memory_detours_at(const MemoryDetours *detours, const uint16_t at[static _MEMORY_AXIS_MAX]);
/* Whether that is where it leads addresses to; else its addresses are led away. */
bool memory_detour_is_straight(const MemoryDetour *detour, const uint16_t at[static _MEMORY_AXIS_MAX]);
/* From an address to its partner. */
void memory_detour_turn(const MemoryDetour *detour, uint16_t at[static _MEMORY_AXIS_MAX]);
/* From an address to its place. */
void memory_detours_lead(const MemoryDetours *detours, uint16_t at[static _MEMORY_AXIS_MAX]);

/* How many accesses an address lies behind its place, modulo 2^32. */
uint32_t memory_reach_shift(const MemoryShape *shape, const MemoryReach *part);
/* What a write of PATTERN leaves there, at the places. */
MemoryPattern memory_reach_pattern(const MemoryShape *shape, const MemoryReach *part, MemoryPattern pattern);

/* The parts of BOX: detours->parts. -ENOMEM. */
int memory_detours_part(MemoryDetours *detours, const WireBox *box, bool descending);
