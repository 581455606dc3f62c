/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Tensor PSUM
 *
 * The banks that matmuls of a core are summed in. What matmuls left is kept as they left it: pieces, each the product of one of
 * them, shared with other cores where nothing was added. Below the pieces lies the SRAM of the same name, where there is one: it
 * says what elements hold that no matmul has stored, and it has the last word on accesses that it keeps for itself, because
 * something is wrong with them or because data were copied in.
 */

#include "sim/chip/model.h"
#include "sim/tensor/array.h"

/* Partitions and elements of a bank. */
typedef struct PsumArea {
        uint16_t partition, partitions;
        uint16_t element, elements;
} PsumArea;

typedef struct PsumPiece {
        PsumArea area;
        Product *content; /* of that size; NULL: as the SRAM has it */
} PsumPiece;

#define PSUM_PIECES_MAX 8u

typedef struct PsumBank {
        PsumPiece pieces[PSUM_PIECES_MAX]; /* oldest first: what comes later lies on top */
        unsigned n_pieces;
} PsumBank;

#define PSUM_ACCESS_ELEMENTS 8u /* of an access of the SRAM */
#define PSUM_ACCESSES        (PSUM_ELEMENTS / PSUM_ACCESS_ELEMENTS)

/* An access: eight elements of a partition. */
typedef struct PsumPlace {
        unsigned bank, partition, access;
} PsumPlace;

typedef struct PsumWords {
        uint32_t words[PSUM_ACCESS_ELEMENTS];
} PsumWords;

/* The SRAM, as far as matmuls need it. */
typedef struct PsumSram {
        /* Before a matmul: 0, or a negative errno. *ret_keeps: it may keep accesses for itself. */
        int (*begin)(void *userdata, Execution *execution, bool *ret_keeps);
        uint64_t (*keeps)(void *userdata, unsigned bank, unsigned partition); /* bit i: access i */
        /* Of accesses that it keeps: writes the elements in MASK; reads them as an engine does, through its code. */
        int (*write)(void *userdata, const PsumPlace *place, const PsumWords *words, unsigned mask);
        void (*read)(void *userdata, const PsumPlace *place, PsumWords *ret);
        /* Of any: what it holds, whatever a read would give. */
        void (*content)(void *userdata, const PsumPlace *place, PsumWords *ret);
        /* After a matmul: counts what its code did, and says how the command ends. */
        WireStatus (*end)(void *userdata);
} PsumSram;

typedef struct Psum {
        PsumBank banks[PSUM_BANKS];
        const Fault **faults; /* of addresses and the accumulate flag */
        size_t n_faults;
        const PsumSram *sram; /* NULL: elements that nothing was stored in hold +0 */
        void *userdata;       /* of it */
} Psum;

void psum_done(Psum *psum);

/*
 * Does what a matmul does with the PRODUCT of its array: adds it to its part of the bank or overwrites that, and writes the part
 * to the out area where that has room for anything. Bank, offset and first column were checked to hold PRODUCT. Takes the reference to it. Sets status
 * and out_bytes of the completion. Returns 0 or -ENOMEM.
 */
int psum_run(Psum *psum, Execution *execution, Product *product, bool ftz);

/* ---- the kinds of fault (sim/tensor/psum-faults.c) ---- */

extern const FaultKind psum_fault_kinds[]; /* ends with {} */

bool psum_has_kind(const Fault *fault);
int psum_inject(Psum *psum, const Fault *fault); /* as Model.inject */
void psum_heal(Psum *psum, const Fault *fault);

/* What the faults of a PSUM make of a command. */
typedef struct PsumFaulty {
        unsigned clear, set; /* bits of the address: 9 of the element, then 3 of the bank */
        bool flag, overwrite; /* the flag is stuck, and how */
} PsumFaulty;

PsumFaulty psum_fault_effects(const Psum *psum, const Execution *execution);

/* ---- what a bank holds (sim/tensor/psum-bank.c) ---- */

/* AREA, as far as the SRAM keeps nothing of it for itself. */
void psum_compose(const Psum *psum, unsigned bank, PsumArea area, uint32_t *ret);
/* The one product that AREA of BANK holds, and nothing else; NULL where it is not so. Not a new reference. */
Product *psum_product(const Psum *psum, unsigned bank, PsumArea area);
/* From now on AREA of BANK holds CONTENT (NULL: as the SRAM has it). Takes the reference to it, in any case. -ENOMEM. */
int psum_lay(Psum *psum, unsigned bank, PsumArea area, Product *content);

/* ---- for the SRAM ---- */

/* Of the state of a tensor engine (sim/tensor/tensor.c). */
Psum *tensor_psum(void *tensor);

/* Puts what matmuls left in an access into its WORDS, and returns which of them, as a mask. */
unsigned psum_find(const Psum *psum, const PsumPlace *place, PsumWords *words);
/* From now on AREA of BANK is as the SRAM has it. -ENOMEM. */
int psum_yield(Psum *psum, unsigned bank, PsumArea area);
/* Whether matmuls left anything in AREA of BANK. */
bool psum_has(const Psum *psum, unsigned bank, PsumArea area);
