/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sparsity/bank.h"

#include <string.h>

#define PATTERNS 2u
#define ROUNDS   8u
#define ROWS     3u /* of 8 bits each, for the 24 of a binary32 */
#define AGAIN    2u /* times that a column is wrong before a bank is to blame: once may be the array's, which comes and goes */

/* Each bit of an element is 0 in one and 1 in the other, and so it is between places whose addresses differ in one bit. */
static const uint32_t patterns[PATTERNS] = { 0x55555555, 0xaaaaaaaa };

static uint32_t number_at(unsigned pattern, unsigned element) {
        return patterns[(pattern + (unsigned) __builtin_popcount(element)) % PATTERNS];
}

/* The bf16 of eight bits of the significand of BITS, the PART-th from above: their sum is exact, in this order too. */
static uint16_t part_of(uint32_t bits, unsigned part) {
        uint32_t significand = (bits & 0x7fffff) | 0x800000, digits = significand >> (16 - 8 * part) & 0xff;
        uint32_t lead = digits ? 31 - (uint32_t) __builtin_clz(digits) : 0, exponent = (bits >> 23 & 0xff) + lead - 7 - 8 * part;

        return digits ? (uint16_t) (bits >> 31 << 15 | exponent << 7 | (digits << (7 - lead) & 0x7f)) : 0;
}

typedef struct Tries {
        uint8_t wrong[PSUM_BANKS][PE_COLUMNS];
        bool told[PSUM_BANKS];
} Tries;

static int try_bank(Engine *engine, unsigned core, unsigned pattern, unsigned bank, Tries *tries) {
        static uint16_t weights[ROWS * PE_COLUMNS], values[PATTERNS][ROWS * MOVING_MAX];
        const EngineJob job = {
                .load = { .rows = ROWS, .columns = PE_COLUMNS, .format = FORMAT_BF16 },
                .matmul = { .moving = MOVING_MAX, .flags = MATMUL_OVERWRITE, .format = FORMAT_BF16, .bank = (uint8_t) bank },
                .moving_rows = ROWS,
                .weights = weights, .values = values[pattern],
                .weights_bytes = sizeof(weights), .values_bytes = sizeof(values[pattern]),
        };
        uint32_t golden[MOVING_MAX];
        unsigned unsupported;
        int r;

        for (unsigned i = 0; i < ROWS * PE_COLUMNS; i++)
                weights[i] = 0x3f80; /* 1 */
        for (unsigned n = 0; n < MOVING_MAX; n++) {
                golden[n] = number_at(pattern, n);
                for (unsigned row = 0; row < ROWS; row++)
                        values[pattern][row * MOVING_MAX + n] = part_of(golden[n], row);
        }

        r = engine_run(engine, &job, 1u << core, &unsupported);
        if (r < 0 || unsupported)
                return r;
        for (unsigned column = 0; column < PE_COLUMNS; column++)
                tries->wrong[bank][column] = (uint8_t) (tries->wrong[bank][column] +
                                                        (memcmp(engine->out[core] + (size_t) column * MOVING_MAX, golden, sizeof(golden)) != 0));
        tries->told[bank] = tries->told[bank] || engine->told >> core & 1;
        return 0;
}

static unsigned count_wrong(const Tries *tries, unsigned bank) {
        unsigned n = tries->told[bank];

        for (unsigned column = 0; column < PE_COLUMNS; column++)
                n += tries->wrong[bank][column] > 0;
        return n;
}

static bool bank_is_worse(const Tries *tries, unsigned bank, unsigned best) {
        if (tries->told[bank] && !tries->told[best])
                return true;
        for (unsigned column = 0; column < PE_COLUMNS; column++)
                if (tries->wrong[bank][column] >= AGAIN && tries->wrong[best][column] == 0)
                        return true;
        return false;
}

int bank_choose(Engine *engine, unsigned core, unsigned avoided, unsigned *ret) {
        Tries tries = {};
        unsigned best = (unsigned) __builtin_ctz(~avoided) % PSUM_BANKS;

        engine_forget(engine);
        for (unsigned i = 0; i < ROUNDS * PATTERNS * PSUM_BANKS; i++) {
                int r;

                r = try_bank(engine, core, i / PSUM_BANKS % PATTERNS, i % PSUM_BANKS, &tries);
                if (r < 0)
                        return r;
        }

        for (unsigned bank = best + 1; bank < PSUM_BANKS; bank++)
                if (!(avoided >> bank & 1) && count_wrong(&tries, bank) < count_wrong(&tries, best))
                        best = bank;
        *ret = avoided ? best : BANK_ANY;
        for (unsigned bank = 0; bank < PSUM_BANKS; bank++)
                if (bank_is_worse(&tries, bank, best))
                        *ret = best;
        return 0;
}
