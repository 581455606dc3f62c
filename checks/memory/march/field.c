/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/march/field.h"

#include <assert.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"

#define LANE_BYTES 4u /* of 32 lanes; the next 4 bytes are the next beat */

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

/* Its steps backwards, with the inverses of its factors modulo 2^64. */
uint64_t memory_unmix(uint64_t z) {
        z ^= z >> 31 ^ z >> 62;
        z *= UINT64_C(0x319642b2d24d8ec3);
        z ^= z >> 27 ^ z >> 54;
        z *= UINT64_C(0x96de1b173f119089);
        z ^= z >> 30 ^ z >> 60;
        return z - UINT64_C(0x9e3779b97f4a7c15);
}

/* 64-bit words of an access, as wire.h numbers its bits. */
typedef struct Words {
        uint64_t w[MEMORY_ACCESS_BYTES / 8];
} Words;

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "bit b of an access is bit b % 64 of word b / 64");

/* Bit b of the access is bit SHIFT of b: stripes below 6 repeat in a word, the others fill whole words. */
static Words stripe(unsigned shift) {
        static const uint64_t within[] = {
                UINT64_C(0xaaaaaaaaaaaaaaaa), UINT64_C(0xcccccccccccccccc), UINT64_C(0xf0f0f0f0f0f0f0f0),
                UINT64_C(0xff00ff00ff00ff00), UINT64_C(0xffff0000ffff0000), UINT64_C(0xffffffff00000000),
        };
        Words ret;

        for (unsigned i = 0; i < ELEMENTS(ret.w); i++)
                ret.w[i] = shift < 6 ? within[shift] : i >> (shift - 6) & 1 ? UINT64_MAX : 0;
        return ret;
}

static Words by_address(uint64_t seed, uint64_t linear) {
        Words ret;

        for (unsigned i = 0; i < ELEMENTS(ret.w); i++)
                ret.w[i] = memory_mix(seed ^ (linear * 4 + i));
        return ret;
}

MemoryData memory_field_data(const MemoryField *field, const MemoryGeometry *geometry, const uint16_t at[static _MEMORY_AXIS_MAX],
                             unsigned data) {
        uint64_t odd = memory_geometry_absolute(geometry, HBM_ROW, at) & 1u ? UINT64_MAX : 0, invert = data ? UINT64_MAX : 0;
        Words words = {};
        MemoryData ret;

        switch (field->background) {
        case MEMORY_BACKGROUND_SOLID:
                break;
        case MEMORY_BACKGROUND_CHECKER:
                words = stripe(0);
                invert ^= odd;
                break;
        case MEMORY_BACKGROUND_ROW_STRIPE:
                invert ^= odd;
                break;
        case MEMORY_BACKGROUND_COLUMN_STRIPE:
                words = stripe(0);
                break;
        case MEMORY_BACKGROUND_BIT_STRIPE:
                words = stripe(field->parameter);
                break;
        case MEMORY_BACKGROUND_ADDRESS:
                words = by_address(field->seed, memory_geometry_place(geometry, at));
                break;
        case _MEMORY_BACKGROUND_MAX:
                assert(false);
        }

        for (unsigned i = 0; i < ELEMENTS(words.w); i++)
                words.w[i] ^= invert;
        memcpy(ret.bytes, words.w, sizeof(ret.bytes));
        return ret;
}

bool memory_tag_read(const MemoryData *data, MemoryTag *ret) {
        for (unsigned inverted = 0; inverted < 2; inverted++) {
                Words words, own;
                uint64_t index;

                memcpy(words.w, data->bytes, sizeof(words.w));
                for (unsigned i = 0; inverted && i < ELEMENTS(words.w); i++)
                        words.w[i] = ~words.w[i];
                index = memory_unmix(words.w[0]);
                own = by_address(memory_tag_seed(index), (uint32_t) index / 4);
                if (memcmp(own.w, words.w, sizeof(words.w)) != 0)
                        continue;
                *ret = (MemoryTag) { .seed = memory_tag_seed(index), .place = (uint32_t) index / 4, .data = inverted };
                return true;
        }
        return false;
}

unsigned memory_data_count(const MemoryData *bits) {
        unsigned n = 0;

        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                n += (unsigned) __builtin_popcount(bits->bytes[i]);
        return n;
}

char *memory_data_hex(const MemoryData *data, char text[static MEMORY_DATA_TEXT_MAX]) {
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                (void) snprintf(text + 2 * i, 3, "%02x", data->bytes[i]);
        return text;
}

int memory_data_first(const MemoryData *bits) {
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                if (bits->bytes[i])
                        return (int) (8 * i) + __builtin_ctz(bits->bytes[i]);
        return -1;
}

uint32_t memory_data_lanes(const MemoryData *bits) {
        uint32_t lanes = 0;

        for (unsigned i = 0; i < LANE_BYTES; i++) {
                uint8_t all = 0xff;

                for (unsigned beat = 0; beat < MEMORY_ACCESS_BYTES / LANE_BYTES; beat++)
                        all &= bits->bytes[beat * LANE_BYTES + i];
                lanes |= (uint32_t) all << (8 * i);
        }
        return lanes;
}

MemoryData memory_data_without(MemoryData bits, uint32_t lanes) {
        for (unsigned i = 0; i < MEMORY_ACCESS_BYTES; i++)
                bits.bytes[i] &= (uint8_t) ~(lanes >> (8 * (i % LANE_BYTES)));
        return bits;
}
