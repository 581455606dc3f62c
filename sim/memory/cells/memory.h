/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Memory
 *
 * One simulated memory, an HBM stack or an SRAM array of a core: what it holds, where it differs from that, and what a
 * march or a copy sees of it. Its parts: shape (geometry, boxes, orders), content (what it holds), traps and spots and
 * units (where it differs), cells (how faulty cells behave), region and
 * regions (what is counted in closed form), agreement (where no form is closed), march (an element), copy (data in
 * and out). What is peculiar to a technology stands in its MemoryRules.
 */

#include "sim/chip/model.h"
#include "sim/memory/cells/past.h"
#include "sim/memory/structures/agreement.h"
#include "sim/memory/structures/content.h"
#include "sim/memory/structures/detours.h"
#include "sim/memory/structures/shape.h"
#include "sim/memory/structures/spots.h"
#include "sim/memory/structures/traps.h"
#include "sim/memory/structures/units.h"

typedef struct MemoryRecord { /* a mismatch on its way out */
        uint32_t key;         /* counts up in the order of the visit */
        WireMismatch mismatch;
} MemoryRecord;

typedef struct MemoryRecords {
        MemoryRecord *records;
        size_t n, allocated;
} MemoryRecords;

typedef struct MemoryEccTally {
        uint64_t corrected, uncorrected;
        uint64_t repairable; /* not corrected, where a spare row is left */
} MemoryEccTally;

/* What a technology adds to cells and wires. */
typedef struct MemoryRules {
        unsigned bytes_per_nsec;
        /* What the reader gets of an access that gave GOT and should hold INTENDED, with ECC on; counts what it did. */
        MemoryBits (*decode)(MemoryBits got, const MemoryBits *intended, MemoryEccTally *tally);
        /* The box that AT names, whole along every axis it does not. -EINVAL: not in this geometry. */
        int (*box_of)(const MemoryShape *shape, const Location *at, WireBox *ret);
        Counter corrected, uncorrected; /* where that is counted */
        WireStatus uncorrected_status;  /* how a command ends that met an uncorrected error; STATUS_NRT_SUCCESS: as any other */
        bool repairs;                   /* there are spare rows: then the same for errors that one of them would mend */
        Counter repairable;
        WireStatus repairable_status;
} MemoryRules;

/* What others than marches and copies left in accesses that are no spots. */
typedef struct MemoryGuest {
        bool (*find)(void *userdata, const Memory *memory, const uint16_t at[static _MEMORY_AXIS_MAX], MemoryBits *bits); /* puts it into BITS; false: nothing */
        void *userdata;
} MemoryGuest;

/* Is told of cells that an operation on others has turned over. */
typedef struct MemoryWatch {
        void (*flipped)(void *userdata, const Memory *memory, uint32_t linear);
        void *userdata;
} MemoryWatch;

struct Memory {
        Chip *chip;
        unsigned index; /* of the stack for chip_count(); 0 for SRAM */
        const MemoryRules *rules;
        MemoryShape shape;
        MemoryContent content;
        MemoryDetours detours; /* addresses that lead elsewhere; all below is of places */
        MemoryPast past; /* what lay there before, where that is read */
        MemoryTraps traps; /* faults of cells … */
        MemorySpots spots; /* … the single accesses where they act … */
        MemoryUnits units; /* … and larger things that differ from the content */
        MemoryRecords records;
        MemoryAgreements agreements; /* what was found out of stuck bits and hashes */
        uint64_t serial;   /* of the last operation, where operations are numbered: see memory_serial_next() */
        const Fault *comparator; /* what is wrong with it, or NULL */
        MemoryGuest guest; /* find NULL: none */
        MemoryWatch watch; /* flipped NULL: none */
};

/* SEED: of what the cells hold at power-up. -EINVAL: no such geometry; -ENOMEM. */
int memory_init(Memory *memory, const MemoryRules *rules, Chip *chip, unsigned index, const char *geometry, uint64_t seed);
void memory_done(Memory *memory);

/* Before a command: links what came or went and asks every unit's fault whether it acts. EXECUTION NULL: none does. */
int memory_prepare(Memory *memory, const Execution *execution);

/* Whether nothing was injected. */
bool memory_is_sound(const Memory *memory);

/* Takes the serials of N operations and returns the first; 0 while nobody asks for them. */
uint64_t memory_serial_next(Memory *memory, uint64_t n);

/* The whole way of a read from the cells to the reader. INTENDED is what the access should hold: what ECC knows. */
MemoryBits memory_read(const Memory *memory, const MemoryEffects *effects, MemoryBits stored, const MemoryBits *intended,
                       bool ecc, MemoryEccTally *tally);
/* Adds a command's tally to the chip's counters and returns the status it ends with. */
WireStatus memory_count(const Memory *memory, const MemoryEccTally *tally);

/* What an access that is no spot holds. */
MemoryBits memory_plain_bits(const Memory *memory, const MemoryContent *content, const uint16_t at[static _MEMORY_AXIS_MAX]);

/* Makes a spot where there is none. -ENOMEM, -ENOSPC. */
int memory_spot_at(Memory *memory, uint32_t linear, const uint16_t at[static _MEMORY_AXIS_MAX], MemorySpot **ret);

/* The commands. Return as Model says. */
int memory_march(Memory *memory, Execution *execution);
int memory_copy_in(Memory *memory, Execution *execution);
int memory_copy_out(Memory *memory, Execution *execution);

/* Whether the comparator is blind for reads of DATA, in a command in which its fault acts. */
bool memory_comparator_is_blind(const Memory *memory, unsigned data);
