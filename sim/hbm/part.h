/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmPart
 *
 * What stacks there are. Both hold 24 GiB and are consistent with what JESD238 says of channels, pseudo-channels and
 * stack IDs; which of them AWS fits is not public. Four channels of a stack ID lie on one die, so a stack has SIDs × channels /
 * 4 of these: 12 and 8. Rows of a subarray are chosen by us within the 512 … 1024 that are published of HBM2 dies.
 */

typedef struct HbmPart {
        const char *word;       /* in scenarios: topology: {hbm: …} */
        const char *text;       /* of assay/hbm/part */
        const char *geometry;   /* of assay/hbm/geometry */
        unsigned subarray_rows; /* of assay/hbm/subarray */
} HbmPart;

typedef enum HbmPartIndex {
        HBM_PART_12_HIGH_16GB, /* 1,536 banks of 16 MiB */
        HBM_PART_8_HIGH_24GB,  /* 1,024 banks of 24 MiB */
        _HBM_PART_MAX,
} HbmPartIndex;

extern const HbmPart hbm_parts[_HBM_PART_MAX];
extern const char *const hbm_part_words[]; /* the same order, ends with NULL */
