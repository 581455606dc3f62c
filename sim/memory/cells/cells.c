/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The meaning of traps. One operation goes through these steps, as sim/memory/structures/primitive.h has it:
 *
 *  1. which traps spring is decided by the states before it, faults and all;
 *  2. it does in every cell what it does in a good one;
 *  3. traps that the victim's own operation sprang change the victim and what is read;
 *  4. traps that an operation on another cell sprang change the victim;
 *  5. conditions on states act, in the order of injection, until nothing changes.
 *
 * Where one operation writes the victim and the cell that disturbs it, published conventions differ: here the victim is
 * written and then disturbed (its condition looks at what was just written), or, with write_wins, not disturbed at all.
 *
 * Conditions that turn each other over for ever are stopped after SETTLE_ROUNDS rounds, as they are then: the same each
 * time, but no more than that can be said of them.
 */

#include "sim/memory/cells/cells.h"

#include <assert.h>
#include <string.h>

#define SETTLE_ROUNDS 64u

enum { FIRES_NOT, FIRES_0, FIRES_1, FIRES_LATER /* its victim is looked at when it has been written */ };

static const MemoryPlace *place_of(const Memory *memory, const MemoryTrap *trap, unsigned place) {
        return &memory->traps.places[trap->first_place + place];
}

static MemoryCell *cell_of(const Memory *memory, const MemoryTrap *trap, unsigned place) {
        return &memory->spots.cells[place_of(memory, trap, place)->cell];
}

static bool in_state(const MemoryPlace *place, const MemoryCell *cell) {
        return place->state == PRIMITIVE_ANY || place->state == cell->value;
}

/* ---- conditions ---- */

static bool condition_holds(const Memory *memory, const MemoryTrap *trap) {
        for (unsigned i = 0; i < trap->n_places; i++)
                if (!in_state(place_of(memory, trap, i), cell_of(memory, trap, i)))
                        return false;
        return true;
}

static void turn(Memory *memory, MemoryCell *victim, bool value) {
        if (victim->value == value)
                return;
        victim->value = value;
        if (memory->watch.flipped)
                memory->watch.flipped(memory->watch.userdata, memory, victim->linear);
}

/* OPERATED: behind an operation, which may have been on other cells; else a fault has come. */
static void settle(Memory *memory, const uint32_t states[], size_t n, bool operated) {
        bool changed = n > 0;

        for (unsigned round = 0; changed && round < SETTLE_ROUNDS; round++) {
                changed = false;
                for (size_t i = 0; i < n; i++) {
                        const MemoryTrap *trap = &memory->traps.traps[states[i]];
                        MemoryCell *victim = cell_of(memory, trap, 0);

                        if (!trap->active || victim->value == trap->becomes || !condition_holds(memory, trap))
                                continue;
                        if (operated && trap->n_places > 1)
                                turn(memory, victim, trap->becomes);
                        victim->value = trap->becomes;
                        changed = n > 1;
                }
        }
}

static void settle_spot(Memory *memory, const MemorySpot *spot, bool operated) {
        settle(memory, &memory->spots.states[spot->first_state], spot->n_states, operated);
}

/* Spots of one component have the same list: it is enough that one of them is settled. */
static void settle_all(Memory *memory) {
        const MemorySpots *spots = &memory->spots;

        for (size_t i = 0; i < spots->n_opens; i++) {
                const MemoryTrap *trap = &memory->traps.traps[spots->opens[i].trap];

                cell_of(memory, trap, 0)->open = trap->active;
        }
        for (size_t i = 0; i < spots->n_spots; i++)
                if (spots->spots[i].n_states > 0)
                        settle_spot(memory, &spots->spots[i], false);
}

void memory_cells_wake(Memory *memory, const Execution *execution) {
        MemoryTraps *traps = &memory->traps;
        bool changed = memory->spots.unsettled;

        for (size_t i = 0; traps->n_moody > 0 && i < traps->n_traps; i++) {
                MemoryTrap *trap = &traps->traps[i];
                bool was = trap->active;

                if (trap->moody)
                        trap->active = fault_is_active(trap->fault, execution);
                changed |= trap->active != was;
        }
        for (size_t i = 0; i < traps->n_decoders; i++)
                if (traps->decoders[i].moody)
                        traps->decoders[i].active = fault_is_active(traps->decoders[i].fault, execution);

        if (changed)
                settle_all(memory);
        memory->spots.unsettled = false;
}

/* ---- what springs ---- */

static bool is_written(const MemoryStroke strokes[], unsigned n, uint32_t linear) {
        for (unsigned k = 0; k < n; k++)
                if (strokes[k].spot->linear == linear)
                        return true;
        return false;
}

/* Whether the operation before this one of the whole memory was the trap's first, and left what a good cell holds. */
static bool follows_first(const MemoryTrap *trap, const MemoryPlace *place, const MemoryCell *cell, const MemorySpot *spot,
                          uint64_t serial) {
        bool writes = trap->ops[0] & MARCH_WRITE, data = trap->ops[0] & MARCH_DATA;

        return spot->last + 1 == serial && spot->last_write == writes && cell->reached && cell->was == place->state &&
               cell->value == data && (!writes || cell->wrote == data);
}

