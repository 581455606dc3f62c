/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/rounding/hypothesis.h"

#define FIELD_MAX 63u

/* ---- the word ---- */

static uint32_t stuck(const Hypothesis *h, uint32_t word) {
        return h->value ? word | 1u << h->bit : word & ~(1u << h->bit);
}

static uint32_t tied(const Hypothesis *h, uint32_t word) {
        uint32_t both = 1u << h->bit | 1u << h->other;
        bool value = h->value ? (word & both) != 0 : (word & both) == both;

        return value ? word | both : word & ~both;
}

static uint32_t swapped(const Hypothesis *h, uint32_t word) {
        uint32_t both = 1u << h->bit | 1u << h->other;

        return (word & both) == 0 || (word & both) == both ? word : word ^ both;
}

static uint32_t cut(const Hypothesis *h, uint32_t word) {
        return word & ~(UINT32_MAX >> h->bit);
}

static uint32_t word_of(const Hypothesis *h, uint32_t word) {
        static uint32_t (*const words[_CAUSE_MAX])(const Hypothesis *h, uint32_t word) = {
                [CAUSE_STUCK_BIT] = stuck, [CAUSE_TIED_BITS] = tied, [CAUSE_SWAPPED_BITS] = swapped, [CAUSE_FEW_BITS] = cut,
        };

        return words[h->cause] ? words[h->cause](h, word) : word;
}

/* ---- the decision, and what is written ---- */

/* Whether FRACTION of 2^D and the upper FIELD bits of WORD make a whole. */
static bool makes_a_whole(const Element *e, uint32_t word, int field) {
        uint64_t r;

        if (field < 0)
                return false;
        r = field > (int) FIELD_MAX ? (uint64_t) word << 31 : field <= 32 ? (uint64_t) word >> (32 - field) : (uint64_t) word << (field - 32);
        return e->d <= FIELD_MAX && e->fraction + r >= UINT64_C(1) << e->d;
}

static int fraction_bits(WireFormat format) {
        return __builtin_popcount(golden_fraction_mask(format));
}

static bool goes_up(const Hypothesis *h, WireFormat format, const Element *e, uint32_t word) {
        int field = e->d;

        if (h->cause == CAUSE_SIGN && e->negative && e->fraction > 0)
                return word < element_threshold(e);
        if (e->d == 0 || (h->cause != CAUSE_WIDTH && h->cause != CAUSE_FORMAT_WIDTH))
                return word >= element_threshold(e);

        field += h->cause == CAUSE_WIDTH ? h->delta : fraction_bits(format) - fraction_bits(h->format);
        return makes_a_whole(e, word, field);
}

/* What is written for E. */
static uint32_t answer_of(const Hypothesis *h, WireFormat format, bool stochastic, const Element *e, uint32_t word) {
        uint32_t mask = golden_fraction_mask(format), magnitude, image;

        if (stochastic && h->cause != CAUSE_NEAREST)
                magnitude = e->low + goes_up(h, format, e, word_of(h, word));
        else
                magnitude = element_nearest(format, e) & (golden_sign(format) - 1);

        if (h->cause == CAUSE_CARRY_LOST && magnitude > e->low && e->d > 0)
                magnitude = (e->low & ~mask) | (magnitude & mask);
        if (h->cause == CAUSE_FLUSHED && magnitude <= mask)
                magnitude = 0;

        image = golden_image(format, element_signed(format, e, magnitude));
        if (h->cause == CAUSE_RESULT_STUCK)
                image = h->value ? image | 1u << h->bit : image & ~(1u << h->bit);
        return wire_format_bytes(format) == 4 ? image : image & ((1u << 8 * wire_format_bytes(format)) - 1);
}

bool hypothesis_explains_one(const Hypothesis *h, const View *view, unsigned pass, unsigned i, uint32_t word) {
        const Pass *p = &view->script->passes[pass];

        return view->answers[i] == answer_of(h, p->format, pass_is_stochastic(p), &view->elements[i], word);
}

bool hypothesis_explains(const Hypothesis *h, const View *view, unsigned pass, const uint32_t *words) {
        const Pass *p = &view->script->passes[pass];
        unsigned at = view->at[pass];

        for (unsigned i = 0; i < p->count; i++)
                if (view->answers[at + i] != answer_of(h, p->format, pass_is_stochastic(p), &view->elements[at + i], words[i]))
                        return false;

        return true;
}
