/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/coverage/machine.h"

#include "checks/wire/wire.h"

#define BASE       4u /* of the 3 × 3 neighbourhood */
#define SETTLE_MAX 8u /* rounds of state conditions; two on one victim can chase each other for ever */

static const uint8_t neighbours[4] = { 1, 3, 5, 7 };

typedef struct Machine {
        const CoverageFault *fault;
        unsigned n_cells;
        unsigned cells;   /* bit per cell */
        bool sense;
        /* the operation before, of the whole memory */
        bool any_before;
        uint8_t before_op;
        unsigned before_at;
        unsigned before_state; /* of all cells when it began */
} Machine;

static bool holds(unsigned cells, unsigned at) {
        return cells >> at & 1;
}

static void put(Machine *machine, unsigned at, bool value) {
        machine->cells = (machine->cells & ~(1u << at)) | (unsigned) value << at;
}

static bool matches(const PrimitiveCell *cell, unsigned cells, unsigned at) {
        return cell->state == PRIMITIVE_ANY || cell->state == holds(cells, at);
}

static bool is_write(uint8_t op) {
        return (op & MARCH_WRITE) != 0;
}

/* Whether the S of ACTOR, the one cell that is operated on, ends in this operation. */
static bool sensitised(const Machine *machine, const PrimitiveCell *actor, unsigned at, unsigned before, uint8_t op) {
        bool good;

        if (actor->n_ops == 0 || actor->ops[actor->n_ops - 1] != op)
                return false;
        if (actor->n_ops == 1)
                return matches(actor, before, at);

        if (!machine->any_before || machine->before_at != at || machine->before_op != actor->ops[0])
                return false;
        good = is_write(actor->ops[0]) ? actor->ops[0] & MARCH_DATA : actor->state == 1;
        return matches(actor, machine->before_state, at) && holds(before, at) == good;
}

static bool fires(const Machine *machine, const CoverageLink *link, unsigned at, unsigned before, uint8_t op) {
        const Primitive *primitive = &link->primitive;

        if (primitive->victim.n_ops > 0)
                return at == link->victim && sensitised(machine, &primitive->victim, at, before, op) &&
                       (!primitive->pair || matches(&primitive->aggressor, before, link->aggressor));
        return primitive->pair && primitive->aggressor.n_ops > 0 && at == link->aggressor &&
               sensitised(machine, &primitive->aggressor, at, before, op) && matches(&primitive->victim, before, link->victim);
}

static void force(Machine *machine, const CoverageLink *link, unsigned before) {
        uint8_t fault = link->primitive.fault;

        put(machine, link->victim, fault == PRIMITIVE_INVERT ? !holds(before, link->victim) : fault == 1);
}

static bool is_condition(const Primitive *primitive) {
        return primitive->victim.n_ops == 0 && (!primitive->pair || primitive->aggressor.n_ops == 0);
}

static unsigned neighbour_pattern(unsigned cells) {
        unsigned pattern = 0;

        for (unsigned i = 0; i < 4; i++)
                pattern |= (unsigned) holds(cells, neighbours[i]) << i;
        return pattern;
}

static void settle(Machine *machine) {
        const CoverageFault *fault = machine->fault;

        if (fault->sort == COVERAGE_STATIC_NEIGHBOURS && neighbour_pattern(machine->cells) == fault->pattern)
                put(machine, BASE, fault->value);

        for (unsigned round = 0; fault->sort == COVERAGE_PRIMITIVES && round < SETTLE_MAX; round++) {
                unsigned before = machine->cells;

                for (unsigned i = 0; i < fault->n_links; i++) {
                        const CoverageLink *link = &fault->links[i];
                        const Primitive *primitive = &link->primitive;

                        if (is_condition(primitive) && matches(&primitive->victim, machine->cells, link->victim) &&
                            (!primitive->pair || matches(&primitive->aggressor, machine->cells, link->aggressor)))
                                force(machine, link, machine->cells);
                }
                if (machine->cells == before)
                        return;
        }
}

