/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The kinds of fault of a stack, beside those of its cells (sim/memory/faults.c): they sit on the way out. A dead row
 * or bank keeps what was written and reads as zeros, as ones or inverted (`reads`); a stuck lane (DQ) carries `value` in all
 * 8 beats of every read of its pseudo-channel. On-die ECC sits between array and lanes: it sees the former and not the
 * latter.
 */

#include <errno.h>
#include <string.h>

#include "sim/hbm.h"
#include "sim/memory/faults.h"

typedef struct HbmDead {
        int reads; /* index of dead_words: MemoryArray - 1 */
} HbmDead;

static const char *const dead_words[] = { "zeros", "ones", "inverted", NULL };

static const YamlField stuck_fields[] = {
        YAML_UNSIGNED("value", MemoryStuck, value, 0, 1, .required = true, .summary = "what it is stuck at"),
        {},
};

static const YamlField dead_fields[] = {
        YAML_WORD("reads", HbmDead, reads, dead_words, .summary = "zeros (default), ones or inverted"),
        {},
};

#define PLACES(...) ((const LocationKind[]) { __VA_ARGS__, _LOCATION_KIND_INVALID })
#define PERSISTENCE (PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT)
#define TRIGGERS    (TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY)

const FaultKind hbm_fault_kinds[] = {
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
                .parameters_bytes = sizeof(MemoryStuck),
                .parameters       = stuck_fields,
        },
        {},
};

/* The box that AT names, whole along every axis it does not. -EINVAL: not in this geometry. */
static int box_of(const MemoryShape *shape, const Location *at, WireBox *ret) {
        static const LocationKind kinds[_MEMORY_AXIS_MAX] = {
                [HBM_CHANNEL]    = LOCATION_CHANNEL,
                [HBM_PSEUDO_CHANNEL] = LOCATION_PSEUDO_CHANNEL,
                [HBM_SID]        = LOCATION_SID,
                [HBM_BANK_GROUP] = LOCATION_BANK_GROUP,
                [HBM_BANK]       = LOCATION_BANK,
                [HBM_ROW]        = LOCATION_ROW,
                [HBM_COLUMN]     = LOCATION_COLUMN,
        };

        *ret = memory_box_whole(shape);
        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                int index = location_index(at, kinds[axis]);

                if (index < 0)
                        continue;
                if (index >= shape->size[axis])
                        return -EINVAL;
                ret->first[axis] = ret->last[axis] = (uint16_t) index;
        }

        return 0;
}

static int inject_line(Hbm *hbm, const Fault *fault, const WireBox *box) {
        MemoryLine line = { .fault = fault, .box = *box, .linear = memory_shape_linear(&hbm->memory.shape, box->first) };
        int dq = location_index(&fault->at, LOCATION_DQ);

        if (dq >= 0) {
                const MemoryStuck *stuck = fault->parameters;

                line.effects.lanes = UINT32_C(1) << dq;
                line.effects.values = stuck->value ? line.effects.lanes : 0;
        } else {
                const HbmDead *dead = fault->parameters;

                line.effects.array = (MemoryArray) (dead->reads + 1);
        }

        return memory_units_add_line(&hbm->memory.units, &line);
}

int hbm_inject(void *state, const Fault *fault) {
        Hbm *hbm = state;
        int bit = location_index(&fault->at, LOCATION_BIT), r;
        WireBox box;

        if (location_kind(&fault->at) == LOCATION_HBM)
                return memory_inject_comparator(&hbm->memory, fault);

        r = box_of(&hbm->memory.shape, &fault->at, &box);
        if (r < 0)
                return r;

        return bit >= 0 ? memory_inject_cell(&hbm->memory, fault, &box, (unsigned) bit) : inject_line(hbm, fault, &box);
}

void hbm_heal(void *state, const Fault *fault) {
        Hbm *hbm = state;

        memory_heal(&hbm->memory, fault);
}
