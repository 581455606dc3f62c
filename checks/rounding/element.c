/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/element.h"

#include <math.h>
#include <string.h>

#include "checks/rounding/golden.h"

#define ULP_LOWEST (-149) /* exponent of the last bit of a subnormal binary32 */

static uint32_t bits_of(float number) {
        uint32_t bits;

        memcpy(&bits, &number, sizeof(bits));
        return bits;
}

/* Exponent of the last bit that binary32 has for a number of this MAGNITUDE. */
static int last_bit(double magnitude) {
        uint64_t bits;
        int e;

        memcpy(&bits, &magnitude, sizeof(bits));
        e = (int) (bits >> 52) - 1023 - 23;
        return e < ULP_LOWEST ? ULP_LOWEST : e;
}

/* FRACTION / 2^D of a STEP. */
static double part_of(double step, uint64_t fraction, unsigned d) {
        uint64_t bits = (uint64_t) (1023 - (int) d) << 52;
        double unit;

        memcpy(&unit, &bits, sizeof(unit));
        return (double) fraction * unit * step;
}

static Element element_make(uint32_t low, uint32_t fraction, unsigned d, bool negative, double magnitude) {
        float number = (float) magnitude; /* exact: it has 24 bits */

        return (Element) { .low = low, .fraction = fraction, .d = (uint8_t) d, .negative = negative,
                           .bits = bits_of(negative ? -number : number) };
}

Element element_of(WireFormat format, float number) {
        double magnitude = fabs((double) number), step;
        uint32_t low = golden_nearest(format, fabsf(number));
        int last;

        if (low == golden_infinity(format))
                low--;
        if (golden_value(format, low) > magnitude)
                low--;
        step = golden_step(format, low);
        if (magnitude >= golden_value(format, low) + step) /* beyond the range nothing is random */
                return (Element) { .low = golden_infinity(format), .negative = signbit(number), .bits = bits_of(number) };
        last = last_bit(magnitude);
        return element_make(low, (uint32_t) ldexp(magnitude - golden_value(format, low), -last), (unsigned) (golden_step_exponent(format, low) - last), signbit(number),
                            magnitude);
}

Element element_special(WireFormat format, bool negative, uint32_t payload) {
        uint32_t bits = 0x7f800000u | (payload & 0x7fffffu), low = golden_infinity(format);

        if (payload)
                low |= (golden_fraction_mask(format) + 1) >> 1; /* the quiet one */
        return (Element) { .low = low, .negative = negative, .bits = bits | (uint32_t) negative << 31 };
}

/* Where LOW lies and what is discarded there. */
typedef struct Step {
        double value, step;
        unsigned d;
} Step;

static Step step_at(WireFormat format, uint32_t low) {
        double value = golden_value(format, low), step = golden_step(format, low);

        return (Step) { value, step, (unsigned) (golden_step_exponent(format, low) - last_bit(value)) };
}

static Element element_above(const Step *at, uint32_t low, uint32_t fraction, bool negative) {
        return element_make(low, fraction, at->d, negative, at->value + part_of(at->step, fraction, at->d));
}

Element element_between(WireFormat format, uint32_t low, uint32_t quarters, bool negative) {
        Step at = step_at(format, low);

        return element_above(&at, low, quarters > 0 ? quarters << (at.d - 2) : 0, negative);
}

uint64_t element_threshold(const Element *element) {
        if (element->fraction == 0)
                return 1ull << 32;
        /* fraction + (word >> (32 - d)) ≥ 2^d; beyond 32 bits the lowest of the fraction are dropped. */
        if (element->d <= 32)
                return ((1ull << element->d) - element->fraction) << (32 - element->d);
        return (1ull << 32) - (element->d < 64 ? element->fraction >> (element->d - 32) : 0);
}

Element element_anywhere(WireFormat format, uint32_t low, uint32_t draw, bool negative) {
        Step at = step_at(format, low);

        return element_above(&at, low, draw >> (32 - at.d), negative);
}

Element element_exact(WireFormat format, uint32_t low, bool negative) {
        return element_between(format, low, 0, negative);
}

Element element_at_word(WireFormat format, uint32_t low, uint32_t word, bool up, bool negative) {
        Step at = step_at(format, low);
        uint32_t r = word >> (32 - at.d), least = (1u << at.d) - r;

        /* Nothing below a whole step rounds up on 0. */
        return element_above(&at, low, up && r > 0 ? least : least - 1, negative);
}

Element element_below_all(WireFormat format, uint32_t word, bool up, bool negative) {
        uint64_t rest = (1ull << 32) - word, fraction; /* of 2^32: from here on WORD rounds up */
        unsigned d = 32;

        /* Significands have 24 bits, so the exponent follows from how large the rest is. */
        for (fraction = rest; fraction >> 24; d--)
                fraction = (fraction + 1) >> 1;
        for (; fraction < 1u << 23; d++)
                fraction <<= 1;
        if (!up || d < 24) { /* on 0 nothing below a whole step rounds up */
                if (fraction == 1u << 23) { /* one exponent below */
                        fraction <<= 1;
                        d++;
                }
                fraction--;
        }
        /* Rounded up above, it may lie one too high or, below, still high enough: look. */
        for (;;) {
                Element e = { .fraction = (uint32_t) fraction, .d = (uint8_t) d };

                if (up || element_threshold(&e) > word)
                        break;
                fraction--;
        }
        return element_make(0, (uint32_t) fraction, d, negative, part_of(golden_step(format, 0), fraction, d));
}

uint32_t element_signed(WireFormat format, const Element *element, uint32_t magnitude) {
        uint32_t infinity = golden_infinity(format);

        if (magnitude > infinity && element->low <= infinity)
                magnitude = infinity;
        return magnitude | (element->negative ? golden_sign(format) : 0);
}

uint32_t element_answer(WireFormat format, const Element *element, uint32_t word) {
        return element_signed(format, element, element->low + (word >= element_threshold(element)));
}

uint32_t element_nearest(WireFormat format, const Element *element) {
        uint64_t half = element->d > 0 && element->d <= 32 ? UINT64_C(1) << (element->d - 1) : UINT64_MAX;
        bool up = element->fraction > half || (element->fraction == half && (element->low & 1));

        return element_signed(format, element, element->low + up);
}
