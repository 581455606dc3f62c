/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * SramEcc
 *
 * What guards the words of an SRAM array. Of Trainium2 it is known that some arrays are guarded by parity and others count
 * corrected errors, not which, nor over how many bits: the widths and the code here are ours.
 *
 *  - SECDED: a Hsiao code (72,64), an odd-weight-column code (Hsiao 1970). Data bit i of a word of 64 has the i-th smallest of
 *    the 56 bytes with three bits set as its column, and bits 56 … 63 have the rotations of 0x1f to the left. One wrong bit is
 *    put right; two are told and passed on; three or more look like one bit that is not wrong and make it so, look like two, or
 *    like none.
 *  - Parity: one bit for each word of 32, an FP32 of PSUM. An odd number of wrong bits is told, an even one is not. Nothing is
 *    put right.
 *
 * Check bits lie in columns of their own: faults of cells, rows and columns are faults of data bits.
 */

#include "sim/memory/cells/memory.h"

extern const char *const sram_ecc_words[]; /* by SramEcc, ends with NULL */

/* The check bits of a word. */
uint8_t sram_secded_check(uint64_t data);

/* As MemoryRules.decode: an access of four words of 64, or eight of 32. */
MemoryBits sram_decode_none(MemoryBits got, const MemoryBits *intended, MemoryEccTally *tally);
MemoryBits sram_decode_parity(MemoryBits got, const MemoryBits *intended, MemoryEccTally *tally);
MemoryBits sram_decode_secded(MemoryBits got, const MemoryBits *intended, MemoryEccTally *tally);
