/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/nic/nic.h"

#include <stdio.h>
#include <string.h>

#include "sim/nic/kinds.h"

#define RUNS_MAX        4096u /* of one receiver: its buffers */
#define PAYLOAD_STRIDE  8192u
#define CLOCK_BEGAN     UINT64_C(86400000000000) /* what clocks show at device time 0: none is so far off that it would show less */
#define IMPAIRED_SHARE  8u    /* of the packets of a flow, one in so many sent again: the connection is called impaired */

static int answer(Execution *execution, WireStatus status) {
        execution->completion->status = status;
        execution->completion->device_nsec = NIC_PACKET_NSEC;
        return 0;
}

/* ---------------------------------------------------------------- sending */

/* Hands RUN over to the receiver, which may be out of buffers. */
static void nic_take(Nic *nic, const Execution *execution, Run *run) {
        if (run->left == 0 || nic->n_runs == RUNS_MAX) {
                nic_count(nic, execution, NIC_RX_DROPS, run->left);
                run_free(run);
                return;
        }

        nic_count(nic, execution, NIC_RX_PKTS, run->left);
        nic_count(nic, execution, NIC_RX_BYTES, (uint64_t) run->left * run->bytes);
        nic_count(nic, execution, NIC_RECV_WRS, run->left);
        nic_count(nic, execution, NIC_RECV_BYTES, (uint64_t) run->left * run->bytes);
        *nic->last = run;
        nic->last = &run->next;
        nic->waiting += run->left;
        nic->n_runs++;
}

/* A packet that went to the wrong adapter of the same server. */
static int stray(const Run *run, uint32_t sequence, Chip *to, const Execution *execution) {
        static const uint64_t nothing[NIC_PATHS];
        uint64_t draw = payload_hash(payload_hash(run->seed ^ run->flow) ^ sequence);
        unsigned away = (chip_index(to) + 1 + (unsigned) (draw % (CHIPS - 1))) % CHIPS;
        Chip *other = chip_find(run->from, chip_server_name(to), away);
        Nic *nic = other ? chip_part(other, &model_nic, 0) : NULL;
        Run *one = nic ? malloc(sizeof(*one)) : NULL;

        if (!one)
                return -ENOMEM;

        *one = (Run) {
                .from = run->from, .flow = run->flow, .first = sequence, .packets = 1, .bytes = run->bytes, .path = run_path(run, sequence),
                .seed = run->seed, .start_nsec = run->start_nsec + sequence * run->gap_nsec, .gap_nsec = run->gap_nsec, .left = 1,
        };
        run_schedule(one, other, nothing);
        nic_take(nic, execution, one);
        return 0;
}

static int strays(const Run *run, Chip *to, const Execution *execution) {
        for (uint32_t s = 0; s < run->packets && run->n_odd[ODD_ASTRAY] > 0; s++)
                if (run->odd[s] == ODD_ASTRAY) {
                        int r = stray(run, s, to, execution);

                        if (r < 0)
                                return r;
                }

        return 0;
}

/* What it sends of its own accord, as a flow that nobody knows. */
static int flood(Nic *from, Nic *to, const Execution *execution, const Run *run) {
        static const uint64_t nothing[NIC_PATHS];
        uint32_t n = nic_flood(from, execution);
        Run *more = n > 0 ? malloc(sizeof(*more)) : NULL;

        if (n == 0)
                return 0;
        if (!more)
                return -ENOMEM;

        *more = (Run) {
                .from = run->from, .flow = ~run->flow, .packets = n, .bytes = run->bytes, .path = NIC_PATH_SPRAYED, .seed = run->seed,
                .start_nsec = run->start_nsec, .gap_nsec = run->gap_nsec, .left = n,
        };
        run_schedule(more, to->chip, nothing);
        nic_count(from, execution, NIC_TX_PKTS, n);
        nic_count(from, execution, NIC_TX_BYTES, (uint64_t) n * run->bytes);
        nic_take(to, execution, more);
        return 0;
}

/* What was sent again: in vain, for what is lost. */
static void count_resent(Nic *nic, const Execution *execution, const Run *run) {
        uint64_t n = run->n_odd[ODD_LOST];

        for (size_t i = 0; i < run->n_late; i++)
                n += run->late[i].tries;
        nic_count(nic, execution, NIC_RETRANS_PKTS, n);
        nic_count(nic, execution, NIC_RETRANS_BYTES, n * run->bytes);
        nic_count(nic, execution, NIC_RETRANS_TIMEOUT_EVENTS, n);
        nic_count(nic, execution, NIC_IMPAIRED_REMOTE_CONN_EVENTS, n > run->packets / IMPAIRED_SHARE);
}

