/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/sram/arrays.h"

static const char *const paths[_ARRAY_MAX] = {
        [ARRAY_SBUF] = "assay/sram/sbuf/geometry",
        [ARRAY_PSUM] = "assay/sram/psum/geometry",
};

int sram_geometry(Device *device, unsigned chip, WireArray array, MemoryGeometry *ret) {
        char text[ATTRIBUTE_TEXT_MAX];
        MemoryGeometry geometry;
        int r;

        r = device_attribute(device, chip, paths[array], text);
        if (r < 0)
                return r;
        if (memory_geometry_parse(text, &geometry) < 0)
                return -EPROTO;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++)
                if (geometry.size[axis] != 1 && axis != SRAM_PARTITION && axis != SRAM_BANK && axis != SRAM_ROW)
                        return -EPROTO;

        *ret = geometry;
        return 0;
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
