/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/passes/stale.h"

#include "checks/memory/hbm/report/report.h"
#include "checks/memory/march/freshness.h"

static bool fills(HbmDefectKind kind) {
        static const bool kinds[_HBM_DEFECT_KIND_MAX] = {
                [HBM_DEFECT_STACK]          = true,
                [HBM_DEFECT_CHANNEL]        = true,
                [HBM_DEFECT_DIE]            = true,
                [HBM_DEFECT_PSEUDO_CHANNEL] = true,
                [HBM_DEFECT_BANK]           = true,
        };

        return kinds[kind];
}

int hbm_stale_judge(HbmRun *run, const HbmDefect *defect) {
        MarchPass pass = {
                .parts = run->parts, .n_parts = STACKS, .geometry = run->geometry, .box = run->box, .seed = step_seed(run->step),
        };
        WireBox box = run->box;
        unsigned n, n_stale;
        int r;

        if (!fills(defect->kind))
                return 0;

        for (unsigned axis = 0; axis <= (unsigned) defect->last; axis++)
                box.first[axis] = box.last[axis] = defect->at[axis];
        /* A die has 4 channels, and its evidence is in one of them. */
        if (defect->kind == HBM_DEFECT_STACK)
                box = run->box;

        r = march_freshness_ask(&pass, run->batch, defect->stack, &box, &n, &n_stale);
        if (r < 0)
                return r;
        if (2 * n_stale < n)
                return 0;

        r = hbm_report_stale(run, defect, n, n_stale);
        return r < 0 ? r : 1;
}
