/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Seat
 *
 * One element in its column as one vector passes, everything else being known: so that hundreds of candidates in it cost no more
 * than what they change.
 */

#include "checks/systolic/model/predict.h"

typedef struct Seat {
        Column *column;
        const Suspects *base; /* what is broken in other rows */
        unsigned index, row, n;
        ElementMode mode;
        bool inside; /* the row lies in the tile */
        uint32_t w, x, before;
        uint32_t products[2], product, after;
        ElementPast past;
} Seat;

/* Whether BASE leaves an element of ROW a seat: none where it is broken there itself, or what is slow would have to be remembered. */
bool seat_is_there(const Suspects *base, unsigned row);
/* BASE is borrowed. */
void seat_take(Seat *seat, Column *column, const Suspects *base, unsigned index, unsigned row, unsigned n);

/* What the column answers with CANDIDATE, which must be one of the element's own and not of the shift path. Returns false where it
 * changes nothing here. */
bool seat_answer(const Seat *seat, Candidate candidate, uint32_t *ret);
/* The same of all of [FIRST, END) together. */
bool seat_answer_all(const Seat *seat, const Candidate *first, const Candidate *end, uint32_t *ret);
