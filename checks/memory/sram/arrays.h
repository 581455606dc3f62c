/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SramArrays
 *
 * The 16 arrays of a chip by number, and their places. A block is what a partition has of one bank: rows of one access each
 * that share bit lines and a row decoder. SBUF is one bank.
 */

#include "checks/port/device-memory.h"

#define SRAM_ARRAYS (_ARRAY_MAX * CORES)

static inline unsigned sram_number(unsigned core, WireArray array) {
        return (unsigned) array * CORES + core;
}

static inline unsigned sram_core(unsigned number) {
        return number % CORES;
}

static inline WireArray sram_array(unsigned number) {
        return (WireArray) (number / CORES);
}

typedef enum SramCode { /* that guards an array */
        SRAM_CODE_NONE,
        SRAM_CODE_PARITY,
        SRAM_CODE_SECDED,
        _SRAM_CODE_MAX,
} SramCode;

/* What the chip says of the arrays of its cores. -EPROTO where that is no geometry of one or no code, -ENOENT where it says
 * nothing. */
int sram_ask(Device *device, unsigned chip, MemoryGeometry geometry[static _ARRAY_MAX], SramCode codes[static _ARRAY_MAX]);

uint32_t sram_blocks(const MemoryGeometry *geometry); /* how many: partition × banks + bank */
uint32_t sram_rows(const MemoryGeometry *geometry);   /* of a block */
WireBox sram_block_box(const MemoryGeometry *geometry, uint32_t block);

/* UNIT with the core, and the array or bank that AT lies in; *ret is the core where the grammar has no such bank. */
void sram_locate_bank(const Location *unit, unsigned number, const uint16_t at[static _MEMORY_AXIS_MAX], Location *ret);
/* The same with the partition, and with the row. */
void sram_locate_partition(const Location *unit, unsigned number, const uint16_t at[static _MEMORY_AXIS_MAX], Location *ret);
void sram_locate_row(const Location *unit, unsigned number, const uint16_t at[static _MEMORY_AXIS_MAX], Location *ret);
