/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Element
 *
 * One processing element as the check understands it: its registers, its multipliers and its adder, healthy or with one part
 * broken, in all formats. Arithmetic is that of exact.h; nothing is shared with a device or a simulator.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire/wire.h"

/* How the registers are read. */
typedef struct ElementMode {
        uint8_t weights, values; /* WireFormat */
        bool ftz;
        bool double_row;
        bool transpose; /* bits pass: past multiplier and adder, the sum being an or */
} ElementMode;

/* What of an element may be broken. */
typedef enum PeRegister {
        PE_WEIGHT,
        PE_ACTIVATION, /* acts from its own column on */
        PE_PRODUCT,
        PE_PSUM,
        PE_SECOND, /* the product of the second multiplier of double rows */
        PE_SHIFT,  /* of the path on which weights come in: acts from its row on */
        PE_CARRY,  /* a carry of the adder of sums: into this bit of the aligned significands */
        PE_GATE,   /* a partial product of the multiplier: bits `bit` and `other` of the significands */
        PE_SECOND_GATE,
        PE_NO_INPUT, /* the whole activation is zero; as all below it has no bits */
        PE_OUTPUT,    /* what a column gives, whatever row the sum comes from; no element's */
        PE_NO_OUTPUT, /* a column gives zero */
        _PE_REGISTER_MAX,
} PeRegister;

typedef enum PeForm {
        FORM_STUCK_0,
        FORM_STUCK_1,
        FORM_SLOW_RISE, /* a bit that should have changed since the vector before still has its old value */
        FORM_SLOW_FALL,
        _PE_FORM_MAX,
} PeForm;

#define MULTIPLIER_BITS        12u
#define SECOND_MULTIPLIER_BITS 5u
#define ADDER_BITS             27u /* 24 of significand, guard, round and sticky */

typedef struct Candidate {
        uint8_t at;         /* PeRegister */
        uint8_t row;
        uint8_t bit, other; /* other: of gates */
        uint8_t form;       /* PeForm */
} Candidate;

const char *pe_register_to_string(PeRegister at); /* "weight" */
unsigned pe_register_bits(PeRegister at);
/* Stuck at 0 and 1 in all, slow where the register has flip-flops that data pass at every vector. */
unsigned pe_register_forms(PeRegister at);
bool pe_register_is_gate(PeRegister at);

/* Healthy values of the vector before: what slow bits hold on to. 0 before the first vector. */
typedef struct ElementPast {
        uint32_t activation, product, second, psum;
} ElementPast;

/* Whether the number of FORMAT in the lower bits of IMAGE is a zero. */
bool element_is_zero(WireFormat format, uint32_t image);
bool element_is_finite(WireFormat format, uint32_t image);

/* The value of register AT with those of [FIRST, END) that sit in it. */
uint32_t element_force(const Candidate *first, const Candidate *end, PeRegister at, uint32_t past, uint32_t value);

uint32_t element_add(ElementMode mode, uint32_t a, uint32_t b, const Candidate *first, const Candidate *end);

/* The sum that leaves an element in which [FIRST, END) are broken; PAST is that before and becomes that of this vector. */
uint32_t element_step(ElementMode mode, const Candidate *first, const Candidate *end, uint32_t w, uint32_t x, uint32_t psum,
                      ElementPast *past);
