/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/sram/ecc.h"

const char *const sram_ecc_words[] = {
        [SRAM_ECC_NONE] = "none", [SRAM_ECC_PARITY] = "parity", [SRAM_ECC_SECDED] = "secded", NULL,
};

/* Row j of the code: the data bits whose parity is check bit j, 26 in each. */
static const uint64_t rows[8] = {
        0xf104225844b12cb7u, 0xe30844a88952555bu, 0xc710893112649a6du, 0x8f2111c22388e38eu,
        0x1f421e043c0f03f0u, 0x3e83e007c00ffc00u, 0x7cfc0007fff00000u, 0xf8fffff800000000u,
};

uint8_t sram_secded_check(uint64_t data) {
        unsigned check = 0;

        for (unsigned j = 0; j < 8; j++)
                check |= (unsigned) __builtin_parityll(data & rows[j]) << j;
        return (uint8_t) check;
}

/* The data bit whose column is SYNDROME; -1: none. */
static int bit_of(unsigned syndrome) {
        uint64_t bits = UINT64_MAX;

        for (unsigned j = 0; j < 8; j++)
                bits &= syndrome >> j & 1 ? rows[j] : ~rows[j];
        return bits ? __builtin_ctzll(bits) : -1;
}

MemoryBits sram_decode_none(MemoryBits got, const MemoryBits *intended, MemoryEccTally *tally) {
        return got;
}

MemoryBits sram_decode_parity(MemoryBits got, const MemoryBits *intended, MemoryEccTally *tally) {
        for (unsigned word = 0; word < 4; word++) {
                uint64_t wrong = got.w[word] ^ intended->w[word];

                tally->uncorrected += (uint64_t) (__builtin_parityll(wrong & UINT32_MAX) + __builtin_parityll(wrong >> 32));
        }
        return got;
}

MemoryBits sram_decode_secded(MemoryBits got, const MemoryBits *intended, MemoryEccTally *tally) {
        for (unsigned word = 0; word < 4; word++) {
                unsigned syndrome = sram_secded_check(got.w[word]) ^ sram_secded_check(intended->w[word]);
                int bit = __builtin_parity(syndrome) ? bit_of(syndrome) : -1;

                if (syndrome == 0)
                        continue;
                if (bit >= 0)
                        got.w[word] ^= UINT64_C(1) << bit;
                /* A lone bit of the syndrome is a check bit that looks wrong: the data are taken to be right. */
                if (bit >= 0 || __builtin_popcount(syndrome) == 1)
                        tally->corrected++;
                else
                        tally->uncorrected++;
        }
        return got;
}
