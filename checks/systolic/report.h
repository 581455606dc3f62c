/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Report
 *
 * A diagnosis in words, as a finding.
 */

#include "checks/step/step.h"
#include "checks/systolic/array/control.h"
#include "checks/systolic/diagnose/diagnose.h"

/* FORMATS_RAN: 1 << WireFormat of what was tried. What is everywhere is told of the chip. */
int diagnosis_report(Step *step, Verdict *verdict, unsigned core, const Diagnosis *diagnosis, unsigned formats_ran,
                     const Control *control);
/* In how many of the control's runs what DIAGNOSIS is about was wrong again. What is in one column shows in it, whatever else is wrong in
 * others. */
unsigned diagnosis_count_reproduced(const Diagnosis *diagnosis, const Control *control);
