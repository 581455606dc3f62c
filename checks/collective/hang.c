/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who holds up a collective. Every rank says of every ring how many steps it has begun, how many blocks its semaphore has counted,
 * how many steps are done and what went through its ports. A rank that waits for a block that its neighbour has not even begun to
 * send is a victim; whoever waits for nobody is to blame, and where a block was sent and never came it is the link.
 */

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/param.h>

#include "checks/collective/collective.h"
#include "checks/port/device-link.h"

#define LOOPBACK_BITS 1000000u
/*
 * Loops of an end, in batches, until one does not come back: one that comes and goes is away while it is asked. Dead in 3 % of them it is missed once
 * in 6 million times (0.97^512), in 1 % once in 170 (0.99^512), and only then the end that waits is told for it.
 */
#define LOOPS         16u
#define LOOP_BATCHES  32u

/* Bytes of the shards at home at COUNT positions of RING, POSITION and those before it. */
static uint64_t shards_back(const Recital *recital, const WireCollectiveRing *way, unsigned ring, unsigned position, unsigned count) {
        const uint64_t *parts = recital->part_bytes[ring];
        unsigned n = recital->post.ranks;
        uint64_t bytes = 0;

        for (; count > 0; count--) {
                position = position < n ? position : position - n;
                bytes += parts[way->order[position]];
                position += n - 1;
        }
        return bytes;
}

/* Steps of all-to-all take in ever less: what goes to this position and those behind it. */
static uint64_t sheaves(const Recital *recital, const WireCollectiveRing *way, unsigned ring, unsigned steps) {
        unsigned n = recital->post.ranks;
        uint64_t bytes = 0;

        for (unsigned s = 0; s < steps && s < n - 1; s++)
                bytes += shards_back(recital, way, ring, way->position + n - 2 - s, n - 1 - s);
        return bytes;
}

uint64_t recital_bytes(const Recital *recital, unsigned rank, unsigned ring, unsigned steps) {
        const WireCollectiveRing *way = &recital->ranks[rank].rings[ring];
        unsigned before = way->position + recital->post.ranks - 1;

        switch ((WireCollective) recital->post.operation) {
        case COLLECTIVE_SEND_RECEIVE:
                return steps * recital->part_bytes[ring][0];
        case COLLECTIVE_ALL_TO_ALL:
                return sheaves(recital, way, ring, steps);
        case COLLECTIVE_ALL_GATHER:
                return shards_back(recital, way, ring, before, steps);
        case COLLECTIVE_REDUCE_SCATTER:
        case COLLECTIVE_ALL_REDUCE: /* gathering goes on where reducing ended */
                return shards_back(recital, way, ring, before - 1, steps);
        case _COLLECTIVE_MAX:
                break;
        }
        return 0;
}

/* ---- links ---- */

/* What a port says for itself: nothing is plugged in, its transceiver does not hear what it sends, or neither. */
typedef enum EndState {
        END_SOUND,
        END_EMPTY,
        END_NO_LOOPBACK,
        _END_STATE_MAX,
} EndState;

static const char *const end_words[_END_STATE_MAX] = {
        [END_SOUND] = "", [END_EMPTY] = "; nothing is plugged in here", [END_NO_LOOPBACK] = "; this transceiver does not hear itself",
};

/* 1 where each of LOOPS loops came back, 0 where one did not. */
static int hears_itself(Device *device, LinkEnd end, uint64_t seed) {
        _cleanup_free_ LinkLanes *lanes = calloc(LOOPS, sizeof(*lanes));
        WireLinkPrbs prbs[LOOPS];
        LinkEnd ends[LOOPS];
        int errors[LOOPS], r;

        if (!lanes)
                return -ENOMEM;
        for (unsigned i = 0; i < LOOPS; i++) {
                prbs[i] = (WireLinkPrbs) { .bits = LOOPBACK_BITS, .seed = seed, .polynomial = PRBS31 };
                ends[i] = end;
        }
        r = device_link_loopback(device, ends, LOOPS, LOOPBACK_NEAR_PMA, prbs, lanes, errors);
        if (r < 0)
                return r;

        for (unsigned i = 0; i < LOOPS; i++)
                for (unsigned l = 0; l < lanes[i].n; l++)
                        if (errors[i] < 0 || !lanes[i].lanes[l].locked || lanes[i].lanes[l].errors > 0)
                                return 0;
        return 1;
}

