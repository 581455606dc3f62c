/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The ranks of one group against each other: every rank begins the step it can, what was sent arrives where the cable really ends,
 * what has arrived is taken in; until nobody gets any further. Each rank has a time of its own per ring, which meets that of
 * its neighbour at each step.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/chip.h"
#include "sim/collective.h"
#include "sim/link.h"

#define HOP_NSEC 1500u /* of COLLECTIVE_HOP_NSEC at most: posted writes over one link */
#define MEMBERS_MAX COLLECTIVE_RANKS_MAX
#define NOWHERE UINT32_MAX

/* One ring of one rank. */
typedef struct Way {
        Collective *owner;
        WireCollectiveProgress *progress;
        unsigned ring;
        uint32_t next, previous; /* indices of ways, or NOWHERE */
        double nsec_per_byte;    /* of what comes in */
        uint64_t stall_bytes;    /* where that stops */
        uint64_t bytes;          /* of the block sent last, and */
        uint64_t flip;           /* what is wrong with it: see collective_take() */
        uint64_t began_nsec, ready_nsec;
        uint64_t free_nsec;      /* when what comes in no longer waits for what came before */
        bool counts_wrong;       /* an increment of its semaphore has been lost */
} Way;

typedef struct Group {
        Collective *members[MEMBERS_MAX];
        unsigned n_members;
        Way *ways; /* COLLECTIVE_RINGS_MAX of each member */
} Group;

static void find_members(Group *group, Collective *own) {
        const UltraServer *ultraserver = own->chip->server->ultraserver;

        for (unsigned s = 0; s < ultraserver->n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++) {
                        const Chip *chip = ultraserver->servers[s].chips[c];
                        Collective *one = chip ? chip_part_peek(chip, &model_collective, 0) : NULL;

                        if (one && one->posted && !one->ran && one->post.group == own->post.group &&
                            one->post.format == own->post.format && one->post.operation == own->post.operation)
                                group->members[group->n_members++] = one;
                }
}

/* Of what goes out. */
static uint64_t block_bytes(const Way *way, unsigned step) {
        Segment segments[COLLECTIVE_RANKS_MAX];
        unsigned n = collective_block(way->owner, way->ring, step, true, segments);
        uint64_t elements = 0;

        for (unsigned i = 0; i < n; i++)
                elements += segments[i].n;
        return elements * element_bytes(way->owner->post.format) * way->owner->post.repeat;
}

/* Of all steps, to within a block. */
static uint64_t all_bytes(const Way *way) {
        const WireCollectivePost *post = &way->owner->post;
        uint64_t vector = (uint64_t) post->elements * element_bytes(post->format) * post->repeat / post->rings;

        if (post->operation == COLLECTIVE_SEND_RECEIVE)
                return vector;
        return vector * way->progress->steps / (post->operation == COLLECTIVE_ALL_TO_ALL ? 2 : post->ranks) + 1;
}

/* The way of the group that takes in at PORT of CHIP. */
static uint32_t way_at(const Group *group, const Chip *chip, LinkPort port) {
        for (unsigned m = 0; m < group->n_members; m++)
                for (unsigned c = 0; c < group->members[m]->post.rings && group->members[m]->chip == chip; c++)
                        if (group->members[m]->rings[c].receive_port == port)
                                return m * COLLECTIVE_RINGS_MAX + c;
        return NOWHERE;
}

/* Who sends to whom, and how fast it goes there. What ends at nobody's port, or at one that is down, is not taken by the port. */
static void lay_way(Group *group, uint32_t index, const Execution *execution) {
        Way *way = &group->ways[index], *next;
        unsigned port = way->owner->rings[way->ring].send_port;
        Link *link = port < PORTS ? chip_part(way->owner->chip, &model_link, port) : NULL;
        Link *far = link && link_designed(link) ? link_far(link) : NULL;
        uint64_t bytes, nsec, replays;
        const Fault *queue;

        way->next = far && link_far(far) == link ? way_at(group, far->chip, far->port) : NOWHERE;
        if (way->next == NOWHERE)
                return;

        next = &group->ways[way->next];
        bytes = all_bytes(way);
        if (link_transfer(far, execution, bytes, &nsec, &replays) < 0) {
                way->next = NOWHERE;
                return;
        }
        queue = next->owner->ailments.queues[far->port];
        next->nsec_per_byte = bytes > 0 ? (double) nsec / (double) bytes : 0;
        next->stall_bytes = queue ? ((const QueueParameters *) queue->parameters)->bytes : UINT64_MAX;
        next->previous = index;
}

static uint64_t draw(const Way *way, unsigned step, unsigned what) {
        const Fault *corrupt = way->owner->ailments.corrupt;

        return draw_u64(way->owner->chip, &corrupt->at, way->owner->number, (uint64_t) step << 8 | way->ring << 1 | what);
}

