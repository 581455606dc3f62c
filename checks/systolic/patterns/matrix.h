/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Matrix
 *
 * Where the numbers of patterns lie: as the device takes them, by format. They live as long as the process.
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"

/* Zeros, of room that is there from the beginning: no call fails. */
void *matrix_new(size_t n_bytes);

/* Number I of MATRIX as the image of a register (wire.h), and back. */
static inline uint32_t matrix_get(WireFormat format, const void *matrix, size_t i) {
        switch (format) {

        case FORMAT_FP32:
                return ((const uint32_t *) matrix)[i];

        case FORMAT_TF32:
                return ((const uint32_t *) matrix)[i] & ~0x1fffu;

        case FORMAT_BF16:
        case FORMAT_FP16:
                return ((const uint16_t *) matrix)[i];

        case FORMAT_FP8_E4M3:
        case FORMAT_FP8_E5M2:
        case FORMAT_FP8_E3M4:
        case _FORMAT_MAX:
                break;
        }

        return ((const uint8_t *) matrix)[i];
}

void matrix_set(WireFormat format, void *matrix, size_t i, uint32_t image);
