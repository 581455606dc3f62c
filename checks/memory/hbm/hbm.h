/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What the check does with one box, whole or a slice. */

#include "checks/memory/hbm/report/run.h"

/* From what the passes met to findings; raises run->verdict. */
int hbm_run_diagnose(HbmRun *run);
