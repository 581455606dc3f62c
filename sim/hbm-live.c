/* SPDX-License-Identifier: Apache-2.0 */

/* HbmLive: see hbm-live.h. */

#include "sim/hbm-live.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_ROOM     240u /* an attribute holds 255 bytes */
#define RANGE_ROOM    20u  /* "65535:65535-65535," and some */
#define UNION_MAX     (STACKS * HBM_RANGES_MAX)

typedef struct Ranges { /* of all stacks */
        size_t n;
        HbmRange ranges[UNION_MAX];
} Ranges;

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

static int compare_ranges(const void *a, const void *b) {
        const HbmRange *x = a, *y = b;

        if (x->sid != y->sid)
                return (int) x->sid - (int) y->sid;
        return (int) x->first - (int) y->first;
}

/* Sorts, and makes one of those that touch. */
static void ranges_merge(Ranges *ranges) {
        size_t n = 0;

        qsort(ranges->ranges, ranges->n, sizeof(HbmRange), compare_ranges);
        for (size_t i = 0; i < ranges->n; i++) {
                HbmRange *before = n > 0 ? &ranges->ranges[n - 1] : NULL, *range = &ranges->ranges[i];

                if (before && before->sid == range->sid && range->first <= before->last + 1u) {
                        if (range->last > before->last)
                                before->last = range->last;
                } else
                        ranges->ranges[n++] = *range;
        }
        ranges->n = n;
}

/* Closes the smallest gap: what does not fit the text is told as more than it is, never as less. */
static bool close_gap(Ranges *ranges) {
        unsigned smallest = UINT32_MAX;
        size_t at = 0;

        for (size_t i = 1; i < ranges->n; i++) {
                const HbmRange *a = &ranges->ranges[i - 1], *b = &ranges->ranges[i];

                if (a->sid == b->sid && (unsigned) (b->first - a->last) < smallest) {
                        smallest = (unsigned) (b->first - a->last);
                        at = i;
                }
        }
        if (at == 0)
                return false;

        ranges->ranges[at - 1].last = ranges->ranges[at].last;
        memmove(&ranges->ranges[at], &ranges->ranges[at + 1], (ranges->n - at - 1) * sizeof(HbmRange));
        ranges->n--;
        return true;
}

static int ranges_format(Ranges *ranges, char *text, size_t size) {
        size_t n = 0;

        ranges_merge(ranges);
        while (ranges->n * RANGE_ROOM > TEXT_ROOM && close_gap(ranges))
                ;
        if (ranges->n * RANGE_ROOM > size)
                return -ENOENT; /* more SIDs than the text can name: not told */

        (void) snprintf(text, size, "none");
        for (size_t i = 0; i < ranges->n; i++)
                n += (size_t) snprintf(text + n, size - n, "%s%u:%u-%u", i > 0 ? "," : "", ranges->ranges[i].sid,
                                       ranges->ranges[i].first, ranges->ranges[i].last);
        return 0;
}

int hbm_live_read(void *state, Chip *chip, unsigned index, char *text, size_t size) {
        HbmLiveRows ranges;
        Ranges all = {};

        for (unsigned stack = 0; stack < STACKS; stack++) {
                const Hbm *hbm = chip_part(chip, &model_hbm, stack);

                if (!hbm)
                        return -ENOENT;
                hbm_live_rows(hbm, &ranges);
                memcpy(all.ranges + all.n, ranges.ranges, ranges.n * sizeof(HbmRange));
                all.n += ranges.n;
        }

        return ranges_format(&all, text, size);
}

int hbm_live_format(const Hbm *hbm, char *text, size_t size) {
        HbmLiveRows rows;
        Ranges ranges;

        hbm_live_rows(hbm, &rows);
        ranges.n = rows.n;
        memcpy(ranges.ranges, rows.ranges, sizeof(rows.ranges));
        return ranges_format(&ranges, text, size);
}

/* ---- what is said of it ---- */

/* One number below END and what must follow it; 0 for FOLLOWS: a comma or the end. */
static bool take_number(const char **text, unsigned end, char follows, uint16_t *ret) {
        unsigned value = 0;
        const char *at = *text;

        if (*at < '0' || *at > '9')
                return false;
        for (; *at >= '0' && *at <= '9' && value < end; at++)
                value = value * 10 + (unsigned) (*at - '0');
        if (value >= end || (follows ? *at != follows : *at != ',' && *at != '\0'))
                return false;

        *text = *at == '\0' ? at : at + 1;
        *ret = (uint16_t) value;
        return true;
}

int hbm_live_say(Hbm *hbm, const char *text) {
        HbmLive live = { .told = true, .trespasses = hbm->live.trespasses, .disturbed = hbm->live.disturbed };
        const MemoryShape *shape = shape_of(hbm);
        bool all = strcmp(text, "all") == 0;

        for (unsigned sid = 0; all && sid < shape->size[HBM_SID] && live.n < HBM_RANGES_MAX; sid++)
                live.ranges[live.n++] = (HbmRange) { (uint16_t) sid, 0, (uint16_t) (shape->size[HBM_ROW] - 1) };

        if (!all && strcmp(text, "none") != 0)
                do {
                        HbmRange *range = &live.ranges[live.n];

                        if (live.n >= HBM_RANGES_MAX || !take_number(&text, shape->size[HBM_SID], ':', &range->sid) ||
                            !take_number(&text, shape->size[HBM_ROW], '-', &range->first) ||
                            !take_number(&text, shape->size[HBM_ROW], 0, &range->last) || range->last < range->first ||
                            (live.n > 0 && compare_ranges(&range[-1], range) >= 0) ||
                            (live.n > 0 && range[-1].sid == range->sid && range[-1].last >= range->first))
                                return -EINVAL;
                        live.n++;
                } while (*text || text[-1] == ',');

        hbm->live = live;
        return 0;
}
