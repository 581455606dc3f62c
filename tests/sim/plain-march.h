/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What a march writes, reads and goes through, once more from the words of wire.h and one bit at a time; and random things to try
 * it with. For memories that keep every bit, which the simulated ones must be equal to.
 */

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "checks/wire/wire.h"

static uint64_t random_state; /* begins with anything but 0 */

static inline uint64_t random_u64(void) {
        random_state ^= random_state << 13;
        random_state ^= random_state >> 7;
        random_state ^= random_state << 17;
        return random_state * 0x9fb21c651e98df25ull;
}

static inline unsigned below(unsigned n) {
        return (unsigned) ((random_u64() >> 33) % n);
}

static inline unsigned get_bit(const uint8_t *bytes, unsigned bit) {
        return bytes[bit / 8] >> (bit % 8) & 1;
}

static inline void set_bit(uint8_t *bytes, unsigned bit, unsigned value) {
        bytes[bit / 8] = (uint8_t) ((bytes[bit / 8] & ~(1u << bit % 8)) | value << bit % 8);
}

/* ---- places ---- */

static inline unsigned plain_index(const uint16_t size[7], const uint16_t at[7]) {
        unsigned index = 0;

        for (unsigned i = 0; i < 7; i++)
                index = index * size[i] + at[i];
        return index;
}

static inline unsigned plain_volume(const WireBox *box) {
        unsigned total = 1;

        for (unsigned i = 0; i < 7; i++)
                total *= box->last[i] - box->first[i] + 1u;
        return total;
}

/* Access K of BOX from its lowest address on. */
static inline void plain_place(const WireBox *box, MemoryOrder order, unsigned k, uint16_t ret[7]) {
        static const char *const axes[] = { "0123456", "0123465", "0125634" }; /* slowest first */

        for (int i = 6; i >= 0; i--) {
                unsigned axis = (unsigned) (axes[order][i] - '0'), extent = box->last[axis] - box->first[axis] + 1u;

                ret[axis] = (uint16_t) (box->first[axis] + k % extent);
                k /= extent;
        }
}

/* The access that MARCH comes to as number K. */
static inline void plain_visit(const WireMarch *march, unsigned k, uint16_t ret[7]) {
        plain_place(&march->box, (MemoryOrder) march->order, march->descending ? plain_volume(&march->box) - 1 - k : k, ret);
}

/* ---- data ---- */

static inline unsigned plain_background(const uint16_t size[7], const WireMarch *march, const uint16_t at[7], unsigned bit) {
        unsigned row = at[HBM_ROW];
        uint64_t x;

        switch (march->background) {
        case MEMORY_BACKGROUND_SOLID:
                return 0;
        case MEMORY_BACKGROUND_CHECKER:
                return (row ^ bit) & 1;
        case MEMORY_BACKGROUND_ROW_STRIPE:
                return row & 1;
        case MEMORY_BACKGROUND_COLUMN_STRIPE:
                return bit & 1;
        case MEMORY_BACKGROUND_BIT_STRIPE:
                return bit >> march->parameter & 1;
        default:
                x = march->seed ^ (4 * (uint64_t) plain_index(size, at) + bit / 64);
                x += 0x9e3779b97f4a7c15ull;
                x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
                x = (x ^ x >> 27) * 0x94d049bb133111ebull;
                x ^= x >> 31;
                return x >> bit % 64 & 1;
        }
}

/* What an operation OP writes there, or wants to read. */
static inline void plain_data(const uint16_t size[7], const WireMarch *march, const uint16_t at[7], uint8_t op, uint8_t ret[32]) {
        for (unsigned bit = 0; bit < 256; bit++)
                set_bit(ret, bit, plain_background(size, march, at, bit) ^ (op & MARCH_DATA));
}

/* ---- random things ---- */

/* Often up to the edges. */
static inline WireBox random_box(const uint16_t size[7], bool whole) {
        WireBox box;

        for (unsigned i = 0; i < 7; i++) {
                unsigned a = below(size[i]), b = below(size[i]);

                box.first[i] = (uint16_t) (whole || below(3) == 0 ? 0 : a < b ? a : b);
                box.last[i] = (uint16_t) (whole || below(3) == 0 ? size[i] - 1u : a < b ? b : a);
        }
        return box;
}
