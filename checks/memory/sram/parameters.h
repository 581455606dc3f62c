/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

#include "checks/memory/march/backgrounds.h"
#include "checks/memory/march/notation.h"

typedef struct SramParameters {
        March march;  /* on the first background */
        March others; /* on each further one */
        MarchBackgrounds backgrounds;
        uint64_t repeats;   /* of all backgrounds, with another seed of what is addressed */
        int order;           /* MemoryOrder */
        uint64_t ecc;        /* reads of every error that is planted for parity and SECDED; 0: none is */
        uint64_t findings;   /* the most cells and words of an array that are told one by one */
        uint64_t mismatches; /* the most asked back per element and array */
} SramParameters;
