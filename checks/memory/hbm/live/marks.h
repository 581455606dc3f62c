/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmMarks
 *
 * The two columns of every row in which a test leaves the same everywhere and no own-address data: zeros in the last column but one,
 * ones in the last. An address of a live row that leads to a free row, alone or beside its own, then gives back in one of them what no
 * job has written there: the zeros or ones of the free row, or the wired AND with zeros, or the OR with ones.
 */

#include <stdbool.h>

#include "checks/port/device-memory.h"

/* Else a row is too short for them, and nothing is known of live rows. */
static inline bool hbm_marks_fit(const MemoryGeometry *geometry) {
        return geometry->size[HBM_COLUMN] > 2;
}

/* The column of the mark that holds DATA, 0 or 1. Those before the first hold tags. */
static inline unsigned hbm_mark_column(const MemoryGeometry *geometry, unsigned data) {
        return geometry->size[HBM_COLUMN] - 2u + data;
}

/* Of a COLUMN: -1, or the data of the mark that it is. */
static inline int hbm_mark_of(const MemoryGeometry *geometry, unsigned column) {
        return hbm_marks_fit(geometry) && column >= hbm_mark_column(geometry, 0) ? (int) (column - hbm_mark_column(geometry, 0)) : -1;
}

/* The mark DATA of the rows of BOX, read by their own column. */
static inline WireMarch hbm_mark_read(const MemoryGeometry *geometry, WireBox box, unsigned data) {
        box.first[HBM_COLUMN] = box.last[HBM_COLUMN] = (uint16_t) hbm_mark_column(geometry, data);
        return (WireMarch) { .box = box, .background = MEMORY_BACKGROUND_SOLID, .n_ops = 1, .ops = { data ? MARCH_DATA : 0 } };
}

static inline WireMarch hbm_mark_write(const MemoryGeometry *geometry, WireBox box, unsigned data) {
        WireMarch march = hbm_mark_read(geometry, box, data);

        march.ops[0] |= MARCH_WRITE;
        return march;
}
