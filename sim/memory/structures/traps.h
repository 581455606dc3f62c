/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * MemoryTraps
 *
 * The faults that sit in cells, as injected: traps are fault primitives laid at their cells, decoders lead the addresses of
 * two rows or accesses to the wrong cells. Both stand in the order of injection.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/chip/model.h"
#include "sim/memory/structures/primitive.h"

#define MEMORY_NONE UINT32_MAX

typedef struct MemoryPlace { /* a cell as a trap sees it */
        uint32_t linear;     /* of its access */
        uint32_t cell;       /* its index, once linked */
        uint8_t bit;
        uint8_t state; /* 0, 1 or PRIMITIVE_ANY: when the trap can spring */
} MemoryPlace;

#define MEMORY_PLACES_MAX    5u    /* of one trap: a base cell and its four neighbours */
#define MEMORY_OPERATED_NONE 0xffu /* a condition on states */

typedef struct MemoryTrap {
        const Fault *fault;
        uint32_t first_place; /* the victim; the others follow */
        uint32_t same_victim; /* the trap before it on this victim, or MEMORY_NONE */
        uint8_t n_places;
        uint8_t operated; /* which place the operations act on */
        uint8_t n_ops;
        uint8_t ops[2];
        uint8_t becomes, reads; /* F and R as Primitive has them */
        bool open;       /* stuck-open: no primitive */
        bool write_wins; /* over a disturbance by the access that writes both */
        bool moody;      /* asked at each command whether it acts */
        bool active;
} MemoryTrap;

typedef enum MemoryDecoderClass {
        DECODER_A, /* address x reaches nothing */
        DECODER_B, /* x reaches nothing, y both */
        DECODER_C, /* both reach y */
        DECODER_D, /* x reaches both, y its own */
        DECODER_SHORT, /* both reach both: two wordlines that touch */
        _DECODER_MAX,
} MemoryDecoderClass;

typedef struct MemoryDecoder {
        const Fault *fault;
        uint32_t x, y, n; /* accesses x … x + n - 1 and y … y + n - 1; without a partner y is x */
        MemoryDecoderClass class;
        bool ones;     /* what nothing reads as */
        bool wired_or; /* what two together read as */
        bool moody, active;
} MemoryDecoder;

typedef struct MemoryTraps {
        MemoryTrap *traps;
        MemoryPlace *places;
        MemoryDecoder *decoders;
        uint32_t *victims; /* hash of victims: the last trap of each, or MEMORY_NONE */
        size_t n_traps, n_places, n_decoders, n_victims;
        size_t traps_allocated, places_allocated, decoders_allocated, victims_allocated;
        size_t n_moody; /* of both */
        bool dirty;     /* some came or went */
} MemoryTraps;

void memory_traps_done(MemoryTraps *traps);

/* Takes TRAP with its n_places PLACES. -EEXIST: it contradicts another, or is there already; -ENOMEM. */
int memory_traps_add(MemoryTraps *traps, const MemoryTrap *trap, const MemoryPlace places[]);
int memory_traps_add_decoder(MemoryTraps *traps, const MemoryDecoder *decoder); /* -EEXIST: one address, two faults */

/* Takes out what FAULT put in, or where that is NULL, what touches an access FIRST … LAST. */
void memory_traps_remove(MemoryTraps *traps, const Fault *fault, uint32_t first, uint32_t last);
