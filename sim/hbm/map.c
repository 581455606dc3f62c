/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/hbm/map.h"

#include <errno.h>
#include <stdio.h>

/* Low to high above the byte. */
static const uint8_t digits[_MEMORY_AXIS_MAX] = {
        HBM_CHANNEL, HBM_PSEUDO_CHANNEL, HBM_BANK_GROUP, HBM_BANK, HBM_COLUMN, HBM_ROW, HBM_SID,
};

/* Each row bit moves at least one of them, and a step of any power of two of rows a different one. */
static const uint16_t channel_masks[HBM_MAP_BITS_MAX] = { 0x1111, 0x2222, 0x4444, 0x0888 };
static const uint16_t group_masks[HBM_MAP_BITS_MAX] = { 0x1249, 0x2492 };

static void axis_init(HbmMapAxis *axis, unsigned size, const uint16_t masks[static HBM_MAP_BITS_MAX]) {
        *axis = (HbmMapAxis) {};
        if ((size & (size - 1)) != 0)
                return;
        while (size >> (axis->n_bits + 1) && axis->n_bits < HBM_MAP_BITS_MAX) {
                axis->masks[axis->n_bits] = masks[axis->n_bits];
                axis->n_bits++;
        }
}

void hbm_map_init(HbmMap *map, const MemoryShape *shape) {
        axis_init(&map->channel, shape->size[HBM_CHANNEL], channel_masks);
        axis_init(&map->group, shape->size[HBM_BANK_GROUP], group_masks);
}

static size_t axis_format(const HbmMapAxis *axis, const char *name, char *text, size_t size) {
        size_t n = (size_t) snprintf(text, size, "%s", name);

        for (unsigned i = 0; i < axis->n_bits; i++)
                n += (size_t) snprintf(text + n, size - n, " %04x", axis->masks[i]);
        return n;
}

char *hbm_map_format(const HbmMap *map, char text[static HBM_MAP_TEXT_MAX]) {
        size_t n = axis_format(&map->channel, "channel", text, HBM_MAP_TEXT_MAX);

        (void) axis_format(&map->group, " group", text + n, HBM_MAP_TEXT_MAX - n);
        return text;
}

/* What is XORed to the digit: its own inverse. */
static unsigned axis_hash(const HbmMapAxis *axis, unsigned row) {
        unsigned hash = 0;

        for (unsigned i = 0; i < axis->n_bits; i++)
                hash |= (unsigned) __builtin_parity(row & axis->masks[i]) << i;
        return hash;
}

static void apply_hash(const HbmMap *map, uint16_t at[static _MEMORY_AXIS_MAX]) {
        at[HBM_CHANNEL] ^= (uint16_t) axis_hash(&map->channel, at[HBM_ROW]);
        at[HBM_BANK_GROUP] ^= (uint16_t) axis_hash(&map->group, at[HBM_ROW]);
}

uint64_t hbm_map_address(const HbmMap *map, const MemoryShape *shape, unsigned stack,
                         const uint16_t at[static _MEMORY_AXIS_MAX]) {
        uint16_t hashed[_MEMORY_AXIS_MAX];
        uint64_t access = 0;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                hashed[axis] = at[axis];
        apply_hash(map, hashed);
        for (unsigned i = _MEMORY_AXIS_MAX; i-- > 0;)
                access = access * shape->size[digits[i]] + hashed[digits[i]];
        return HBM_ADDRESS(stack) + access * MEMORY_ACCESS_BYTES;
}

int hbm_map_locate(const HbmMap *map, const MemoryShape *shape, unsigned stack, uint64_t address,
                   uint16_t ret[static _MEMORY_AXIS_MAX]) {
        uint64_t access = (address - HBM_ADDRESS(stack)) / MEMORY_ACCESS_BYTES;

        if (address < HBM_ADDRESS(stack) || access >= shape->accesses)
                return -ERANGE;
        for (unsigned i = 0; i < _MEMORY_AXIS_MAX; i++) {
                ret[digits[i]] = (uint16_t) (access % shape->size[digits[i]]);
                access /= shape->size[digits[i]];
        }
        apply_hash(map, ret);
        return 0;
}
