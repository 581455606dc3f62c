/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "sim/nic/payload.h"

#define STEP UINT64_C(0x9e3779b97f4a7c15)

/* Word I of the payload. */
static uint64_t payload_word(uint64_t base, uint32_t i) {
        uint64_t x = base + i * STEP;

        return x ^ x >> 32;
}

/* Castagnoli, reflected: 0x82f63b78. One table entry per byte value, eight bytes at a time where the CPU can. */
static uint32_t crc_table[256];

__attribute__((constructor)) static void crc_table_fill(void) {
        for (uint32_t i = 0; i < 256; i++) {
                uint32_t crc = i;

                for (unsigned bit = 0; bit < 8; bit++)
                        crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0x82f63b78) : 0);
                crc_table[i] = crc;
        }
}

static uint32_t crc_bytes(uint32_t crc, uint64_t word, unsigned n_bytes) {
        for (unsigned i = 0; i < n_bytes; i++)
                crc = crc >> 8 ^ crc_table[(crc ^ word >> 8 * i) & 0xff];

        return crc;
}

static uint32_t payload_crc_plain(uint64_t base, uint32_t n_bytes) {
        uint32_t crc = UINT32_MAX;

        for (uint32_t i = 0; i < n_bytes; i += 8)
                crc = crc_bytes(crc, payload_word(base, i / 8), n_bytes - i < 8 ? n_bytes - i : 8);

        return ~crc;
}

#ifdef __x86_64__
/* Long payloads are three parts of so many words, and a rest. The parts go side by side, since each step of a CRC waits for the last one. */
#define PART 160u

/* What the bits of a CRC are a part of zeros later: a sum of these columns. */
static uint32_t part_columns[32];
static uint32_t part_table[4][256];

__attribute__((constructor, target("sse4.2"))) static void part_table_fill(void) {
        if (!__builtin_cpu_supports("sse4.2"))
                return;
        for (unsigned bit = 0; bit < 32; bit++) {
                uint64_t crc = UINT64_C(1) << bit;

                for (unsigned i = 0; i < PART; i++)
                        crc = __builtin_ia32_crc32di(crc, 0);
                part_columns[bit] = (uint32_t) crc;
        }
        for (unsigned i = 0; i < 4 * 256; i++)
                for (unsigned bit = 0; bit < 8; bit++)
                        part_table[i / 256][i % 256] ^= i >> bit & 1 ? part_columns[i / 256 * 8 + bit] : 0;
}

static uint32_t crc_behind_part(uint64_t crc, uint64_t part) {
        return part_table[0][(uint8_t) crc] ^ part_table[1][(uint8_t) (crc >> 8)] ^ part_table[2][(uint8_t) (crc >> 16)] ^
               part_table[3][(uint8_t) (crc >> 24)] ^ (uint32_t) part;
}

__attribute__((target("sse4.2"))) static uint32_t payload_crc_sse(uint64_t x, uint32_t n_bytes) {
        uint64_t crc = UINT32_MAX, word;
        uint32_t left = n_bytes / 8;

        for (; left >= 3 * PART; left -= 3 * PART, x += 2 * PART * STEP) {
                uint64_t b = 0, c = 0;

                for (unsigned i = 0; i < PART; i++, x += STEP) {
                        crc = __builtin_ia32_crc32di(crc, payload_word(x, 0));
                        b = __builtin_ia32_crc32di(b, payload_word(x, PART));
                        c = __builtin_ia32_crc32di(c, payload_word(x, 2 * PART));
                }
                crc = crc_behind_part(crc_behind_part(crc, b), c);
        }
        for (; left > 0; left--, x += STEP)
                crc = __builtin_ia32_crc32di(crc, payload_word(x, 0));
        word = payload_word(x, 0);
        for (unsigned i = 0; i < n_bytes % 8; i++, word >>= 8)
                crc = __builtin_ia32_crc32qi((uint32_t) crc, (uint8_t) word);

        return ~(uint32_t) crc;
}
#endif

uint32_t payload_crc(uint64_t base, uint32_t n_bytes) {
#ifdef __x86_64__
        if (__builtin_cpu_supports("sse4.2"))
                return payload_crc_sse(base, n_bytes);
#endif
        return payload_crc_plain(base, n_bytes);
}

void payload_write(uint64_t base, uint32_t n_bytes, uint8_t *bytes) {
        for (uint32_t i = 0; i < n_bytes; i += 8) {
                uint64_t word = payload_word(base, i / 8);

                memcpy(bytes + i, &word, n_bytes - i < 8 ? n_bytes - i : 8);
        }
}

/* One wrong bit: the CRC of the payload as it arrived. */
uint32_t payload_corrupt(uint64_t base, uint32_t n_bytes, uint64_t draw, uint8_t *bytes) {
        uint64_t bit = draw % ((uint64_t) n_bytes * 8);
        uint32_t crc = UINT32_MAX;

        payload_write(base, n_bytes, bytes);
        bytes[bit / 8] ^= (uint8_t) (1u << bit % 8);
        for (uint32_t i = 0; i < n_bytes; i++)
                crc = crc_bytes(crc, bytes[i], 1);

        return ~crc;
}
