/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What `qualify` asks of the kinds of sim/memory/cells/kinds.c: parameters that ranges cannot say (fault primitives of the kind's own
 * classes, other cells near and far, neighbours), and what a right finding is called.
 */

#include "sim/chip/model.h"

/* The codes of the tables are those of HBM; the memory of a core has its own. */
void memory_diagnose(const Fault *fault, Diagnosis *diagnosis);

int memory_sample_cell(Sample *sample);    /* one fault primitive */
int memory_sample_pair(Sample *sample);    /* and its aggressor */
int memory_sample_linked(Sample *sample);  /* two of them */
int memory_sample_decoder(Sample *sample);
int memory_sample_pattern(Sample *sample);
