/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Commands of the tensor engine (see wire.h). WEIGHTS, TAGS, VALUES and OUT are pieces of the device's window. */

#include <stdbool.h>

#include "checks/port/device.h"

/* WEIGHTS is load.rows × load.columns numbers of load.format, twice as many in double rows. TAGS, with LOAD_SPARSE only, is
 * load.rows × device_tag_words() words; their place goes into load.tags_offset. */
WireCommand device_load_command(const Device *device, unsigned core, WireLoad load, const void *weights,
                                const uint16_t *tags);

static inline unsigned device_tag_words(unsigned columns) {
        return (columns + 3) / 4;
}

/* MOVING_ROWS × matmul.moving numbers of matmul.format in (in double rows twice the rows that are loaded), COLUMNS (of what is
 * loaded) × matmul.moving out; with OUT NULL the sums stay in PSUM. */
WireCommand device_matmul_command(const Device *device, unsigned core, WireMatmul matmul, unsigned moving_rows,
                                  const void *values, unsigned columns, uint32_t *out);

/* Whether a matmul wrote all of its output: also where reads of PSUM told of errors that its code could not correct. */
bool device_matmul_is_complete(const WireCommand *command, const WireCompletion *completion);