/* The cells that an address reaches. */
static unsigned reach(const CoverageFault *fault, unsigned address) {
        unsigned x = 1u << fault->x, y = 1u << fault->y;

        if (address == fault->x)
                switch (fault->sort) {
                case COVERAGE_DECODER_A:
                case COVERAGE_DECODER_B:
                        return 0;
                case COVERAGE_DECODER_C:
                        return y;
                case COVERAGE_DECODER_D:
                        return x | y;
                case COVERAGE_PRIMITIVES:
                case COVERAGE_STUCK_OPEN:
                case COVERAGE_RETENTION:
                case COVERAGE_STATIC_NEIGHBOURS:
                case COVERAGE_PASSIVE_NEIGHBOURS:
                case COVERAGE_ACTIVE_NEIGHBOURS:
                        break;
                }
        if (address == fault->y && fault->sort == COVERAGE_DECODER_B)
                return x | y;
        return 1u << address;
}

static bool read_cells(const Machine *machine, unsigned reached) {
        unsigned ones = machine->cells & reached;

        if (reached == 0)
                return machine->fault->floating;
        return machine->fault->wired_or ? ones != 0 : ones == reached;
}

/* What a good memory does. Returns what a read gives. */
static bool act(Machine *machine, unsigned address, uint8_t op) {
        const CoverageFault *fault = machine->fault;
        unsigned reached = reach(fault, address);
        bool value;

        if (fault->sort == COVERAGE_STUCK_OPEN && address == fault->x)
                return machine->sense;
        if (is_write(op)) {
                machine->cells = op & MARCH_DATA ? machine->cells | reached : machine->cells & ~reached;
                return false;
        }

        value = read_cells(machine, reached);
        machine->sense = value;
        return value;
}

static void disturb_neighbours(Machine *machine, unsigned address, unsigned before) {
        const CoverageFault *fault = machine->fault;
        unsigned mover = neighbours[fault->neighbour];

        if (fault->sort == COVERAGE_PASSIVE_NEIGHBOURS && address == BASE && neighbour_pattern(before) == fault->pattern &&
            holds(before, BASE) != fault->value)
                put(machine, BASE, holds(before, BASE));
        if (fault->sort == COVERAGE_ACTIVE_NEIGHBOURS && address == mover && neighbour_pattern(before) == fault->pattern &&
            holds(before, BASE) == fault->value && holds(machine->cells, mover) != holds(before, mover))
                put(machine, BASE, !fault->value);
}

static bool operate(Machine *machine, unsigned address, uint8_t op) {
        const CoverageFault *fault = machine->fault;
        unsigned before = machine->cells;
        bool value = act(machine, address, op);

        if (fault->sort == COVERAGE_PRIMITIVES)
                for (unsigned i = 0; i < fault->n_links; i++) {
                        const CoverageLink *link = &fault->links[i];

                        if (!fires(machine, link, address, before, op))
                                continue;
                        force(machine, link, before);
                        if (link->primitive.read != PRIMITIVE_NO_READ)
                                value = link->primitive.read == 1;
                }
        else
                disturb_neighbours(machine, address, before);
        settle(machine);

        machine->any_before = true;
        machine->before_op = op;
        machine->before_at = address;
        machine->before_state = before;
        return value;
}

static bool element_detects(Machine *machine, const MarchElement *element, bool descending) {
        for (unsigned i = 0; i < machine->n_cells; i++) {
                unsigned address = descending ? machine->n_cells - 1 - i : i;

                for (unsigned k = 0; k < element->n_ops; k++) {
                        uint8_t op = element->ops[k];
                        bool value = operate(machine, address, op);

                        if (!is_write(op) && value != ((op & MARCH_DATA) != 0))
                                return true;
                }
        }

        return false;
}

bool coverage_detects(const CoverageRun *run, const March *march, const CoverageFault *fault) {
        Machine machine = { .fault = fault, .n_cells = run->n_cells, .cells = run->content, .sense = run->sense };

        settle(&machine);
        for (unsigned i = 0; i < march->n_elements; i++) {
                const MarchElement *element = &march->elements[i];
                bool descending = element->direction == MARCH_DOWN ||
                                  (element->direction == MARCH_ANY && run->descending >> i & 1);

                /* A pause is no operation: what stands before and behind it is still back to back. */
                if (element->direction == MARCH_DELAY) {
                        if (fault->sort == COVERAGE_RETENTION && holds(machine.cells, fault->x) == fault->value)
                                put(&machine, fault->x, !fault->value);
                } else if (element_detects(&machine, element, descending))
                        return true;
        }

        return false;
}
