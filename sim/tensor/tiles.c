/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/tiles.h"

#include <stddef.h>

static unsigned tile_size(unsigned n) {
        unsigned size = TILE_UNIT;

        while (size < n)
                size *= 2;
        return size;
}

/* Double rows have no tiles, sparse weights those of rows only: they take all there is, however small. */
bool tile_of(const WireLoad *load, Tile *ret) {
        unsigned rows = load->flags & LOAD_DOUBLE_ROW ? PE_ROWS : tile_size(load->rows);
        unsigned columns = load->flags & (LOAD_DOUBLE_ROW | LOAD_SPARSE) ? PE_COLUMNS : tile_size(load->columns);

        if (load->first_row % rows != 0 || load->first_row + rows > PE_ROWS || load->first_column % columns != 0 ||
            load->first_column + columns > PE_COLUMNS)
                return false;

        *ret = (Tile){ load->first_row, load->first_column, (uint8_t) rows, (uint8_t) columns, load->format, NULL };
        return true;
}

static bool tiles_overlap(const Tile *a, const Tile *b) {
        return a->first_row < b->first_row + b->rows && b->first_row < a->first_row + a->rows &&
               a->first_column < b->first_column + b->columns && b->first_column < a->first_column + a->columns;
}

void tiles_load(Tiles *tiles, Tile tile) {
        unsigned n = 0;

        for (unsigned i = 0; i < tiles->n; i++)
                if (tiles_overlap(&tiles->tiles[i], &tile))
                        (void) stationary_unref(tiles->tiles[i].stationary);
                else
                        tiles->tiles[n++] = tiles->tiles[i];

        tiles->tiles[n++] = tile;
        tiles->n = n;
}

const Tile *tiles_find(const Tiles *tiles, unsigned first_row, unsigned first_column) {
        for (unsigned i = 0; i < tiles->n; i++)
                if (tiles->tiles[i].first_row == first_row && tiles->tiles[i].first_column == first_column)
                        return &tiles->tiles[i];

        return NULL;
}

void tiles_reset(Tiles *tiles) {
        for (unsigned i = 0; i < tiles->n; i++)
                tiles->tiles[i].stationary = stationary_unref(tiles->tiles[i].stationary);
        tiles->n = 0;
}
