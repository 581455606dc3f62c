/* SPDX-License-Identifier: Apache-2.0 */

/*
 * On-die ECC: a shortened Reed-Solomon code over GF(2^16), the field of x^16 + x^12 + x^3 + x + 1. The 16 symbols of an access
 * (symbol i: bits 16 i … 16 i + 15, one sub-wordline) and two check symbols are a word of the code whose roots are 1 and
 * a, a root of that polynomial: sum r_i = 0 and sum r_i a^i = 0, distance 3. One wrong symbol is put right. Of two most are
 * seen, but 16 in 65536 look like one elsewhere: then that one is changed as well, and counted as corrected.
 *
 * The code is linear, so what a decoder does depends on the difference alone; check symbols lie where no fault of this model
 * reaches (see faults.c), so their difference is zero, and only words that differ need a decoder.
 */

#include "sim/hbm/hbm.h"

#define SYMBOLS       16u
#define CHECK_SYMBOLS 2u
#define REDUCTION     0x100bu /* x^16 */

static uint16_t symbol_of(const MemoryBits *bits, unsigned i) {
        return (uint16_t) (bits->w[i / 4] >> (i % 4 * 16));
}

static uint16_t times_a(uint16_t x) {
        return (uint16_t) (x << 1 ^ (x & 0x8000 ? REDUCTION : 0));
}

/* Where the one wrong symbol would have to be; as many as there are symbols: nowhere. */
static unsigned locate(uint16_t sum, uint16_t weighted) {
        unsigned position = 0;

        if (sum == 0)
                return SYMBOLS + CHECK_SYMBOLS;
        for (; position < SYMBOLS + CHECK_SYMBOLS && sum != weighted; position++)
                sum = times_a(sum);
        return position;
}

MemoryBits hbm_decode(MemoryBits got, const MemoryBits *intended, MemoryEccTally *tally) {
        uint16_t sum = 0, weighted = 0;
        MemoryBits difference;
        uint64_t differs = 0;
        unsigned position;

        for (unsigned word = 0; word < 4; word++)
                differs |= difference.w[word] = got.w[word] ^ intended->w[word];
        if (!differs)
                return got;

        for (unsigned i = SYMBOLS; i-- > 0;) {
                sum ^= symbol_of(&difference, i);
                weighted = times_a(weighted) ^ symbol_of(&difference, i);
        }

        if (sum == 0 && weighted == 0)
                return got; /* another word of the code */
        position = locate(sum, weighted);
        if (position == SYMBOLS + CHECK_SYMBOLS) {
                tally->uncorrected++;
                return got;
        }

        tally->corrected++;
        if (position < SYMBOLS)
                got.w[position / 4] ^= (uint64_t) sum << (position % 4 * 16);
        return got;
}
