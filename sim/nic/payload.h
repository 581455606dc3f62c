/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Payload: what the packets of a flow carry (see wire.h), and its CRC32C without ever making the bytes. */

#include <stdint.h>

#define PAYLOAD_MAX 8192u

/* splitmix64 */
static inline uint64_t payload_hash(uint64_t x) {
        x += UINT64_C(0x9e3779b97f4a7c15);
        x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
        x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
        return x ^ x >> 31;
}

/* All calls below take the base of one packet. */
static inline uint64_t payload_base(uint64_t seed, uint32_t flow, uint32_t sequence) {
        return payload_hash(seed ^ (uint64_t) flow << 32 ^ sequence);
}

uint32_t payload_crc(uint64_t base, uint32_t n_bytes);
void payload_write(uint64_t base, uint32_t n_bytes, uint8_t *bytes);
/* Writes the payload with the bit that DRAW chooses wrong, and returns the CRC of it as it is then. */
uint32_t payload_corrupt(uint64_t base, uint32_t n_bytes, uint64_t draw, uint8_t *bytes);
