/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Matrix
 *
 * Where the numbers of patterns lie: as the device takes them, by format. They live as long as the process.
 */

#include <stddef.h>
#include <stdint.h>

#include "checks/wire.h"

/* Zeros, of room that is there from the beginning: no call fails. */
void *matrix_new(size_t n_bytes);

/* Number I of MATRIX as the image of a register (wire.h), and back. */
uint32_t matrix_get(WireFormat format, const void *matrix, size_t i);
void matrix_set(WireFormat format, void *matrix, size_t i, uint32_t image);
