/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/report/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static unsigned bits_of(unsigned size) {
        return size > 1 && (size & (size - 1)) == 0 ? (unsigned) __builtin_ctz(size) : 0;
}

/* " 1111": a blank and four digits. */
static int read_mask(const char **text, uint16_t *ret) {
        unsigned value = 0;

        if (*(*text)++ != ' ')
                return -EINVAL;
        for (unsigned i = 0; i < 4; i++) {
                char c = *(*text)++;

                if (c >= '0' && c <= '9')
                        value = value << 4 | (unsigned) (c - '0');
                else if (c >= 'a' && c <= 'f')
                        value = value << 4 | (unsigned) (c - 'a' + 10);
                else
                        return -EINVAL;
        }
        *ret = (uint16_t) value;
        return 0;
}

/* The word of an axis and as many masks as it has bits. */
static int read_axis(const char **text, const char *word, MemoryAxis axis, MemoryMap *map) {
        unsigned n = bits_of(map->geometry.size[axis]);
        int r;

        if (n > MEMORY_MAP_MASKS_MAX || strncmp(*text, word, strlen(word)) != 0)
                return -EINVAL;
        *text += strlen(word);
        for (unsigned i = 0; i < n; i++) {
                r = read_mask(text, &map->masks[axis][i]);
                if (r < 0)
                        return r;
        }
        map->n_masks[axis] = (uint8_t) n;
        return 0;
}

int memory_map_parse(const char *text, const MemoryGeometry *geometry, MemoryMap *ret) {
        MemoryMap map = { .geometry = *geometry };

        if (read_axis(&text, "channel", HBM_CHANNEL, &map) < 0 || read_axis(&text, " group", HBM_BANK_GROUP, &map) < 0 || *text)
                return -EINVAL;
        *ret = map;
        return 0;
}

int device_hbm_map(Device *device, unsigned chip, const MemoryGeometry *geometry, MemoryMap *ret) {
        char text[ATTRIBUTE_TEXT_MAX];
        int r;

        r = device_attribute(device, chip, "assay/hbm/map", text);
        if (r < 0)
                return r;

        return memory_map_parse(text, geometry, ret) < 0 ? -EPROTO : 0;
}

/* What bit I of an axis is XORed with. */
static unsigned hash_bit(const MemoryMap *map, unsigned axis, unsigned i, unsigned row) {
        unsigned taken = row & map->masks[axis][i], parity = 0;

        for (; taken; taken &= taken - 1)
                parity ^= 1;
        return parity;
}

static unsigned hash(const MemoryMap *map, unsigned axis, unsigned row) {
        unsigned value = 0;

        for (unsigned i = 0; i < map->n_masks[axis]; i++)
                value += hash_bit(map, axis, i, row) << i;
        return value;
}

/* Low to high in the address. */
static const MemoryAxis fields[_MEMORY_AXIS_MAX] = {
        HBM_CHANNEL, HBM_PSEUDO_CHANNEL, HBM_BANK_GROUP, HBM_BANK, HBM_COLUMN, HBM_ROW, HBM_SID,
};

uint64_t memory_map_address(const MemoryMap *map, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX]) {
        uint64_t address = HBM_ADDRESS(stack), weight = MEMORY_ACCESS_BYTES;

        for (unsigned i = 0; i < _MEMORY_AXIS_MAX; i++) {
                address += (at[fields[i]] ^ hash(map, fields[i], at[HBM_ROW])) * weight;
                weight *= map->geometry.size[fields[i]];
        }
        return address;
}

char *memory_map_format(const MemoryMap *map, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX],
                        char text[static MEMORY_ADDRESS_TEXT_MAX]) {
        uint16_t whole[_MEMORY_AXIS_MAX];

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                whole[axis] = (uint16_t) (map->origin[axis] + at[axis]);
        (void) snprintf(text, MEMORY_ADDRESS_TEXT_MAX, "0x%" PRIx64, memory_map_address(map, stack, whole));
        return text;
}

int memory_map_at(const MemoryMap *map, unsigned stack, uint64_t address, uint16_t ret[static _MEMORY_AXIS_MAX]) {
        uint64_t bytes = (uint64_t) map->geometry.accesses * MEMORY_ACCESS_BYTES, weight = bytes, rest;

        if (address < HBM_ADDRESS(stack) || address - HBM_ADDRESS(stack) >= bytes)
                return -ERANGE;

        rest = address - HBM_ADDRESS(stack);
        for (unsigned i = _MEMORY_AXIS_MAX; i-- > 0;) {
                weight /= map->geometry.size[fields[i]];
                ret[fields[i]] = (uint16_t) (rest / weight);
                rest %= weight;
        }
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                ret[axis] ^= (uint16_t) hash(map, axis, ret[HBM_ROW]);
        return 0;
}
