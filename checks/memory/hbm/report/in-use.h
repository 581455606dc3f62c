/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmInUse
 *
 * Which rows of the stacks carry live data, as the chip tells it (assay/hbm/in-use, see wire.h).
 */

#include <stdbool.h>

#include "checks/port/device-memory.h"

#define HBM_IN_USE_MAX 64u /* ranges: more than the text has room for */

typedef struct HbmInUse {
        size_t n;
        struct {
                uint16_t sid, first, last; /* rows, inclusive */
        } ranges[HBM_IN_USE_MAX];
} HbmInUse;

/* -ENOENT: the chip does not tell; -EPROTO: it tells what cannot be; or the errors of the device. */
int device_hbm_in_use(Device *device, unsigned chip, const MemoryGeometry *geometry, HbmInUse *ret);
/* The same of the attribute PATH, which names rows in the same words. */
int device_hbm_rows(Device *device, unsigned chip, const char *path, const MemoryGeometry *geometry, HbmInUse *ret);
/* Whether any of the rows FIRST … LAST of SID is in use. */
bool hbm_in_use_meets(const HbmInUse *in_use, unsigned sid, unsigned first, unsigned last);