/* The block of STEP goes out: into the other chip, and then its semaphore. */
static void send_block(Group *group, Way *way, unsigned step) {
        const CollectiveAilments *own = &way->owner->ailments, *other;
        uint64_t bytes = block_bytes(way, step), room;
        Way *next;

        way->bytes = bytes;
        way->flip = 0;
        if (own->corrupt &&
            (double) (draw(way, step, 0) >> 11) * 0x1p-53 < ((const CorruptParameters *) own->corrupt->parameters)->rate)
                way->flip = draw(way, step, 1) | 1;
        if (way->next == NOWHERE)
                return;

        next = &group->ways[way->next];
        other = &next->owner->ailments;
        room = next->stall_bytes - next->progress->received;
        way->progress->sent += bytes < room ? bytes : room;
        next->progress->received += bytes < room ? bytes : room;
        if (bytes > room || step >= next->progress->steps)
                return;
        if (other->lost && !next->counts_wrong && ((const StepParameters *) other->lost->parameters)->step == step)
                next->counts_wrong = true;
        else
                next->progress->arrived++;
}

static bool begin_step(Group *group, Way *way) {
        WireCollectiveProgress *progress = way->progress;
        const Fault *stall = way->owner->ailments.stall;

        if (progress->begun > progress->done || progress->done >= progress->steps ||
            (stall && progress->done >= ((const StepParameters *) stall->parameters)->step))
                return false;

        way->began_nsec = way->ready_nsec;
        send_block(group, way, progress->begun++);
        return true;
}

static bool end_step(Group *group, Way *way) {
        const Fault *slow = way->owner->ailments.slow;
        WireCollectiveProgress *progress = way->progress;
        uint64_t work, transfer, here;
        const Way *previous;

        if (progress->begun == progress->done || progress->arrived <= progress->done)
                return false;

        previous = &group->ways[way->previous];
        transfer = HOP_NSEC + (uint64_t) ((double) previous->bytes * way->nsec_per_byte);
        work = COLLECTIVE_STEP_NSEC + previous->bytes / COLLECTIVE_BYTES_PER_NSEC;
        if (slow)
                work = (uint64_t) ((double) work * ((const SlowParameters *) slow->parameters)->factor);
        collective_take(previous->owner, previous->ring, way->owner, way->ring, progress->done, previous->flip);

        here = (previous->began_nsec > way->free_nsec ? previous->began_nsec : way->free_nsec) + transfer;
        way->free_nsec = here - HOP_NSEC;
        if (previous->began_nsec > way->began_nsec)
                progress->wait_nsec += previous->began_nsec - way->began_nsec;
        progress->transfer_nsec += transfer;
        progress->work_nsec += work;
        way->ready_nsec = (here > way->ready_nsec ? here : way->ready_nsec) + work;
        progress->done++;
        return true;
}

/* A send without a receive, and the other way round, has nothing to wait for. */
static bool skip_step(Way *way) {
        const WireCollectiveRing *ring = &way->owner->rings[way->ring];

        if (ring->receive_port < PORTS || way->progress->begun == way->progress->done)
                return false;
        way->progress->arrived = ++way->progress->done;
        return true;
}

static void run_steps(Group *group) {
        bool moved = true;

        while (moved) {
                moved = false;
                for (unsigned m = 0; m < group->n_members; m++)
                        for (unsigned c = 0; c < group->members[m]->post.rings; c++)
                                moved = begin_step(group, &group->ways[m * COLLECTIVE_RINGS_MAX + c]) || moved;
                for (unsigned m = 0; m < group->n_members; m++)
                        for (unsigned c = 0; c < group->members[m]->post.rings; c++) {
                                Way *way = &group->ways[m * COLLECTIVE_RINGS_MAX + c];

                                moved = skip_step(way) || end_step(group, way) || moved;
                        }
        }
}

/* All began when the last was posted, and are on the same clock from then on. */
static void finish(Group *group) {
        uint64_t start = 0, end = 0;

        for (unsigned m = 0; m < group->n_members; m++)
                start = group->members[m]->posted_nsec > start ? group->members[m]->posted_nsec : start;
        for (unsigned m = 0; m < group->n_members; m++) {
                Collective *member = group->members[m];

                for (unsigned c = 0; c < member->post.rings; c++) {
                        uint64_t ready = group->ways[m * COLLECTIVE_RINGS_MAX + c].ready_nsec;

                        if (ready > member->status.nsec)
                                member->status.nsec = ready;
                }
                end = member->status.nsec > end ? member->status.nsec : end;
                member->ran = true;
        }
        for (unsigned m = 0; m < group->n_members; m++)
                chip_advance(group->members[m]->chip, start + end);
}

int collective_run(Collective *own, const Execution *execution) {
        _cleanup_free_ Way *ways = NULL;
        Group group = {};

        find_members(&group, own);
        group.ways = ways = calloc((size_t) group.n_members * COLLECTIVE_RINGS_MAX, sizeof(*ways));
        if (!ways)
                return -ENOMEM;

        for (unsigned m = 0; m < group.n_members; m++)
                for (unsigned c = 0; c < group.members[m]->post.rings; c++) {
                        Collective *member = group.members[m];
                        Way *way = &ways[m * COLLECTIVE_RINGS_MAX + c];

                        *way = (Way) { .owner = member, .progress = &member->status.progress[c], .ring = c, .next = NOWHERE,
                                       .previous = NOWHERE, .stall_bytes = UINT64_MAX };
                        way->progress->steps = collective_steps(member);
                }
        for (uint32_t i = 0; i < group.n_members * COLLECTIVE_RINGS_MAX; i++)
                if (ways[i].owner)
                        lay_way(&group, i, execution);
        run_steps(&group);
        finish(&group);
        return 0;
}
