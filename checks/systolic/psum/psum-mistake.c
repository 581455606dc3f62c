/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A core that takes bf16 for another format at times spoils the numbers that PSUM is tried with, in whatever bank they go to: it is
 * known what they look like then.
 */

#include "checks/systolic/psum/examination.h"
#include "checks/systolic/model/element.h"

#define SAMPLES 16u /* of the vectors, each in another column */

/* What the weights and the values of a slot were to make; NULL: it rests on more than one matmul. */
static const uint16_t *values_of(const PsumNumbers *numbers, const PsumSlot *slot) {
        switch (slot->phase) {
        case PSUM_CELLS:
                return psum_values_pattern(numbers, slot->number);
        case PSUM_ADDRESSES:
                return psum_values_address(numbers, slot->number);
        case PSUM_FLAG:
                return psum_flag_steps[slot->number].overwrite ? psum_values_flag(numbers, slot->number) : NULL;
        }
        return NULL;
}

static bool is_answer(const PsumNumbers *numbers, const uint16_t *values, ElementMode mode, const uint32_t *out) {
        for (unsigned i = 0; i < SAMPLES; i++) {
                unsigned n = i * (numbers->moving / SAMPLES), m = i * 7 % numbers->columns;
                uint32_t psum = 0;

                for (unsigned row = 0; row < PSUM_ROWS; row++)
                        psum = element_step(mode, NULL, NULL, numbers->weights[row * numbers->columns + m],
                                            values[row * numbers->moving + n], psum, &(ElementPast) {});
                if (psum != out[m * numbers->moving + n])
                        return false;
        }
        return true;
}

bool psum_slot_is_mistaken(const PsumTest *test, const PsumSlot *slot, const uint32_t *out, WireFormat *ret) {
        const PsumNumbers *numbers = psum_numbers(test->columns < PE_COLUMNS);
        const uint16_t *values = values_of(numbers, slot);

        for (unsigned other = 0; values && other < _FORMAT_MAX; other++) {
                if (other == FORMAT_BF16 || wire_format_bytes(other) != wire_format_bytes(FORMAT_BF16))
                        continue;
                for (unsigned part = 1; part < 4; part++) { /* a load and a matmul may differ in it */
                        ElementMode mode = { .weights = (uint8_t) (part & 1 ? other : FORMAT_BF16),
                                             .values = (uint8_t) (part & 2 ? other : FORMAT_BF16) };

                        if (is_answer(numbers, values, mode, out)) {
                                *ret = (WireFormat) other;
                                return true;
                        }
                }
        }
        return false;
}
