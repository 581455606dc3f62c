/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * CoverageMachine
 *
 * A memory of a few one-bit cells with one fault, executed operation by operation: the truth that coverage is counted by.
 * It shares no code with the simulated memories, only the reading of primitives (sim/memory/structures/primitive.h, which also says
 * what they mean).
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/memory/march/notation.h"
#include "sim/memory/structures/primitive.h"

#define COVERAGE_CELLS_MAX 9u /* 3 × 3 for neighbourhoods */

typedef enum CoverageSort {
        COVERAGE_PRIMITIVES,  /* one, or two that are linked */
        COVERAGE_STUCK_OPEN,  /* writes to the victim are lost; its reads give what the sense amplifier read last */
        COVERAGE_RETENTION,   /* the victim loses `value` in a delay */
        COVERAGE_DECODER_A,   /* address x reaches no cell and reads `floating` */
        COVERAGE_DECODER_B,   /* x reaches none, y both cells */
        COVERAGE_DECODER_C,   /* x and y reach cell y */
        COVERAGE_DECODER_D,   /* x reaches both cells, y its own */
        COVERAGE_STATIC_NEIGHBOURS,  /* a pattern of the four forces the base to `value` */
        COVERAGE_PASSIVE_NEIGHBOURS, /* a pattern of the four keeps the base from leaving !value */
        COVERAGE_ACTIVE_NEIGHBOURS,  /* a transition of one flips the base, the other three as in the pattern */
} CoverageSort;

typedef struct CoverageLink {
        Primitive primitive;
        uint8_t aggressor, victim;
} CoverageLink;

typedef struct CoverageFault {
        CoverageSort sort;
        unsigned n_links;
        CoverageLink links[2];
        uint8_t x, y;      /* decoder: addresses. Others: the victim is x */
        uint8_t value;     /* see sort */
        bool floating;     /* what a read of nothing gives */
        bool wired_or;     /* what a read of two cells gives: OR, else AND */
        uint8_t pattern;   /* of the neighbours north, west, east, south: bit 0 … 3 */
        uint8_t neighbour; /* active: which of the four; its bit of the pattern is where its transition begins */
} CoverageFault;

typedef struct CoverageRun {
        unsigned n_cells;
        unsigned content;     /* at power-up: bit per cell */
        bool sense;           /* what the sense amplifier has read last, at power-up */
        uint32_t descending;  /* of elements of either direction: bit per element; others run as they say */
} CoverageRun;

/* Whether any read of MARCH differs from its notation. */
bool coverage_detects(const CoverageRun *run, const March *march, const CoverageFault *fault);
