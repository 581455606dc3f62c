/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/diagnose/seat.h"

/* What slow bits remember: the vector before, in healthy silicon. */
static ElementPast past_of(const Seat *seat) {
        const Pattern *pattern = pattern_at(seat->index);
        ElementPast past = {};

        if (seat->n > 0)
                (void) element_step(seat->mode, NULL, NULL, seat->w,
                                    pattern_activation(pattern, seat->row - pattern->first_row, seat->n - 1),
                                    column_before(seat->column, seat->base, seat->index, seat->row, seat->n - 1), &past);
        return past;
}

static uint32_t add(const Seat *seat, uint32_t product, const Candidate *candidate) {
        if (seat->mode.transpose)
                return seat->before | product;

        return element_add(seat->mode, seat->before, product, candidate, candidate ? candidate + 1 : NULL);
}

static uint32_t join(const Seat *seat, uint32_t first, uint32_t second) {
        return seat->mode.double_row ? element_add(seat->mode, first, second, NULL, NULL) : first;
}

bool seat_is_there(const Suspects *base, unsigned row) {
        for (unsigned i = 0; i < base->n; i++)
                if (base->all[i].row == row || base->all[i].at == PE_SHIFT || base->all[i].at == PE_OUTPUT || base->all[i].at == PE_NO_OUTPUT)
                        return false;

        return !suspects_are_slow(base) && !(base->dead >> row / TILE_UNIT & 1);
}

void seat_take(Seat *seat, Column *column, const Suspects *base, unsigned index, unsigned row, unsigned n) {
        const Pattern *pattern = pattern_at(index);
        ElementPast now = {};

        *seat = (Seat){ .column = column, .base = base, .index = index, .row = row, .n = n, .mode = pattern_mode(pattern, column->ftz) };
        seat->inside = row >= pattern->first_row && row < pattern->first_row + pattern->rows;
        if (!seat->inside)
                return;

        seat->w = pattern_weight(pattern, row - pattern->first_row, column->index - pattern->first_column);
        seat->x = pattern_activation(pattern, row - pattern->first_row, n);
        seat->before = column_before(column, base, index, row, n);
        seat->past = past_of(seat);
        seat->after = element_step(seat->mode, NULL, NULL, seat->w, seat->x, seat->before, &now);
        seat->products[0] = now.product;
        seat->products[1] = now.second;
        seat->product = join(seat, now.product, now.second);
}

bool seat_answer(const Seat *seat, Candidate candidate, uint32_t *ret) {
        const Candidate *first = &candidate, *end = first + 1;
        uint32_t sum = seat->after, w = seat->w, x = seat->x, product;
        ElementPast past = seat->past;

        if (!seat->inside)
                return false;

        switch ((PeRegister) candidate.at) {

        case PE_WEIGHT:
        case PE_ACTIVATION:
        case PE_NO_INPUT:
                w = element_force(first, end, PE_WEIGHT, 0, w);
                x = candidate.at == PE_NO_INPUT ? 0 : element_force(first, end, PE_ACTIVATION, past.activation, x);
                if (w != seat->w || x != seat->x)
                        sum = element_step(seat->mode, NULL, NULL, w, x, seat->before, &past);
                break;

        case PE_PRODUCT:
                product = element_force(first, end, PE_PRODUCT, past.product, seat->products[0]);
                if (product != seat->products[0])
                        sum = add(seat, join(seat, product, seat->products[1]), NULL);
                break;

        case PE_SECOND:
                product = element_force(first, end, PE_SECOND, past.second, seat->products[1]);
                if (seat->mode.double_row && product != seat->products[1])
                        sum = add(seat, join(seat, seat->products[0], product), NULL);
                break;

        case PE_GATE:
        case PE_SECOND_GATE:
        case PE_CARRY:
                if (seat->mode.transpose || (candidate.at == PE_SECOND_GATE && !seat->mode.double_row))
                        return false;
                sum = element_step(seat->mode, first, end, w, x, seat->before, &past);
                break;

        case PE_PSUM:
                sum = element_force(first, end, PE_PSUM, past.psum, seat->after);
                break;

        case PE_SHIFT:
        case PE_OUTPUT:
        case PE_NO_OUTPUT:
        case _PE_REGISTER_MAX:
                return false;
        }

        if (sum == seat->after)
                return false;
        *ret = column_finish(seat->column, seat->base, seat->index, seat->row, seat->n, sum);
        return true;
}

bool seat_answer_all(const Seat *seat, const Candidate *first, const Candidate *end, uint32_t *ret) {
        ElementPast past = seat->past;
        uint32_t sum;

        if (!seat->inside)
                return false;

        sum = element_step(seat->mode, first, end, seat->w, seat->x, seat->before, &past);
        if (sum == seat->after)
                return false;
        *ret = column_finish(seat->column, seat->base, seat->index, seat->row, seat->n, sum);
        return true;
}
