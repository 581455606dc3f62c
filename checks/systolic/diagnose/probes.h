/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Probes
 *
 * Where to look first: vectors that differ, and the rows in which what is broken may lie. Positions of errors narrow them: in a
 * one-hot pattern what is broken in row r spoils the vectors that feed r, those that feed rows above it or those below in the same
 * way each, so that answers change at r and nowhere else.
 */

#include "checks/systolic/diagnose/signature.h"

#define PROBES_MAX 16u

typedef struct Probe {
        uint16_t index, n;
        uint32_t answer;
} Probe;

typedef struct Probes {
        unsigned n;
        bool loaded; /* nothing but full load differs */
        Probe all[PROBES_MAX];
        bool rows[PE_ROWS];  /* in which something may be broken */
        bool turns[PE_ROWS]; /* fed alone, they come out wrong in another way than the row before them */
} Probes;

/* The first and the last difference of each pattern. BASE: what is known already. */
void probes_find(const Signature *signature, const Suspects *base, Probes *ret);
/* The one row at which and behind which answers turn, as those of several broken parts of one element do; PE_ROWS: there is none. */
unsigned probes_turn(const Probes *probes);
