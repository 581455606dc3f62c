/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A ring on which nothing is wrong. All ranks take the same step at the same time and nobody stops, so that where a shard goes and
 * how long its way is are worked out apart, without asking at each step who can go on. What comes out is what run_steps() makes of
 * such a ring, to the bit.
 */

#include <string.h>

#include "sim/collective/collective.h"

/* What is at home at each position: its way, and the bytes of its shard on the wire. */
typedef struct Round {
        unsigned n, steps;
        Way *at[COLLECTIVE_RANKS_MAX];
        uint64_t bytes[COLLECTIVE_RANKS_MAX];
} Round;

static bool is_well(const Way *way) {
        const CollectiveAilments *ailments = &way->owner->ailments;

        return !ailments->adder && !ailments->corrupt && !ailments->stall && !ailments->lost && !ailments->slow &&
               way->next != NOWHERE && way->previous != NOWHERE && way->stall_bytes == UINT64_MAX;
}

static const WireCollectiveRing *ring_of(const Way *way) {
        return &way->owner->rings[way->ring];
}

/* One caller's ranks, all of them, each at its position, and each plugged to the next. */
static bool find_round(Way *ways, uint32_t first, unsigned n, Round *ret) {
        const Way *model = &ways[first];

        *ret = (Round) { .n = n, .steps = model->progress.steps };
        if (model->owner->post.operation > COLLECTIVE_REDUCE_SCATTER || model->owner->post.ranks != n || ret->steps == 0)
                return false;

        for (uint32_t i = first; i < first + n; i++) {
                Way *way = &ways[i];

                if (!is_well(way) || way->owner->parts != model->owner->parts || way->element_bytes != model->element_bytes ||
                    way->ring != model->ring || memcmp(ring_of(way)->order, ring_of(model)->order, n) != 0 ||
                    ret->at[ring_of(way)->position])
                        return false;
                ret->at[ring_of(way)->position] = way;
        }
        for (unsigned p = 0; p < n; p++) {
                if (&ways[ret->at[p]->next] != ret->at[(p + 1) % n])
                        return false;
                ret->bytes[p] = model->owner->parts[model->ring][ring_of(model)->order[p]].n * model->element_bytes;
        }
        return true;
}

/* How far ahead of its home a shard sets out: one that is added up ends there. */
static unsigned head_start(const Round *round) {
        return round->at[0]->owner->post.operation == COLLECTIVE_ALL_GATHER ? 0 : 1;
}

static void move_shards(const Round *round) {
        const Collective *model = round->at[0]->owner;
        unsigned ring = round->at[0]->ring, n = round->n, n_adding = model->post.operation == COLLECTIVE_ALL_GATHER ? 0 : n - 1;

        for (unsigned home = 0; home < n; home++) {
                const Segment *shard = &model->parts[ring][model->rings[ring].order[home]];
                size_t first = shard->first * element_bytes(model->post.format);
                unsigned from = (home + head_start(round)) % n;

                for (unsigned s = 0; s < round->steps; s++) {
                        unsigned to = from + 1 < n ? from + 1 : 0;
                        const Collective *taker = round->at[to]->owner;

                        collective_merge(taker, s < n_adding, taker->vectors + first, round->at[from]->owner->vectors + first, shard->n);
                        from = to;
                }
        }
}

static void spend_time(const Round *round) {
        unsigned n = round->n;

        for (unsigned s = 0; s < round->steps; s++) {
                unsigned shard = (3 * n - 1 - head_start(round) - s) % n; /* that comes in at position 0 */

                for (unsigned p = 0; p < n; p++)
                        round->at[p]->began_nsec = round->at[p]->ready_nsec;
                for (unsigned p = 0; p < n; p++) {
                        Way *way = round->at[p];
                        Way *previous = round->at[p > 0 ? p - 1 : n - 1];

                        way_spend(way, previous, round->bytes[shard]);
                        way->progress.received += round->bytes[shard];
                        previous->progress.sent += round->bytes[shard];
                        shard = shard + 1 < n ? shard + 1 : 0;
                }
        }
        for (unsigned p = 0; p < n; p++)
                round->at[p]->progress.begun = round->at[p]->progress.arrived = round->at[p]->progress.done = round->steps;
}

/* No step takes longer than the longest block over the slowest link. */
static uint64_t nsec_at_most(const Round *round) {
        uint64_t bytes = 0, step = 0;

        for (unsigned p = 0; p < round->n; p++)
                bytes = round->bytes[p] > bytes ? round->bytes[p] : bytes;
        for (unsigned p = 0; p < round->n; p++) {
                uint64_t nsec = way_step_nsec(round->at[p], bytes);

                step = nsec > step ? nsec : step;
        }
        return step * round->steps;
}

bool collective_run_sound(Way *ways, uint32_t first, unsigned n, uint64_t limit_nsec) {
        Round round;

        if (!find_round(ways, first, n, &round) || nsec_at_most(&round) > limit_nsec)
                return false;

        move_shards(&round);
        spend_time(&round);
        return true;
}
