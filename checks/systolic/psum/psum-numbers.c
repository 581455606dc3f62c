/* SPDX-License-Identifier: Apache-2.0 */

#include <assert.h>
#include <string.h>

#include "checks/systolic/psum/psum.h"

#define ADDRESSES   (PSUM_BANKS * PSUM_ELEMENTS)
#define ONE         0x3f80u /* bf16 */
#define NUMBER_BASE 19u     /* numbers lie in 2^19 … 2^20 − 1: one exponent, 19 bits of place */
#define PLACE_SHIFT (23u - NUMBER_BASE)

#define QUICK_COLUMNS 2u
#define QUICK_MOVING  512u
#define FULL_COLUMNS  PE_COLUMNS
#define FULL_MOVING   128u

static uint16_t quick_values[(1 + PSUM_PATTERNS + PSUM_FLAGS + ADDRESSES / QUICK_MOVING) * PSUM_ROWS * QUICK_MOVING];
static uint16_t full_values[(1 + PSUM_PATTERNS + PSUM_FLAGS + ADDRESSES / FULL_MOVING) * PSUM_ROWS * FULL_MOVING];
static uint32_t quick_golden[(1 + PSUM_PATTERNS + PSUM_FLAGS) * QUICK_COLUMNS * QUICK_MOVING];
static uint32_t full_golden[(1 + PSUM_PATTERNS + PSUM_FLAGS) * FULL_COLUMNS * FULL_MOVING];

static PsumNumbers layouts[] = {
        { .columns = FULL_COLUMNS, .moving = FULL_MOVING, .values = full_values, .golden = full_golden },
        { .columns = QUICK_COLUMNS, .moving = QUICK_MOVING, .values = quick_values, .golden = quick_golden },
};
static bool prepared;

/* Sums on the way: 3; 3, not 6; 8; 8. A flag that is stuck shows in the second or in the last two. */
const PsumFlagStep psum_flag_steps[PSUM_FLAGS] = { { 3, true }, { 3, true }, { 5, false }, { 0, false } };

static uint32_t psum_pattern(unsigned pattern) {
        return pattern == 0 ? 0x55555555 : 0xaaaaaaaa;
}

uint32_t psum_small(int number) {
        uint32_t significand = (uint32_t) number, exponent = 127 + 23;

        if (number == 0)
                return 0;
        for (; significand < 1u << 23; exponent--)
                significand <<= 1;
        return exponent << 23 | (significand & 0x7fffff);
}

uint32_t psum_number(unsigned address, unsigned partition) {
        return (127 + NUMBER_BASE) << 23 | (address * PE_COLUMNS + partition) << PLACE_SHIFT;
}

uint32_t psum_high(unsigned address) {
        return psum_number(address, 0) & ~psum_number(0, 0);
}

int psum_number_address(uint32_t number, unsigned partition) {
        uint32_t place = (number & 0x7fffff) >> PLACE_SHIFT;

        if (number != ((127 + NUMBER_BASE) << 23 | place << PLACE_SHIFT) || place % PE_COLUMNS != partition)
                return -1;
        return (int) (place / PE_COLUMNS);
}

/* A whole number of at most 8 bits and trailing zeros is exact in bf16. */
static uint16_t whole_to_bf16(uint32_t number) {
        uint32_t bits = psum_small((int) number);

        assert((bits & 0xffff) == 0);
        return (uint16_t) (bits >> 16);
}

/* BITS in three parts of eight bits of significand, whose sums are exact in any order. */
static void split(uint32_t bits, uint16_t parts[static 3]) {
        uint32_t significand = (bits & 0x7fffff) | 0x800000, sign_exponent = bits >> 23;

        for (unsigned i = 0; i < 3; i++) {
                uint32_t part = significand >> (16 - 8 * i) & 0xff, shift = 0;

                parts[i] = 0;
                if (part == 0)
                        continue;
                for (; !(part << shift & 0x80); shift++)
                        ;
                parts[i] = (uint16_t) ((sign_exponent - 8 * i - shift) << 7 | (part << shift & 0x7f));
        }
}

static uint16_t *values_at(const PsumNumbers *numbers, unsigned index) {
        return numbers->values + (size_t) index * PSUM_ROWS * numbers->moving;
}

static uint32_t *golden_at(const PsumNumbers *numbers, unsigned index) {
        return numbers->golden + (size_t) index * numbers->columns * numbers->moving;
}

