/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kinds of fault of a stack.
 *
 * stuck-at sits in a cell: whatever is written, the cell holds `value`. The others sit on the way out: a dead row or
 * bank keeps what was written and reads as zeros, as ones or inverted (`reads`); a stuck lane (DQ) carries `value`
 * in all 8 beats of every read of its pseudo-channel. comparator-blind is of the march engine: reads that want what it `misses`
 * are never reported. On-die ECC sits between array and lanes: it sees the former
 * faults and not the latter. While an intermittent fault does not act, cells keep what they were forced to and units
 * read well.
 */

#include <errno.h>
#include <string.h>

#include "sim/hbm.h"

typedef struct HbmStuck {
        uint64_t value;
} HbmStuck;

typedef struct HbmDead {
        int reads; /* index of dead_words: HbmArray - 1 */
} HbmDead;

typedef struct HbmBlind {
        int misses; /* index of blind_words */
} HbmBlind;

static const char *const blind_words[] = { "zeros", "ones", "both", NULL };
static const char *const dead_words[] = { "zeros", "ones", "inverted", NULL };

static const YamlField stuck_fields[] = {
        YAML_UNSIGNED("value", HbmStuck, value, 0, 1, .required = true, .summary = "what it is stuck at"),
        {},
};

static const YamlField dead_fields[] = {
        YAML_WORD("reads", HbmDead, reads, dead_words, .summary = "zeros (default), ones or inverted"),
        {},
};

static const YamlField blind_fields[] = {
        YAML_WORD("misses", HbmBlind, misses, blind_words, .required = true, .summary = "reads that want zeros, ones, or both"),
        {},
};

#define PLACES(...) ((const LocationKind[]) { __VA_ARGS__, _LOCATION_KIND_INVALID })
#define PERSISTENCE (PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT)
#define TRIGGERS    (TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY)

const FaultKind hbm_fault_kinds[] = {
        {
                .name             = "stuck-at",
                .summary          = "a memory cell holds one value whatever is written",
                .family           = FAMILY_MEMORY,
                .at               = PLACES(LOCATION_BIT),
                .persistence      = PERSISTENCE,
                .triggers         = TRIGGERS,
                .parameters_bytes = sizeof(HbmStuck),
                .parameters       = stuck_fields,
        },
        {
                .name             = "row-dead",
                .summary          = "a row of a bank does not give back what it holds",
                .family           = FAMILY_MEMORY,
                .at               = PLACES(LOCATION_ROW),
                .persistence      = PERSISTENCE,
                .triggers         = TRIGGERS,
                .parameters_bytes = sizeof(HbmDead),
                .parameters       = dead_fields,
        },
        {
                .name             = "bank-dead",
                .summary          = "a bank does not give back what it holds",
                .family           = FAMILY_MEMORY,
                .at               = PLACES(LOCATION_BANK),
                .persistence      = PERSISTENCE,
                .triggers         = TRIGGERS,
                .parameters_bytes = sizeof(HbmDead),
                .parameters       = dead_fields,
        },
        {
                .name             = "lane-stuck",
                .summary          = "a data lane of a pseudo-channel carries one value",
                .family           = FAMILY_MEMORY,
                .at               = PLACES(LOCATION_DQ),
                .persistence      = PERSISTENCE,
                .triggers         = TRIGGERS,
                .parameters_bytes = sizeof(HbmStuck),
                .parameters       = stuck_fields,
        },
        {
                .name             = "comparator-blind",
                .summary          = "the march engine of a stack does not report mismatches",
                .family           = FAMILY_MEMORY,
                .at               = PLACES(LOCATION_HBM),
                .persistence      = PERSISTENCE,
                .triggers         = TRIGGERS,
                .parameters_bytes = sizeof(HbmBlind),
                .parameters       = blind_fields,
        },
        {},
};

/* The box that AT names, whole along every axis it does not. -EINVAL: not in this geometry. */
static int box_of(const HbmShape *shape, const Location *at, WireBox *ret) {
        static const LocationKind kinds[_HBM_AXIS_MAX] = {
                [HBM_CHANNEL]    = LOCATION_CHANNEL,
                [HBM_PSEUDO_CHANNEL] = LOCATION_PSEUDO_CHANNEL,
                [HBM_SID]        = LOCATION_SID,
                [HBM_BANK_GROUP] = LOCATION_BANK_GROUP,
                [HBM_BANK]       = LOCATION_BANK,
                [HBM_ROW]        = LOCATION_ROW,
                [HBM_COLUMN]     = LOCATION_COLUMN,
        };

        *ret = hbm_box_whole(shape);
        for (unsigned axis = 0; axis < _HBM_AXIS_MAX; axis++) {
                int index = location_index(at, kinds[axis]);

                if (index < 0)
                        continue;
                if (index >= shape->size[axis])
                        return -EINVAL;
                ret->first[axis] = ret->last[axis] = (uint16_t) index;
        }

        return 0;
}