static int suffer(Nic *from, Nic *to, const Execution *execution, Run *run) {
        uint64_t extra_nsec[NIC_PATHS] = {};
        int r = 0;

        if (from->n_faults > 0)
                r = nic_suffer(from, NIC_SEND, execution, run, extra_nsec);
        if (r >= 0 && to->n_faults > 0)
                r = nic_suffer(to, NIC_RECEIVE, execution, run, extra_nsec);
        if (r >= 0 && to != from)
                r = cable_suffer(from, NIC_SEND, execution, run);
        if (r >= 0 && to != from)
                r = cable_suffer(to, NIC_RECEIVE, execution, run);
        if (r >= 0 && to != from)
                r = fabric_suffer(from, execution, run);
        if (r >= 0)
                run_schedule(run, to->chip, extra_nsec);
        return r;
}

static int nic_deliver(Nic *from, Nic *to, Execution *execution, uint64_t gap_nsec) {
        const WireNicSend *send = &execution->command->nic_send;
        _cleanup_(run_freep) Run *run = NULL;
        uint32_t gone;
        int r;

        run = malloc(sizeof(*run));
        if (!run)
                return -ENOMEM;

        *run = (Run) {
                .from = from->chip, .flow = send->flow, .packets = send->packets, .bytes = send->bytes, .path = send->path,
                .seed = send->seed, .start_nsec = execution->start_nsec, .gap_nsec = gap_nsec, .looped = to == from,
        };
        if (run->path >= NIC_PATHS)
                (void) nic_has_single_path(from, execution, &run->path);
        r = suffer(from, to, execution, run);
        if (r >= 0)
                r = strays(run, to->chip, execution);
        if (r >= 0)
                r = flood(from, to, execution, run);
        if (r < 0)
                return r;

        count_resent(from, execution, run);
        nic_count(to, execution, NIC_RX_DROPS, run->n_odd[ODD_REFUSED]);
        gone = run->n_odd[ODD_LOST] + run->n_odd[ODD_REFUSED];
        execution->completion->result[0] = send->packets - gone;
        execution->completion->result[1] = run->n_odd[ODD_REFUSED] > 0 ? EFA_NOT_READY : EFA_OK;
        run->left = send->packets - gone - run->n_odd[ODD_ASTRAY] + run->n_odd[ODD_TWICE];
        nic_take(to, execution, TAKE_PTR(run));
        return 0;
}

static uint64_t gap_of(const WireNicSend *send, double share) {
        return NIC_PACKET_NSEC + (uint64_t) ((double) send->bytes * 8 / (NIC_GBPS * share));
}

static int nic_send(void *state, Execution *execution) {
        const WireNicSend *send = &execution->command->nic_send;
        WireCompletion *completion = execution->completion;
        double share, far_share;
        uint64_t gap_nsec;
        Nic *nic = state;
        Chip *chip;
        Nic *to;

        if (send->packets == 0 || send->packets > NIC_PACKETS_MAX || send->bytes == 0 || send->bytes > PAYLOAD_MAX ||
            (send->path >= NIC_PATHS && send->path != NIC_PATH_SPRAYED) || !memchr(send->server, 0, sizeof(send->server)))
                return answer(execution, STATUS_NRT_INVALID);
        if (nic_is_mute(nic, execution))
                return answer(execution, STATUS_NRT_TIMEOUT);

        nic_count(nic, execution, NIC_SEND_WRS, send->packets);
        nic_count(nic, execution, NIC_SEND_BYTES, (uint64_t) send->packets * send->bytes);
        nic_count(nic, execution, NIC_TX_PKTS, send->packets);
        nic_count(nic, execution, NIC_TX_BYTES, (uint64_t) send->packets * send->bytes);

        chip = chip_find(nic->chip, send->server, send->chip);
        to = chip ? chip_part(chip, &model_nic, 0) : NULL;
        share = nic_share(nic, execution);
        far_share = to ? nic_share(to, execution) : 1;
        gap_nsec = gap_of(send, share < far_share ? share : far_share); /* the receiver's pace is the sender's, soon enough */
        completion->status = STATUS_NRT_SUCCESS;
        completion->device_nsec = send->packets * gap_nsec;
        if (!to) {
                completion->result[1] = EFA_UNREACHABLE;
                return 0;
        }
        if (chip_hangs(chip) || nic_is_mute(to, execution)) {
                nic_count(nic, execution, NIC_UNRESPONSIVE_REMOTE_EVENTS, 1);
                completion->device_nsec += NIC_TIMEOUT_NSEC;
                completion->result[1] = EFA_UNRESPONSIVE;
                return 0;
        }

        chip_advance(chip, execution->start_nsec + completion->device_nsec);
        return nic_deliver(nic, to, execution, gap_nsec);
}

/* ---------------------------------------------------------------- receiving */

static uint64_t stamp(const NicClock *clock, const Run *run, uint64_t nsec) {
        uint64_t since = nsec - run->start_nsec;

        if (clock->pace != 1)
                since = (uint64_t) ((double) since * clock->pace);
        return CLOCK_BEGAN + (uint64_t) clock->ahead_nsec + run->start_nsec + since;
}

/* Clocks of the two ends. */
typedef struct Clocks {
        NicClock sender, receiver;
} Clocks;

