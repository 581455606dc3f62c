/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/far-alias.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/memory/hbm/live/apart-parts.h"

static bool is_of_another(const Apart *apart, const Stray *stray, uint64_t seed, HbmFarAlias *ret) {
        const MemoryGeometry *geometry = &apart->run->geometry;
        MemoryTag tag;

        if (!memory_tag_read(&stray->got, &tag) || tag.seed != seed || tag.place >= geometry->accesses ||
            tag.place == memory_geometry_linear(geometry, stray->at))
                return false;
        *ret = (HbmFarAlias) { .found = true, .stack = stray->stack };
        memcpy(ret->at, stray->at, sizeof(ret->at));
        memory_geometry_at(geometry, tag.place, ret->other);
        return true;
}

static bool has_tags(const Tags *tags) {
        bool has = false;

        for (unsigned stack = 0; stack < STACKS; stack++)
                has |= tags->found[stack];
        return has;
}

int hbm_far_alias_look(HbmRun *run, const WireBox boxes[], unsigned n, uint64_t seed, HbmFarAlias *ret) {
        Apart apart = { .run = run, .boxes = boxes, .n = n };
        bool blind = false; /* what the passes have tried */
        int r;

        *ret = (HbmFarAlias) {};
        memory_batch_confine(run->batch, &run->geometry);
        apart.tags = calloc(n, sizeof(Tags));
        r = apart.tags ? apart_read_tags(&apart) : -ENOMEM;
        for (unsigned i = 0; i < n && r >= 0; i++)
                if (has_tags(&apart.tags[i]))
                        r = apart_read_columns(&apart, &boxes[i], &apart.tags[i], 0, 1, &blind);
        for (size_t i = 0; i < apart.n_strays && r >= 0 && !ret->found; i++)
                (void) is_of_another(&apart, &apart.strays[i], seed, ret);
        free(apart.tags);
        free(apart.strays);
        return r;
}
