/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/line-prbs.h"

#include "sim/dice.h"

/* b(n) = the sum of b(n - tap) over the taps; bit tap - 1 of a state is the bit sent so long ago. */
static const struct {
        uint8_t degree;
        uint32_t taps;
} polynomials[_PRBS_MAX] = {
#define TAP(n) UINT32_C(1) << ((n) - 1)
        [PRBS7]  = { 7,  TAP(7) | TAP(6) },
        [PRBS9]  = { 9,  TAP(9) | TAP(5) },
        [PRBS11] = { 11, TAP(11) | TAP(9) },
        [PRBS13] = { 13, TAP(13) | TAP(12) | TAP(2) | TAP(1) },
        [PRBS15] = { 15, TAP(15) | TAP(14) },
        [PRBS20] = { 20, TAP(20) | TAP(3) },
        [PRBS23] = { 23, TAP(23) | TAP(18) },
        [PRBS31] = { 31, TAP(31) | TAP(28) },
#undef TAP
};

unsigned line_prbs_degree(WirePrbs polynomial) {
        return polynomials[polynomial].degree;
}

uint64_t line_prbs_period(WirePrbs polynomial) {
        return (UINT64_C(1) << polynomials[polynomial].degree) - 1;
}

uint32_t line_prbs_seed(WirePrbs polynomial, uint64_t seed, unsigned lane) {
        uint64_t state = dice_mix(seed ^ lane) & line_prbs_period(polynomial);

        return state > 0 ? (uint32_t) state : 1;
}

unsigned line_prbs_next_bit(WirePrbs polynomial, uint32_t state) {
        return (unsigned) __builtin_parity(state & polynomials[polynomial].taps);
}

/* x^n = the sum of x^(n - tap), so x^k = the sum of x^(k - tap): the taps, mirrored. */
static uint32_t reduction_of(WirePrbs polynomial) {
        uint32_t reduction = 0;

        for (unsigned tap = 1; tap <= polynomials[polynomial].degree; tap++)
                if (polynomials[polynomial].taps >> (tap - 1) & 1)
                        reduction |= UINT32_C(1) << (polynomials[polynomial].degree - tap);

        return reduction;
}

/* x^POWER modulo the polynomial: from the highest bit of POWER down, squared, and times x. */
static uint32_t power_of_x(unsigned degree, uint32_t reduction, uint32_t power) {
        uint64_t mask = (UINT64_C(1) << degree) - 1, value = 1;

        for (unsigned bit = 32; bit-- > 0;) {
                uint64_t square = 0;

                for (uint64_t rest = value; rest > 0; rest &= rest - 1)
                        square |= UINT64_C(1) << 2 * __builtin_ctzll(rest);
                if (power >> bit & 1)
                        square <<= 1;
                for (unsigned i = 63; i >= degree; i--)
                        if (square >> i & 1)
                                square ^= UINT64_C(1) << i ^ (uint64_t) reduction << (i - degree);
                value = square & mask;
        }

        return (uint32_t) value;
}

uint32_t line_prbs_jump(WirePrbs polynomial, uint32_t state, int64_t bits) {
        int64_t period = (int64_t) line_prbs_period(polynomial), left = bits % period;
        uint32_t power, result = 0;

        if (left < 0)
                left += period;
        power = power_of_x(polynomials[polynomial].degree, reduction_of(polynomial), (uint32_t) left);

        for (; power > 0; power >>= 1) {
                if (power & 1)
                        result ^= state;
                state = (uint32_t) (((uint64_t) state << 1 | line_prbs_next_bit(polynomial, state)) & (uint64_t) period);
        }
        return result;
}
