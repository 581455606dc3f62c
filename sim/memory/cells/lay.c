/* SPDX-License-Identifier: Apache-2.0 */

/*
 * From the parameters of a fault to the traps and decoders it is made of.
 *
 * The neighbourhood of a cell is physical: the same bit of the rows above and below, and the bits left and right of it in its
 * own access. A cell at the edge of its bank or access has none, and no such fault can sit there.
 *
 * A decoder fault is of the row decoder of a bank (all accesses of two rows) or of the column decoder of a row (two
 * accesses). Cells that no address reaches keep what they held.
 */

#include <errno.h>
#include <string.h>

#include "sim/memory/cells/faults.h"

bool memory_fault_is_of_cells(const Fault *fault) {
        return fault->kind >= memory_fault_kinds && fault->kind < memory_fault_kinds + MEMORY_KINDS &&
               fault->kind != &memory_fault_kinds[MEMORY_KIND_COMPARATOR];
}

static int place_of(const Memory *memory, const Location *at, MemoryPlace *ret) {
        const LocationPart *last = &at->parts[at->n_parts - 1];
        WireBox box;
        int r;

        r = memory->rules->box_of(&memory->shape, at, &box);
        if (r < 0)
                return r;
        if (memory_box_volume(&box) != 1)
                return -EINVAL; /* a bit of a column or of a partition is no cell */
        *ret = (MemoryPlace) {
                .linear = memory_shape_linear(&memory->shape, box.first),
                .bit    = (uint8_t) last->index,
                .state  = PRIMITIVE_ANY,
        };
        return 0;
}

static bool write_wins(const Memory *memory, int together) {
        return together == TOGETHER_SCENARIO ? chip_write_wins(memory->chip) : together == TOGETHER_WRITE;
}

static int lay_primitive(Memory *memory, const Fault *fault, const Primitive *primitive, const Location *aggressor,
                         int together) {
        const PrimitiveCell *operated = NULL;
        MemoryTrap trap = {
                .fault      = fault,
                .n_places   = primitive->pair ? 2 : 1,
                .operated   = MEMORY_OPERATED_NONE,
                .becomes    = primitive->fault,
                .reads      = primitive->read,
                .write_wins = write_wins(memory, together),
        };
        MemoryPlace places[2];
        int r;

        r = place_of(memory, &fault->at, &places[0]);
        if (r < 0)
                return r;
        places[0].state = primitive->victim.state;
        if (primitive->pair) {
                r = place_of(memory, aggressor, &places[1]);
                if (r < 0)
                        return r;
                places[1].state = primitive->aggressor.state;
        }

        if (primitive->victim.n_ops > 0) {
                operated = &primitive->victim;
                trap.operated = 0;
        } else if (primitive->pair && primitive->aggressor.n_ops > 0) {
                operated = &primitive->aggressor;
                trap.operated = 1;
        }
        if (operated) {
                trap.n_ops = operated->n_ops;
                memcpy(trap.ops, operated->ops, sizeof(trap.ops));
        }

        return memory_traps_add(&memory->traps, &trap, places);
}

static int lay_stuck(Memory *memory, const Fault *fault) {
        const MemoryStuck *stuck = fault->parameters;
        Primitive primitive = {
                .victim = { .state = PRIMITIVE_ANY },
                .fault  = (uint8_t) stuck->value,
                .read   = PRIMITIVE_NO_READ,
        };

        return lay_primitive(memory, fault, &primitive, NULL, TOGETHER_FAULT);
}

static int lay_linked(Memory *memory, const Fault *fault) {
        const MemoryPrimitiveFault *p = fault->parameters;
        bool dirty = memory->traps.dirty;
        int r;

        r = lay_primitive(memory, fault, &p->first, &p->aggressor, p->together);
        if (r < 0)
                return r;
        r = lay_primitive(memory, fault, &p->second, p->second_aggressor.n_parts > 0 ? &p->second_aggressor : &p->aggressor,
                          p->together);
        if (r < 0) {
                memory_traps_remove(&memory->traps, fault, 0, 0);
                memory->traps.dirty = dirty; /* all is as it was */
        }
        return r;
}

