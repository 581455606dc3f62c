/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "checks/memory/sram/run.h"

/* Findings of one array: what its march engine did wrong, told once of each core, … */
int sram_report_engine(SramRun *run, unsigned number);
/* … a defect, and mismatches that left none: no count of failures may end as a pass. */
int sram_report_defect(SramRun *run, const SramDefect *defect);
int sram_report_unexplained(SramRun *run, unsigned number, uint64_t n);
/* A code that did not do its work: in the bank of AT, or (NULL) somewhere in the array, or (SRAM_ARRAYS) of the chip. */
int sram_report_ecc(SramRun *run, unsigned number, const uint16_t *at, const char *message);
