/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The codes of the SRAM arrays once more, from the words of sim/sram/ecc.h and one bit at a time: what a decoder makes of the
 * wrong bits of a word, which for linear codes is all that counts.
 */

#include <stdint.h>

typedef struct PlainWord {
        uint64_t wrong; /* the bits that are wrong behind it */
        unsigned corrected, uncorrected;
} PlainWord;

/* Column i of SECDED. */
static __attribute__((unused)) unsigned plain_column(unsigned i) {
        unsigned n = 0;

        if (i >= 56)
                return (0x1fu << (i - 56) | 0x1fu >> (64 - i)) & 0xff;
        for (unsigned byte = 0;; byte++)
                if (__builtin_popcount(byte) == 3 && n++ == i)
                        return byte;
}

static __attribute__((unused)) PlainWord plain_secded(uint64_t wrong) {
        static unsigned columns[64];
        unsigned syndrome = 0;

        for (unsigned i = 0; i < 64 && columns[63] == 0; i++)
                columns[i] = plain_column(i);
        for (unsigned i = 0; i < 64; i++)
                if (wrong >> i & 1)
                        syndrome ^= columns[i];
        if (syndrome == 0)
                return (PlainWord) { wrong, 0, 0 };
        for (unsigned i = 0; i < 64; i++)
                if (columns[i] == syndrome)
                        return (PlainWord) { wrong ^ UINT64_C(1) << i, 1, 0 };
        for (unsigned i = 0; i < 8; i++)
                if (1u << i == syndrome)
                        return (PlainWord) { wrong, 1, 0 };
        return (PlainWord) { wrong, 0, 1 };
}

static __attribute__((unused)) PlainWord plain_parity(uint64_t wrong) {
        unsigned odd[2] = {};

        for (unsigned i = 0; i < 64; i++)
                odd[i / 32] += wrong >> i & 1;
        return (PlainWord) { wrong, 0, odd[0] % 2 + odd[1] % 2 };
}
