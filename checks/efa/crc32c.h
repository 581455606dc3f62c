/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* CRC32C (Castagnoli, as iSCSI and RFC 3720 have it), and the payload that a packet should carry: see wire.h. */

#include <stddef.h>
#include <stdint.h>

uint32_t crc32c(const void *bytes, size_t n);
/* The same without the processor's own instruction. */
uint32_t crc32c_plain(const void *bytes, size_t n);

#define EXPECTED_MAX 8192u /* bytes of a payload */

void expected_payload(uint64_t seed, uint32_t flow, uint32_t sequence, uint32_t n_bytes, uint8_t *ret);
/* Its CRC, and the same without the processor's own instruction. */
uint32_t expected_crc(uint64_t seed, uint32_t flow, uint32_t sequence, uint32_t n_bytes);
uint32_t expected_crc_plain(uint64_t seed, uint32_t flow, uint32_t sequence, uint32_t n_bytes);
