/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/model/element.h"

#include <assert.h>

#include "checks/systolic/patterns/exact.h"

#define NEGATIVE      0x80000000u
#define INFINITE      0x7f800000u
#define STUCK         2u /* forms: at 0 and at 1 */
#define STUCK_OR_SLOW 4u
#define SIGNIFICAND   24u

static const struct {
        const char *name;
        unsigned bits, forms;
} registers[_PE_REGISTER_MAX] = {
        [PE_WEIGHT] = { "weight", 32, STUCK },
        [PE_ACTIVATION] = { "activation", 32, STUCK_OR_SLOW },
        [PE_PRODUCT] = { "product", 32, STUCK_OR_SLOW },
        [PE_PSUM] = { "psum", 32, STUCK_OR_SLOW },
        [PE_SECOND] = { "second product", 32, STUCK },
        [PE_SHIFT] = { "weight shift", 32, STUCK },
        [PE_CARRY] = { "adder carry", ADDER_BITS, STUCK },
        [PE_GATE] = { "multiplier gate", MULTIPLIER_BITS, STUCK },
        [PE_SECOND_GATE] = { "second multiplier gate", SECOND_MULTIPLIER_BITS, STUCK },
        [PE_NO_INPUT] = { "activation", 0, 0 },
        [PE_OUTPUT] = { "output", 32, STUCK },
        [PE_NO_OUTPUT] = { "output", 0, 0 },
};

const char *pe_register_to_string(PeRegister at) {
        return at < _PE_REGISTER_MAX ? registers[at].name : NULL;
}

unsigned pe_register_bits(PeRegister at) {
        assert(at < _PE_REGISTER_MAX);

        return registers[at].bits;
}

unsigned pe_register_forms(PeRegister at) {
        assert(at < _PE_REGISTER_MAX);

        return registers[at].forms;
}

bool pe_register_is_gate(PeRegister at) {
        return at == PE_GATE || at == PE_SECOND_GATE;
}

uint32_t element_force(const Candidate *first, const Candidate *end, PeRegister at, uint32_t past, uint32_t value) {
        uint32_t healthy = value;

        for (const Candidate *c = first; c < end; c++) {
                uint32_t bit = UINT32_C(1) << c->bit;

                if (c->at != at)
                        continue;

                switch ((PeForm) c->form) {

                case FORM_STUCK_0:
                        value &= ~bit;
                        break;

                case FORM_STUCK_1:
                        value |= bit;
                        break;

                case FORM_SLOW_RISE:
                        if (healthy & ~past & bit)
                                value &= ~bit;
                        break;

                case FORM_SLOW_FALL:
                        if (~healthy & past & bit)
                                value |= bit;
                        break;

                case _PE_FORM_MAX:
                        break;
                }
        }

        return value;
}

/* ---- numbers ---- */

typedef struct Factor {
        bool negative, nan, infinite;
        uint32_t significand; /* 24 bits with the highest set; 0 for a zero */
        int exponent;         /* of its last bit */
} Factor;

static const struct {
        uint8_t skip; /* bits of the image below the number */
        uint8_t fraction, exponent;
} layouts[_FORMAT_MAX] = {
        [FORMAT_FP32] = { 0, 23, 8 },     [FORMAT_BF16] = { 0, 7, 8 },      [FORMAT_FP16] = { 0, 10, 5 },
        [FORMAT_TF32] = { 13, 10, 8 },    [FORMAT_FP8_E4M3] = { 0, 3, 4 }, [FORMAT_FP8_E5M2] = { 0, 2, 5 },
        [FORMAT_FP8_E3M4] = { 0, 4, 3 },
};

static Factor factor_of(WireFormat format, uint32_t image, bool ftz) {
        unsigned n_fraction = layouts[format].fraction, n_exponent = layouts[format].exponent;
        uint32_t number = image >> layouts[format].skip, highest = (1u << n_exponent) - 1;
        uint32_t fraction = number & ((1u << n_fraction) - 1), field = number >> n_fraction & highest;
        Factor factor = { .negative = number >> (n_fraction + n_exponent) & 1 };
        int drop;

        if (field == highest) {
                factor.nan = fraction > 0;
                factor.infinite = fraction == 0;
                return factor;
        }

        factor.significand = fraction | (field > 0 ? 1u << n_fraction : 0);
        if (factor.significand == 0 || (field == 0 && n_exponent == 8 && ftz))
                return (Factor){ .negative = factor.negative };

        drop = __builtin_clz(factor.significand) - (int) (32 - SIGNIFICAND);
        factor.significand <<= drop;
        factor.exponent = (int) (field > 0 ? field : 1) - ((1 << (n_exponent - 1)) - 1) - (int) n_fraction - drop;
        return factor;
}

