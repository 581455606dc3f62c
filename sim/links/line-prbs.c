/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/links/line-prbs.h"

#include "sim/chip/dice.h"

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

/* x^n = the sum of x^(n - tap): what is at degree k and above moves down by the taps, until nothing is. */
static uint64_t reduce(WirePrbs polynomial, uint64_t value) {
        unsigned degree = polynomials[polynomial].degree;
        uint64_t mask = line_prbs_period(polynomial);

        while (value > mask) {
                uint64_t high = value >> degree;

                value &= mask;
                for (uint32_t taps = polynomials[polynomial].taps; taps > 0; taps &= taps - 1)
                        value ^= high << (degree - 1 - (unsigned) __builtin_ctz(taps));
        }
        return value;
}

/* The square of a sum is the sum of the squares: a zero between each two bits. */
static uint64_t square(uint64_t value) {
        value = (value | value << 16) & 0x0000ffff0000ffff;
        value = (value | value << 8) & 0x00ff00ff00ff00ff;
        value = (value | value << 4) & 0x0f0f0f0f0f0f0f0f;
        value = (value | value << 2) & 0x3333333333333333;
        return (value | value << 1) & 0x5555555555555555;
}

/* x^POWER: from its highest bit down, squared, and times x. */
static uint32_t power_of_x(WirePrbs polynomial, uint32_t power) {
        uint64_t value = 1;

        for (unsigned bit = power > 0 ? 32 - (unsigned) __builtin_clz(power) : 0; bit-- > 0;)
                value = reduce(polynomial, square(value) << (power >> bit & 1));
        return (uint32_t) value;
}

uint32_t line_prbs_jump(WirePrbs polynomial, uint32_t state, int64_t bits) {
        int64_t period = (int64_t) line_prbs_period(polynomial), left = bits % period;
        uint32_t power, result = 0;

        if (left < 0)
                left += period;
        power = power_of_x(polynomial, (uint32_t) left);

        for (; power > 0; power >>= 1) {
                if (power & 1)
                        result ^= state;
                state = (uint32_t) (((uint64_t) state << 1 | line_prbs_next_bit(polynomial, state)) & (uint64_t) period);
        }
        return result;
}