static int lay_open(Memory *memory, const Fault *fault) {
        MemoryTrap trap = { .fault = fault, .n_places = 1, .operated = MEMORY_OPERATED_NONE, .open = true };
        MemoryPlace place;
        int r;

        r = place_of(memory, &fault->at, &place);
        return r < 0 ? r : memory_traps_add(&memory->traps, &trap, &place);
}

static int lay_pattern(Memory *memory, const Fault *fault) {
        const MemoryPatternFault *p = fault->parameters;
        MemoryTrap trap = {
                .fault      = fault,
                .n_places   = 5,
                .operated   = MEMORY_OPERATED_NONE,
                .becomes    = (uint8_t) p->value,
                .reads      = PRIMITIVE_NO_READ,
                .write_wins = write_wins(memory, p->together),
        };
        MemoryPlace places[5];
        uint32_t columns = memory->shape.size[HBM_COLUMN];
        unsigned row;
        int r;

        r = place_of(memory, &fault->at, &places[0]);
        if (r < 0)
                return r;
        row = places[0].linear / columns % memory->shape.size[HBM_ROW];
        if (row == 0 || row + 1u == memory->shape.size[HBM_ROW] || places[0].bit == 0 || places[0].bit == 255)
                return -EINVAL;

        for (unsigned i = 1; i < 5; i++)
                places[i] = places[0];
        places[1].linear -= columns;
        places[2].bit--;
        places[3].bit++;
        places[4].linear += columns;

        for (unsigned i = 0; i < 4; i++) {
                places[i + 1].state = p->pattern[i] == '1' || p->pattern[i] == 'd';
                if (p->pattern[i] != 'u' && p->pattern[i] != 'd')
                        continue;
                trap.operated = (uint8_t) (i + 1);
                trap.n_ops = 1;
                trap.ops[0] = MARCH_WRITE | (p->pattern[i] == 'u' ? MARCH_DATA : 0);
        }
        if (p->type == PATTERN_PASSIVE) {
                trap.operated = 0;
                trap.n_ops = 1;
                trap.ops[0] = MARCH_WRITE | (p->value ? 0 : MARCH_DATA);
        }
        if (p->type != PATTERN_STATIC)
                places[0].state = p->type == PATTERN_PASSIVE ? (uint8_t) p->value : !p->value;

        return memory_traps_add(&memory->traps, &trap, places);
}

static int lay_decoder(Memory *memory, const Fault *fault) {
        const MemoryDecoderFault *p = fault->parameters;
        MemoryDecoder decoder = {
                .fault    = fault,
                .class    = (MemoryDecoderClass) p->class,
                .ones     = p->class == DECODER_B ? p->floats == 1 : p->reads == DECODER_READS_ONES,
                .wired_or = p->reads == DECODER_READS_OR,
        };
        WireBox x, y;
        int r;

        r = memory->rules->box_of(&memory->shape, &fault->at, &x);
        if (r < 0)
                return r;
        y = x;
        if (p->partner.n_parts > 0) {
                r = memory->rules->box_of(&memory->shape, &p->partner, &y);
                if (r < 0)
                        return r;
        }

        decoder.n = (uint32_t) memory_box_volume(&x);
        decoder.x = memory_shape_linear(&memory->shape, x.first);
        decoder.y = memory_shape_linear(&memory->shape, y.first);
        return memory_traps_add_decoder(&memory->traps, &decoder);
}

int memory_inject_cell(Memory *memory, const Fault *fault) {
        static int (*const lay[_MEMORY_KIND_PRIMITIVES])(Memory *memory, const Fault *fault) = {
                [MEMORY_KIND_STUCK]   = lay_stuck,
                [MEMORY_KIND_DECODER] = lay_decoder,
                [MEMORY_KIND_LINKED]  = lay_linked,
                [MEMORY_KIND_OPEN]    = lay_open,
                [MEMORY_KIND_PATTERN] = lay_pattern,
        };
        const MemoryPrimitiveFault *p = fault->parameters;
        size_t kind = (size_t) (fault->kind - memory_fault_kinds);

        if (kind < _MEMORY_KIND_PRIMITIVES)
                return lay[kind](memory, fault);
        return lay_primitive(memory, fault, &p->first, &p->aggressor, p->together);
}
