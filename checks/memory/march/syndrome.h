/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Syndrome
 *
 * Which reads of a march fail at a cell tells what can be wrong with it. Every fault primitive of one or two cells with at
 * most two operations, stuck cells, stuck-open cells and leaking cells are played through the march on four cells; those
 * whose reads fail exactly like the ones that were seen are the candidates.
 *
 * Primitives are written <S/F/R> and <Sa;Sv/F/R>: S sensitises, F is what the victim then holds, R what a read gives
 * (van de Goor and Al-Ars, VTS 2000; Hamdioui and van de Goor, ATS 2000).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/memory/march/notation.h"

#define MARCH_SYNDROME_READS 64u /* later reads of a long march are not looked at */
#define MARCH_SYNDROME_TEXT  192u

typedef struct MarchSyndrome {
        unsigned n_alone;  /* candidates of one cell */
        unsigned n_before; /* of two, the aggressor earlier in ascending order */
        unsigned n_after;
        char text[MARCH_SYNDROME_TEXT]; /* "RDF <0r0/1/1> or IRF <0r0/0/1>", "" without candidates */
} MarchSyndrome;

/* Bit of operation OP of ELEMENT in a set of failed reads; 0 for writes and for what is not looked at. */
uint64_t march_syndrome_bit(const March *march, unsigned element, unsigned op);

/* FAILED: the reads that failed. INVERTED: the background is 1 at this cell, so that it holds the complement of D. */
void march_syndrome_explain(const March *march, uint64_t failed, bool inverted, MarchSyndrome *ret);
