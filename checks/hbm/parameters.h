/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "checks/march/notation.h"
#include "checks/wire.h"

#define HBM_BACKGROUNDS_MAX 16u

/* A background as plans and messages call it. */
typedef struct HbmBackgroundWord {
        const char *word;
        MemoryBackground background;
        uint8_t parameter;
} HbmBackgroundWord;

const HbmBackgroundWord *hbm_background_word(unsigned index); /* NULL past the end */

typedef struct HbmBackgrounds {
        unsigned n;
        uint8_t indices[HBM_BACKGROUNDS_MAX]; /* of hbm_background_word() */
} HbmBackgrounds;

typedef struct HbmParameters {
        March march;  /* on the first background */
        March others; /* on each further one */
        HbmBackgrounds backgrounds;
        int order;           /* MemoryOrder */
        uint64_t bytes;      /* of the chip to test, from row 0 of every bank; 0: all */
        uint64_t findings;   /* the most that are told one by one */
        uint64_t mismatches; /* the most asked back per element and stack */
        double pause_sec;    /* of each Del */
} HbmParameters;
