/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/memory/hbm/diagnose/replay.h"

#include <string.h>
#include <sys/param.h>

#define PIECES_MAX (2 * _MEMORY_AXIS_MAX)

/* What is visited, ascending; the target lies between the first n_before and the others. */
typedef struct Route {
        WireBox pieces[PIECES_MAX];
        unsigned n, n_before;
} Route;

/* Slowest to fastest, as wire.h says of each order. */
static const uint8_t axes[_MEMORY_ORDER_MAX][_MEMORY_AXIS_MAX] = {
        [MEMORY_ORDER_COLUMN_FAST] = { HBM_CHANNEL, HBM_PSEUDO_CHANNEL, HBM_SID, HBM_BANK_GROUP, HBM_BANK, HBM_ROW, HBM_COLUMN },
        [MEMORY_ORDER_ROW_FAST]    = { HBM_CHANNEL, HBM_PSEUDO_CHANNEL, HBM_SID, HBM_BANK_GROUP, HBM_BANK, HBM_COLUMN, HBM_ROW },
        [MEMORY_ORDER_BANK_FAST]   = { HBM_CHANNEL, HBM_PSEUDO_CHANNEL, HBM_SID, HBM_ROW, HBM_COLUMN, HBM_BANK_GROUP, HBM_BANK },
};

/* Adds what REGION has of BOX. */
static void add_piece(Route *route, const WireBox *region, const WireBox *box) {
        WireBox piece;

        for (unsigned axis = 0; axis < _MEMORY_AXIS_MAX; axis++) {
                piece.first[axis] = MAX(region->first[axis], box->first[axis]);
                piece.last[axis] = MIN(region->last[axis], box->last[axis]);
                if (piece.first[axis] > piece.last[axis])
                        return;
        }
        route->pieces[route->n++] = piece;
}

/*
 * Everything before AT agrees with it in the slowest axes and is below it in the next: one box per axis. The same behind it.
 */
static void plan_route(const MemoryGeometry *geometry, MemoryOrder order, const uint16_t at[static _MEMORY_AXIS_MAX],
                       const WireBox *region, Route *route) {
        for (unsigned i = 0; i < _MEMORY_AXIS_MAX; i++) {
                unsigned axis = axes[order][i];
                WireBox box = memory_geometry_box(geometry);

                for (unsigned k = 0; k < i; k++)
                        box.first[axes[order][k]] = box.last[axes[order][k]] = at[axes[order][k]];
                if (at[axis] == 0)
                        continue;
                box.last[axis] = (uint16_t) (at[axis] - 1);
                add_piece(route, region, &box);
        }
        route->n_before = route->n;

        for (unsigned i = _MEMORY_AXIS_MAX; i-- > 0;) {
                unsigned axis = axes[order][i];
                WireBox box = memory_geometry_box(geometry);

                for (unsigned k = 0; k < i; k++)
                        box.first[axes[order][k]] = box.last[axes[order][k]] = at[axes[order][k]];
                if (at[axis] + 1u >= geometry->size[axis])
                        continue;
                box.first[axis] = (uint16_t) (at[axis] + 1);
                add_piece(route, region, &box);
        }
}

static int add_march(const HbmReplay *replay, const MarchElement *element, const WireBox *box, bool target) {
        const MemoryField *field = target ? &replay->field : &replay->region_field;
        bool inverted = target ? replay->inverted : replay->region_inverted;
        MemoryPart part = memory_part_stack(replay->stack);
        WireMarch march = {
                .box            = *box,
                .order          = (uint8_t) replay->order,
                .descending     = element->direction == MARCH_DOWN,
                .background     = (uint8_t) field->background,
                .parameter      = field->parameter,
                .seed           = field->seed,
                .n_ops          = element->n_ops,
                .mismatches_max = target ? element->n_ops : 0,
        };

        for (unsigned i = 0; i < element->n_ops; i++)
                march.ops[i] = (uint8_t) (element->ops[i] ^ (inverted ? MARCH_DATA : 0));
        return memory_batch_march(replay->batch, &part, &march);
}