static int ask_end(Ensemble *ensemble, Member member, unsigned port, EndState *ret) {
        Device *device = ensemble->servers[member.server].device;
        LinkEnd end = { member.chip, (uint8_t) port };
        WireLinkStatus status = {};
        int error, r;

        *ret = END_SOUND;
        r = device_link_status(device, &end, 1, &status, &error);
        if (r < 0)
                return r;
        if (error >= 0 && !status.present)
                *ret = END_EMPTY;
        if (error < 0 || !status.present)
                return 0;

        for (unsigned i = 0; i < LOOP_BATCHES && *ret == END_SOUND; i++) {
                r = hears_itself(device, end, step_seed(ensemble->step));
                if (r < 0)
                        return r;
                if (r == 0)
                        *ret = END_NO_LOOPBACK;
        }
        return 0;
}

/* A block that went out at its far end never came in at PORT of MEMBER: it is the end that is empty or does not hear itself, else this one. */
static int blame_link(Recital *recital, Member member, unsigned port, const WireCollectiveProgress *own, const WireCollectiveProgress *theirs) {
        unsigned there = (unsigned) link_port_opposite((LinkPort) port);
        Decided missing = { "collective_steps_missing", own->steps - own->done, 0 };
        char far_text[LOCATION_STRING_MAX], near_text[LOCATION_STRING_MAX];
        Ensemble *ensemble = recital->ensemble;
        EndState near, beyond;
        Member far;
        int r;

        if (!ensemble_neighbour(ensemble, member, port, &far))
                return -EINVAL;
        if (ensemble_chair(ensemble, far)->found[TROUBLE_CABLE] >> there & 1)
                return 0; /* it is plugged to another port, which has been told */

        r = ask_end(ensemble, member, port, &near);
        if (r >= 0)
                r = ask_end(ensemble, far, there, &beyond);
        if (r < 0)
                return r;

        ensemble_name(ensemble, far, there, far_text);
        ensemble_name(ensemble, member, port, near_text);
        if (near == END_SOUND && beyond != END_SOUND)
                return ensemble_find(ensemble, TROUBLE_HANG, far, there,
                                     &(Evidence) { .far_end = near_text, .replaceable = beyond == END_NO_LOOPBACK ? NULL : ensemble_cable(far, there), .decided = missing },
                                     "%s stops here: step %u of %u was sent and never came to %s%s",
                                     collective_word(recital->post.operation), own->done + 1, own->steps, near_text, end_words[beyond]);
        return ensemble_find(ensemble, TROUBLE_HANG, member, port,
                             &(Evidence) { .far_end = far_text, .replaceable = near == END_NO_LOOPBACK ? NULL : ensemble_cable(member, port), .decided = missing },
                             "%s stops here: step %u of %u never came in, %" PRIu64 " bytes did; %s sent %" PRIu64 "%s",
                             collective_word(recital->post.operation), own->done + 1, own->steps, own->received, far_text, theirs->sent,
                             end_words[near]);
}

/* ---- ranks ---- */

static int blame_rank(Recital *recital, unsigned rank, unsigned ring, const char *why) {
        const WireCollectiveProgress *own = &recital->ranks[rank].status.progress[ring];

        return ensemble_find(recital->ensemble, TROUBLE_HANG, recital->members[rank], CHAIR_CHIP,
                             &(Evidence) { .decided = { "collective_steps_missing", own->steps - own->done, 0 } },
                             "%s stops at this chip, step %u of %u of ring %u: %s", collective_word(recital->post.operation),
                             own->done + 1, own->steps, ring, why);
}

/* Which ring of its neighbour FROM the ring of a rank hangs on. */
static unsigned ring_there(const Recital *recital, unsigned ring) {
        return recital->post.operation == COLLECTIVE_SEND_RECEIVE ? ring ^ 1u : ring;
}

/* RANK waits for a block of which its semaphore knows nothing. Returns as judge_ring(). */
static int judge_missing(Recital *recital, unsigned rank, unsigned ring) {
        const WireCollectiveProgress *own = &recital->ranks[rank].status.progress[ring], *theirs;
        const CollectiveRank *sender = &recital->ranks[recital->from[rank][ring]];
        uint64_t before = recital_bytes(recital, rank, ring, own->done), with = recital_bytes(recital, rank, ring, own->done + 1);
        int r;

        theirs = &sender->status.progress[ring_there(recital, ring)];
        if (with > before && own->received >= with)
                r = blame_rank(recital, rank, ring, "its block is there, but the semaphore that says so was not counted up, at this step "
                                                 "or at one before");
        else if ((sender->error < 0 && sender->error != -ETIME) || theirs->begun <= own->done)
                return 0;
        else if (own->received >= with)
                r = blame_rank(recital, rank, ring, "its block is of no bytes and was sent, but the semaphore that says so was not counted up, "
                                                 "at this step or at one before");
        else
                r = blame_link(recital, recital->members[rank], recital->ranks[rank].rings[ring].receive_port, own, theirs);
        return r < 0 ? r : 1;
}

