/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Kinds of fault that every memory can have: those of cells (and of the decoders before them) and of the march engine. A
 * model that has memories lists this table beside its own.
 */

#include "sim/memory/cells/memory.h"
#include "sim/memory/structures/primitive.h"

enum { /* indices; all behind these are primitives of one or two cells */
        MEMORY_KIND_STUCK,
        MEMORY_KIND_COMPARATOR,
        MEMORY_KIND_DECODER,
        MEMORY_KIND_LINKED,
        MEMORY_KIND_OPEN,
        MEMORY_KIND_PATTERN,
        _MEMORY_KIND_PRIMITIVES,
        MEMORY_KINDS = _MEMORY_KIND_PRIMITIVES + 24,
};

extern const FaultKind memory_fault_kinds[MEMORY_KINDS + 1];

typedef struct MemoryStuck { /* stuck-at */
        uint64_t value;
} MemoryStuck;

/* What wins in the victim when one access writes it and its aggressor. */
typedef enum MemoryTogether {
        TOGETHER_SCENARIO, /* as the scenario says (coupling-together) */
        TOGETHER_FAULT,
        TOGETHER_WRITE,
        _TOGETHER_MAX,
} MemoryTogether;

extern const char *const memory_together_words[]; /* by MemoryTogether, ends with NULL */

typedef struct MemoryPrimitiveFault { /* kinds of one or two cells, and linked pairs of primitives */
        Primitive first, second;
        Location aggressor, second_aggressor; /* n_parts is 0 where there is none */
        int together;                         /* MemoryTogether */
} MemoryPrimitiveFault;

typedef struct MemoryDecoderFault {
        int class;        /* MemoryDecoderClass */
        Location partner; /* n_parts is 0 where there is none */
        int reads;        /* MemoryDecoderReads, or -1 */
        int floats;       /* of class b */
} MemoryDecoderFault;

typedef enum MemoryDecoderReads {
        DECODER_READS_DEFAULT,
        DECODER_READS_ZEROS,
        DECODER_READS_ONES,
        DECODER_READS_AND,
        DECODER_READS_OR,
} MemoryDecoderReads;

typedef enum MemoryPatternType {
        PATTERN_STATIC,  /* the base holds `value` while its neighbours are so */
        PATTERN_PASSIVE, /* … it stays at `value` when it is written otherwise … */
        PATTERN_ACTIVE,  /* … it becomes `value` when one of them makes a transition */
        _PATTERN_MAX,
} MemoryPatternType;

typedef struct MemoryPatternFault {
        int type;        /* MemoryPatternType */
        char pattern[5]; /* row - 1, bit - 1, bit + 1, row + 1: 0, 1, and once u or d */
        uint64_t value;
        int together;
} MemoryPatternFault;

/* Whether FAULT is one of memory_fault_kinds and sits in cells. */
bool memory_fault_is_of_cells(const Fault *fault);
/* -EINVAL: not in this geometry; -EEXIST: contradicts another fault of the cell, or is there already; -ENOMEM. */
int memory_inject_cell(Memory *memory, const Fault *fault);
int memory_inject_comparator(Memory *memory, const Fault *fault); /* -EEXIST */
/* Takes out all that FAULT put in: cells keep what they hold. */
void memory_heal(Memory *memory, const Fault *fault);
/* Takes every fault away that lies in ROW or reaches into it: another row has its address now, with good cells. */
void memory_faults_leave(Memory *memory, const WireBox *row);
