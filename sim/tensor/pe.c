/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/tensor/pe.h"

#include "sim/tensor/float.h"

/* ---- registers ---- */

static int force_rank(const Defect *defect) {
        if (defect->rise)
                return 0;
        if (defect->fall)
                return 1;
        return defect->clear == UINT32_MAX ? 2 : 3;
}

int defect_compare(const Defect *a, const Defect *b) {
        if (a->site != b->site)
                return (int) a->site - (int) b->site;
        if (a->first_column != b->first_column)
                return a->first_column - b->first_column;
        if (a->first_row != b->first_row)
                return a->first_row - b->first_row;
        return force_rank(a) - force_rank(b);
}

void defect_force(const Defect *defect, uint32_t *values, unsigned n) {
        uint32_t previous = 0;

        for (unsigned i = 0; i < n; i++) {
                uint32_t wanted = values[i];
                uint32_t late = (wanted & ~previous & defect->rise) | (previous & ~wanted & defect->fall);

                values[i] = ((wanted ^ late) & ~defect->clear) | defect->set;
                previous = wanted;
        }
}

static void force_all(const Pe *pe, DefectSite site, unsigned lane, uint32_t *values, unsigned n) {
        for (size_t i = 0; i < pe->n_defects; i++)
                if (pe->defects[i]->site == site && pe->defects[i]->lane == lane)
                        defect_force(pe->defects[i], values, n);
}

uint32_t pe_weight(const Pe *pe, uint32_t w) {
        force_all(pe, SITE_SHIFT, 0, &w, 1);
        force_all(pe, SITE_WEIGHT, 0, &w, 1);
        return w;
}

/* ---- multiplier ---- */

static bool pe_has(const Pe *pe, DefectSite site, unsigned lane) {
        for (size_t i = 0; i < pe->n_defects; i++)
                if (pe->defects[i]->site == site && pe->defects[i]->lane == lane)
                        return true;
        return false;
}

/* What a gate adds to a product of WIDTH bits each, beside what it should, in one pass. */
static int64_t gate_error(const Defect *gate, uint32_t w, uint32_t x) {
        int64_t right = w >> gate->a & x >> gate->b & 1, held = gate->set ? 1 : 0;

        return (held - right) * (INT64_C(1) << (gate->a + gate->b));
}

/* The same over the passes that one product takes. */
static int64_t gate_errors(const Defect *gate, bool halves, uint32_t w, uint32_t x) {
        const uint32_t low = (1u << GATES) - 1;

        if (!halves)
                return gate_error(gate, w, x);

        return gate_error(gate, w >> GATES, x >> GATES) * (INT64_C(1) << 2 * GATES) +
               (gate_error(gate, w >> GATES, x & low) + gate_error(gate, w & low, x >> GATES)) * (INT64_C(1) << GATES) +
               gate_error(gate, w & low, x & low);
}

static bool number_goes_through(const Number *number) {
        return number->class == NUMBER_FINITE && number->significand != 0;
}

/* The product of W and X with gates that are stuck. */
static uint32_t pe_multiply_stuck(const Pe *pe, uint32_t w, uint32_t x, unsigned lane) {
        unsigned shift = pe->mode.double_row ? 8 * lane : 0;
        Number a = number_read(pe->mode.weights, w >> shift, pe->mode.ftz);
        Number b = number_read(pe->mode.activations, x >> shift, pe->mode.ftz);
        bool halves = pe->mode.weights == FORMAT_FP32 || pe->mode.activations == FORMAT_FP32;
        unsigned drop = halves ? 0 : 24 - (lane == 0 ? GATES : GATES_SECOND);
        uint32_t product;
        int64_t sum;

        if (!number_goes_through(&a) || !number_goes_through(&b))
                return pe_multiply(pe->mode, w, x, lane);

        a.significand >>= drop;
        b.significand >>= drop;
        sum = (int64_t) a.significand * b.significand;
        for (size_t i = 0; i < pe->n_defects; i++)
                if (pe->defects[i]->site == SITE_GATE && pe->defects[i]->lane == lane)
                        sum += gate_errors(pe->defects[i], halves, a.significand, b.significand);

        product = float_round(a.negative != b.negative, (uint64_t) sum, a.scale + b.scale + 2 * (int32_t) drop);
        return pe->mode.ftz ? float_flush(product) : product;
}

static void products_of(const Pe *pe, uint32_t w, const uint32_t *x, unsigned n, unsigned lane, uint32_t *products) {
        if (pe_has(pe, SITE_GATE, lane))
                for (unsigned i = 0; i < n; i++)
                        products[i] = pe_multiply_stuck(pe, w, x[i], lane);
        else
                pe_multiply_row(pe->mode, w, x, n, lane, products);

        force_all(pe, SITE_MULTIPLIER, 0, products, n);
        force_all(pe, SITE_PRODUCT, lane, products, n);
}