static uint8_t fires(const Memory *memory, const MemoryTrap *trap, const MemoryStroke strokes[], unsigned n,
                     const MemorySpot *spot, bool write, uint64_t serial) {
        const MemoryCell *victim = cell_of(memory, trap, 0);
        bool later = false;

        if (!trap->active || cell_of(memory, trap, trap->operated)->open ||
            (trap->n_ops > 1 && !follows_first(trap, place_of(memory, trap, trap->operated),
                                               cell_of(memory, trap, trap->operated), spot, serial)))
                return FIRES_NOT;

        for (unsigned i = 0; i < trap->n_places; i++) {
                const MemoryPlace *place = place_of(memory, trap, i);

                if (i == trap->operated)
                        continue;
                if (i == 0 && write && !victim->open && is_written(strokes, n, place->linear)) {
                        if (trap->write_wins)
                                return FIRES_NOT;
                        later = true;
                } else if (!in_state(place, cell_of(memory, trap, i)))
                        return FIRES_NOT;
        }

        if (later)
                return FIRES_LATER;
        return trap->becomes == PRIMITIVE_INVERT ? (victim->value ? FIRES_0 : FIRES_1) : FIRES_0 + trap->becomes;
}

/* ---- an operation ---- */

/* Lists in spots.fired what one access springs, and returns how many there are then. */
static size_t spring(Memory *memory, const MemoryStroke strokes[], unsigned n, unsigned k, bool write, uint64_t serial,
                     size_t n_fired) {
        const MemorySpot *spot = strokes[k].spot;
        const MemoryCell *cells = &memory->spots.cells[spot->first_cell];
        const MemoryTrigger *triggers = &memory->spots.triggers[spot->first_trigger];

        for (uint32_t i = 0; i < spot->n_triggers; i++) {
                const MemoryTrigger *trigger = &triggers[i];
                uint8_t what;

                if (((trigger->op & MARCH_WRITE) != 0) != write ||
                    (write && strokes[k].bits[trigger->cell] != (trigger->op & MARCH_DATA)) ||
                    (trigger->state != PRIMITIVE_ANY && trigger->state != cells[trigger->cell].value))
                        continue;

                what = fires(memory, &memory->traps.traps[trigger->trap], strokes, n, spot, write, serial);
                if (what == FIRES_NOT)
                        continue;
                memory->spots.fired[n_fired] = *trigger;
                memory->spots.fired[n_fired].fires = what;
                memory->spots.fired[n_fired++].stroke = (uint8_t) k;
        }

        return n_fired;
}

static void operate_good(Memory *memory, MemoryStroke *stroke, bool write) {
        MemoryCell *cells = &memory->spots.cells[stroke->spot->first_cell];

        for (unsigned i = 0; i < stroke->spot->n_cells; i++) {
                MemoryCell *cell = &cells[i];

                cell->was = cell->value;
                cell->reached = !cell->open;
                if (write) {
                        cell->wrote = stroke->bits[i];
                        if (!cell->open)
                                cell->value = stroke->bits[i];
                } else
                        stroke->bits[i] = cell->open ? cell->latch : cell->value;
        }
}

/* The victim's own operation sprang it. */
static void change_victim(Memory *memory, MemoryStroke strokes[], const MemoryTrigger *fired) {
        const MemoryTrap *trap = &memory->traps.traps[fired->trap];
        MemoryStroke *stroke = &strokes[fired->stroke];

        memory->spots.cells[stroke->spot->first_cell + fired->cell].value = fired->fires == FIRES_1;
        if (trap->reads != PRIMITIVE_NO_READ)
                stroke->bits[fired->cell] = trap->reads;
}

static void disturb(Memory *memory, const MemoryTrigger *fired) {
        const MemoryTrap *trap = &memory->traps.traps[fired->trap];
        const MemoryPlace *place = place_of(memory, trap, 0);
        MemoryCell *victim = &memory->spots.cells[place->cell];

        if (fired->fires != FIRES_LATER)
                turn(memory, victim, fired->fires == FIRES_1);
        else if (place->state == PRIMITIVE_ANY || place->state == victim->own)
                turn(memory, victim, trap->becomes == PRIMITIVE_INVERT ? !victim->own : trap->becomes);
}

static void apply(Memory *memory, MemoryStroke strokes[], unsigned n, size_t n_fired) {
        const MemoryTrigger *fired = memory->spots.fired;

        for (size_t i = 0; i < n_fired; i++)
                if (memory->traps.traps[fired[i].trap].operated == 0)
                        change_victim(memory, strokes, &fired[i]);
        for (unsigned k = 0; k < n; k++)
                for (unsigned i = 0; i < strokes[k].spot->n_cells; i++) {
                        MemoryCell *cell = &memory->spots.cells[strokes[k].spot->first_cell + i];

                        cell->own = cell->value;
                }
        for (size_t i = 0; i < n_fired; i++)
                if (memory->traps.traps[fired[i].trap].operated != 0)
                        disturb(memory, &fired[i]);
}

void memory_cells_operate(Memory *memory, MemoryStroke strokes[], unsigned n, bool write, uint64_t serial) {
        size_t n_fired = 0;

        for (unsigned k = 0; k < n; k++)
                if (strokes[k].spot->n_triggers > 0)
                        n_fired = spring(memory, strokes, n, k, write, serial, n_fired);
        for (unsigned k = 0; k < n; k++)
                if (strokes[k].spot->n_cells > 0)
                        operate_good(memory, &strokes[k], write);
        if (n_fired > 0)
                apply(memory, strokes, n, n_fired);

        for (unsigned k = 0; k < n; k++) {
                MemorySpot *spot = strokes[k].spot;

                if (spot->n_states > 0)
                        settle_spot(memory, spot, true);
                spot->last = serial;
                spot->last_write = write;
        }
}
