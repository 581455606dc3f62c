/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor tiles
 *
 * Which parts of an array hold which weights: tiles of 32, 64 or 128 rows and columns, side by side.
 */

#include "sim/tensor/array.h"

#define TILES_MAX ((PE_ROWS / TILE_UNIT) * (PE_COLUMNS / TILE_UNIT))

typedef struct Tile {
        uint8_t first_row, first_column; /* PE (0, 0) of the tile is this one of the array */
        uint8_t rows, columns;           /* its size; what is loaded may be smaller */
        uint8_t format;                  /* as the load named it, whatever the core took it for */
        Stationary *stationary;
} Tile;

typedef struct Tiles {
        Tile tiles[TILES_MAX];
        unsigned n;
} Tiles;

/* The tile that LOAD takes, without content. False: it has no such place in the array. */
bool tile_of(const WireLoad *load, Tile *ret);

/* Tiles that overlap TILE are gone. Takes the reference to its content. */
void tiles_load(Tiles *tiles, Tile tile);

/* The one that is loaded exactly there, or NULL. */
const Tile *tiles_find(const Tiles *tiles, unsigned first_row, unsigned first_column);

void tiles_reset(Tiles *tiles);