static void prepare_pattern(const PsumNumbers *numbers, unsigned pattern) {
        uint16_t *values = values_at(numbers, 1 + pattern);
        uint32_t *golden = golden_at(numbers, pattern);
        uint16_t parts[3];

        split(psum_pattern(pattern), parts);
        for (unsigned row = 0; row < 3; row++)
                for (unsigned n = 0; n < numbers->moving; n++)
                        values[row * numbers->moving + n] = parts[row];
        for (unsigned i = 0; i < numbers->columns * numbers->moving; i++)
                golden[i] = psum_pattern(pattern);
}

static void prepare_flags(const PsumNumbers *numbers) {
        int sum = 0;

        for (unsigned step = 0; step < PSUM_FLAGS; step++) {
                uint16_t *values = values_at(numbers, 1 + PSUM_PATTERNS + step);
                uint32_t *golden = golden_at(numbers, PSUM_PATTERNS + step);

                sum = (psum_flag_steps[step].overwrite ? 0 : sum) + psum_flag_steps[step].number;
                for (unsigned n = 0; n < numbers->moving; n++)
                        values[n] = whole_to_bf16((uint32_t) psum_flag_steps[step].number);
                for (unsigned i = 0; i < numbers->columns * numbers->moving; i++)
                        golden[i] = psum_small(sum);
        }
}

/* The number in pieces that bf16 holds: 2^19 by the weight m beside it, the lower seven bits of the address, and the upper five. */
static void prepare_address(const PsumNumbers *numbers, unsigned piece) {
        uint16_t *values = values_at(numbers, 1 + PSUM_PATTERNS + PSUM_FLAGS + piece);

        for (unsigned n = 0; n < numbers->moving; n++) {
                unsigned address = piece * numbers->moving + n;

                values[n] = whole_to_bf16((address & 0x7f) << 7);
                values[numbers->moving + n] = whole_to_bf16((address >> 7) << 14);
                values[2 * numbers->moving + n] = whole_to_bf16(1u << NUMBER_BASE);
                values[3 * numbers->moving + n] = ONE;
        }
}

static void prepare_layout(PsumNumbers *numbers) {
        uint32_t *golden = golden_at(numbers, PSUM_PATTERNS + PSUM_FLAGS);

        numbers->pieces = ADDRESSES / numbers->moving;
        for (unsigned m = 0; m < numbers->columns; m++) {
                for (unsigned row = 0; row < 3; row++)
                        numbers->weights[row * numbers->columns + m] = ONE;
                numbers->weights[3 * numbers->columns + m] = whole_to_bf16(m);
                for (unsigned n = 0; n < numbers->moving; n++)
                        golden[m * numbers->moving + n] = psum_number(n, m);
        }
        for (unsigned pattern = 0; pattern < PSUM_PATTERNS; pattern++)
                prepare_pattern(numbers, pattern);
        prepare_flags(numbers);
        for (unsigned piece = 0; piece < numbers->pieces; piece++)
                prepare_address(numbers, piece);
}

void psum_numbers_prepare(void) {
        for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts) && !prepared; i++)
                prepare_layout(&layouts[i]);
        prepared = true;
}

const PsumNumbers *psum_numbers(bool quick) {
        psum_numbers_prepare();
        return &layouts[quick];
}

const uint16_t *psum_values_zero(const PsumNumbers *numbers) {
        return values_at(numbers, 0);
}

const uint16_t *psum_values_pattern(const PsumNumbers *numbers, unsigned pattern) {
        return values_at(numbers, 1 + pattern);
}

const uint16_t *psum_values_flag(const PsumNumbers *numbers, unsigned step) {
        return values_at(numbers, 1 + PSUM_PATTERNS + step);
}

const uint16_t *psum_values_address(const PsumNumbers *numbers, unsigned piece) {
        return values_at(numbers, 1 + PSUM_PATTERNS + PSUM_FLAGS + piece);
}

const uint32_t *psum_golden_pattern(const PsumNumbers *numbers, unsigned pattern) {
        return golden_at(numbers, pattern);
}

const uint32_t *psum_golden_flag(const PsumNumbers *numbers, unsigned step) {
        return golden_at(numbers, PSUM_PATTERNS + step);
}

const uint32_t *psum_golden_address(const PsumNumbers *numbers) {
        return golden_at(numbers, PSUM_PATTERNS + PSUM_FLAGS);
}

size_t psum_values_bytes(const PsumNumbers *numbers) {
        return (1 + PSUM_PATTERNS + PSUM_FLAGS + (size_t) numbers->pieces) * PSUM_ROWS * numbers->moving * sizeof(uint16_t);
}
