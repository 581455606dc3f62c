/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Payload: what the packets of a flow carry (see wire.h), and its CRC32C without ever making the bytes. */

#include <stdint.h>

#define PAYLOAD_MAX 8192u

uint64_t payload_hash(uint64_t x); /* splitmix64 */

/* All calls below take the base of one packet. */
uint64_t payload_base(uint64_t seed, uint32_t flow, uint32_t sequence);
uint32_t payload_crc(uint64_t base, uint32_t n_bytes);
void payload_write(uint64_t base, uint32_t n_bytes, uint8_t *bytes);
/* Writes the payload with the bit that DRAW chooses wrong, and returns the CRC of it as it is then. */
uint32_t payload_corrupt(uint64_t base, uint32_t n_bytes, uint64_t draw, uint8_t *bytes);
