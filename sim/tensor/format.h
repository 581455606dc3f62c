/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor format
 *
 * The number formats of the tensor engine as the registers of a processing element hold them (see wire.h), and one PE's multiplier
 * over all of them, bit-exact, in integers. What is fast for whole rows stands in float.h; this is one number at a time.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/wire/wire.h"
#include "sim/tensor/float.h"

/* How a core reads its registers in a matmul. */
typedef struct PeMode {
        uint8_t weights, activations; /* WireFormat */
        bool ftz;                     /* subnormal operands, products and sums are zeros */
        bool double_row;              /* two multipliers, of bits 0 … 7 and 8 … 15 of both registers */
} PeMode;

typedef enum NumberClass {
        NUMBER_FINITE, /* zero too */
        NUMBER_INFINITE,
        NUMBER_NAN,
} NumberClass;

/* A register image taken apart: (-1)^negative × significand × 2^scale. */
typedef struct Number {
        NumberClass class;
        bool negative;
        uint32_t significand; /* 24 bits, the highest set; 0: a zero. Formats but fp32 leave the lower 12 bits 0. */
        int32_t scale;
} Number;

/* Reads what a register holds in FORMAT; bits that the format does not use are ignored. FTZ: a subnormal binary32 is a zero. */
Number number_read(WireFormat format, uint32_t image, bool ftz);

/* Bits of FORMAT in a register: those of 8- and 16-bit formats are the lower ones, those of tf32 the upper 19. */
uint32_t format_mask(WireFormat format);
/* Those of its sign, and of its exponent; a number whose exponent bits are all set is none or infinite. */
uint32_t format_sign(WireFormat format);
uint32_t format_exponent(WireFormat format);

/* SIGNIFICAND × 2^SCALE rounded to binary32: nearest even, gradual underflow, overflow to infinity. */
uint32_t float_round(bool negative, uint64_t significand, int32_t scale);

/* The product that multiplier LANE (0, or 1 in double rows) gives for the images W and X: binary32. */
uint32_t pe_multiply(PeMode mode, uint32_t w, uint32_t x, unsigned lane);

/* N of them with one weight. */
void pe_multiply_row(PeMode mode, uint32_t w, const uint32_t *x, unsigned n, unsigned lane, uint32_t *ret);

/* A sum in a PE, or in PSUM: binary32. FTZ holds for both addends too. */
uint32_t pe_add(PeMode mode, uint32_t a, uint32_t b);

/* One step of one healthy PE: both products of double rows are added to each other first. */
uint32_t pe_step(PeMode mode, uint32_t psum, uint32_t w, uint32_t x);

/* One step of a PE in transposition: W passes where X is no zero. */
uint32_t pe_pass(PeMode mode, uint32_t passed, uint32_t w, uint32_t x);
