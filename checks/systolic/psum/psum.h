/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * PSUM
 *
 * The accumulator of matmuls, tried through the tensor engine: that each line of its address tells two places apart, that matmuls
 * add once or overwrite as they are told, and, with `cells`, that each bit of each element holds 0 and 1. Four rows of the array
 * and bf16 are enough for any binary32: 1.0 × three parts of eight bits each.
 *
 * What is wrong in several banks alike is the array's, whose outputs they are; the rest is PSUM's.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/port/device.h"
#include "checks/step/step.h"

#define PSUM_ROWS 4u /* of the array */

/* What four vectors of the array are to make, and where. The bits of GOLDEN with those of HIGH. */
typedef enum PsumPhase {
        PSUM_CELLS,     /* one number everywhere, read as it is stored */
        PSUM_ADDRESSES, /* its own number in each place, read when all are stored */
        PSUM_FLAG,      /* numbers on top of each other */
} PsumPhase;

typedef struct PsumSlot {
        PsumPhase phase;
        const uint32_t *golden; /* [columns][moving] */
        uint32_t high;
        unsigned bank, offset, number; /* of the pattern, or in the sequence */
} PsumSlot;

#define PSUM_SLOTS 16u

typedef struct PsumTest PsumTest;

/* A core's answer to a slot; OUT may change meanwhile. */
typedef int (*PsumTake)(PsumTest *test, unsigned core, const PsumSlot *slot, const uint32_t *out);

struct PsumTest {
        Device *device;
        unsigned columns, moving; /* of every matmul */
        uint16_t *weights, *values, *lone; /* in the window */
        uint32_t *out[CORES];
        WireCommand commands[WIRE_BATCH_MAX];
        WireCompletion completions[WIRE_BATCH_MAX];
        PsumSlot slots[PSUM_SLOTS];
        size_t n, n_slots;
        unsigned mask; /* cores that take part */
        PsumTake take;
        void *userdata; /* of it */
        /* what was seen, by core */
        unsigned wrong, told, refused;
        uint32_t status; /* of the last that was refused */
        size_t n_compared;
};

/* What it came to. */
typedef struct PsumResult {
        size_t n_compared;
        unsigned refused;       /* cores that did not do it … */
        uint32_t status;        /* … and what the last of them said */
        unsigned faulty;        /* cores with a finding of PSUM */
        unsigned unexplained;   /* cores with wrong sums which no element, line or flag explains */
        unsigned mistaken;      /* of these: bf16 was taken for TAKEN_FOR at times */
        WireFormat taken_for;
        unsigned spoilt;        /* of the faulty ones: nothing that they answer can be relied on */
        uint8_t banks[CORES];   /* that no finding names */
} PsumResult;

/* Tries PSUM of all cores, and all of it of those that fail, that have TOLD of errors in it before, or that are in SUSPECTS, for their
 * arrays failed, and do not spoil two banks alike. Uses the window from its beginning. Errors of device.h and step.h, -ENOMEM, -ENOSPC. */
int psum_judge(Step *step, bool cells, unsigned suspects, unsigned told, Verdict *verdict, PsumResult *ret);

/* The same of CORES, whose PSUM has shown nothing so far, while their arrays work at full load, ROUNDS times (psum-load.c). Of SUSPECTS among
 * them the arrays failed: they get a finding only where no array can be the cause. What is found adds to RESULT. */
int psum_judge_load(Step *step, unsigned rounds, unsigned cores, unsigned suspects, Verdict *verdict, PsumResult *result);

/* ---- numbers (psum-numbers.c) ---- */

#define PSUM_PATTERNS 2u /* 0x55555555, 0xaaaaaaaa: all bits at 0 and 1, neighbours unlike */
#define PSUM_FLAGS    4u

/* The pieces of a layout: X of each as [PSUM_ROWS][moving] bf16. */
typedef struct PsumNumbers {
        unsigned columns, moving, pieces; /* pieces of all banks */
        uint16_t weights[PSUM_ROWS * PE_COLUMNS];
        uint16_t *values; /* zeros, patterns, flags, then the addresses piece by piece */
        uint32_t *golden; /* [columns][moving]: patterns, flags, and the addresses of piece 0 */
} PsumNumbers;

/* Computed once. Quick: two columns, a bank at a time; else all columns, a quarter of a bank. */
void psum_numbers_prepare(void);
const PsumNumbers *psum_numbers(bool quick);

const uint16_t *psum_values_zero(const PsumNumbers *numbers);
const uint16_t *psum_values_pattern(const PsumNumbers *numbers, unsigned pattern);
const uint16_t *psum_values_flag(const PsumNumbers *numbers, unsigned step);
const uint16_t *psum_values_address(const PsumNumbers *numbers, unsigned piece);
const uint32_t *psum_golden_pattern(const PsumNumbers *numbers, unsigned pattern);
const uint32_t *psum_golden_flag(const PsumNumbers *numbers, unsigned step);
const uint32_t *psum_golden_address(const PsumNumbers *numbers);
size_t psum_values_bytes(const PsumNumbers *numbers); /* of all */

/* What is stored in (bank, element) and a partition: 2^19 + a number of 19 bits, as binary32. */
uint32_t psum_number(unsigned address, unsigned partition);
uint32_t psum_high(unsigned address); /* what of it is not in the golden of piece 0 */
/* The address that a number is of; -1: none, or of another partition. */
int psum_number_address(uint32_t number, unsigned partition);

typedef struct PsumFlagStep {
        int number;
        bool overwrite;
} PsumFlagStep;

extern const PsumFlagStep psum_flag_steps[PSUM_FLAGS];
uint32_t psum_small(int number); /* as binary32, 0 … 2^24 */

/* ---- commands (psum.c) ---- */

/* Runs all or part of it on the cores in test->mask. */
int psum_try_cells(PsumTest *test);
int psum_try_twins(PsumTest *test); /* the cells that the array's patterns use, and the same of another bank */
int psum_try_addresses(PsumTest *test);
int psum_try_flag(PsumTest *test);
int psum_try_zeros(PsumTest *test); /* overwrites all of it, and reads nothing */
/* What lies at ADDRESS, from the array straight to bank 0, element 0 and out: into test->out[core], [columns]. */
int psum_try_alone(PsumTest *test, unsigned core, unsigned address);
int psum_test_init(PsumTest *test, Device *device, bool quick);

/* ---- what is wrong (psum-examine.c; examination.h) ---- */

/* Whether the banks that the array's sums go to may be why it failed. */
int psum_suspect(Step *step, unsigned core, bool *ret);
/* Why a core is examined. */
typedef enum PsumDoubt {
        PSUM_TOLD,         /* it said so */
        PSUM_WRONG,        /* sums were wrong, and the array's patterns right */
        PSUM_OF_THE_ARRAY, /* these too */
} PsumDoubt;

/* Tries all of the PSUM of a core several times and says what is wrong with it. */
int psum_examine(Step *step, unsigned core, PsumDoubt doubt, Verdict *verdict, PsumResult *result);
