/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What a diagnosis is called, and where it is. */

#include "checks/sparsity/diagnose.h"
#include "checks/step/step.h"

/* Writes a finding of CORE. */
int sparse_report(Step *step, Verdict *verdict, unsigned core, const SparseDiagnosis *diagnosis);

/* The location of the sparse path of CORE, or of a part of it. */
int sparse_location(const Step *step, unsigned core, unsigned row, unsigned slot, Location *ret);
