/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmOverlay
 *
 * Where a stack differs from what its content says, and nothing else, so that cost follows faults:
 *
 *  - spots: accesses with something of their own, sorted: cells that do not behave, data that was copied in, or both.
 *    A command visits them one by one in the exact order of addresses, so a cell may act on any other.
 *  - units: rows, banks and pseudo-channels that as a whole do not give back what they hold. They nest, and are
 *    predicates: counted in closed form, told one by one only where a command asks for its first mismatches.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/hbm-content.h"
#include "sim/hbm-shape.h"
#include "sim/model.h"

typedef struct HbmCell {
        const Fault *fault;
        uint32_t linear; /* of its access */
        uint8_t bit;
        bool stuck;  /* at what */
        bool value;  /* what it holds now: a cell keeps this between commands */
        bool active; /* whether its fault acts in this command */
} HbmCell;

typedef struct HbmSpot {
        HbmBits data; /* when held */
        uint32_t linear;
        uint32_t first_cell;
        uint16_t n_cells;
        uint16_t at[_HBM_AXIS_MAX];
        bool held;    /* copied in and not overwritten since; else the layers say what it holds */
        int32_t unit; /* the innermost it lies in, or -1 */
} HbmSpot;

typedef enum HbmArray { /* what comes out of the sense amplifiers */
        HBM_ARRAY_GOOD,
        HBM_ARRAY_ZEROS,
        HBM_ARRAY_ONES,
        HBM_ARRAY_INVERTED,
        _HBM_ARRAY_MAX,
} HbmArray;

typedef struct HbmEffects { /* from the cells to the reader; ECC sits between array and lanes */
        HbmArray array;
        uint32_t lanes;  /* stuck data lanes */
        uint32_t values; /* and at what */
} HbmEffects;

typedef struct HbmLine { /* a fault of a unit */
        const Fault *fault;
        WireBox box;
        uint32_t linear; /* of box.first */
        HbmEffects effects;
} HbmLine;

typedef struct HbmUnit {
        WireBox box;
        uint32_t linear;
        int32_t parent; /* index, lower than its own; -1 */
        uint32_t first_line, n_lines;
        HbmEffects effects; /* in this command, with those of all around it */
} HbmUnit;

typedef struct HbmOverlay {
        HbmCell *cells;
        HbmSpot *spots;
        HbmLine *lines;
        HbmUnit *units;
        uint32_t *sorted; /* indices of spots by key of sorted_order */
        size_t n_cells, cells_allocated;
        size_t n_spots, spots_allocated;
        size_t n_lines, lines_allocated;
        size_t n_units, units_allocated;
        size_t sorted_allocated;
        HbmOrder sorted_order;
        bool sorted_valid;
        bool dirty; /* faults came or went: spots and units must be linked again */
} HbmOverlay;

#define HBM_SPOTS_MAX (256u << 10) /* 8 MiB copied in and not overwritten */

void hbm_overlay_done(HbmOverlay *overlay);

int hbm_overlay_add_cell(HbmOverlay *overlay, const HbmCell *cell); /* -EEXIST: that bit has one */
int hbm_overlay_add_line(HbmOverlay *overlay, const HbmLine *line); /* -EEXIST: that unit has one of the sort */

/* Before a command: links what is new and asks every unit's fault whether it acts. EXECUTION NULL: none does. */
int hbm_overlay_prepare(HbmOverlay *overlay, const HbmShape *shape, const Execution *execution);

/* The innermost unit that AT lies in, or -1. */
int32_t hbm_overlay_unit_at(const HbmOverlay *overlay, uint32_t linear,
                            const uint16_t at[static _HBM_AXIS_MAX]);

/* NULL where that access is like its surroundings. */
HbmSpot *hbm_overlay_find(HbmOverlay *overlay, uint32_t linear);
/* The same, made where there is none. -ENOMEM; -ENOSPC: more than HBM_SPOTS_MAX. */
int hbm_overlay_spot(HbmOverlay *overlay, uint32_t linear, const uint16_t at[static _HBM_AXIS_MAX],
                     HbmSpot **ret);
/* Forgets spots that have become like their surroundings. */
void hbm_overlay_sweep(HbmOverlay *overlay);

/* The spots in an order: indices first … end - 1 of it lie between those keys; hbm_overlay_nth() gives one of them. */
int hbm_overlay_range(HbmOverlay *overlay, const HbmShape *shape, HbmOrder order, const WireBox *box,
                      size_t *ret_first, size_t *ret_end);
HbmSpot *hbm_overlay_nth(HbmOverlay *overlay, HbmOrder order, size_t index);