static int inject_cell(Hbm *hbm, const Fault *fault, const WireBox *box) {
        uint32_t linear = hbm_shape_linear(&hbm->shape, box->first);
        const HbmSpot *spot = hbm_overlay_find(&hbm->overlay, linear);
        unsigned bit = (unsigned) location_index(&fault->at, LOCATION_BIT);
        const HbmStuck *stuck = fault->parameters;
        HbmCell cell = { .fault = fault, .linear = linear, .bit = (uint8_t) bit, .stuck = stuck->value != 0 };
        HbmBits bits;

        if (spot && spot->held)
                bits = spot->data;
        else
                bits = hbm_pattern_bits(hbm_content_find(&hbm->content, box->first), linear,
                                        box->first[HBM_ROW]);
        cell.value = bits.w[bit / 64] >> (bit % 64) & 1;

        return hbm_overlay_add_cell(&hbm->overlay, &cell);
}

static int inject_line(Hbm *hbm, const Fault *fault, const WireBox *box) {
        HbmLine line = { .fault = fault, .box = *box, .linear = hbm_shape_linear(&hbm->shape, box->first) };
        int dq = location_index(&fault->at, LOCATION_DQ);

        if (dq >= 0) {
                const HbmStuck *stuck = fault->parameters;

                line.effects.lanes = UINT32_C(1) << dq;
                line.effects.values = stuck->value ? line.effects.lanes : 0;
        } else {
                const HbmDead *dead = fault->parameters;

                line.effects.array = (HbmArray) (dead->reads + 1);
        }

        return hbm_overlay_add_line(&hbm->overlay, &line);
}

bool hbm_comparator_is_blind(const Hbm *hbm, unsigned data) {
        const HbmBlind *blind = hbm->comparator->parameters;

        return blind->misses == 2 || blind->misses == (int) data;
}

int hbm_inject(void *state, const Fault *fault) {
        Hbm *hbm = state;
        WireBox box;
        int r;

        if (location_kind(&fault->at) == LOCATION_HBM) {
                if (hbm->comparator)
                        return -EEXIST;
                hbm->comparator = fault;
                return 0;
        }

        r = box_of(&hbm->shape, &fault->at, &box);
        if (r < 0)
                return r;

        return location_kind(&fault->at) == LOCATION_BIT ? inject_cell(hbm, fault, &box) :
                                                           inject_line(hbm, fault, &box);
}

/* A cell that is well again still holds what it held: from now on as explicit data. */
static void keep_value(Hbm *hbm, const HbmCell *cell) {
        HbmSpot *spot = hbm_overlay_find(&hbm->overlay, cell->linear);
        uint64_t mask = UINT64_C(1) << (cell->bit % 64);
        HbmBits intended;

        if (!spot)
                return;

        (void) hbm_spot_stored(hbm, spot, &intended);
        spot->data = intended;
        spot->held = true;
        spot->data.w[cell->bit / 64] &= ~mask;
        if (cell->value)
                spot->data.w[cell->bit / 64] |= mask;
}

void hbm_heal(void *state, const Fault *fault) {
        Hbm *hbm = state;
        HbmOverlay *overlay = &hbm->overlay;
        size_t n = 0;

        if (hbm->comparator == fault)
                hbm->comparator = NULL;

        /* Links what was injected since the last command; without memory for that, values are not kept. */
        (void) hbm_overlay_prepare(overlay, &hbm->shape, NULL);

        for (size_t i = 0; i < overlay->n_cells; i++) {
                if (overlay->cells[i].fault == fault)
                        keep_value(hbm, &overlay->cells[i]);
                else
                        overlay->cells[n++] = overlay->cells[i];
        }
        overlay->n_cells = n;

        n = 0;
        for (size_t i = 0; i < overlay->n_lines; i++)
                if (overlay->lines[i].fault != fault)
                        overlay->lines[n++] = overlay->lines[i];
        overlay->n_lines = n;
        overlay->dirty = true;
}

void hbm_faults_leave(Hbm *hbm, const WireBox *row) {
        HbmOverlay *overlay = &hbm->overlay;
        uint32_t first = hbm_shape_linear(&hbm->shape, row->first),
                 last = hbm_shape_linear(&hbm->shape, row->last);
        size_t n = 0;

        for (size_t i = 0; i < overlay->n_cells; i++)
                if (overlay->cells[i].linear < first || overlay->cells[i].linear > last)
                        overlay->cells[n++] = overlay->cells[i];
        overlay->n_cells = n;

        n = 0;
        for (size_t i = 0; i < overlay->n_lines; i++)
                if (memcmp(&overlay->lines[i].box, row, sizeof(*row)) != 0)
                        overlay->lines[n++] = overlay->lines[i];
        overlay->n_lines = n;

        for (size_t i = 0; i < overlay->n_spots; i++)
                if (overlay->spots[i].linear >= first && overlay->spots[i].linear <= last)
                        overlay->spots[i].held = false;
        overlay->dirty = true;
}
