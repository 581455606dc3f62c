/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Report
 *
 * A diagnosis in words, as a finding.
 */

#include "checks/step.h"
#include "checks/systolic/diagnose.h"

/* What running the failing patterns once more on the same core and on its neighbour gave. */
typedef struct Control {
        unsigned runs, reproduced; /* 0 runs: it was not tried */
        unsigned neighbour;        /* the core that ran them too */
        bool neighbour_sound;
        bool everywhere;           /* all cores of the chip give the same wrong answers */
} Control;

/* FORMATS_RAN: 1 << WireFormat of what was tried. */
int diagnosis_report(Step *step, Verdict *verdict, unsigned core, const Diagnosis *diagnosis, unsigned formats_ran,
                     const Control *control);
