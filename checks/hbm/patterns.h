/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * What memory should hold: the backgrounds of wire.h, computed here from their formulas for the host's comparisons.
 */

#include <stdint.h>

#include "checks/device-hbm.h"

typedef struct HbmField {
        HbmBackground background;
        uint8_t parameter; /* HBM_BACKGROUND_BIT_STRIPE */
        uint64_t seed;     /* HBM_BACKGROUND_ADDRESS */
} HbmField;

typedef struct HbmData { /* one access */
        uint8_t bytes[HBM_ACCESS_BYTES];
} HbmData;

/* FIELD XOR DATA (0 or 1) at one access. */
HbmData hbm_field_data(const HbmField *field, const HbmGeometry *geometry, const uint16_t at[static _HBM_AXIS_MAX],
                       unsigned data);

uint64_t hbm_mix(uint64_t x); /* a 64-bit hash for choices that depend on a seed */
