/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/march/field.h"

#include <assert.h>
#include <stdbool.h>

uint64_t memory_mix(uint64_t x) {
        /* Steele, Lea, Flood 2014: the finaliser of SplitMix. */
        uint64_t z = x + UINT64_C(0x9e3779b97f4a7c15);

        z ^= z >> 30;
        z *= UINT64_C(0xbf58476d1ce4e5b9);
        z ^= z >> 27;
        z *= UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        return z;
}

/* Byte i of an access by address: byte i % 8, low first, of the hash of its word's place in its part. */
static void fill_address(MemoryData *ret, uint64_t seed, uint64_t linear) {
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                ret->bytes[i] = (uint8_t) (memory_mix(seed ^ (linear * 4 + i / 8)) >> (8 * (i % 8)));
}

/* Bit k of every byte is bit 8 × i + k of the access: stripes below 3 repeat in a byte, the others fill whole bytes. */
static void fill_stripe(MemoryData *ret, unsigned shift) {
        static const uint8_t within[] = { 0xaa, 0xcc, 0xf0 };

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                ret->bytes[i] = shift < 3 ? within[shift] : i >> (shift - 3) & 1 ? 0xff : 0;
}

MemoryData memory_field_data(const MemoryField *field, const MemoryGeometry *geometry, const uint16_t at[static _MEMORY_AXIS_MAX],
                       unsigned data) {
        unsigned odd = at[HBM_ROW] & 1u;
        uint8_t invert = data ? 0xff : 0;
        MemoryData ret = {};

        switch (field->background) {
        case MEMORY_BACKGROUND_SOLID:
                break;
        case MEMORY_BACKGROUND_CHECKER:
                fill_stripe(&ret, 0);
                invert ^= odd ? 0xff : 0;
                break;
        case MEMORY_BACKGROUND_ROW_STRIPE:
                invert ^= odd ? 0xff : 0;
                break;
        case MEMORY_BACKGROUND_COLUMN_STRIPE:
                fill_stripe(&ret, 0);
                break;
        case MEMORY_BACKGROUND_BIT_STRIPE:
                fill_stripe(&ret, field->parameter);
                break;
        case MEMORY_BACKGROUND_ADDRESS:
                fill_address(&ret, field->seed, memory_geometry_linear(geometry, at));
                break;
        case _MEMORY_BACKGROUND_MAX:
                assert(false);
        }

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                ret.bytes[i] ^= invert;
        return ret;
}
