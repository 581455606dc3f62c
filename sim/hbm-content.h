/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmContent
 *
 * What a stack without faults would hold, said in few words: write layers in the order of time, each a box and the
 * pattern that a march left there; a layer that covers earlier ones replaces them. Below all lies what the cells
 * hold at power-up: a hash. Explicit data (copied in) is kept by access, see HbmSpot.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/wire.h"
#include "sim/hbm-shape.h"

typedef struct HbmBits { /* one access: bit b is bit b % 64 of w[b / 64] */
        uint64_t w[HBM_ACCESS_BYTES / 8];
} HbmBits;

#define HBM_PATTERN_POWER_UP ((uint8_t) _HBM_BACKGROUND_MAX) /* as HBM_BACKGROUND_ADDRESS, never written */

typedef struct HbmPattern {
        uint8_t background; /* HbmBackground, or HBM_PATTERN_POWER_UP */
        uint8_t parameter;
        uint8_t data; /* 1: inverted */
        uint64_t seed;
} HbmPattern;

/* Differs from access to access; all others only between even and odd rows. */
static inline bool hbm_pattern_is_hash(const HbmPattern *pattern) {
        return pattern->background >= HBM_BACKGROUND_ADDRESS;
}

HbmBits hbm_pattern_bits(const HbmPattern *pattern, uint32_t linear, unsigned row);
uint64_t hbm_splitmix64(uint64_t x);

typedef struct HbmLayer {
        WireBox box;
        HbmPattern pattern;
} HbmLayer;

#define HBM_LAYERS_MAX    4096u
#define HBM_FRAGMENTS_MAX 65536u

typedef struct HbmContent {
        HbmLayer *layers; /* oldest first; layers[0] covers all */
        size_t n_layers, allocated;
        HbmLayer *fragments; /* see below; reused */
        size_t n_fragments, fragments_allocated;
        HbmLayer *rest, *next; /* what hbm_content_cut() has still to cut */
        size_t n_rest, rest_allocated, n_next, next_allocated;
} HbmContent;

int hbm_content_init(HbmContent *content, const HbmShape *shape, uint64_t power_up_seed);
void hbm_content_done(HbmContent *content);

/* Makes sure that the next hbm_content_write() cannot fail. -ENOMEM; -ENOSPC: more layers than there may be. */
int hbm_content_reserve(HbmContent *content);
void hbm_content_write(HbmContent *content, const WireBox *box, const HbmPattern *pattern);

const HbmPattern *hbm_content_find(const HbmContent *content, const uint16_t at[static _HBM_AXIS_MAX]);

/* Cuts BOX into disjoint boxes of one layer each: content->fragments. -ENOMEM; -ENOSPC: too many. */
int hbm_content_cut(HbmContent *content, const WireBox *box);
