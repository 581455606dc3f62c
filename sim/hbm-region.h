/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmElement and its regions: the part of a march element that is counted in closed form (sim/hbm-region.c).
 */

#include "sim/hbm.h"

typedef struct HbmElement {
        Hbm *hbm;
        const WireMarch *march;
        HbmPattern pattern; /* of data 0 */
        bool hash;          /* the pattern differs from access to access */
        bool writes;
        uint32_t blind;     /* operations that are not compared */
        uint8_t last_data;  /* of the last write */
        HbmBits uniform[2]; /* of even and odd rows, unless hash */
        uint64_t mismatches;
        HbmEccTally tally;
        size_t n_spot_records;
        size_t spots_from;
} HbmElement;

/* The background of one access. */
HbmBits hbm_element_bits(const HbmElement *element, uint32_t linear, unsigned row);
int hbm_element_record(HbmElement *element, const uint16_t at[static _HBM_AXIS_MAX], unsigned op,
                       const HbmBits *actual);
/* Sorts the records and keeps the first that are wanted. */
void hbm_element_cut_records(HbmElement *element);

/* Counts the mismatches of all that is no spot, and records the first of them. Content is cut to the box before. */
int hbm_regions_run(HbmElement *element);
