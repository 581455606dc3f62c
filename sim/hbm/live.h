/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * HbmLive
 *
 * The live data of a job in a stack. They are what its rows hold, and stay as they are unless a command of the port
 * changes them or stops their refresh: each such trespass is counted, in accesses. What is written is counted by cells
 * (sim/hbm/trespass.h), what a pause, a hammer or a repair endangers by the rows that the command names.
 */

#include <stddef.h>

#include "sim/hbm/hbm.h"

typedef struct HbmLiveRows {
        size_t n;
        HbmRange ranges[HBM_RANGES_MAX]; /* ascending, disjoint */
} HbmLiveRows;

void hbm_live_rows(const Hbm *hbm, HbmLiveRows *ret); /* what is in use now */
WireBox hbm_live_box(const Hbm *hbm, const HbmRange *range);

/* Notes that a command endangers BOX. */
void hbm_live_touch(Hbm *hbm, const WireBox *box);
/* The same for all of the stack. */
void hbm_live_touch_all(Hbm *hbm);

/* What is in use from now on: "SID:FIRST-LAST,…" ascending and disjoint, or all, or none. -EINVAL: no such rows. */
int hbm_live_say(Hbm *hbm, const char *text);
/* What is in use, or more where the text has no room for so many pieces. -ENOENT: it has no room for one per SID. */
int hbm_live_format(const Hbm *hbm, char *text, size_t size);

/* Attributes of the chip: what its four stacks have in use together (see wire.h), and all their trespasses. */
int hbm_live_read(void *state, Chip *chip, unsigned index, char *text, size_t size);
int hbm_live_read_trespasses(void *state, Chip *chip, unsigned index, char *text, size_t size);
