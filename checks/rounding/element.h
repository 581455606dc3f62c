/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Element
 *
 * One number to be converted, as the place it has between two neighbours of the target format: LOW and what follows it, FRACTION /
 * 2^D of the step above LOW. Where the random word is known an element can be made that this word just rounds up, or just does not.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/wire/wire.h"

typedef struct Element {
        uint32_t low;      /* pattern below, without the sign */
        uint32_t fraction; /* of 2^d; 0: the number is LOW itself */
        uint8_t d;         /* bits of the significand that are discarded; 0 with 24 bits or infinity, NaN: nothing is */
        bool negative;
        uint32_t bits;     /* the same in binary32 */
} Element;

/* NUMBER is finite. */
Element element_of(WireFormat format, float number);
/* Infinity or a NaN with this PAYLOAD (0: infinity). */
Element element_special(WireFormat format, bool negative, uint32_t payload);
Element element_exact(WireFormat format, uint32_t low, bool negative);
/* So many QUARTERS of the step above LOW. */
Element element_between(WireFormat format, uint32_t low, uint32_t quarters, bool negative);
/* DRAW / 2^32 of the step above LOW, which is not 0, as far as bits reach. */
Element element_anywhere(WireFormat format, uint32_t low, uint32_t draw, bool negative);
/* Just enough above LOW, which is not 0, that WORD rounds it up (UP), or just not; where no fraction does, the one that comes nearest. */
Element element_at_word(WireFormat format, uint32_t low, uint32_t word, bool up, bool negative);
/* The same below the smallest number of a format that has fewer exponents than binary32: 24 bits of the word or more decide. */
Element element_below_all(WireFormat format, uint32_t word, bool up, bool negative);

/* The least random word that rounds it up, as a number of 33 bits: 2^32 where none does. */
uint64_t element_threshold(const Element *element);

/* The pattern of a sound answer with WORD, and that of rounding to nearest. */
uint32_t element_answer(WireFormat format, const Element *element, uint32_t word);
uint32_t element_signed(WireFormat format, const Element *element, uint32_t magnitude);
uint32_t element_nearest(WireFormat format, const Element *element);
