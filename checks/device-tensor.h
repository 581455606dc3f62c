/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Commands of the tensor engine (see wire.h), bf16. WEIGHTS, TAGS, MOVING and OUT are pieces of the device's
 * window. */

#include <stdbool.h>

#include "checks/device.h"

/* WEIGHTS is rows × columns. */
WireCommand device_load_command(const Device *device, unsigned core, const uint16_t *weights, unsigned rows,
                                unsigned columns);

/* The same, compressed KEEP of GROUP, with rows × device_tag_words() words of TAGS. */
WireCommand device_load_sparse_command(const Device *device, unsigned core, const uint16_t *weights,
                                       const uint16_t *tags, unsigned rows, unsigned columns, unsigned keep,
                                       unsigned group);

static inline unsigned device_tag_words(unsigned columns) {
        return (columns + 3) / 4;
}

/* MOVING_ROWS × MOVING numbers in, COLUMNS (of what is loaded) × MOVING out; BANK of PSUM is overwritten. */
WireCommand device_matmul_command(const Device *device, unsigned core, const uint16_t *values,
                                  unsigned moving_rows, unsigned moving, uint32_t *out, unsigned columns,
                                  unsigned bank);

/* Whether a matmul succeeded and wrote all of its output. */
bool device_matmul_is_complete(const WireCommand *command, const WireCompletion *completion);
