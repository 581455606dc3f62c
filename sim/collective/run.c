/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The ranks of one group against each other: every rank begins the step it can, what was sent arrives where the cable really ends,
 * what has arrived is taken in; until nobody gets any further. Each rank has a time of its own per ring, which meets that of
 * its neighbour at each step.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/chip/chip.h"
#include "sim/collective/collective.h"
#include "sim/links/link.h"

#define HOP_NSEC 1500u /* of COLLECTIVE_HOP_NSEC at most: posted writes over one link */
#define MEMBERS_MAX COLLECTIVE_RANKS_MAX

typedef struct Parts {
        Segment segments[COLLECTIVE_RINGS_MAX][COLLECTIVE_RANKS_MAX];
} Parts;

typedef struct Group {
        Collective *members[MEMBERS_MAX];
        unsigned n_members;
        Way *ways; /* ring by ring, of each member */
        bool mixed; /* some end on another ring than they began: cables at wrong ports, or send-receive */
        Parts *parts; /* of the first member of each shape */
        uint64_t limit_nsec; /* how long is waited */
} Group;

static void find_members(Group *group, Collective *own) {
        const UltraServer *ultraserver = own->chip->server->ultraserver;

        for (unsigned s = 0; s < ultraserver->n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++) {
                        const Chip *chip = ultraserver->servers[s].chips[c];
                        Collective *one = chip ? chip_part_peek(chip, &model_collective, 0) : NULL;

                        if (one && one->posted && !one->ran && one->post.group == own->post.group &&
                            one->post.format == own->post.format && one->post.operation == own->post.operation) {
                                one->seat = group->n_members;
                                group->members[group->n_members++] = one;
                        }
                }
}

static bool has_same_shape(const Collective *a, const Collective *b) {
        return a->post.elements == b->post.elements && a->post.ranks == b->post.ranks && a->post.rings == b->post.rings;
}

/* Members of one shape, as all of one caller's are, share what is cut. */
static int cut_parts(Group *group) {
        Parts *parts = group->parts = malloc(group->n_members * sizeof(*parts));

        if (!parts)
                return -ENOMEM;

        for (unsigned m = 0; m < group->n_members; m++) {
                Collective *member = group->members[m];

                if (m > 0 && has_same_shape(member, group->members[m - 1])) {
                        member->parts = group->members[m - 1]->parts;
                        continue;
                }
                collective_cut(&member->post, parts[m].segments);
                member->parts = parts[m].segments;
        }
        return 0;
}

/*
 * Of what WAY sends; keeps where that is, if it is one segment: that of all-to-all is found again by who takes it in. After the first
 * step it is what was taken in in the one before.
 */
static uint64_t block_bytes(Way *way, unsigned step) {
        Segment segments[COLLECTIVE_RANKS_MAX];
        uint64_t elements = 0;

        if (step > 0 && way->n_sent == 1) {
                way->sent = way->taken;
                return way->sent.n * way->element_bytes;
        }

        way->n_sent = collective_block(way->owner, way->ring, step, true, segments);
        way->sent = segments[0];
        for (unsigned i = 0; i < way->n_sent; i++)
                elements += segments[i].n;
        return elements * way->element_bytes;
}

/* Of all steps, to within a block. */
static uint64_t all_bytes(const Way *way) {
        const WireCollectivePost *post = &way->owner->post;
        uint64_t vector = (uint64_t) post->elements * element_bytes(post->format) * post->repeat / post->rings;

        if (post->operation == COLLECTIVE_SEND_RECEIVE)
                return vector;
        return vector * way->progress.steps / (post->operation == COLLECTIVE_ALL_TO_ALL ? 2 : post->ranks) + 1;
}

/* The way of the group that takes in at PORT of CHIP. */
static uint32_t way_at(const Group *group, const Chip *chip, LinkPort port) {
        const Collective *one = chip_part_peek(chip, &model_collective, 0);

        if (!one || one->seat >= group->n_members || group->members[one->seat] != one)
                return NOWHERE;
        for (unsigned c = 0; c < one->post.rings; c++)
                if (one->rings[c].receive_port == port)
                        return c * group->n_members + one->seat;
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
        group->mixed |= next->ring != way->ring;
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
        room = next->stall_bytes - next->progress.received;
        way->progress.sent += bytes < room ? bytes : room;
        next->progress.received += bytes < room ? bytes : room;
        if (bytes > room || step >= next->progress.steps)
                return;
        if (other->lost && !next->counts_wrong && ((const StepParameters *) other->lost->parameters)->step == step)
                next->counts_wrong = true;
        else
                next->progress.arrived++;
}

static bool begin_step(Group *group, Way *way) {
        WireCollectiveProgress *progress = &way->progress;
        const Fault *stall = way->owner->ailments.stall;

        if (progress->begun > progress->done || progress->done >= progress->steps ||
            (stall && progress->done >= ((const StepParameters *) stall->parameters)->step))
                return false;

        way->began_nsec = way->ready_nsec;
        send_block(group, way, progress->begun++);
        return true;
}

static void take_block(const Way *previous, Way *way, unsigned step) {
        Segment sent[COLLECTIVE_RANKS_MAX], taken[COLLECTIVE_RANKS_MAX];
        unsigned n_sent = 1, n_taken = collective_block(way->owner, way->ring, step, false, taken);

        sent[0] = previous->sent;
        if (previous->n_sent > 1)
                n_sent = collective_block(previous->owner, previous->ring, step, true, sent);
        way->taken = taken[0];
        /* What a wrong neighbour sends may be of another size: no more is written than there is, nor than is wanted. */
        for (unsigned i = 0; i < n_sent && i < n_taken; i++)
                collective_take(previous->owner, &sent[i], way->owner, &taken[i], step,
                                previous->flip != 0 && i == (previous->flip >> 32) % n_sent ? previous->flip : 0);
}

