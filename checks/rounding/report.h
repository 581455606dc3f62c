/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Findings of one engine: a lane each, or the engine where all its lanes have the same. */

#include "checks/rounding/diagnose.h"
#include "checks/step/step.h"

/* DIAGNOSES of lanes, CAUSE_NONE where a lane is sound. */
int report_engine(Step *step, Verdict *verdict, const Location *engine, const Budget *budget, const LaneDiagnosis diagnoses[static ENGINE_LANES]);
