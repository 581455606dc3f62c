/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/structures/traps.h"

#include <math.h>
#include <string.h>

#include "sim/memory/structures/grow.h"

void memory_traps_done(MemoryTraps *traps) {
        free(traps->traps);
        free(traps->places);
        free(traps->decoders);
        free(traps->victims);
        *traps = (MemoryTraps) {};
}

static bool is_moody(const Fault *fault) {
        return fault->persistence != PERSISTENCE_PERMANENT || isfinite(fault->above) || fault->after_commands > 0;
}

/* ---- which traps a victim has ---- */

static const MemoryPlace *places_of(const MemoryTraps *traps, const MemoryTrap *trap) {
        return &traps->places[trap->first_place];
}

static bool same_cell(const MemoryPlace *a, const MemoryPlace *b) {
        return a->linear == b->linear && a->bit == b->bit;
}

/* Where the last trap of a victim stands in the hash, or would. */
static uint32_t *slot_of(const MemoryTraps *traps, const MemoryPlace *victim) {
        uint64_t hash = ((uint64_t) victim->linear << 8 | victim->bit) * UINT64_C(0x9e3779b97f4a7c15);
        size_t mask = traps->n_victims - 1;

        for (size_t i = hash >> 32;; i++) {
                uint32_t *slot = &traps->victims[i & mask];

                if (*slot == MEMORY_NONE || same_cell(places_of(traps, &traps->traps[*slot]), victim))
                        return slot;
        }
}

static void put_victim(MemoryTraps *traps, uint32_t index) {
        MemoryTrap *trap = &traps->traps[index];
        uint32_t *slot = slot_of(traps, places_of(traps, trap));

        trap->same_victim = *slot;
        *slot = index;
}

static void hash_victims(MemoryTraps *traps) {
        for (size_t i = 0; i < traps->n_victims; i++)
                traps->victims[i] = MEMORY_NONE;
        for (size_t i = 0; i < traps->n_traps; i++)
                put_victim(traps, (uint32_t) i);
}

/* Room in the hash for N traps, so that half of it stays empty. */
static int reserve_victims(MemoryTraps *traps, size_t n) {
        int r;

        if (n <= traps->n_victims / 2)
                return 0;

        r = MEMORY_GROW(traps, victims, 2 * n);
        if (r < 0)
                return r;
        traps->n_victims = traps->victims_allocated;
        hash_victims(traps);
        return 0;
}

/* ---- which traps can be together ---- */

/* Whether there is a state of their other cells in which both can spring. */
static bool can_coincide(const MemoryPlace *a, unsigned n_a, const MemoryPlace *b, unsigned n_b) {
        for (unsigned i = 1; i < n_a; i++)
                for (unsigned k = 1; k < n_b; k++)
                        if (same_cell(&a[i], &b[k]) && a[i].state + b[k].state == 1)
                                return false;
        return true;
}

static bool same_trap(const MemoryTrap *a, const MemoryPlace *a_places, const MemoryTrap *b, const MemoryPlace *b_places) {
        if (a->n_places != b->n_places || a->operated != b->operated || a->n_ops != b->n_ops ||
            memcmp(a->ops, b->ops, sizeof(a->ops)) != 0 || a->becomes != b->becomes || a->reads != b->reads ||
            a->open != b->open)
                return false;
        for (unsigned i = 0; i < a->n_places; i++)
                if (!same_cell(&a_places[i], &b_places[i]) || a_places[i].state != b_places[i].state)
                        return false;
        return true;
}

/* The state of the victim in which the last operation of a read trap begins. */
static unsigned read_state(const MemoryTrap *trap, const MemoryPlace *places) {
        return trap->n_ops == 2 ? trap->ops[0] & MARCH_DATA : places[0].state;
}

static bool sequences_differ(const MemoryTrap *a, const MemoryPlace *a_places, const MemoryTrap *b,
                             const MemoryPlace *b_places) {
        return a->n_ops == 2 && b->n_ops == 2 && (a->ops[0] != b->ops[0] || a_places[0].state != b_places[0].state);
}

/* Two on one victim contradict each other where at one time they want different things of it. */
static bool contradict(const MemoryTrap *a, const MemoryPlace *a_places, const MemoryTrap *b, const MemoryPlace *b_places) {
        if (same_trap(a, a_places, b, b_places))
                return true;
        if (a->open || b->open || !can_coincide(a_places, a->n_places, b_places, b->n_places))
                return false;
        /* Conditions would turn the victim over and over. */
        if (a->operated == MEMORY_OPERATED_NONE && b->operated == MEMORY_OPERATED_NONE)
                return a->becomes != b->becomes;
        /* A read that begins in one state ends in one way. */
        if (a->reads == PRIMITIVE_NO_READ || b->reads == PRIMITIVE_NO_READ)
                return false;
        return read_state(a, a_places) == read_state(b, b_places) && !sequences_differ(a, a_places, b, b_places) &&
               (a->becomes != b->becomes || a->reads != b->reads);
}

