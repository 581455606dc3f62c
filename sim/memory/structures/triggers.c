/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What an operation on a spot can spring, which conditions have to be looked at after it, and who is listened to by
 * stuck-open cells.
 */

#include "sim/memory/structures/link.h"

#include <stdlib.h>

static int compare_opens(const void *a, const void *b) {
        const MemoryOpen *x = a, *y = b;

        return (x->line > y->line) - (x->line < y->line);
}

static MemorySpot *spot_of_place(const MemoryLinking *l, const MemoryTrap *trap, unsigned place) {
        return &l->new.spots[l->spot_of[l->traps->places[trap->first_place + place].cell]];
}

static bool has_trigger(const MemoryTrap *trap) {
        return !trap->open && trap->operated != MEMORY_OPERATED_NONE;
}

static bool has_state(const MemoryTrap *trap) {
        return !trap->open && trap->operated == MEMORY_OPERATED_NONE;
}

static MemoryTrigger trigger_of(const MemoryLinking *l, size_t index) {
        const MemoryTrap *trap = &l->traps->traps[index];
        const MemoryPlace *place = &l->traps->places[trap->first_place + trap->operated];

        return (MemoryTrigger) {
                .trap  = (uint32_t) index,
                .cell  = (uint8_t) (place->cell - spot_of_place(l, trap, trap->operated)->first_cell),
                .op    = trap->ops[trap->n_ops - 1],
                .state = trap->n_ops > 1 ? trap->ops[0] & MARCH_DATA : place->state,
        };
}

static void link_triggers(MemoryLinking *l) {
        const MemoryTraps *traps = l->traps;
        uint32_t n = 0;

        for (size_t i = 0; i < traps->n_traps; i++) {
                const MemoryTrap *trap = &traps->traps[i];

                spot_of_place(l, trap, 0)->quiet = false;
                if (!has_trigger(trap))
                        continue;
                spot_of_place(l, trap, trap->operated)->quiet = false;
                spot_of_place(l, trap, trap->operated)->n_triggers++;
                spot_of_place(l, trap, trap->operated)->pairs |= trap->n_ops > 1;
                l->new.n_pairs += trap->n_ops > 1;
        }
        for (size_t i = 0; i < l->new.n_spots; i++) {
                l->new.spots[i].first_trigger = n;
                n += l->new.spots[i].n_triggers;
                l->new.spots[i].n_triggers = 0;
        }
        for (size_t i = 0; i < traps->n_traps; i++)
                if (has_trigger(&traps->traps[i])) {
                        MemorySpot *spot = spot_of_place(l, &traps->traps[i], traps->traps[i].operated);

                        l->new.triggers[spot->first_trigger + spot->n_triggers++] = trigger_of(l, i);
                }
}

static uint32_t root_of(uint32_t *parents, uint32_t i) {
        while (parents[i] != i)
                i = parents[i] = parents[parents[i]];
        return i;
}

static uint32_t component_of(const MemoryLinking *l, const MemoryTrap *trap) {
        return root_of(l->parents, (uint32_t) (spot_of_place(l, trap, 0) - l->new.spots));
}

static void join_spots(MemoryLinking *l) {
        for (size_t i = 0; i < l->new.n_spots; i++)
                l->parents[i] = (uint32_t) i;
        for (size_t i = 0; i < l->traps->n_traps; i++) {
                const MemoryTrap *trap = &l->traps->traps[i];

                for (unsigned k = 1; k < trap->n_places; k++) {
                        uint32_t other = (uint32_t) (spot_of_place(l, trap, k) - l->new.spots);

                        l->parents[root_of(l->parents, other)] = component_of(l, trap);
                }
        }
}

static void link_states(MemoryLinking *l) {
        const MemoryTraps *traps = l->traps;
        uint32_t n = 0;

        join_spots(l);
        for (size_t i = 0; i < traps->n_traps; i++)
                if (has_state(&traps->traps[i]))
                        l->components[component_of(l, &traps->traps[i])]++;
        for (size_t i = 0; i < l->new.n_spots; i++) {
                MemorySpot *root = &l->new.spots[i];

                if (l->parents[i] != i)
                        continue;
                root->first_state = n;
                root->n_states = l->components[i];
                n += root->n_states;
                l->components[i] = root->first_state;
        }
        for (size_t i = 0; i < traps->n_traps; i++)
                if (has_state(&traps->traps[i]))
                        l->new.states[l->components[component_of(l, &traps->traps[i])]++] = (uint32_t) i;
        for (size_t i = 0; i < l->new.n_spots; i++) {
                const MemorySpot *root = &l->new.spots[root_of(l->parents, (uint32_t) i)];

                l->new.spots[i].first_state = root->first_state;
                l->new.spots[i].n_states = root->n_states;
        }
}

/* A bit line that is listened to from now on is told as 0. */
static void cut_cells(MemoryLinking *l) {
        MemoryCell *cells = l->new.cells;

        for (size_t i = 0; i < l->new.n_cells; i++) {
                cells[i].latch &= cells[i].cut;
                cells[i].cut = cells[i].open = false;
        }
        for (size_t i = 0; i < l->new.n_opens; i++)
                cells[l->traps->places[l->traps->traps[l->new.opens[i].trap].first_place].cell].cut = true;
}

static void link_opens(MemoryLinking *l) {
        MemorySpots *new = &l->new;
        size_t first;

        for (size_t i = 0; i < l->traps->n_traps; i++) {
                const MemoryTrap *trap = &l->traps->traps[i];

                if (!trap->open)
                        continue;
                spot_of_place(l, trap, 0)->opens = true;
                new->opens[new->n_opens++] = (MemoryOpen) {
                        .line = memory_spots_line(l->shape, l->traps->places[trap->first_place].linear),
                        .trap = (uint32_t) i,
                };
        }

        cut_cells(l);
        if (new->n_opens > 0)
                qsort(new->opens, new->n_opens, sizeof(MemoryOpen), compare_opens);
        for (size_t i = 0; i < new->n_spots; i++)
                new->spots[i].heard = new->n_opens > 0 &&
                                      memory_spots_opens_of(new, memory_spots_line(l->shape, new->spots[i].linear), &first) > 0;
}

void memory_link_triggers(MemoryLinking *l) {
        link_triggers(l);
        link_states(l);
        link_opens(l);
}
