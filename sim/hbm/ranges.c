/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/hbm/ranges.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_ROOM  240u /* an attribute holds 255 bytes */
#define RANGE_ROOM 20u  /* "65535:65535-65535," and some */

int hbm_range_compare(const void *a, const void *b) {
        const HbmRange *x = a, *y = b;

        if (x->sid != y->sid)
                return (int) x->sid - (int) y->sid;
        return (int) x->first - (int) y->first;
}

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

int hbm_range_take(const char **text, unsigned sids, unsigned rows, HbmRange *ret) {
        HbmRange range;

        if (!take_number(text, sids, ':', &range.sid) || !take_number(text, rows, '-', &range.first) || !take_number(text, rows, 0, &range.last) ||
            range.last < range.first)
                return -EINVAL;
        *ret = range;
        return 0;
}

/* Sorts, and makes one of those that touch. */
static void merge(HbmRanges *ranges) {
        size_t n = 0;

        qsort(ranges->ranges, ranges->n, sizeof(HbmRange), hbm_range_compare);
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

/* Closes the smallest gap. */
static bool close_gap(HbmRanges *ranges) {
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

int hbm_ranges_add(HbmRanges *ranges, const HbmRange *range) {
        if (ranges->n >= HBM_UNION_MAX && !close_gap(ranges))
                return -ENOSPC;
        ranges->ranges[ranges->n++] = *range;
        merge(ranges);
        return 0;
}

int hbm_ranges_remove(HbmRanges *ranges, const HbmRange *range) {
        HbmRanges left = {};
        int r = 0;

        for (size_t i = 0; i < ranges->n && r >= 0; i++) {
                HbmRange piece = ranges->ranges[i];
                bool meets = piece.sid == range->sid && piece.first <= range->last && range->first <= piece.last;

                if (!meets)
                        r = hbm_ranges_add(&left, &piece);
                if (meets && r >= 0 && piece.first < range->first)
                        r = hbm_ranges_add(&left, &(HbmRange) { piece.sid, piece.first, (uint16_t) (range->first - 1) });
                if (meets && r >= 0 && piece.last > range->last)
                        r = hbm_ranges_add(&left, &(HbmRange) { piece.sid, (uint16_t) (range->last + 1), piece.last });
        }
        if (r >= 0)
                *ranges = left;
        return r;
}

int hbm_ranges_format(HbmRanges *ranges, char *text, size_t size) {
        size_t n = 0;

        merge(ranges);
        while (ranges->n * RANGE_ROOM > TEXT_ROOM && close_gap(ranges))
                ;
        if (ranges->n * RANGE_ROOM > size)
                return -ENOENT;

        (void) snprintf(text, size, "none");
        for (size_t i = 0; i < ranges->n; i++)
                n += (size_t) snprintf(text + n, size - n, "%s%u:%u-%u", i > 0 ? "," : "", ranges->ranges[i].sid,
                                       ranges->ranges[i].first, ranges->ranges[i].last);
        return 0;
}
