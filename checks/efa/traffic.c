/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/efa/traffic.h"

#include <errno.h>
#include <string.h>

#define FLOOD_MAX     (UINT64_C(1) << 18) /* arrivals read beyond what can be expected, to get at what lies behind them */
#define ARRIVALS_MAX  768u /* of one adapter taken at a time, 54 KiB of the window: all that `preflight` sends it */
#define PAYLOADS_MAX  2u   /* whole payloads beside them, of two flows */

void traffic_init(Traffic *traffic, const Hosts *hosts, uint64_t seed, uint32_t base, uint64_t latency_max_nsec) {
        *traffic = (Traffic) { .hosts = hosts, .seed = seed, .base = base, .latency_max_nsec = latency_max_nsec };
}

void traffic_done(Traffic *traffic) {
        free(traffic->seen);
        free(traffic->incidents);
        traffic->seen = NULL;
        traffic->incidents = NULL;
        traffic->n_incidents = 0;
}

int traffic_add(Traffic *traffic, unsigned from, unsigned to, uint32_t path, uint32_t packets, uint32_t bytes) {
        if (traffic->n_flows == FLOWS_MAX)
                return -E2BIG;

        traffic->flows[traffic->n_flows++] = (Flow) {
                .from = (uint8_t) from, .to = (uint8_t) to, .path = path, .packets = packets, .bytes = bytes, .turn = TURN_UNKNOWN,
                .low = UINT32_MAX,
        };
        return 0;
}

/* What is to be sent by the adapters of one server, as lists. */
typedef struct Sending {
        size_t n;
        uint16_t flows[FLOWS_MAX];
        uint8_t chips[FLOWS_MAX];
        WireNicSend sends[FLOWS_MAX];
        NicCompletion completions[FLOWS_MAX];
        int errors[FLOWS_MAX];
} Sending;

static void list_flows(const Traffic *traffic, size_t host, Sending *sending) {
        sending->n = 0;
        for (size_t f = 0; f < traffic->n_flows; f++) {
                const Flow *flow = &traffic->flows[f];

                if (flow->from / CHIPS != host)
                        continue;
                sending->flows[sending->n] = (uint16_t) f;
                sending->chips[sending->n] = flow->from % CHIPS;
                sending->sends[sending->n] = (WireNicSend) {
                        .chip = flow->to % CHIPS, .flow = traffic->base + (uint32_t) f, .packets = flow->packets, .bytes = flow->bytes,
                        .seed = traffic->seed, .path = flow->path,
                };
                memcpy(sending->sends[sending->n++].server, traffic->hosts->hosts[flow->to / CHIPS].name, WIRE_SERVER_MAX);
        }
}

static int send_flows(Traffic *traffic, size_t host, Sending *sending) {
        int r;

        list_flows(traffic, host, sending);
        if (sending->n == 0)
                return 0;
        r = device_nic_send(traffic->hosts->hosts[host].device, sending->chips, sending->n, sending->sends, sending->completions,
                            sending->errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < sending->n; i++) {
                Flow *flow = &traffic->flows[sending->flows[i]];
                Tally *tally = &traffic->tallies[flow->from];

                flow->completion = sending->completions[i];
                flow->error = sending->errors[i];
                if (flow->error < 0)
                        continue;
                tally->n_sent += flow->packets;
                tally->n_sent_bytes += (uint64_t) flow->packets * flow->bytes;
                traffic->tallies[flow->to].n_expected += flow->packets;
        }

        return 0;
}

/* Of one server: who still has something to be taken. */
typedef struct Taking {
        Traffic *traffic;
        size_t host;
        size_t n;
        uint8_t chips[CHIPS];
} Taking;

/* What one adapter says is its own affair. */
static void take_box(void *userdata, unsigned chip, const NicBox *box) {
        Taking *taking = userdata;
        unsigned adapter = (unsigned) taking->host * CHIPS + chip;
        Tally *tally = &taking->traffic->tallies[adapter];

        if (box->error < 0) {
                tally->error = box->error;
                return;
        }
        for (size_t i = 0; i < box->n; i++) {
                const WireArrival *arrival = &box->arrivals[i];

                traffic_account(taking->traffic, adapter, arrival,
                                arrival->payload > 0 ? box->payloads + (size_t) (arrival->payload - 1) * NIC_PAYLOAD_MAX : NULL);
        }
        tally->flooded = tally->n_received > 4 * tally->n_expected + FLOOD_MAX || (box->n == 0 && box->left > 0);
        if (box->left > 0 && !tally->flooded)
                taking->chips[taking->n++] = (uint8_t) chip;
}

static int receive_at(Traffic *traffic, size_t host, AdapterSet receivers) {
        const NicRoom room = { .arrivals_max = ARRIVALS_MAX, .payloads_max = PAYLOADS_MAX, .payload_min = traffic->payload_min };
        Taking taking = { .traffic = traffic, .host = host };
        int r = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                if (receivers >> (host * CHIPS + c) & 1)
                        taking.chips[taking.n++] = (uint8_t) c;

        while (taking.n > 0 && r >= 0) {
                uint8_t chips[CHIPS];
                size_t n = taking.n;

                memcpy(chips, taking.chips, n);
                taking.n = 0;
                r = device_nic_receive(traffic->hosts->hosts[host].device, chips, n, &room, take_box, &taking);
        }

        return r;
}

static int make_room(Traffic *traffic) {
        size_t n_words = 0;

        for (size_t f = 0; f < traffic->n_flows; f++) {
                traffic->flows[f].seen = (uint32_t) n_words;
                n_words += (traffic->flows[f].packets + 63) / 64;
        }
        traffic_done(traffic);
        traffic->seen = calloc(n_words > 0 ? n_words : 1, sizeof(*traffic->seen));
        return traffic->seen ? 0 : -ENOMEM;
}

int traffic_run(Traffic *traffic, AdapterSet receivers) {
        _cleanup_free_ Sending *sending = malloc(sizeof(*sending));
        int r;

        r = make_room(traffic);
        if (r < 0 || !sending)
                return -ENOMEM;

        for (size_t h = 0; h < traffic->hosts->n && r >= 0; h++)
                r = send_flows(traffic, h, sending);
        for (size_t h = 0; h < traffic->hosts->n && r >= 0; h++)
                r = receive_at(traffic, h, receivers);

        return r;
}

uint32_t flow_lost(const Flow *flow) {
        return flow->packets - flow->n_here - flow->n_astray;
}

bool flow_is_denied(const Flow *flow) {
        return flow->completion.status == EFA_OK && flow_lost(flow) == 0 && flow->completion.delivered != flow->packets;
}
