/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kinds of fault that every memory can have: those of cells and of the march engine. A model that has memories lists
 * this table beside its own.
 */

#include "sim/memory/memory.h"

extern const FaultKind memory_fault_kinds[];

typedef struct MemoryStuck {
        uint64_t value;
} MemoryStuck;

/* One bit of the access BOX. -EEXIST: that bit has a fault; -ENOMEM. */
int memory_inject_cell(Memory *memory, const Fault *fault, const WireBox *box, unsigned bit);
int memory_inject_comparator(Memory *memory, const Fault *fault); /* -EEXIST */
/* Takes out all that FAULT put in: cells keep what they held. */
void memory_heal(Memory *memory, const Fault *fault);
/* Takes every fault that lies in ROW away: another row has its address now. */
void memory_faults_leave(Memory *memory, const WireBox *row);
