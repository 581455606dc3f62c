/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/systolic/patterns/matrix.h"

#include <assert.h>

#define ROOM_BYTES (48u << 20) /* for all patterns; pages that nobody touches cost nothing */

static _Alignas(64) uint8_t room[ROOM_BYTES];
static size_t used;

void *matrix_new(size_t n_bytes) {
        void *matrix = room + used;

        assert(n_bytes <= ROOM_BYTES - used);

        used += (n_bytes + 63) / 64 * 64;
        return matrix;
}

/* Bits that a tf32 does not have, and a core that takes it for fp32 does; never none. */
static uint32_t ignored(size_t i) {
        return (uint32_t) (i * 0x9e3779b1u) >> 19 | 1;
}

void matrix_set(WireFormat format, void *matrix, size_t i, uint32_t image) {
        switch (wire_format_bytes(format)) {

        case 4:
                ((uint32_t *) matrix)[i] = image | (format == FORMAT_TF32 ? ignored(i) : 0);
                return;

        case 2:
                ((uint16_t *) matrix)[i] = (uint16_t) image;
                return;
        }

        ((uint8_t *) matrix)[i] = (uint8_t) image;
}
