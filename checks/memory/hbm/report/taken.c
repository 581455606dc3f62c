/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/report/taken.h"

#include "checks/memory/hbm/report/in-use.h"
#include "checks/port/occupancy.h"

static int ask_rows(HbmRun *run) {
        const MemoryGeometry *geometry = &run->geometry;
        unsigned first = memory_geometry_absolute(geometry, HBM_ROW, run->box.first);
        unsigned last = memory_geometry_absolute(geometry, HBM_ROW, run->box.last);
        unsigned sid = memory_geometry_absolute(geometry, HBM_SID, run->box.first);
        HbmInUse in_use;
        int r;

        r = device_hbm_in_use(step_device(run->step), step_chip(run->step), run->whole, &in_use);
        return r < 0 ? r : hbm_in_use_meets(&in_use, sid, first, last);
}

int hbm_taken_ask(HbmRun *run) {
        int r;

        r = run->whole ? ask_rows(run) : occupancy_ask(step_device(run->step), step_chip(run->step));
        if (r < 0)
                return r;
        run->taken |= r > 0;
        return 0;
}
