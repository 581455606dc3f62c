/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* View: one lane as its script and its answers show it, pass after pass in one row. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/rounding/script.h"
#include "checks/text/cleanup.h"

typedef struct View {
        const Script *script;
        unsigned lane;
        unsigned at[SCRIPT_PASSES_MAX + 1]; /* where each pass begins in the rows below */
        Element *elements;
        uint32_t *words;   /* that the lane's generator should draw; 0 to nearest */
        uint32_t *answers; /* as they were written: images */
        uint32_t *sound;
        bool wrong[SCRIPT_PASSES_MAX];
        unsigned n_wrong_passes, n_mismatches;
        unsigned first;    /* the first answer that is wrong */
} View;

/* ANSWERS: of the engine, by pass. -ENOMEM. */
int view_make(const Script *script, const uint8_t *const answers[], unsigned lane, View **ret);
View *view_free(View *view);
DEFINE_CLEANUP(View *, view_free);

/* The pass that the answer numbered I belongs to. */
unsigned view_pass_of(const View *view, unsigned i);
/* Of the coins at PLACE, how many went up. */
unsigned view_ups(const View *view, unsigned place);
