/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmLarger
 *
 * Defects that are larger than a row fail in rows that were repaired, too, and that is no fault of the repair.
 */

#include "checks/memory/hbm/classify/classify.h"

/* Whether each bit in which ACTUAL is not EXPECTED, at AT of STACK, is of one of DEFECTS that no spare row mends. */
bool hbm_larger_explains(const HbmDefects *defects, unsigned stack, const uint16_t at[static _MEMORY_AXIS_MAX], const MemoryData *expected,
                         const MemoryData *actual);
