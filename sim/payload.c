/* SPDX-License-Identifier: Apache-2.0 */

#include <string.h>

#include "sim/payload.h"

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
__attribute__((target("sse4.2"))) static uint32_t payload_crc_sse(uint64_t base, uint32_t n_bytes) {
        uint64_t crc = UINT32_MAX, word;
        uint32_t whole = n_bytes / 8;

        for (uint32_t i = 0; i < whole; i++)
                crc = __builtin_ia32_crc32di(crc, payload_word(base, i));
        word = payload_word(base, whole);
        for (uint32_t i = 0; i < n_bytes % 8; i++, word >>= 8)
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
