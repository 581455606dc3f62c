/* SPDX-License-Identifier: Apache-2.0 */

/* What one packet that arrived says of its flow, its sender and its receiver. */

#include <math.h>
#include <string.h>
#include <sys/param.h>

#include "checks/efa/crc32c.h"
#include "checks/efa/traffic.h"

#define CLOCKS_AGREE 1.1 /* of two clocks that measure one time */

/* The adapter that the arrival says it is from; -1: none that takes part. */
static int sender_of(Traffic *traffic, const WireArrival *arrival) {
        /* Most come from where the last one came from. */
        if (traffic->sender && memcmp(arrival->server, traffic->sender_name, sizeof(arrival->server)) == 0)
                return (int) ((size_t) (traffic->sender - traffic->hosts->hosts) * CHIPS + arrival->chip);

        for (size_t h = 0; h < traffic->hosts->n; h++)
                if (strncmp(arrival->server, traffic->hosts->hosts[h].name, sizeof(arrival->server)) == 0) {
                        traffic->sender = &traffic->hosts->hosts[h];
                        memcpy(traffic->sender_name, arrival->server, sizeof(traffic->sender_name));
                        return (int) (h * CHIPS + arrival->chip);
                }

        return -1;
}

static Flow *flow_of(Traffic *traffic, const WireArrival *arrival, int sender) {
        uint32_t f = arrival->flow - traffic->base;
        Flow *flow = f < traffic->n_flows ? &traffic->flows[f] : NULL;

        return flow && sender == flow->from && arrival->sequence < flow->packets ? flow : NULL;
}

/* Which packet it was says which path: for rounds that look at paths. What cannot be kept is counted all the same. */
static void note(Traffic *traffic, const Flow *flow, Wrong what, uint32_t sequence) {
        size_t n = traffic->n_incidents;
        Incident *more;

        if (n == INCIDENTS_MAX)
                return;
        if ((n & (n - 1)) == 0) { /* full: 0, 1, 2, 4, 8 … */
                more = reallocarray(traffic->incidents, n > 0 ? 2 * n : 1, sizeof(*more));
                if (!more)
                        return;
                traffic->incidents = more;
        }
        traffic->incidents[traffic->n_incidents++] = (Incident) { (uint16_t) (flow - traffic->flows), (uint16_t) what, sequence };
}

static void note_corrupt(Traffic *traffic, Flow *flow, const WireArrival *arrival, uint32_t expected, uint32_t actual) {
        note(traffic, flow, WRONG_CORRUPTION, arrival->sequence);
        if (flow->n_corrupt++ > 0)
                return;

        flow->corrupt_sequence = arrival->sequence;
        flow->corrupt_expected = expected;
        flow->corrupt_actual = actual;
}

static void account_content(Traffic *traffic, Flow *flow, const WireArrival *arrival, const uint8_t *payload) {
        uint32_t expected = expected_crc(traffic->seed, arrival->flow, arrival->sequence, flow->bytes);
        uint8_t whole[NIC_PAYLOAD_MAX];

        if (arrival->bytes != flow->bytes || arrival->crc32c != expected) {
                note_corrupt(traffic, flow, arrival, expected, arrival->crc32c);
                return;
        }
        if (!payload)
                return;

        /* The adapter's own checksum is not trusted with everything. */
        traffic->n_sampled++;
        expected_payload(traffic->seed, arrival->flow, arrival->sequence, flow->bytes, whole);
        if (memcmp(payload, whole, flow->bytes) != 0)
                note_corrupt(traffic, flow, arrival, expected, crc32c(payload, flow->bytes));
}

static unsigned bucket_of(uint32_t distance) {
        return distance == 0 ? 0 : MIN(32u - (unsigned) __builtin_clz(distance), REORDER_BUCKETS - 1);
}

static void account_order(Traffic *traffic, Flow *flow, uint32_t sequence) {
        uint32_t distance = sequence < flow->high ? flow->high - sequence : 0;

        if (flow->path != NIC_PATH_SPRAYED || flow->from == flow->to)
                return;
        flow->n_reordered += distance > 0;
        traffic->reorder[bucket_of(distance)]++;
        traffic->reorder_max = MAX(traffic->reorder_max, distance);
}

/* How long it was on its way; 0: it arrived before it was sent, by two clocks one of which is wrong. */
static uint64_t latency_of(const WireArrival *arrival) {
        return arrival->arrived_nsec > arrival->sent_nsec ? arrival->arrived_nsec - arrival->sent_nsec : 0;
}

