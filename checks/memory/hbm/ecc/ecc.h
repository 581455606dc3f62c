/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmEcc
 *
 * Whether on-die ECC corrects and counts as it should. Its code corrects one 16-bit symbol of an access; what was corrected
 * and what could not be is counted for each stack.
 *
 *  - Planted: a few accesses get data that their check bits do not know of, wrong in one symbol or in two. Beside ECC they
 *    read as planted and nothing is counted; through it single ones read right and are counted as corrected, double ones
 *    are counted as uncorrected, by the firmware's mailbox and by the driver's sysfs. What is planted is written over in the same
 *    batch, and what will be counted is announced before it; counters are cleared afterwards. Where they had counted uncorrected errors
 *    before, none are planted, since clearing would lose these. A double error has the same difference in both of its symbols: their sum is
 *    zero, so no code that checks the sum takes it for a single one. Memory that fails now and then is told from ECC that lies
 *    by what is read: data that nobody wrote are memory.
 *  - Marched: all of the box is written, read raw and read through ECC. What raw reads show predicts the second reading and
 *    its counts: nothing, nowhere, where raw reads are right.
 */

#include "checks/memory/hbm/report/run.h"

typedef struct HbmEccCounts {
        uint64_t corrected, uncorrected, repairable;
} HbmEccCounts;

/* Of all stacks, from the firmware's mailbox, and behind them what sysfs says of the chip. Negative: told. */
#define HBM_ECC_CHIP STACKS
int hbm_ecc_read_counts(HbmRun *run, HbmEccCounts ret[static STACKS + 1]);
/* Says that each stack's words will count up to N errors that are planted, of each sort. Negative: told. */
int hbm_ecc_announce(HbmRun *run, uint64_t n);
/* No more will come, and those of the whole chip are set to zero. Negative: told. */
int hbm_ecc_end(HbmRun *run);
/* No more will come, where something went wrong: what is counted from now on is none of ours. */
void hbm_ecc_give_up(HbmRun *run);
/* Notes what ECC of STACK does wrong, or HBM_ECC_CHIP, N times; the first note stays. */
void hbm_ecc_lie(HbmRun *run, unsigned stack, uint64_t n, const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Runs the batch, and looks whether what its marches answer adds up. */
int hbm_ecc_run_batch(HbmRun *run);

int hbm_ecc_run_plants(HbmRun *run);
/* The current pass: its march is a write and a read. FOUND as of a MarchPass, for what raw reads show. */
int hbm_ecc_run_march(HbmRun *run, int (*found)(const MarchMismatch *mismatch, void *userdata));
