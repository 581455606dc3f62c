/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/diagnose/again.h"

#include <errno.h>
#include <string.h>

#include "checks/memory/march/march.h"

#define BOXES_MAX  256u /* of a stack and pass */
#define PASSES_MAX 3u   /* the first of a step: what is hidden in later ones alone is for the scan after the replacement */

typedef struct Again {
        const HbmDiagnosis *diagnosis;
        const HbmCase *c;
        unsigned pass;
        unsigned n_boxes;
} Again;

static int on_mismatch(const MarchMismatch *mismatch, void *userdata) {
        const Again *again = userdata;
        MarchSighting sighting = {
                .phase   = (uint8_t) again->diagnosis->passes[again->pass].phase,
                .pass    = (uint8_t) again->pass,
                .element = (uint8_t) mismatch->element,
                .op      = (uint8_t) mismatch->op,
        };

        return march_failures_add(again->diagnosis->failures, again->c->stack,
                                  memory_geometry_linear(again->diagnosis->geometry, mismatch->at), &sighting,
                                  &mismatch->expected, &mismatch->actual);
}

/* Whether anything in BOX is explained as a whole, or under a stuck lane; *ret_all: nothing else is in it. */
static bool has_explained(const HbmCase *c, const WireBox *box, bool *ret_all) {
        uint32_t first = memory_geometry_linear(c->geometry, box->first) / hbm_bank_accesses(c->geometry),
                 last = memory_geometry_linear(c->geometry, box->last) / hbm_bank_accesses(c->geometry);
        bool any = false;

        *ret_all = true;
        for (uint32_t bank = first; bank <= last; bank++) {
                bool explained = c->gone[bank] || c->lanes[bank / hbm_case_banks_of_part(c)] != 0;
                uint16_t at[_MEMORY_AXIS_MAX];

                memory_geometry_at(c->geometry, bank * hbm_bank_accesses(c->geometry), at);
                at[HBM_ROW] = box->first[HBM_ROW];
                at[HBM_COLUMN] = box->first[HBM_COLUMN];
                if (!memory_box_includes(box, at))
                        continue;
                any |= explained;
                *ret_all &= explained;
        }
        return any;
}

static int march_box(Again *again, const WireBox *box, bool *ret_truncated) {
        const HbmPass *noted = &again->diagnosis->passes[again->pass];
        MemoryPart part = memory_part_stack(again->c->stack);
        MarchPass pass = {
                .parts          = &part,
                .n_parts        = 1,
                .march          = noted->march,
                .field          = noted->field,
                .geometry       = *again->diagnosis->geometry,
                .box            = *box,
                .order          = noted->order,
                .seed           = memory_mix(again->n_boxes),
                .mismatches_max = again->diagnosis->list_max,
                .pause_nsec     = (uint64_t) (noted->paused_sec * 1e9),
                .found          = on_mismatch,
                .userdata       = again,
        };
        int r;

        again->n_boxes++;
        pass.outcomes[0].accesses = memory_box_accesses(box);
        r = march_pass_run(&pass, again->diagnosis->batch);
        *ret_truncated = pass.outcomes[0].truncated;
        return r;
}

/*
 * Halves the box along its slowest axis down to banks, then by columns: what fills a list within a bank is a bit line or a column, and
 * rows that have to do with each other stay together in the others. False where it cannot be.
 */
static bool split(const WireBox *box, WireBox halves[static 2]) {
        static const MemoryAxis axes[] = { HBM_CHANNEL, HBM_PSEUDO_CHANNEL, HBM_SID, HBM_BANK_GROUP, HBM_BANK, HBM_COLUMN };

        for (unsigned i = 0; i < ELEMENTS(axes); i++) {
                MemoryAxis axis = axes[i];
                uint16_t middle = (uint16_t) ((box->first[axis] + box->last[axis]) / 2);

                if (box->first[axis] == box->last[axis])
                        continue;
                halves[0] = halves[1] = *box;
                halves[0].last[axis] = middle;
                halves[1].first[axis] = (uint16_t) (middle + 1);
                return true;
        }
        return false;
}

static bool is_late(const HbmDiagnosis *diagnosis) {
        return diagnosis->device && device_nsec(diagnosis->device) >= diagnosis->end_nsec;
}

static int cover(Again *again, const WireBox *box) {
        bool all, explained = has_explained(again->c, box, &all), truncated = false;
        WireBox halves[2];
        int r;

        if (all || again->n_boxes >= BOXES_MAX || is_late(again->diagnosis))
                return 0;
        if (!explained) {
                r = march_box(again, box, &truncated);
                if (r < 0 || !truncated)
                        return r;
        }

        if (!split(box, halves))
                return 0;
        r = cover(again, &halves[0]);
        return r < 0 ? r : cover(again, &halves[1]);
}

int hbm_march_again(const HbmDiagnosis *diagnosis, const HbmCase *c) {
        Again again = { .diagnosis = diagnosis, .c = c };
        unsigned n_passes = 0;
        int r;

        for (; again.pass < diagnosis->n_passes && n_passes < PASSES_MAX; again.pass++) {
                const HbmPass *pass = &diagnosis->passes[again.pass];

                if (!pass->ran || !pass->march || pass->fill || pass->ecc || (pass->phase != MARCH_PHASE_MARCH && pass->phase != MARCH_PHASE_ADDRESS))
                        continue;
                n_passes++;
                again.n_boxes = 0;
                r = cover(&again, diagnosis->box);
                if (r < 0)
                        return r;
        }

        return 0;
}
