/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Examination
 *
 * What all of the PSUM of one core answered, and what of it is wrong.
 */

#include "checks/systolic/psum/psum.h"

#define ADDRESS_BITS 12u
#define CONTROLS     16u /* places led through the array alone */
#define MOST(n)      ((n) - (n) / 10) /* of as many that must agree */

typedef struct Element { /* bits that were read as 1, and as 0, and should not */
        uint32_t rose, fell;
} Element;

typedef struct Examination {
        Element elements[PSUM_BANKS][PE_COLUMNS][PSUM_ELEMENTS];
        uint16_t runs[PSUM_BANKS][PE_COLUMNS]; /* matmuls that gave nothing right in a partition */
        uint8_t banks[PE_COLUMNS][128];        /* in which an element of a run was wrong, as a mask */
        /* addresses */
        size_t lines[ADDRESS_BITS];
        unsigned strange[CONTROLS], n_strange; /* places with a number of another one */
        bool array_is_wrong;
        bool mistaken; /* bf16 was taken for another format, in some matmuls */
        WireFormat taken_for;
        /* flag: the answers of a sequence */
        uint32_t sequence[PSUM_FLAGS][PE_COLUMNS * 128];
        unsigned seen; /* of the sequence, as a mask */
        bool flag_at_times; /* of a flag that is stuck: some of the sequence was as told, or all of a round */
        unsigned round; /* at work; in the end how many there were: as masks those in which … */
        uint8_t wrong_in[PSUM_BANKS][PE_COLUMNS], lines_in[ADDRESS_BITS], sequence_in; /* … this was wrong */
} Examination;

/* Whether a flag that is stuck in some of the sequence explains it: 0 it overwrites, 1 it accumulates, -1 it does not. */
int psum_flag_explain(const Examination *examination, const PsumNumbers *numbers);

/* Whether one that is stuck, as that says, in all of the sequence explains it as well. */
bool psum_flag_is_stuck(const Examination *examination, const PsumNumbers *numbers, int accumulates);

/* Whether the array made OUT of what SLOT was to have by taking bf16 for another format. */
bool psum_slot_is_mistaken(const PsumTest *test, const PsumSlot *slot, const uint32_t *out, WireFormat *ret);

/* ---- findings, which RESULT counts ---- */

typedef struct Report {
        Step *step;
        Verdict *verdict;
        unsigned core;
        const Examination *examination;
        PsumResult *result;
} Report;

int psum_report_flag(const Report *report, int accumulates);
int psum_report_lines(const Report *report);
int psum_report_elements(const Report *report);
/* Reports a fault that shows under full load alone, SEEN times out of TRIED. LINE of the address; -1: the flag that adds or overwrites. */
int psum_report_loaded(Step *step, unsigned core, int line, bool accumulates, unsigned seen, unsigned tried, Verdict *verdict, PsumResult *result);
/* What the core told and nothing shows. */
int psum_report_told(const Report *report);
