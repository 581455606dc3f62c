/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Layout
 *
 * What a pattern feeds to which rows: the same for all columns, worked out once.
 */

#include "checks/systolic/model/element.h"
#include "checks/systolic/patterns/patterns.h"

#define NO_ROW 0xffffu

typedef struct Layout {
        bool dense;              /* in some vector more than two rows are fed: `rows` says nothing */
        bool integers;           /* the matrices are small integers of 2^w_unit and 2^x_unit */
        int w_unit, x_unit;
        int32_t *x;              /* [lanes][rows][moving] */
        uint16_t rows[MOVING_MAX][2]; /* of the tile, that are fed; NO_ROW: none */
        bool by_columns;           /* in each column no more than one weight is no zero: */
        uint8_t weighty[PE_COLUMNS]; /* its row */
} Layout;

/* NULL without memory: then every row is stepped. */
const Layout *layout_of(unsigned index);

ElementMode pattern_mode(const Pattern *pattern, bool ftz);

/* The row of the array that alone is fed in vector N of pattern INDEX; PE_ROWS: there are several. */
unsigned pattern_hot_row(unsigned index, unsigned n);

/* As binary32: LANE is 1 for the second number of double rows. */
uint32_t pattern_weight_number(const Pattern *pattern, unsigned row, unsigned column, unsigned lane);
uint32_t pattern_value_number(const Pattern *pattern, unsigned row, unsigned n, unsigned lane);
