/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "checks/march/backgrounds.h"
#include "checks/march/notation.h"
#include "checks/wire.h"

typedef struct HbmParameters {
        March march;  /* on the first background */
        March others; /* on each further one */
        MarchBackgrounds backgrounds;
        int order;           /* MemoryOrder */
        uint64_t bytes;      /* of the chip to test, from row 0 of every bank; 0: all */
        uint64_t findings;   /* the most that are told one by one */
        uint64_t mismatches; /* the most asked back per element and stack */
        double pause_sec;    /* of each Del */
        uint64_t slices;     /* into which the rows of each SID are cut, see slices.h; 0: the whole chip is tested */
        double seconds;      /* device time for slices of one scan, at least one slice */
} HbmParameters;
