/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/predict.h"

#include <assert.h>

#include "checks/systolic/exact.h"

static const struct {
        const char *name;
        unsigned bits;
} registers[_PE_REGISTER_MAX] = {
        [PE_WEIGHT] = {"weight",      16},
        [PE_ACTIVATION] = { "activation", 16},
        [PE_PRODUCT] = { "product",    32},
        [PE_PSUM] = { "psum",       32},
};

const char *pe_register_to_string(PeRegister at) {
        return at < _PE_REGISTER_MAX ? registers[at].name : NULL;
}

unsigned pe_register_bits(PeRegister at) {
        assert(at < _PE_REGISTER_MAX);

        return registers[at].bits;
}

bool suspects_add(Suspects *suspects, Candidate candidate) {
        unsigned at;

        if (suspects->n >= SUSPECTS_MAX)
                return false;

        for (at = suspects->n; at > 0 && suspects->all[at - 1].row > candidate.row; at--)
                suspects->all[at] = suspects->all[at - 1];
        suspects->all[at] = candidate;
        suspects->n++;
        return true;
}

/* The value of a register of the row that suspects[first … end-1] stand in. */
static uint32_t force(const Candidate *first, const Candidate *end, PeRegister at, uint32_t value) {
        for (const Candidate *c = first; c < end; c++)
                if (c->at == at)
                        value = c->value ? value | 1u << c->bit : value & ~(1u << c->bit);

        return value;
}

/* A zero of SIGN is added, once or often: it makes +0 of a −0 unless it is −0 itself, and one NaN of all. */
static uint32_t add_zero(uint32_t psum, uint32_t sign) {
        if (exact_is_nan(psum))
                return EXACT_NAN;

        return psum == 0x80000000 ? sign : psum;
}

/* The healthy rows FIRST … END-1. */
static uint32_t pass_healthy(uint32_t psum, const Pattern *pattern, unsigned n, unsigned first,
                             unsigned end) {
        uint32_t zero = (uint32_t) (pattern->w & 0x8000) << 16;

        if (first >= end)
                return psum;
        if (n < first || n >= end)
                return add_zero(psum, zero);

        if (n > first)
                psum = add_zero(psum, zero);
        psum = exact_add(psum, pattern->golden_of[0], false);
        return n + 1 < end ? add_zero(psum, zero) : psum;
}

uint32_t column_predict(const Suspects *suspects, const Pattern *pattern, unsigned n) {
        const ExactMode mode = { .w = pattern->w_format, .x = pattern->x_format };
        const Candidate *first = suspects->all, *last = suspects->all + suspects->n;
        unsigned row = 0;
        uint32_t psum = 0;

        while (first < last) {
                const Candidate *end = first + 1;
                uint32_t w, x, product;

                while (end < last && end->row == first->row)
                        end++;

                psum = pass_healthy(psum, pattern, n, row, first->row);
                w = force(first, end, PE_WEIGHT, pattern->w);
                x = force(first, end, PE_ACTIVATION, n == first->row ? pattern->x[0] : 0);
                product = force(first, end, PE_PRODUCT, exact_product(&mode, w, x, 0));
                psum = force(first, end, PE_PSUM, exact_add(psum, product, false));

                row = first->row + 1u;
                first = end;
        }

        return pass_healthy(psum, pattern, n, row, PE_ROWS);
}