bool element_is_zero(WireFormat format, uint32_t image) {
        unsigned bits = layouts[format].fraction + layouts[format].exponent;

        return (image >> layouts[format].skip & ((UINT32_C(1) << bits) - 1)) == 0;
}

bool element_is_finite(WireFormat format, uint32_t image) {
        uint32_t highest = (1u << layouts[format].exponent) - 1;

        return (image >> (layouts[format].skip + layouts[format].fraction) & highest) != highest;
}

static uint32_t flush(ElementMode mode, uint32_t bits) {
        return mode.ftz && (bits & INFINITE) == 0 ? bits & NEGATIVE : bits;
}

/* ---- the multiplier ---- */

/* A × B of WIDTH bits, as the sum of one AND gate per pair of bits, some of which do not do what they should. */
static uint64_t gates_multiply(uint32_t a, uint32_t b, PeRegister at, const Candidate *first, const Candidate *end) {
        uint64_t product = (uint64_t) a * b;

        for (const Candidate *c = first; c < end; c++) {
                uint64_t weight = UINT64_C(1) << (c->bit + c->other);
                bool gate;

                if (c->at != at)
                        continue;

                gate = (a >> c->bit & 1) && (b >> c->other & 1);
                if (gate && c->form == FORM_STUCK_0)
                        product -= weight;
                if (!gate && c->form == FORM_STUCK_1)
                        product += weight;
        }

        return product;
}

/* The 24 bits in halves of 12, four passes; of narrower formats the lower halves are zero and only one pass is made. */
static uint64_t first_multiply(bool four_passes, uint32_t a, uint32_t b, const Candidate *first, const Candidate *end) {
        uint32_t low = (1u << MULTIPLIER_BITS) - 1;
        uint64_t product = gates_multiply(a >> MULTIPLIER_BITS, b >> MULTIPLIER_BITS, PE_GATE, first, end) << 2 * MULTIPLIER_BITS;

        if (!four_passes)
                return product;

        product += gates_multiply(a >> MULTIPLIER_BITS, b & low, PE_GATE, first, end) << MULTIPLIER_BITS;
        product += gates_multiply(a & low, b >> MULTIPLIER_BITS, PE_GATE, first, end) << MULTIPLIER_BITS;
        return product + gates_multiply(a & low, b & low, PE_GATE, first, end);
}

static bool has_part(PeRegister at, const Candidate *first, const Candidate *end) {
        for (const Candidate *c = first; c < end; c++)
                if (c->at == at)
                        return true;

        return false;
}

/* What one multiplier makes of the register images W and X, as binary32. LANE: 0, or 1 in double rows. */
static uint32_t multiply(ElementMode mode, uint32_t w, uint32_t x, unsigned lane, const Candidate *first, const Candidate *end) {
        unsigned shift = lane * 8, rest = SIGNIFICAND - SECOND_MULTIPLIER_BITS;
        Factor a = factor_of(mode.weights, w >> shift, mode.ftz), b = factor_of(mode.values, x >> shift, mode.ftz);
        bool negative = a.negative != b.negative;
        uint64_t product;

        if (a.nan || b.nan)
                return EXACT_NAN;
        if (a.infinite || b.infinite) {
                if ((!a.infinite && a.significand == 0) || (!b.infinite && b.significand == 0))
                        return EXACT_NAN;
                return (negative ? NEGATIVE : 0) | INFINITE;
        }
        if (a.significand == 0 || b.significand == 0) /* a zero goes round the multiplier */
                return negative ? NEGATIVE : 0;

        if (!has_part(lane == 0 ? PE_GATE : PE_SECOND_GATE, first, end))
                product = (uint64_t) a.significand * b.significand;
        else if (lane == 0)
                product = first_multiply(mode.weights == FORMAT_FP32, a.significand, b.significand, first, end);
        else
                product = gates_multiply(a.significand >> rest, b.significand >> rest, PE_SECOND_GATE, first, end) << 2 * rest;

        return flush(mode, exact_round(negative, product, a.exponent + b.exponent));
}