static void account_time(Traffic *traffic, Flow *flow, const WireArrival *arrival, uint64_t latency) {
        flow->n_early += latency == 0;
        traffic->latency[MIN(latency / LATENCY_BUCKET, LATENCY_BUCKETS - 1)]++;
        if (latency > traffic->latency_max_nsec) {
                flow->n_late++;
                note(traffic, flow, WRONG_LATE, arrival->sequence);
        }
        flow->worst_nsec = MAX(flow->worst_nsec, latency);
        if (arrival->sequence < flow->low) {
                flow->low = arrival->sequence;
                flow->low_nsec = arrival->sent_nsec;
        }
        if (arrival->sequence >= flow->high) {
                flow->high = arrival->sequence;
                flow->high_nsec = arrival->sent_nsec;
        }
}

/* Late packets may have come another way than they went first. */
static void account_path(Traffic *traffic, Flow *flow, Tally *tally, const WireArrival *arrival, uint64_t latency) {
        int8_t turn = (int8_t) ((arrival->path - arrival->sequence) % NIC_PATHS);

        traffic->tallies[flow->from].arrivals[arrival->path]++;
        tally->arrivals[arrival->path]++;
        if (latency > traffic->latency_max_nsec)
                return;
        flow->paths |= (uint16_t) (1u << arrival->path);
        if (flow->turn == TURN_UNKNOWN)
                flow->turn = turn;
        else if (flow->turn != turn)
                flow->turn = TURN_NONE;
}

/* It was asked for, and called lost where its receiver did not show it in time. */
static bool is_of_earlier_round(const Traffic *traffic, const WireArrival *arrival) {
        for (size_t i = 0; i < traffic->n_earlier; i++)
                if (arrival->flow - traffic->earlier[i] < FLOWS_MAX)
                        return true;
        return false;
}

/* A packet that is of no flow of this round. */
static void account_stranger(Traffic *traffic, Tally *tally, const WireArrival *arrival, int sender) {
        if (sender >= 0 && is_of_earlier_round(traffic, arrival))
                return;
        if (sender < 0) {
                tally->n_strange++;
                return;
        }
        tally->strangers |= UINT64_C(1) << sender;
        traffic->tallies[sender].n_foreign++;
}

void traffic_account(Traffic *traffic, unsigned adapter, const WireArrival *arrival, const uint8_t *payload) {
        int sender = sender_of(traffic, arrival);
        Flow *flow = flow_of(traffic, arrival, sender);
        Tally *tally = &traffic->tallies[adapter];

        tally->n_received++;
        tally->n_received_bytes += arrival->bytes;
        if (!flow) {
                account_stranger(traffic, tally, arrival, sender);
                return;
        }

        if (traffic_has_seen(traffic, flow, arrival->sequence)) {
                flow->n_again++;
                note(traffic, flow, WRONG_DELIVERY, arrival->sequence);
        } else {
                uint64_t latency = latency_of(arrival);

                if (flow->to == adapter)
                        flow->n_here++;
                else {
                        flow->n_astray++;
                        note(traffic, flow, WRONG_DELIVERY, arrival->sequence);
                }
                account_order(traffic, flow, arrival->sequence);
                account_time(traffic, flow, arrival, latency);
                /* One that went astray took no way of this flow's: maybe none at all, where it is its sender that has it. */
                if (flow->from != flow->to && flow->to == adapter)
                        account_path(traffic, flow, tally, arrival, latency);
        }
        traffic->seen[flow->seen + arrival->sequence / 64] |= UINT64_C(1) << arrival->sequence % 64;

        account_content(traffic, flow, arrival, payload);
}

double flow_gbps(const Flow *flow) {
        uint64_t nsec = flow->high_nsec - flow->low_nsec;

        if (flow->bytes < LARGE_BYTES || flow->high <= flow->low)
                return 0;
        /* Also where they run backwards: no adapter can be as fast, and none is believed to be. */
        if (flow->high_nsec <= flow->low_nsec)
                return INFINITY;
        return (double) (flow->high - flow->low) * flow->bytes * 8 / (double) nsec;
}

uint32_t flow_mistimed(const Flow *flow) {
        double gbps = flow_gbps(flow), busy = (double) flow->bytes * 8 * flow->packets / (double) flow->completion.busy_nsec;

        if (gbps > 0 && !(gbps <= CLOCKS_AGREE * busy && busy <= CLOCKS_AGREE * gbps))
                return flow->packets;
        return flow->n_early;
}