/* ---- adder ---- */

/* A + B + CARRY in 27 bits and what is carried out, carries into the bits of CLEAR and SET being stuck. */
static uint32_t ripple(uint32_t a, uint32_t b, uint32_t carry, uint32_t clear, uint32_t set) {
        uint32_t sum = 0;

        for (unsigned i = 0; i < CARRIES; i++) {
                uint32_t p = a >> i & 1, q = b >> i & 1;

                carry = (carry & ~(clear >> i) & 1) | (set >> i & 1);
                sum |= (p ^ q ^ carry) << i;
                carry = (p & q) | (carry & (p ^ q));
        }

        return sum | carry << CARRIES;
}

/* An addend taken apart for the adder. */
typedef struct Addend {
        uint32_t bits, significand, exponent;
} Addend;

static Addend addend_of(uint32_t x) {
        uint32_t field = x >> 23 & 0xff;

        return (Addend){ .bits = x,
                         .significand = ((x & 0x7fffff) | (field > 0 ? 0x800000 : 0)) << 3,
                         .exponent = field > 0 ? field : 1 };
}

static uint32_t add_stuck(PeMode mode, uint32_t x, uint32_t y, uint32_t clear, uint32_t set) {
        const uint32_t mask = (1u << CARRIES) - 1;
        Addend a, b;
        uint32_t distance, sum, result;
        bool differ;

        if (mode.ftz) {
                x = float_flush(x);
                y = float_flush(y);
        }
        if ((x & FLOAT_INFINITY) == FLOAT_INFINITY || (y & FLOAT_INFINITY) == FLOAT_INFINITY)
                return float_add(x, y);

        a = addend_of((x & ~FLOAT_SIGN) < (y & ~FLOAT_SIGN) ? y : x); /* the larger one */
        b = addend_of((x & ~FLOAT_SIGN) < (y & ~FLOAT_SIGN) ? x : y);
        distance = a.exponent - b.exponent;
        b.significand = float_shift_sticky(b.significand, distance > 31 ? 31 : distance);
        differ = (a.bits ^ b.bits) & FLOAT_SIGN;

        sum = differ ? ripple(a.significand, ~b.significand & mask, 1, clear, set) & mask
                     : ripple(a.significand, b.significand, 0, clear, set);
        if (sum == 0)
                return a.bits & b.bits & FLOAT_SIGN;

        result = float_round(a.bits & FLOAT_SIGN, sum, (int32_t) a.exponent - 153);
        return mode.ftz ? float_flush(result) : result;
}

/* psum += product, by the adder as it is. */
static void add_all(const Pe *pe, const uint32_t *products, unsigned n, uint32_t *psum) {
        uint32_t clear = 0, set = 0;

        for (size_t i = 0; i < pe->n_defects; i++)
                if (pe->defects[i]->site == SITE_CARRY) {
                        clear |= pe->defects[i]->clear;
                        set |= pe->defects[i]->set;
                }

        if (clear | set)
                for (unsigned i = 0; i < n; i++)
                        psum[i] = add_stuck(pe->mode, psum[i], products[i], clear, set);
        else if (pe->mode.ftz)
                for (unsigned i = 0; i < n; i++)
                        psum[i] = pe_add(pe->mode, psum[i], products[i]);
        else
                for (unsigned i = 0; i < n; i++)
                        psum[i] = float_add(psum[i], products[i]);
}

/* ---- a PE ---- */

static void run_transposed(const Pe *pe, uint32_t w, const uint32_t *x, unsigned n, uint32_t *psum) {
        uint32_t products[MOVING_MAX];

        for (unsigned i = 0; i < n; i++)
                products[i] = pe_pass(pe->mode, 0, w, x[i]);

        force_all(pe, SITE_MULTIPLIER, 0, products, n);
        force_all(pe, SITE_PRODUCT, 0, products, n);
        for (unsigned i = 0; i < n; i++)
                psum[i] |= products[i];
        force_all(pe, SITE_PSUM, 0, psum, n);
}

void pe_run(const Pe *pe, uint32_t w, const uint32_t *x, unsigned n, uint32_t *psum) {
        uint32_t products[MOVING_MAX], second[MOVING_MAX];

        if (pe->transposed) {
                run_transposed(pe, w, x, n, psum);
                return;
        }

        products_of(pe, w, x, n, 0, products);
        if (pe->mode.double_row) {
                products_of(pe, w, x, n, 1, second);
                for (unsigned i = 0; i < n; i++)
                        products[i] = pe_add(pe->mode, products[i], second[i]);
        }

        add_all(pe, products, n, psum);
        force_all(pe, SITE_PSUM, 0, psum, n);
}
