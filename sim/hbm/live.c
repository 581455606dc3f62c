/* SPDX-License-Identifier: Apache-2.0 */

/* HbmLive: see live.h. */

#include "sim/hbm/live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const MemoryShape *shape_of(const Hbm *hbm) {
        return &hbm->memory.shape;
}

/* As was said, else by whether the chip carries work. */
void hbm_live_rows(const Hbm *hbm, HbmLiveRows *ret) {
        const MemoryShape *shape = shape_of(hbm);
        unsigned rows = shape->size[HBM_ROW] - shape->size[HBM_ROW] / 8u;

        ret->n = 0;
        if (hbm->live.told) {
                memcpy(ret->ranges, hbm->live.ranges, hbm->live.n * sizeof(HbmRange));
                ret->n = hbm->live.n;
                return;
        }
        if (!chip_is_occupied(hbm->memory.chip))
                return;
        for (unsigned sid = 0; sid < shape->size[HBM_SID] && ret->n < HBM_RANGES_MAX; sid++)
                ret->ranges[ret->n++] = (HbmRange) { (uint16_t) sid, 0, (uint16_t) (rows - 1) };
}

WireBox hbm_live_box(const Hbm *hbm, const HbmRange *range) {
        WireBox box = memory_box_whole(shape_of(hbm));

        box.first[HBM_SID] = box.last[HBM_SID] = range->sid;
        box.first[HBM_ROW] = range->first;
        box.last[HBM_ROW] = range->last;
        return box;
}

/* ---- trespasses ---- */

void hbm_live_touch(Hbm *hbm, const WireBox *box) {
        WireBox used, common;
        HbmLiveRows ranges;

        if (!memory_box_is_valid(shape_of(hbm), box))
                return; /* the command will be refused */

        hbm_live_rows(hbm, &ranges);
        for (size_t i = 0; i < ranges.n; i++) {
                used = hbm_live_box(hbm, &ranges.ranges[i]);
                if (memory_box_intersect(&used, box, &common))
                        hbm->live.trespasses += memory_box_volume(&common);
        }
}

void hbm_live_touch_all(Hbm *hbm) {
        WireBox whole = memory_box_whole(shape_of(hbm));

        hbm_live_touch(hbm, &whole);
}

int hbm_live_read_trespasses(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        uint64_t sum = 0;

        for (unsigned stack = 0; stack < STACKS; stack++) {
                const Hbm *hbm = chip_part(chip, &model_hbm, stack);

                sum += hbm ? hbm->live.trespasses : 0;
        }

        (void) snprintf(text, size, "%" PRIu64, sum);
        return 0;
}

/* ---- as text ---- */

int hbm_live_read(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        HbmLiveRows ranges;
        HbmRanges all = {};

        for (unsigned stack = 0; stack < STACKS; stack++) {
                const Hbm *hbm = chip_part(chip, &model_hbm, stack);

                if (!hbm)
                        return -ENOENT;
                hbm_live_rows(hbm, &ranges);
                memcpy(all.ranges + all.n, ranges.ranges, ranges.n * sizeof(HbmRange));
                all.n += ranges.n;
        }

        return hbm_ranges_format(&all, text, size);
}

int hbm_live_format(const Hbm *hbm, char *text, size_t size) {
        HbmLiveRows rows;
        HbmRanges ranges;

        hbm_live_rows(hbm, &rows);
        ranges.n = rows.n;
        memcpy(ranges.ranges, rows.ranges, sizeof(rows.ranges));
        return hbm_ranges_format(&ranges, text, size);
}

/* ---- what is said of it ---- */

int hbm_live_say(Hbm *hbm, const char *text) {
        HbmLive live = { .told = true, .trespasses = hbm->live.trespasses, .disturbed = hbm->live.disturbed };
        const MemoryShape *shape = shape_of(hbm);
        bool all = strcmp(text, "all") == 0;

        for (unsigned sid = 0; all && sid < shape->size[HBM_SID] && live.n < HBM_RANGES_MAX; sid++)
                live.ranges[live.n++] = (HbmRange) { (uint16_t) sid, 0, (uint16_t) (shape->size[HBM_ROW] - 1) };

        if (!all && strcmp(text, "none") != 0)
                do {
                        HbmRange *range = &live.ranges[live.n];

                        if (live.n >= HBM_RANGES_MAX || hbm_range_take(&text, shape->size[HBM_SID], shape->size[HBM_ROW], range) < 0 ||
                            (live.n > 0 && hbm_range_compare(&range[-1], range) >= 0) ||
                            (live.n > 0 && range[-1].sid == range->sid && range[-1].last >= range->first))
                                return -EINVAL;
                        live.n++;
                } while (*text || text[-1] == ',');

        hbm->live = live;
        return 0;
}