/* ---- the adder ---- */

/* A + B of 27 bits and more, in which the carry into some bits does not come or go as it should. */
static uint64_t carries_add(uint64_t a, uint64_t b, bool carry, const Candidate *first, const Candidate *end) {
        uint64_t sum = 0;

        for (unsigned bit = 0; bit <= ADDER_BITS; bit++) {
                bool p = a >> bit & 1, q = b >> bit & 1;

                for (const Candidate *c = first; c < end; c++)
                        if (c->at == PE_CARRY && c->bit == bit)
                                carry = c->form == FORM_STUCK_1;
                sum |= (uint64_t) (p ^ q ^ carry) << bit;
                carry = (p && q) || (carry && (p || q));
        }

        return sum;
}

typedef struct Addend {
        bool negative;
        uint32_t significand; /* 24 bits */
        int exponent;
} Addend;

static Addend addend_of(uint32_t bits) {
        uint32_t field = bits >> 23 & 0xff;

        return (Addend){ .negative = bits >> 31,
                         .significand = (bits & 0x7fffff) | (field > 0 ? 1u << 23 : 0),
                         .exponent = (int) (field > 0 ? field : 1) - 150 };
}

/* Both finite, |A| ≥ |B|: aligned to 24 bits, guard, round and sticky, added with the carries as they are. */
static uint32_t add_with_carries(uint32_t larger, uint32_t smaller, const Candidate *first, const Candidate *end) {
        Addend a = addend_of(larger), b = addend_of(smaller);
        uint64_t p = (uint64_t) a.significand << 3, q = (uint64_t) b.significand << 3, mask = (UINT64_C(1) << (ADDER_BITS + 1)) - 1;
        unsigned distance = (unsigned) (a.exponent - b.exponent);
        bool differ = a.negative != b.negative;
        uint64_t sum;

        if (distance > ADDER_BITS)
                q = q > 0;
        else if (distance > 0)
                q = q >> distance | ((q & ((UINT64_C(1) << distance) - 1)) > 0);

        sum = carries_add(p, differ ? ~q & mask : q, differ, first, end) & mask;
        if (differ)
                sum &= mask >> 1;
        if (sum == 0)
                return a.negative && b.negative ? NEGATIVE : 0;
        return exact_round(a.negative, sum, a.exponent - 3);
}

uint32_t element_add(ElementMode mode, uint32_t a, uint32_t b, const Candidate *first, const Candidate *end) {
        a = flush(mode, a);
        b = flush(mode, b);
        if (!has_part(PE_CARRY, first, end) || (a & INFINITE) == INFINITE || (b & INFINITE) == INFINITE)
                return flush(mode, exact_add(a, b, mode.ftz));

        if ((a & ~NEGATIVE) < (b & ~NEGATIVE))
                return flush(mode, add_with_carries(b, a, first, end));
        return flush(mode, add_with_carries(a, b, first, end));
}

/* The product of healthy parts: of transposition the weight, where the activation is no zero. */
static uint32_t multiply_first(ElementMode mode, uint32_t w, uint32_t x, const Candidate *first, const Candidate *end) {
        if (mode.transpose) {
                Factor factor = factor_of((WireFormat) mode.values, x, mode.ftz);

                return factor.significand > 0 || factor.infinite || factor.nan ? w : 0;
        }

        return multiply(mode, w, x, 0, first, end);
}

uint32_t element_step(ElementMode mode, const Candidate *first, const Candidate *end, uint32_t w, uint32_t x, uint32_t psum,
                      ElementPast *past) {
        ElementPast now = { .activation = x };
        uint32_t product;

        w = element_force(first, end, PE_WEIGHT, 0, w);
        x = element_force(first, end, PE_ACTIVATION, past->activation, x);
        if (has_part(PE_NO_INPUT, first, end))
                x = 0;

        now.product = multiply_first(mode, w, x, first, end);
        product = element_force(first, end, PE_PRODUCT, past->product, now.product);
        if (mode.double_row) {
                now.second = multiply(mode, w, x, 1, first, end);
                product = element_add(mode, product, element_force(first, end, PE_SECOND, past->second, now.second), NULL, NULL);
        }

        now.psum = mode.transpose ? psum | product : element_add(mode, psum, product, first, end);
        psum = element_force(first, end, PE_PSUM, past->psum, now.psum);
        *past = now;
        return psum;
}