int memory_traps_add(MemoryTraps *traps, const MemoryTrap *trap, const MemoryPlace places[]) {
        MemoryTrap *added;
        int r;

        r = reserve_victims(traps, traps->n_traps + 1);
        if (r < 0)
                return r;
        for (uint32_t i = *slot_of(traps, &places[0]); i != MEMORY_NONE; i = traps->traps[i].same_victim)
                if (contradict(&traps->traps[i], places_of(traps, &traps->traps[i]), trap, places))
                        return -EEXIST;

        r = MEMORY_GROW(traps, traps, traps->n_traps + 1);
        if (r < 0)
                return r;
        r = MEMORY_GROW(traps, places, traps->n_places + trap->n_places);
        if (r < 0)
                return r;

        added = &traps->traps[traps->n_traps];
        *added = *trap;
        added->first_place = (uint32_t) traps->n_places;
        added->moody = is_moody(trap->fault);
        added->active = !added->moody;
        memcpy(&traps->places[traps->n_places], places, trap->n_places * sizeof(MemoryPlace));
        traps->n_places += trap->n_places;
        traps->n_moody += added->moody;
        put_victim(traps, (uint32_t) traps->n_traps++);
        traps->dirty = true;
        return 0;
}

/* ---- decoders ---- */

static bool overlap(uint32_t a, uint32_t a_n, uint32_t b, uint32_t b_n) {
        return (uint64_t) a < (uint64_t) b + b_n && (uint64_t) b < (uint64_t) a + a_n;
}

static bool decoder_touches(const MemoryDecoder *decoder, uint32_t first, uint32_t n) {
        return overlap(decoder->x, decoder->n, first, n) || overlap(decoder->y, decoder->n, first, n);
}

int memory_traps_add_decoder(MemoryTraps *traps, const MemoryDecoder *decoder) {
        MemoryDecoder *added;
        int r;

        for (size_t i = 0; i < traps->n_decoders; i++)
                if (decoder_touches(&traps->decoders[i], decoder->x, decoder->n) ||
                    decoder_touches(&traps->decoders[i], decoder->y, decoder->n))
                        return -EEXIST;

        r = MEMORY_GROW(traps, decoders, traps->n_decoders + 1);
        if (r < 0)
                return r;

        added = &traps->decoders[traps->n_decoders++];
        *added = *decoder;
        added->moody = is_moody(decoder->fault);
        added->active = !added->moody;
        traps->n_moody += added->moody;
        traps->dirty = true;
        return 0;
}

/* ---- taking out ---- */

static bool trap_leaves(const MemoryTraps *traps, const MemoryTrap *trap, const Fault *fault, uint32_t first, uint32_t last) {
        const MemoryPlace *places = places_of(traps, trap);

        if (fault)
                return trap->fault == fault;
        for (unsigned i = 0; i < trap->n_places; i++)
                if (places[i].linear >= first && places[i].linear <= last)
                        return true;
        return false;
}

void memory_traps_remove(MemoryTraps *traps, const Fault *fault, uint32_t first, uint32_t last) {
        size_t n = 0, n_places = 0, n_decoders = 0;

        traps->n_moody = 0;
        for (size_t i = 0; i < traps->n_traps; i++) {
                MemoryTrap trap = traps->traps[i];

                if (trap_leaves(traps, &trap, fault, first, last))
                        continue;
                memmove(&traps->places[n_places], &traps->places[trap.first_place], trap.n_places * sizeof(MemoryPlace));
                trap.first_place = (uint32_t) n_places;
                n_places += trap.n_places;
                traps->n_moody += trap.moody;
                traps->traps[n++] = trap;
        }

        for (size_t i = 0; i < traps->n_decoders; i++) {
                const MemoryDecoder *decoder = &traps->decoders[i];

                if (fault ? decoder->fault == fault : decoder_touches(decoder, first, last - first + 1))
                        continue;
                traps->n_moody += decoder->moody;
                traps->decoders[n_decoders++] = *decoder;
        }

        traps->dirty |= n < traps->n_traps || n_decoders < traps->n_decoders;
        traps->n_traps = n;
        traps->n_places = n_places;
        traps->n_decoders = n_decoders;
        hash_victims(traps);
}
