/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/report/under-test.h"

#include <errno.h>
#include <stdio.h>

#define PATH "assay/hbm/under-test"

static int tell(const HbmRun *run, const char *word) {
        const MemoryGeometry *geometry = &run->geometry;
        unsigned first = memory_geometry_absolute(geometry, HBM_ROW, run->box.first), last = memory_geometry_absolute(geometry, HBM_ROW, run->box.last);
        unsigned sid = memory_geometry_absolute(geometry, HBM_SID, run->box.first), end = memory_geometry_absolute(geometry, HBM_SID, run->box.last) + 1;

        while (sid < end) {
                char texts[ATTRIBUTE_WRITES_MAX][32];
                AttributeText writes[ATTRIBUTE_WRITES_MAX];
                size_t n = 0;
                int r;

                for (; sid < end && n < ATTRIBUTE_WRITES_MAX; sid++, n++) {
                        (void) snprintf(texts[n], sizeof(texts[n]), "%s %u:%u-%u", word, sid, first, last);
                        writes[n] = (AttributeText) { PATH, texts[n] };
                }
                r = device_attributes_write(step_device(run->step), step_chip(run->step), writes, n);
                if (r < 0)
                        return r == -ENOENT ? 0 : r;
        }
        return 0;
}

int hbm_under_test_begin(const HbmRun *run) {
        return tell(run, "begin");
}

int hbm_under_test_end(const HbmRun *run) {
        return tell(run, "end");
}

int device_hbm_under_test(Device *device, unsigned chip, const MemoryGeometry *geometry, HbmInUse *ret) {
        return device_hbm_rows(device, chip, PATH, geometry, ret);
}
