/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/sram/arrays.h"

#include <string.h>

#include "checks/text/cleanup.h"

#define BLOCKS_MAX 65536u /* of an array that can be */

static const char *const code_words[_SRAM_CODE_MAX] = {
        [SRAM_CODE_NONE] = "none", [SRAM_CODE_PARITY] = "parity", [SRAM_CODE_SECDED] = "secded",
};

static int read_geometry(const char *text, MemoryGeometry *ret) {
        MemoryGeometry geometry;

        if (memory_geometry_parse(text, &geometry) < 0)
                return -EPROTO;
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                if (geometry.size[axis] != 1 && axis != SRAM_PARTITION && axis != SRAM_BANK && axis != SRAM_ROW)
                        return -EPROTO;
        if (sram_blocks(&geometry) > BLOCKS_MAX)
                return -EPROTO;

        *ret = geometry;
        return 0;
}

static int read_code(const char *text, SramCode *ret) {
        for (SramCode code = 0; code < _SRAM_CODE_MAX; code++)
                if (strcmp(text, code_words[code]) == 0) {
                        *ret = code;
                        return 0;
                }
        return -EPROTO;
}

int sram_ask(Device *device, unsigned chip, MemoryGeometry geometry[static _ARRAY_MAX], SramCode codes[static _ARRAY_MAX]) {
        static const char *const paths[2 * _ARRAY_MAX] = {
                [ARRAY_SBUF] = "assay/sram/sbuf/geometry", [_ARRAY_MAX + ARRAY_SBUF] = "assay/sram/sbuf/ecc",
                [ARRAY_PSUM] = "assay/sram/psum/geometry", [_ARRAY_MAX + ARRAY_PSUM] = "assay/sram/psum/ecc",
        };
        char texts[ELEMENTS(paths)][ATTRIBUTE_TEXT_MAX];
        int errors[ELEMENTS(paths)], r;

        r = device_attributes(device, chip, paths, ELEMENTS(paths), texts, errors);
        for (unsigned i = 0; i < ELEMENTS(paths) && r >= 0; i++)
                r = errors[i];
        for (unsigned array = 0; array < _ARRAY_MAX && r >= 0; array++) {
                r = read_geometry(texts[array], &geometry[array]);
                if (r >= 0)
                        r = read_code(texts[_ARRAY_MAX + array], &codes[array]);
        }
        return r;
}

uint32_t sram_blocks(const MemoryGeometry *geometry) {
        return geometry->accesses / sram_rows(geometry);
}

uint32_t sram_rows(const MemoryGeometry *geometry) {
        return geometry->size[SRAM_ROW];
}

WireBox sram_block_box(const MemoryGeometry *geometry, uint32_t block) {
        WireBox box;

        memory_geometry_at(geometry, block * sram_rows(geometry), box.first);
        memory_geometry_at(geometry, (block + 1) * sram_rows(geometry) - 1, box.last);
        return box;
}

void sram_locate_bank(const Location *unit, unsigned number, const uint16_t at[static _MEMORY_AXIS_MAX], Location *ret) {
        bool psum = sram_array(number) == ARRAY_PSUM;

        *ret = *unit;
        (void) location_append(ret, LOCATION_CORE, sram_core(number));
        (void) location_append(ret, psum ? LOCATION_PSUM : LOCATION_SBUF, psum ? at[SRAM_BANK] : 0);
}

void sram_locate_partition(const Location *unit, unsigned number, const uint16_t at[static _MEMORY_AXIS_MAX], Location *ret) {
        bool psum = sram_array(number) == ARRAY_PSUM;

        sram_locate_bank(unit, number, at, ret);
        (void) location_append(ret, psum ? LOCATION_PSUM_PARTITION : LOCATION_SBUF_PARTITION, at[SRAM_PARTITION]);
}

void sram_locate_row(const Location *unit, unsigned number, const uint16_t at[static _MEMORY_AXIS_MAX], Location *ret) {
        sram_locate_partition(unit, number, at, ret);
        (void) location_append(ret, LOCATION_SRAM_ROW, at[SRAM_ROW]);
}