/* Returns 0 for a victim, 1 where somebody was blamed. */
static int judge_ring(Recital *recital, unsigned rank, unsigned ring) {
        const CollectiveRank *own = &recital->ranks[rank];
        const WireCollectiveProgress *progress = &own->status.progress[ring];
        int r;

        if (progress->done == progress->steps || recital->from[rank][ring] == NOBODY)
                return 0;
        if (progress->begun == progress->done)
                r = blame_rank(recital, rank, ring, "it has done all steps before and does not begin this one");
        else if (progress->arrived > progress->done)
                r = blame_rank(recital, rank, ring, "its block is there, and it does not go on");
        else
                return judge_missing(recital, rank, ring);
        return r < 0 ? r : 1;
}

/* Ranks that took no part, or say nonsense. */
static int judge_absent(Recital *recital, unsigned rank) {
        Chair *chair = &recital->ensemble->servers[recital->members[rank].server].chairs[recital->members[rank].chip];
        int error = recital->ranks[rank].error;

        if (error == -ETIMEDOUT) {
                chair->silent = true; /* for the step that asks it alone */
                return 1;
        }
        if (error != -EPROTO && error != -EREMOTEIO)
                return 0;
        error = ensemble_find(recital->ensemble, TROUBLE_HANG, recital->members[rank], CHAIR_CHIP,
                              &(Evidence) { .decided = { "collective_parts_refused", 1, 0 } },
                              error == -EPROTO ? "what it says of its part in %s is impossible" : "it takes no part in %s",
                              collective_word(recital->post.operation));
        return error < 0 ? error : 1;
}

/* Its steps fill the time that was waited: it does not stand, it or another is slow. */
static bool was_moving(const CollectiveRank *rank) {
        for (unsigned c = 0; c < rank->post.rings; c++) {
                const WireCollectiveProgress *progress = &rank->status.progress[c];

                /* Halves of what a liar may say still add up. */
                if (progress->wait_nsec / 2 + progress->transfer_nsec / 2 + progress->work_nsec / 2 > rank->status.nsec / 4)
                        return true;
        }
        return false;
}

static bool is_done(const CollectiveRank *rank) {
        for (unsigned c = 0; c < rank->post.rings; c++)
                if (rank->status.progress[c].done < rank->status.progress[c].steps)
                        return false;
        return true;
}

int recital_judge_hang(Recital *recital) {
        unsigned n_absent = 0, n_stuck = 0, n_blamed = 0;
        bool slow = false;
        int r;

        for (unsigned i = 0; i < recital->n; i++) {
                r = judge_absent(recital, i);
                if (r < 0)
                        return r;
                n_absent += r > 0;
                slow = slow || (recital->ranks[i].error == -ETIME && was_moving(&recital->ranks[i]));
        }
        recital->ensemble->crawls = slow;
        if (slow) /* blocks are on their way everywhere, and none of them is lost */
                return MIN(recital_judge_speed(recital), 0);
        for (unsigned i = 0; i < recital->n; i++) {
                if (recital->ranks[i].error != -ETIME || is_done(&recital->ranks[i]))
                        continue;
                n_stuck++;
                for (unsigned c = 0; c < recital->post.rings; c++) {
                        r = judge_ring(recital, i, c);
                        if (r < 0)
                                return r;
                        n_blamed += r > 0;
                }
        }
        if (n_stuck > 0 && n_absent == 0 && n_blamed == 0) {
                r = ensemble_find(recital->ensemble, TROUBLE_HANG, (Member) {}, NOBODY, &(Evidence) { .decided = { "collective_ranks_stuck", n_stuck, 0 } },
                                  "%s stops, and what %u chips say of it contradicts itself: each says it waits for another",
                                  collective_word(recital->post.operation), n_stuck);
                if (r < 0)
                        return r;
        }
        return n_absent == 0 && n_stuck == 0;
}
