/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/efa/crc32c.h"

#include <pthread.h>
#include <string.h>

#define CASTAGNOLI UINT32_C(0x82f63b78) /* reflected */

/* slices[k][b]: what byte b does to the remainder k bytes later, so that eight bytes go in one step. */
static uint32_t slices[8][256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_slices(void) {
        for (uint32_t b = 0; b < 256; b++) {
                uint32_t r = b;

                for (unsigned i = 0; i < 8; i++)
                        r = (r >> 1) ^ (CASTAGNOLI & (0u - (r & 1)));
                slices[0][b] = r;
        }
        for (uint32_t b = 0; b < 256; b++)
                for (unsigned k = 1; k < 8; k++)
                        slices[k][b] = slices[k - 1][b] >> 8 ^ slices[0][slices[k - 1][b] & 0xff];
}

uint32_t crc32c_plain(const void *bytes, size_t n) {
        const uint8_t *p = bytes;
        uint32_t crc = ~UINT32_C(0);

        (void) pthread_once(&once, make_slices);
        for (; n >= 8; n -= 8, p += 8) {
                uint32_t low, high;

                memcpy(&low, p, sizeof(low));
                memcpy(&high, p + 4, sizeof(high));
                low ^= crc;
                crc = slices[7][low & 0xff] ^ slices[6][low >> 8 & 0xff] ^ slices[5][low >> 16 & 0xff] ^
                      slices[4][low >> 24] ^ slices[3][high & 0xff] ^ slices[2][high >> 8 & 0xff] ^
                      slices[1][high >> 16 & 0xff] ^ slices[0][high >> 24];
        }
        for (; n > 0; n--)
                crc = crc >> 8 ^ slices[0][(crc ^ *p++) & 0xff];

        return ~crc;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t crc32c_instruction(const uint8_t *p, size_t n) {
        uint64_t crc = ~UINT32_C(0);

        for (; n >= 8; n -= 8, p += 8) {
                uint64_t word;

                memcpy(&word, p, sizeof(word));
                crc = __builtin_ia32_crc32di(crc, word);
        }
        for (; n > 0; n--)
                crc = __builtin_ia32_crc32qi((uint32_t) crc, *p++);

        return ~(uint32_t) crc;
}
#endif

uint32_t crc32c(const void *bytes, size_t n) {
#ifdef __x86_64__
        if (__builtin_cpu_supports("sse4.2"))
                return crc32c_instruction(bytes, n);
#endif
        return crc32c_plain(bytes, n);
}

/* ---- payloads ---- */

#define WORD_STEP UINT64_C(0x9e3779b97f4a7c15)

static uint64_t first_of(uint64_t seed, uint32_t flow, uint32_t sequence) {
        uint64_t z = (seed ^ ((uint64_t) flow << 32 ^ sequence)) + WORD_STEP;

        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        return z ^ (z >> 31);
}

static uint64_t word_of(uint64_t x) {
        return x ^ x >> 32;
}

void expected_payload(uint64_t seed, uint32_t flow, uint32_t sequence, uint32_t n_bytes, uint8_t *ret) {
        uint64_t x = first_of(seed, flow, sequence), word;
        uint32_t i = 0;

        for (; i + sizeof(word) <= n_bytes; i += sizeof(word), x += WORD_STEP) {
                word = word_of(x);
                memcpy(ret + i, &word, sizeof(word));
        }
        word = word_of(x);
        memcpy(ret + i, &word, n_bytes - i);
}

#ifdef __x86_64__
#define STRETCH 168u /* words: three of them are the most that 4095 bytes have */

/* past[k][b]: what byte k of a remainder, b, becomes behind a stretch of zeros. Remainders are linear, so each bit is one of its own. */
static uint32_t past[4][256];
static pthread_once_t past_once = PTHREAD_ONCE_INIT;

__attribute__((target("sse4.2"))) static void make_past(void) {
        for (unsigned bit = 0; bit < 32; bit++) {
                uint64_t crc = UINT64_C(1) << bit;

                for (unsigned i = 0; i < STRETCH; i++)
                        crc = __builtin_ia32_crc32di(crc, 0);
                for (unsigned b = 0; b < 256; b++)
                        if (b >> bit % 8 & 1)
                                past[bit / 8][b] ^= (uint32_t) crc;
        }
}

static uint32_t pass(uint64_t crc) {
        return past[0][crc & 0xff] ^ past[1][crc >> 8 & 0xff] ^ past[2][crc >> 16 & 0xff] ^ past[3][crc >> 24 & 0xff];
}

/* The bytes are never written anywhere. The instruction takes three cycles and can begin in each: three stretches at once. */
__attribute__((target("sse4.2"))) static uint32_t expected_crc_instruction(uint64_t x, uint32_t n_bytes) {
        uint64_t crc = ~UINT32_C(0), word;

        if (n_bytes >= 3 * STRETCH * 8)
                (void) pthread_once(&past_once, make_past);
        for (; n_bytes >= 3 * STRETCH * 8; n_bytes -= 3 * STRETCH * 8, x += 2 * STRETCH * WORD_STEP) {
                uint64_t second = 0, third = 0;

                for (unsigned i = 0; i < STRETCH; i++, x += WORD_STEP) {
                        crc = __builtin_ia32_crc32di(crc, word_of(x));
                        second = __builtin_ia32_crc32di(second, word_of(x + STRETCH * WORD_STEP));
                        third = __builtin_ia32_crc32di(third, word_of(x + 2 * STRETCH * WORD_STEP));
                }
                crc = pass(pass(crc) ^ second) ^ third;
        }
        for (; n_bytes >= 8; n_bytes -= 8, x += WORD_STEP)
                crc = __builtin_ia32_crc32di(crc, word_of(x));
        word = word_of(x);
        for (; n_bytes > 0; n_bytes--, word >>= 8)
                crc = __builtin_ia32_crc32qi((uint32_t) crc, (uint8_t) word);

        return ~(uint32_t) crc;
}
#endif

uint32_t expected_crc_plain(uint64_t seed, uint32_t flow, uint32_t sequence, uint32_t n_bytes) {
        uint8_t payload[EXPECTED_MAX];

        expected_payload(seed, flow, sequence, n_bytes, payload);
        return crc32c_plain(payload, n_bytes);
}

uint32_t expected_crc(uint64_t seed, uint32_t flow, uint32_t sequence, uint32_t n_bytes) {
#ifdef __x86_64__
        if (__builtin_cpu_supports("sse4.2"))
                return expected_crc_instruction(first_of(seed, flow, sequence), n_bytes);
#endif
        return expected_crc_plain(seed, flow, sequence, n_bytes);
}
