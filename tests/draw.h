/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Numbers that are the same in every run: xorshift (Marsaglia 2003) from a seed that the test sets and tells. */

#include <stdint.h>

static uint64_t seed = 0x9e3779b97f4a7c15;

static inline uint32_t draw(void) {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        return (uint32_t) (seed >> 16);
}