/* What all arrivals of a run have in common. */
static WireArrival arrival_of(const Run *run) {
        WireArrival arrival = { .flow = run->flow, .bytes = run->bytes, .chip = (uint16_t) chip_index(run->from) };

        (void) snprintf(arrival.server, sizeof(arrival.server), "%s", chip_server_name(run->from));
        return arrival;
}

/* The payload goes into AREA where that is wanted, NULL else. */
static void arrival_fill(const Run *run, const Arrived *arrived, const Clocks *clocks, WireArrival *arrival, uint8_t *area) {
        uint64_t base = payload_base(run->seed, run->flow, run->first + arrived->sequence);
        uint8_t scratch[PAYLOAD_MAX];

        arrival->sequence = run->first + arrived->sequence;
        arrival->path = arrived->path;
        arrival->sent_nsec = stamp(&clocks->sender, run, arrived->sent_nsec);
        arrival->arrived_nsec = stamp(&clocks->receiver, run, arrived->arrived_nsec);

        if (arrived->what == ODD_CORRUPT) {
                arrival->crc32c = payload_corrupt(base, run->bytes, payload_hash(base), scratch);
                if (area)
                        memcpy(area, scratch, run->bytes);
                return;
        }

        arrival->crc32c = payload_crc(base, run->bytes);
        if (area)
                payload_write(base, run->bytes, area);
}

static void nic_drop_first(Nic *nic) {
        Run *run = nic->runs;

        nic->runs = run->next;
        if (!nic->runs)
                nic->last = &nic->runs;
        nic->n_runs--;
        run_free(run);
}

/* What of the out area is left for payloads behind the arrivals, as indices of PAYLOAD_STRIDE. */
static bool payload_fits(const Execution *execution) {
        const WireCommand *command = execution->command;
        const WireNicReceive *receive = &command->nic_receive;
        uint64_t first = (uint64_t) command->out_offset + (uint64_t) receive->arrivals_max * sizeof(WireArrival);

        return receive->payload_max == 0 ||
               (receive->payload_offset >= first &&
                receive->payload_offset + (uint64_t) receive->payload_max * PAYLOAD_STRIDE <=
                                (uint64_t) command->out_offset + command->out_bytes);
}

static int nic_receive(void *state, Execution *execution) {
        const WireCommand *command = execution->command;
        const WireNicReceive *receive = &command->nic_receive;
        WireArrival *arrivals = (WireArrival *) execution->out; /* the port sees to alignment */
        Nic *nic = state;
        uint32_t n = 0, n_payloads = 0;

        if ((uint64_t) receive->arrivals_max * sizeof(WireArrival) > command->out_bytes || !payload_fits(execution))
                return answer(execution, STATUS_NRT_INVALID);
        if (nic_is_mute(nic, execution))
                return answer(execution, STATUS_NRT_TIMEOUT);

        execution->completion->result[0] = nic->waiting;
        while (nic->runs && n < receive->arrivals_max) {
                Clocks clocks = { nic_clock(chip_part(nic->runs->from, &model_nic, 0), execution), nic_clock(nic, execution) };
                const WireArrival common = arrival_of(nic->runs);
                bool sampled = nic->runs->bytes >= receive->payload_min && n_payloads < receive->payload_max;
                Arrived arrived;

                while (nic->runs->left > 0 && n < receive->arrivals_max) {
                        WireArrival *arrival = &arrivals[n++];
                        uint8_t *area = NULL;

                        *arrival = common;
                        if (sampled) {
                                area = execution->out + (receive->payload_offset - command->out_offset) +
                                       (size_t) n_payloads * PAYLOAD_STRIDE;
                                arrival->payload = (uint16_t) ++n_payloads;
                                sampled = false;
                        }
                        arrived = run_next(nic->runs);
                        arrival_fill(nic->runs, &arrived, &clocks, arrival, area);
                }
                if (nic->runs->left == 0)
                        nic_drop_first(nic);
        }

        nic->waiting -= n;
        execution->completion->out_bytes = n_payloads > 0 ? command->out_bytes : n * (uint32_t) sizeof(WireArrival);
        execution->completion->result[1] = n;
        return answer(execution, STATUS_NRT_SUCCESS);
}

static int nic_init(void *state, Chip *chip, unsigned index) {
        Nic *nic = state;

        nic->chip = chip;
        nic->last = &nic->runs;
        return 0;
}

static void nic_reset(void *state) {
        Nic *nic = state;

        while (nic->runs)
                nic_drop_first(nic);
        nic->waiting = 0;
}

static void nic_done(void *state) {
        Nic *nic = state;

        nic_reset(nic);
        free(nic->faults);
}

const Model model_nic = {
        .name       = "nic",
        .part       = LOCATION_NIC,
        .state_size = sizeof(Nic),
        .init       = nic_init,
        .done       = nic_done,
        .commands   = {
                [COMMAND_NIC_SEND]    = nic_send,
                [COMMAND_NIC_RECEIVE] = nic_receive,
        },
        .attributes = nic_attributes,
        .faults     = (const FaultKind *const[]) { nic_kinds, NULL },
        .inject     = nic_inject,
        .heal       = nic_heal,
        .reset      = nic_reset,
};
