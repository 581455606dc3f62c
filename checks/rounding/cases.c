/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/cases.h"

#include <assert.h>
#include <math.h>

#include "checks/rounding/golden.h"
#include "checks/text/cleanup.h"

#define PLACES 6u

/* Around patterns with all bits of the significand set a carry runs into the exponent. */
static unsigned landmarks(WireFormat format, uint32_t ret[static 16]) {
        uint32_t infinity = golden_infinity(format), normal = 1, one = golden_nearest(format, 1);
        unsigned n = 0;

        while (golden_step(format, normal) == golden_step(format, 0))
                normal *= 2; /* the first pattern with a larger step is twice the first normal one */
        normal /= 2;
        const uint32_t marks[] = { 0, 1, 2, normal / 2 - 1, normal / 2, normal - 1, normal, one - 1, one, one + 1, infinity / 2, infinity - 2,
                                   infinity - 1 };

        for (unsigned i = 0; i < ELEMENTS(marks); i++)
                ret[n++] = marks[i];
        return n;
}

/* Places between a pattern and the next: on it, a quarter, just below, on and above the middle, three quarters. */
static float between(double low, double step, unsigned place) {
        float middle = (float) (low + step / 2);

        switch (place) {
        case 0: return (float) low;
        case 1: return (float) (low + step / 4);
        case 2: return nextafterf(middle, 0);
        case 3: return middle;
        case 4: return nextafterf(middle, INFINITY);
        default: return (float) (low + step * 3 / 4);
        }
}

static unsigned add_specials(WireFormat format, Element *ret) {
        static const float numbers[] = { 0.0f, -0.0f, 0x1p-149f, -0x1p-149f, 0x1p-126f, 0x1.fffffep127f, -0x1.fffffep127f };
        static const uint32_t payloads[] = { 0, 1, 0x3fffff, 0x400000, 0x7fffff, 0x2a5a5a, 0x002000, 0x001fff };
        unsigned n = 0;

        for (unsigned i = 0; i < ELEMENTS(numbers); i++)
                ret[n++] = element_of(format, numbers[i]);
        for (unsigned i = 0; i < ELEMENTS(payloads); i++)
                for (unsigned negative = 0; negative < 2; negative++)
                        ret[n++] = element_special(format, negative, payloads[i]);
        return n;
}

unsigned cases_make(WireFormat format, bool every, Element ret[static CASES_MAX]) {
        bool all = every && wire_format_bytes(format) == 1;
        uint32_t marks[16];
        unsigned n = 0, n_marks = all ? golden_infinity(format) : landmarks(format, marks);

        for (unsigned m = 0; m < n_marks; m++) {
                uint32_t pattern = all ? m : marks[m];
                double low = golden_value(format, pattern), step = golden_step(format, pattern);

                for (unsigned place = 0; place < PLACES; place++) {
                        float number = between(low, step, place);

                        assert(n + 2 <= CASES_MAX);
                        if (every || (m + place) % 2 == 0)
                                ret[n++] = element_of(format, number);
                        if (every || (m + place) % 2 != 0)
                                ret[n++] = element_of(format, -number);
                }
        }
        return n + add_specials(format, ret + n);
}