static uint64_t transfer_nsec(const Way *way, uint64_t bytes) {
        return HOP_NSEC + (uint64_t) ((double) bytes * way->nsec_per_byte);
}

static uint64_t work_nsec(const Way *way, uint64_t bytes) {
        uint64_t work = COLLECTIVE_STEP_NSEC + bytes / COLLECTIVE_BYTES_PER_NSEC;
        const Fault *slow = way->owner->ailments.slow;

        return (uint64_t) ((double) work * way->owner->pace * (slow ? ((const SlowParameters *) slow->parameters)->factor : 1));
}

uint64_t way_step_nsec(const Way *way, uint64_t bytes) {
        return transfer_nsec(way, bytes) + work_nsec(way, bytes);
}

/* When a block has come in. */
static uint64_t arrival_nsec(const Way *way, const Way *previous, uint64_t bytes) {
        return (previous->began_nsec > way->free_nsec ? previous->began_nsec : way->free_nsec) + transfer_nsec(way, bytes);
}

void way_spend(Way *way, const Way *previous, uint64_t bytes) {
        uint64_t work = work_nsec(way, bytes), here = arrival_nsec(way, previous, bytes);

        way->free_nsec = here - HOP_NSEC;
        if (previous->began_nsec > way->began_nsec)
                way->progress.wait_nsec += previous->began_nsec - way->began_nsec;
        way->progress.transfer_nsec += transfer_nsec(way, bytes);
        way->progress.work_nsec += work;
        way->ready_nsec = (here > way->ready_nsec ? here : way->ready_nsec) + work;
}

/* Whether the step ends when nobody waits any more. Then its block is there, or on its way and all that come behind it. */
static bool is_late(const Group *group, Way *way, const Way *previous) {
        uint64_t here = arrival_nsec(way, previous, previous->bytes), ready = here > way->ready_nsec ? here : way->ready_nsec;

        if (ready + work_nsec(way, previous->bytes) <= group->limit_nsec)
                return false;

        way->late = true;
        if (here > group->limit_nsec) {
                way->progress.arrived--;
                way->progress.received -= previous->bytes;
                way->stall_bytes = way->progress.received;
        }
        return true;
}

static bool end_step(Group *group, Way *way) {
        WireCollectiveProgress *progress = &way->progress;
        const Way *previous;

        if (progress->begun == progress->done || progress->arrived <= progress->done || way->late)
                return false;

        previous = &group->ways[way->previous];
        if (is_late(group, way, previous))
                return false;
        take_block(previous, way, progress->done);
        way_spend(way, previous, previous->bytes);
        progress->done++;
        return true;
}

/* A send without a receive, and the other way round, has nothing to wait for. */
static bool skip_step(Way *way) {
        const WireCollectiveRing *ring = &way->owner->rings[way->ring];

        if (ring->receive_port < PORTS || way->progress.begun == way->progress.done)
                return false;
        way->progress.arrived = ++way->progress.done;
        return true;
}

static void run_steps(Group *group, uint32_t first, uint32_t n) {
        bool moved = true;

        while (moved) {
                moved = false;
                for (uint32_t i = first; i < first + n; i++)
                        moved = begin_step(group, &group->ways[i]) || moved;
                for (uint32_t i = first; i < first + n; i++)
                        moved = skip_step(&group->ways[i]) || end_step(group, &group->ways[i]) || moved;
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
                        const Way *way = &group->ways[c * group->n_members + m];

                        member->status.progress[c] = way->progress;
                        if (way->ready_nsec > member->status.nsec)
                                member->status.nsec = way->ready_nsec;
                }
                end = member->status.nsec > end ? member->status.nsec : end;
                member->ran = true;
        }
        for (unsigned m = 0; m < group->n_members; m++)
                chip_advance(group->members[m]->chip, start + end);
}

static void group_done(Group *group) {
        for (unsigned m = 0; m < group->n_members; m++)
                group->members[m]->parts = NULL;
        free(group->ways);
        free(group->parts);
}

int collective_run(Collective *own, const Execution *execution) {
        _cleanup_(group_done) Group group = {};
        uint32_t n;

        group.limit_nsec = execution->command->collective_wait.timeout_nsec;
        find_members(&group, own);
        n = group.n_members * COLLECTIVE_RINGS_MAX;
        group.ways = malloc(n * sizeof(Way));
        if (!group.ways || cut_parts(&group) < 0)
                return -ENOMEM;

        for (unsigned m = 0; m < group.n_members; m++)
                for (unsigned c = 0; c < COLLECTIVE_RINGS_MAX; c++) {
                        Collective *member = group.members[m];
                        Way *way = &group.ways[c * group.n_members + m];

                        *way = (Way) { .owner = member, .ring = c, .next = NOWHERE, .previous = NOWHERE, .stall_bytes = UINT64_MAX,
                                       .element_bytes = (uint64_t) element_bytes(member->post.format) * member->post.repeat };
                        if (c < member->post.rings)
                                way->progress.steps = collective_steps(member);
                }
        for (uint32_t i = 0; i < n; i++)
                if (group.ways[i].progress.steps > 0)
                        lay_way(&group, i, execution);
        /* Rings have nothing to do with each other, unless they run into each other; and one alone stays in the cache. */
        for (uint32_t i = 0; i < n && !group.mixed; i += group.n_members)
                if (!collective_run_sound(group.ways, i, group.n_members, group.limit_nsec))
                        run_steps(&group, i, group.n_members);
        if (group.mixed)
                run_steps(&group, 0, n);
        finish(&group);
        return 0;
}