/* Adds one element; *ret is the number of the target's command. */
static int add_element(const HbmReplay *replay, const MarchElement *element, const Route *route, const WireBox *target, int *ret) {
        MemoryPart part = memory_part_stack(replay->stack);
        bool down = element->direction == MARCH_DOWN;
        unsigned n_first = down ? route->n - route->n_before : route->n_before;
        int r;

        *ret = -1;
        if (element->direction == MARCH_DELAY)
                return memory_batch_pause(replay->batch, &part, replay->pause_nsec);

        for (unsigned i = 0; i <= route->n; i++) {
                bool is_target = i == n_first;
                unsigned nth = i > n_first ? i - 1 : i;
                const WireBox *box = is_target ? target : &route->pieces[down ? route->n - 1 - nth : nth];

                r = add_march(replay, element, box, is_target);
                if (r < 0)
                        return r;
                if (is_target)
                        *ret = r;
        }

        return replay->linger_nsec > 0 ? memory_batch_pause(replay->batch, &part, replay->linger_nsec) : 0;
}

static void hear(const HbmReplay *replay, const uint16_t at[static _MEMORY_AXIS_MAX], unsigned element, int number, HbmEcho *echo) {
        MemoryAnswer answer = memory_batch_answer(replay->batch, number);
        const MarchElement *e = &replay->march->elements[element];

        for (size_t i = 0; i < answer.n; i++) {
                const WireMismatch *mismatch = &answer.mismatches[i];
                MemoryData expected;

                if (mismatch->op >= e->n_ops || memcmp(mismatch->at, at, sizeof(mismatch->at)) != 0)
                        continue;
                expected = memory_field_data(&replay->field, replay->geometry, at,
                                             (e->ops[mismatch->op] & MARCH_DATA ? 1u : 0u) ^ replay->inverted);
                for (unsigned k = 0; k < MEMORY_ACCESS_BYTES; k++)
                        echo->bits.bytes[k] |= expected.bytes[k] ^ mismatch->actual[k];
                echo->failed |= march_syndrome_bit(replay->march, element, mismatch->op);
        }
}

/* The whole march; numbers[i]: the target's command of element i. */
static int add_elements(const HbmReplay *replay, const uint16_t at[static _MEMORY_AXIS_MAX], const WireBox *region,
                        int numbers[static MARCH_ELEMENTS_MAX]) {
        WireBox target = memory_access_box(at);
        Route route = {};

        if (region)
                plan_route(replay->geometry, replay->order, at, region, &route);

        for (unsigned i = 0; i < replay->march->n_elements; i++) {
                int r = add_element(replay, &replay->march->elements[i], &route, &target, &numbers[i]);

                if (r < 0)
                        return r;
        }

        return 0;
}

static int add_before(const HbmReplay *replay, const uint16_t at[static _MEMORY_AXIS_MAX], const WireBox *region) {
        HbmReplay before = *replay;
        int unheard[MARCH_ELEMENTS_MAX];

        if (!replay->before)
                return 0;

        before.march = replay->before->march;
        before.order = replay->before->order;
        before.pause_nsec = (uint64_t) (replay->before->paused_sec * 1e9);
        before.linger_nsec = 0;
        before.field = before.region_field = replay->before->field;
        before.inverted = before.region_inverted = false;
        return add_elements(&before, at, region, unheard);
}

int hbm_replay(const HbmReplay *replay, const WireBox *region, HbmEcho *ret) {
        int numbers[MARCH_ELEMENTS_MAX], r;
        uint16_t at[_MEMORY_AXIS_MAX];
        HbmEcho echo = {};

        memory_geometry_at(replay->geometry, replay->target, at);
        memory_batch_reset(replay->batch);
        r = add_before(replay, at, region);
        if (r >= 0)
                r = add_elements(replay, at, region, numbers);
        if (r < 0)
                return r;
        r = memory_batch_run(replay->batch);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < replay->march->n_elements; i++)
                if (numbers[i] >= 0)
                        hear(replay, at, i, numbers[i], &echo);
        *ret = echo;
        return 0;
}

int hbm_replay_settled(const HbmReplay *replay, const WireBox *region, uint64_t *ret) {
        HbmEcho echo = {};

        for (unsigned i = 0; i < HBM_REPLAY_TRIES; i++) {
                int r = hbm_replay(replay, region, &echo);

                if (r < 0)
                        return r;
        }

        *ret = echo.failed;
        return 0;
}
