/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/efa/traffic.h"

#include <errno.h>
#include <string.h>
#include <sys/param.h>

#include "checks/efa/crc32c.h"

#define ARRIVALS_MAX  512u /* taken at a time: 32 KiB of the window */
#define PAYLOADS_MAX  2u   /* whole payloads beside them */
#define PAYLOAD_EVERY 61u  /* no multiple of the paths there are */

const uint16_t traffic_sizes[TRAFFIC_SIZES] = { 1, 4095, 4096, 4097, 8192 };

void traffic_init(Traffic *traffic, Device *device, const char *server, uint64_t seed, uint32_t base) {
        *traffic = (Traffic) { .device = device, .server = server, .seed = seed, .base = base };
}

void traffic_done(Traffic *traffic) {
        free(traffic->seen);
        traffic->seen = NULL;
}

int traffic_add(Traffic *traffic, unsigned from, unsigned to, uint32_t packets, uint32_t bytes) {
        if (traffic->n_flows == FLOWS_MAX)
                return -E2BIG;

        traffic->flows[traffic->n_flows++] = (Flow) {
                .from = (uint8_t) from, .to = (uint8_t) to, .packets = packets, .bytes = bytes,
        };
        return 0;
}

static int send_flows(Traffic *traffic) {
        NicCompletion completions[FLOWS_MAX];
        WireNicSend sends[FLOWS_MAX];
        uint8_t chips[FLOWS_MAX];
        int errors[FLOWS_MAX], r;

        for (size_t f = 0; f < traffic->n_flows; f++) {
                const Flow *flow = &traffic->flows[f];

                chips[f] = flow->from;
                sends[f] = (WireNicSend) {
                        .chip = flow->to, .flow = traffic->base + (uint32_t) f, .packets = flow->packets,
                        .bytes = flow->bytes, .seed = traffic->seed, .path = (uint32_t) f,
                };
                memcpy(sends[f].server, traffic->server, strnlen(traffic->server, WIRE_SERVER_MAX - 1));
        }

        r = device_nic_send(traffic->device, chips, traffic->n_flows, sends, completions, errors);
        if (r < 0)
                return r;

        for (size_t f = 0; f < traffic->n_flows; f++) {
                Flow *flow = &traffic->flows[f];

                flow->completion = completions[f];
                flow->error = errors[f];
                if (flow->error < 0)
                        continue;
                traffic->n_sent[flow->from] += flow->packets;
                traffic->n_sent_bytes[flow->from] += (uint64_t) flow->packets * flow->bytes;
                traffic->n_expected[flow->to] += flow->packets;
        }

        return 0;
}

static Flow *flow_of(Traffic *traffic, const WireArrival *arrival) {
        uint32_t f = arrival->flow - traffic->base;
        Flow *flow = f < traffic->n_flows ? &traffic->flows[f] : NULL;

        if (!flow || arrival->chip != flow->from || arrival->sequence >= flow->packets ||
            strncmp(arrival->server, traffic->server, sizeof(arrival->server)) != 0)
                return NULL;

        return flow;
}

static void note_corrupt(Flow *flow, const WireArrival *arrival, uint32_t expected, uint32_t actual) {
        if (flow->n_corrupt++ > 0)
                return;

        flow->corrupt_sequence = arrival->sequence;
        flow->corrupt_expected = expected;
        flow->corrupt_actual = actual;
}

static void account_content(Traffic *traffic, Flow *flow, const WireArrival *arrival, const uint8_t *payload) {
        uint8_t scratch[NIC_PAYLOAD_MAX + 8];
        uint32_t expected;

        expected = expected_crc(traffic->seed, arrival->flow, arrival->sequence, flow->bytes, scratch);
        if (arrival->bytes != flow->bytes || arrival->crc32c != expected) {
                note_corrupt(flow, arrival, expected, arrival->crc32c);
                return;
        }
        if (!payload)
                return;

        /* The adapter's own checksum is not trusted with everything. */
        traffic->n_sampled++;
        if (memcmp(payload, scratch, flow->bytes) != 0)
                note_corrupt(flow, arrival, expected, crc32c(payload, flow->bytes));
}

static void account(Traffic *traffic, unsigned chip, const WireArrival *arrival, const uint8_t *payload) {
        Flow *flow = flow_of(traffic, arrival);
        uint64_t *word, bit;

        traffic->n_received[chip]++;
        traffic->n_received_bytes[chip] += arrival->bytes;
        if (!flow) {
                traffic->n_strange[chip]++;
                return;
        }

        word = &traffic->seen[flow->seen + arrival->sequence / 64];
        bit = UINT64_C(1) << arrival->sequence % 64;
        if (*word & bit)
                flow->n_again++;
        else if (flow->to != chip)
                flow->n_astray++;
        else
                flow->n_here++;
        *word |= bit;

        if (arrival->sequence >= flow->highest)
                flow->highest = arrival->sequence + 1;
        else
                flow->reorder = MAX(flow->reorder, flow->highest - 1 - arrival->sequence);

        account_content(traffic, flow, arrival, payload);
}

static int receive_at(Traffic *traffic, unsigned chip, WireArrival *arrivals, uint8_t *payloads) {
        uint64_t bound = 4 * traffic->n_expected[chip] + 4 * ARRIVALS_MAX, left = 1;

        while (left > 0) {
                int n = device_nic_receive(traffic->device, chip, arrivals, ARRIVALS_MAX, PAYLOAD_EVERY, payloads,
                                           PAYLOADS_MAX, &left);

                /* What one adapter says is its own affair; what breaks the port is not. */
                if (n < 0 && n != -ENOSPC && device_failure(traffic->device) == 0) {
                        traffic->errors[chip] = n;
                        return 0;
                }
                if (n < 0)
                        return n;

                for (int i = 0; i < n; i++)
                        account(traffic, chip, &arrivals[i],
                                arrivals[i].payload > 0 ?
                                                payloads + (size_t) (arrivals[i].payload - 1) * NIC_PAYLOAD_MAX : NULL);

                traffic->flooded[chip] = traffic->n_received[chip] > bound || (n == 0 && left > 0);
                if (traffic->flooded[chip])
                        return 0;
        }

        return 0;
}

int traffic_run(Traffic *traffic, uint16_t receivers) {
        _cleanup_free_ WireArrival *arrivals = NULL;
        _cleanup_free_ uint8_t *payloads = NULL;
        size_t n_words = 0;
        int r;

        for (size_t f = 0; f < traffic->n_flows; f++) {
                traffic->flows[f].seen = (uint32_t) n_words;
                n_words += (traffic->flows[f].packets + 63) / 64;
        }
        traffic_done(traffic);
        traffic->seen = calloc(n_words > 0 ? n_words : 1, sizeof(*traffic->seen));
        arrivals = malloc(ARRIVALS_MAX * sizeof(*arrivals));
        payloads = malloc((size_t) PAYLOADS_MAX * NIC_PAYLOAD_MAX);
        if (!traffic->seen || !arrivals || !payloads)
                return -ENOMEM;

        r = send_flows(traffic);
        for (unsigned c = 0; c < CHIPS && r >= 0; c++)
                if (receivers >> c & 1)
                        r = receive_at(traffic, c, arrivals, payloads);

        return r;
}

uint32_t flow_lost(const Flow *flow) {
        return flow->packets - flow->n_here - flow->n_astray;
}

bool flow_is_denied(const Flow *flow) {
        return flow->completion.status == EFA_OK && flow_lost(flow) == 0 && flow->completion.delivered != flow->packets;
}
