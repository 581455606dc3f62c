/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmExamination
 *
 * One cell or word on its way through examine.h and aggressor.h: what failed, how it is made to fail again, and how it then does.
 */

#include "checks/memory/hbm/diagnose/diagnose.h"
#include "checks/memory/hbm/diagnose/replay.h"

typedef struct HbmExamination {
        const HbmDiagnosis *diagnosis;
        HbmDefect *defect;
        const HbmPass *pass; /* the first march it failed in */
        HbmReplay replay;
        WireBox bank;     /* as far as it was tested */
        WireBox region;   /* in which it reproduces */
        uint64_t failed;  /* how it does */
        bool cut_short;   /* lists of the stack were */
} HbmExamination;
