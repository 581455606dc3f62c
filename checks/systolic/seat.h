/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Seat
 *
 * One element in its column as one vector passes, everything else being healthy: so that hundreds of candidates in it cost no more
 * than what they change.
 */

#include "checks/systolic/predict.h"

typedef struct Seat {
        Column *column;
        unsigned index, row, n;
        ElementMode mode;
        bool inside; /* the row lies in the tile */
        uint32_t w, x, before;
        uint32_t products[2], product, after;
        ElementPast past;
} Seat;

void seat_take(Seat *seat, Column *column, unsigned index, unsigned row, unsigned n);

/* What the column answers with CANDIDATE, which must be one of the element's own and not of the shift path. Returns false where it
 * changes nothing here. */
bool seat_answer(const Seat *seat, Candidate candidate, uint32_t *ret);
