/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/report/in-use.h"

#include <string.h>

/* Digits without leading zeros, below END, and what stands behind them. */
static bool take_number(const char **text, unsigned end, uint16_t *ret) {
        const char *at = *text;
        unsigned value = 0;

        if (*at < '0' || *at > '9' || (at[0] == '0' && at[1] >= '0' && at[1] <= '9'))
                return false;
        for (; *at >= '0' && *at <= '9' && value < end; at++)
                value = value * 10 + (unsigned) (*at - '0');
        if (value >= end)
                return false;

        *text = at;
        *ret = (uint16_t) value;
        return true;
}

static bool take_character(const char **text, char expected) {
        if (**text != expected)
                return false;
        (*text)++;
        return true;
}

static int parse(const char *text, const MemoryGeometry *geometry, HbmInUse *ret) {
        HbmInUse in_use = {};

        if (strcmp(text, "none") == 0) {
                *ret = in_use;
                return 0;
        }

        do {
                uint16_t sid, first, last;

                if (in_use.n >= HBM_IN_USE_MAX || !take_number(&text, geometry->size[HBM_SID], &sid) ||
                    !take_character(&text, ':') || !take_number(&text, geometry->size[HBM_ROW], &first) ||
                    !take_character(&text, '-') || !take_number(&text, geometry->size[HBM_ROW], &last) || last < first)
                        return -EINVAL;
                if (in_use.n > 0 && (in_use.ranges[in_use.n - 1].sid > sid ||
                                     (in_use.ranges[in_use.n - 1].sid == sid && in_use.ranges[in_use.n - 1].last >= first)))
                        return -EINVAL;
                in_use.ranges[in_use.n].sid = sid;
                in_use.ranges[in_use.n].first = first;
                in_use.ranges[in_use.n++].last = last;
        } while (take_character(&text, ','));

        if (*text)
                return -EINVAL;

        *ret = in_use;
        return 0;
}

int device_hbm_rows(Device *device, unsigned chip, const char *path, const MemoryGeometry *geometry, HbmInUse *ret) {
        char text[ATTRIBUTE_TEXT_MAX];
        int r;

        r = device_attribute(device, chip, path, text);
        if (r < 0)
                return r;

        return parse(text, geometry, ret) < 0 ? -EPROTO : 0;
}

int device_hbm_in_use(Device *device, unsigned chip, const MemoryGeometry *geometry, HbmInUse *ret) {
        return device_hbm_rows(device, chip, "assay/hbm/in-use", geometry, ret);
}

bool hbm_in_use_meets(const HbmInUse *in_use, unsigned sid, unsigned first, unsigned last) {
        for (size_t i = 0; i < in_use->n; i++)
                if (in_use->ranges[i].sid == sid && in_use->ranges[i].first <= last && first <= in_use->ranges[i].last)
                        return true;
        return false;
}
