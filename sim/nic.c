/* SPDX-License-Identifier: Apache-2.0 */

/*
 * nic
 *
 * The EFA adapter beside each chip: 200 Gb/s, scalable reliable datagrams. A flow is sprayed over many paths and so
 * arrives out of order, each packet once.
 *
 * What is on its way is kept as runs (who, which flow, how many), with a list of the odd packets; packets exist only
 * when they are received. The order of arrival of a block of 16 is its sequence XOR a hash: paths deliver in turn.
 */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/cleanup.h"
#include "sim/model.h"
#include "sim/payload.h"

#define PATHS          16u
#define RUNS_MAX       4096u /* of one receiver: its buffers */
#define PACKETS_MAX    65536u
#define PAYLOAD_STRIDE 8192u
#define PACKET_NSEC    20u   /* of the adapter itself */
#define WIRE_BITS_NSEC 200u  /* 200 Gb/s */
#define HOP_NSEC       6500u
#define TIMEOUT_NSEC   1000000u

#define EFA_OK           0u
#define EFA_UNRESPONSIVE 13u
#define EFA_UNREACHABLE  15u

typedef enum Oddity {
        ODD_LOST,
        ODD_CORRUPT,
        ODD_TWICE,
        ODD_ASTRAY,
        _ODD_MAX,
} Oddity;

typedef struct Odd {
        uint32_t sequence;
        Oddity what;
        uint64_t draw; /* which bit is wrong, where it strays to */
} Odd;

typedef struct Run Run;

struct Run {
        Run *next;
        Chip *from;
        uint32_t flow, first, packets, bytes, path;
        uint64_t seed;
        uint64_t start_nsec;
        uint32_t done; /* arrivals taken, in the order of arrival; a packet that comes twice is two */
        bool again;    /* the packet at `done` has been taken once */
        uint32_t left; /* arrivals still to come */
        size_t n_odd;
        Odd *odd;
};

typedef struct Nic {
        Chip *chip;
        Run *runs, **last;
        unsigned n_runs;
        uint64_t waiting; /* arrivals */
        const Fault **faults;
        size_t n_faults;
        uint64_t tx_bytes, tx_pkts, rx_bytes, rx_pkts, rx_drops, send_wrs, recv_wrs, retrans_bytes, retrans_pkts,
                        retrans_timeout_events, unresponsive_remote_events;
} Nic;

typedef enum Direction {
        DIRECTION_BOTH,
        DIRECTION_SEND,
        DIRECTION_RECEIVE,
} Direction;

typedef struct PacketParameters {
        double rate;
        int direction;
} PacketParameters;

enum { /* indices into kinds[] below; the first _ODD_MAX do to packets what their Oddity says */
        KIND_UNRESPONSIVE = _ODD_MAX,
        KIND_COUNTER_STUCK,
        _KIND_MAX,
};

static const FaultKind kinds[_KIND_MAX + 1];

extern const Model model_nic;

static const Fault *nic_suffers(const Nic *nic, unsigned kind, const Execution *execution) {
        for (size_t i = 0; i < nic->n_faults; i++)
                if (nic->faults[i]->kind == &kinds[kind] && fault_is_active(nic->faults[i], execution))
                        return nic->faults[i];

        return NULL;
}

static void nic_count(const Nic *nic, const Execution *execution, uint64_t *counter, uint64_t n) {
        if (n > 0 && !nic_suffers(nic, KIND_COUNTER_STUCK, execution))
                *counter += n;
}

static int answer(Execution *execution, WireStatus status) {
        execution->completion->status = status;
        execution->completion->device_nsec = PACKET_NSEC;
        return 0;
}

/* ---------------------------------------------------------------- sending */

static int odd_add(Run *run, uint32_t sequence, Oddity what, uint64_t draw) {
        Odd *more;

        for (size_t i = 0; i < run->n_odd; i++)
                if (run->odd[i].sequence == sequence)
                        return 0; /* one mishap per packet */

        more = realloc(run->odd, (run->n_odd + 1) * sizeof(*more));
        if (!more)
                return -ENOMEM;

        run->odd = more;
        run->odd[run->n_odd++] = (Odd) { .sequence = sequence, .what = what, .draw = draw };
        return 1;
}

/* Lets the faults of NIC, as one end of the flow, choose their packets. */
static int run_suffer(Run *run, const Nic *nic, Direction direction, const Execution *execution) {
        for (size_t i = 0; i < nic->n_faults; i++) {
                const Fault *fault = nic->faults[i];
                const PacketParameters *packet = fault->parameters;
                uint64_t n, draw = (uint64_t) i << 32 | (uint64_t) direction << 24;
                size_t kind = (size_t) (fault->kind - kinds);

                if (kind >= _ODD_MAX || !fault_is_active(fault, execution) ||
                    (packet->direction != DIRECTION_BOTH && packet->direction != (int) direction))
                        continue;

                /* The number counts the commands of the sender; its place makes draws of a receiver's fault differ. */
                draw ^= (uint64_t) chip_index(run->from) << 40 ^ payload_hash(run->flow) << 48;
                n = draw_binomial(nic->chip, &fault->at, execution->number, draw, run->packets, packet->rate);
                for (uint64_t p = 0; p < n; p++) {
                        uint64_t x = draw_u64(nic->chip, &fault->at, execution->number, draw + 1 + p);

                        if (odd_add(run, (uint32_t) (x % run->packets), (Oddity) kind, x >> 20) < 0)
                                return -ENOMEM;
                }
        }

        return 0;
}

static uint32_t run_odd(const Run *run, Oddity what) {
        uint32_t n = 0;

        for (size_t i = 0; i < run->n_odd; i++)
                n += run->odd[i].what == what;

        return n;
}

static Run *run_free(Run *run) {
        if (run)
                free(run->odd);
        free(run);
        return NULL;
}

DEFINE_CLEANUP(Run *, run_free);

/* Hands RUN over to the receiver, which may be out of buffers. */
static void nic_take(Nic *nic, const Execution *execution, Run *run) {
        if (run->left == 0 || nic->n_runs == RUNS_MAX) {
                nic_count(nic, execution, &nic->rx_drops, run->left);
                run_free(run);
                return;
        }

        nic_count(nic, execution, &nic->rx_pkts, run->left);
        nic_count(nic, execution, &nic->rx_bytes, (uint64_t) run->left * run->bytes);
        nic_count(nic, execution, &nic->recv_wrs, run->left);
        *nic->last = run;
        nic->last = &run->next;
        nic->waiting += run->left;
        nic->n_runs++;
}

/* Packets that went to the wrong adapter of the same server. */
static int run_stray(const Run *run, Chip *to, const Execution *execution) {
        for (size_t i = 0; i < run->n_odd; i++) {
                unsigned away = (chip_index(to) + 1 + (unsigned) (run->odd[i].draw % (CHIPS - 1))) % CHIPS;
                Chip *other;
                Run *stray;

                if (run->odd[i].what != ODD_ASTRAY)
                        continue;

                other = chip_find(run->from, chip_server_name(to), away);
                stray = other ? malloc(sizeof(*stray)) : NULL;
                if (!stray)
                        return other ? -ENOMEM : 0;

                *stray = *run;
                stray->next = NULL;
                stray->odd = NULL;
                stray->n_odd = 0;
                stray->first = run->odd[i].sequence;
                stray->packets = stray->left = 1;
                nic_take(chip_part(other, &model_nic, 0), execution, stray);
        }

        return 0;
}

static int nic_deliver(Nic *from, Nic *to, Execution *execution) {
        const WireNicSend *send = &execution->command->nic_send;
        _cleanup_(run_freep) Run *run = NULL;
        uint32_t lost;
        int r;

        run = calloc(1, sizeof(*run));
        if (!run)
                return -ENOMEM;

        *run = (Run) {
                .from = from->chip, .flow = send->flow, .packets = send->packets, .bytes = send->bytes,
                .path = send->path, .seed = send->seed, .start_nsec = execution->start_nsec,
        };
        r = run_suffer(run, from, DIRECTION_SEND, execution);
        if (r >= 0)
                r = run_suffer(run, to, DIRECTION_RECEIVE, execution);
        if (r >= 0)
                r = run_stray(run, to->chip, execution);
        if (r < 0)
                return r;

        /* A lost packet is sent again, in vain, and given up. */
        lost = run_odd(run, ODD_LOST);
        nic_count(from, execution, &from->retrans_pkts, lost);
        nic_count(from, execution, &from->retrans_bytes, (uint64_t) lost * send->bytes);
        nic_count(from, execution, &from->retrans_timeout_events, lost);
        execution->completion->result[0] = send->packets - lost;
        execution->completion->result[1] = EFA_OK;

        run->left = send->packets - lost - run_odd(run, ODD_ASTRAY) + run_odd(run, ODD_TWICE);
        nic_take(to, execution, TAKE_PTR(run));
        return 0;
}

static int nic_send(void *state, Execution *execution) {
        const WireNicSend *send = &execution->command->nic_send;
        WireCompletion *completion = execution->completion;
        Nic *nic = state;
        Chip *chip;
        Nic *to;

        if (send->packets == 0 || send->packets > PACKETS_MAX || send->bytes == 0 || send->bytes > PAYLOAD_MAX ||
            !memchr(send->server, 0, sizeof(send->server)))
                return answer(execution, STATUS_NRT_INVALID);
        if (nic_suffers(nic, KIND_UNRESPONSIVE, execution))
                return answer(execution, STATUS_NRT_TIMEOUT);

        completion->status = STATUS_NRT_SUCCESS;
        completion->device_nsec = HOP_NSEC + send->packets * (PACKET_NSEC + (uint64_t) send->bytes * 8 / WIRE_BITS_NSEC);
        nic_count(nic, execution, &nic->send_wrs, send->packets);
        nic_count(nic, execution, &nic->tx_pkts, send->packets);
        nic_count(nic, execution, &nic->tx_bytes, (uint64_t) send->packets * send->bytes);

        chip = chip_find(nic->chip, send->server, send->chip);
        to = chip ? chip_part(chip, &model_nic, 0) : NULL;
        if (!to) {
                completion->result[1] = EFA_UNREACHABLE;
                return 0;
        }
        if (chip_hangs(chip) || nic_suffers(to, KIND_UNRESPONSIVE, execution)) {
                nic_count(nic, execution, &nic->unresponsive_remote_events, 1);
                completion->device_nsec += TIMEOUT_NSEC;
                completion->result[1] = EFA_UNRESPONSIVE;
                return 0;
        }

        chip_advance(chip, execution->start_nsec + completion->device_nsec);
        return nic_deliver(nic, to, execution);
}

/* ---------------------------------------------------------------- receiving */

/*
 * The sequence of arrival number POSITION of a run of N: within the largest aligned block of a power of two, up to one
 * packet per path, that fits, the paths deliver by a rank of their own.
 */
static uint32_t arrival_sequence(const Run *run, uint32_t position) {
        uint32_t block = PATHS, start = position / PATHS * PATHS;

        while (start + block > run->packets) {
                block /= 2;
                if (position >= start + block && start + block <= run->packets)
                        start += block;
        }

        return start + ((position - start) ^ (uint32_t) (payload_hash(run->seed ^ run->flow ^ start) & (block - 1)));
}

static const Odd *odd_find(const Run *run, uint32_t sequence) {
        for (size_t i = 0; i < run->n_odd; i++)
                if (run->odd[i].sequence == sequence)
                        return &run->odd[i];

        return NULL;
}

/* The payload goes into AREA where that is wanted, NULL else. */
static void arrival_fill(const Run *run, uint32_t sequence, const Odd *odd, WireArrival *arrival, uint8_t *area) {
        uint64_t base = payload_base(run->seed, run->flow, run->first + sequence);
        uint8_t scratch[PAYLOAD_MAX];

        arrival->flow = run->flow;
        arrival->sequence = run->first + sequence;
        arrival->bytes = run->bytes;
        arrival->path = (run->path + sequence) % PATHS;
        arrival->chip = (uint16_t) chip_index(run->from);
        arrival->device_nsec = run->start_nsec + HOP_NSEC +
                               (run->done + 1) * (PACKET_NSEC + (uint64_t) run->bytes * 8 / WIRE_BITS_NSEC);

        if (odd && odd->what == ODD_CORRUPT) {
                arrival->crc32c = payload_corrupt(base, run->bytes, odd->draw, scratch);
                if (area)
                        memcpy(area, scratch, run->bytes);
                return;
        }

        arrival->crc32c = payload_crc(base, run->bytes);
        if (area)
                payload_write(base, run->bytes, area);
}

/* The next arrival of RUN: its sequence, and what is odd about it. Call only with arrivals left. */
static uint32_t run_next(Run *run, const Odd **ret_odd) {
        for (;;) {
                uint32_t sequence = arrival_sequence(run, run->done);
                const Odd *odd = run->n_odd > 0 ? odd_find(run, sequence) : NULL;

                if (odd && odd->what == ODD_TWICE && !run->again) {
                        run->again = true;
                } else {
                        run->again = false;
                        run->done++;
                }
                if (odd && (odd->what == ODD_LOST || odd->what == ODD_ASTRAY))
                        continue;

                run->left--;
                *ret_odd = odd;
                return sequence;
        }
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

        return receive->payload_every == 0 || receive->payload_max == 0 ||
               (receive->payload_offset >= first &&
                receive->payload_offset + (uint64_t) receive->payload_max * PAYLOAD_STRIDE <=
                                (uint64_t) command->out_offset + command->out_bytes);
}

static int nic_receive(void *state, Execution *execution) {
        const WireCommand *command = execution->command;
        const WireNicReceive *receive = &command->nic_receive;
        Nic *nic = state;
        uint32_t n = 0, n_payloads = 0;

        if ((uint64_t) receive->arrivals_max * sizeof(WireArrival) > command->out_bytes || !payload_fits(execution))
                return answer(execution, STATUS_NRT_INVALID);
        if (nic_suffers(nic, KIND_UNRESPONSIVE, execution))
                return answer(execution, STATUS_NRT_TIMEOUT);

        execution->completion->result[0] = nic->waiting;
        while (nic->runs && n < receive->arrivals_max) {
                WireArrival arrival = {};
                uint8_t *area = NULL;
                uint32_t sequence;
                const Odd *odd;

                (void) snprintf(arrival.server, sizeof(arrival.server), "%s", chip_server_name(nic->runs->from));
                while (nic->runs->left > 0 && n < receive->arrivals_max) {
                        arrival.payload = 0;
                        area = NULL;
                        if (receive->payload_every > 0 && n % receive->payload_every == 0 &&
                            n_payloads < receive->payload_max) {
                                area = execution->out + (receive->payload_offset - command->out_offset) +
                                       (size_t) n_payloads * PAYLOAD_STRIDE;
                                arrival.payload = (uint16_t) ++n_payloads;
                        }
                        sequence = run_next(nic->runs, &odd);
                        arrival_fill(nic->runs, sequence, odd, &arrival, area);
                        memcpy(execution->out + (size_t) n++ * sizeof(arrival), &arrival, sizeof(arrival));
                }
                if (nic->runs->left == 0)
                        nic_drop_first(nic);
        }

        nic->waiting -= n;
        execution->completion->out_bytes = n_payloads > 0 ? command->out_bytes : n * (uint32_t) sizeof(WireArrival);
        execution->completion->result[1] = n;
        return answer(execution, STATUS_NRT_SUCCESS);
}

/* ---------------------------------------------------------------- counters and faults */

#define READ_COUNTER(counter)                                                                                \
        static int read_##counter(void *state, Chip *chip, unsigned index, char *text, size_t size) {        \
                (void) snprintf(text, size, "%" PRIu64, ((const Nic *) state)->counter);                     \
                return 0;                                                                                    \
        }

READ_COUNTER(tx_bytes)
READ_COUNTER(tx_pkts)
READ_COUNTER(rx_bytes)
READ_COUNTER(rx_pkts)
READ_COUNTER(rx_drops)
READ_COUNTER(send_wrs)
READ_COUNTER(recv_wrs)
READ_COUNTER(retrans_bytes)
READ_COUNTER(retrans_pkts)
READ_COUNTER(retrans_timeout_events)
READ_COUNTER(unresponsive_remote_events)

#define SAMPLE_RATE_MIN 0.01 /* of the packets */

static const LocationKind at_nic[] = { LOCATION_NIC, _LOCATION_KIND_INVALID };
static const char *const directions[] = { "both", "send", "receive", NULL };

static const YamlField packet_parameters[] = {
        YAML_NUMBER("rate", PacketParameters, rate, 1e-9, 1, .required = true, .summary = "of the packets"),
        YAML_WORD("direction", PacketParameters, direction, directions, .summary = "both, send or receive"),
        {}
};

/* The adapter beside chip N is nicN. */
static int validate_nic(const Fault *fault, const char **ret_wrong) {
        if (location_index(&fault->at, LOCATION_NIC) != location_index(&fault->at, LOCATION_CHIP)) {
                *ret_wrong = "the adapter has the number of its chip";
                return -EINVAL;
        }

        return 0;
}

/* A scan sends thousands of packets through an adapter: what happens to one in a million is not there for it. */
static int sample_packets(Sample *sample) {
        sample_key(sample, "rate", "%.3g", sample_between(sample, SAMPLE_RATE_MIN, 1));
        return 0;
}

#define PACKET_KIND(word, code, text)                                                                        \
        {                                                                                                    \
                .name = word, .summary = text, .family = FAMILY_LINKS, .at = at_nic,                         \
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,                             \
                .triggers = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,                                          \
                .parameters_bytes = sizeof(PacketParameters), .parameters = packet_parameters,               \
                .validate = validate_nic, .is_shared = true, .codes = FAULT_CODES(code),                     \
                .sample = sample_packets,                                                                    \
        }

static const FaultKind kinds[_KIND_MAX + 1] = {
        [ODD_LOST]    = PACKET_KIND("packet-loss", "efa-loss", "packets of the adapter never arrive"),
        [ODD_CORRUPT] = PACKET_KIND("packet-corruption", "efa-corruption", "packets of the adapter arrive with a wrong bit"),
        [ODD_TWICE]   = PACKET_KIND("packet-duplicate", "efa-misdelivery", "packets of the adapter arrive twice"),
        [ODD_ASTRAY]  = PACKET_KIND("packet-misdelivery", "efa-misdelivery", "packets of the adapter arrive at another one"),
        [KIND_UNRESPONSIVE] = {
                .name        = "unresponsive",
                .summary     = "the adapter neither sends nor receives",
                .family      = FAMILY_LINKS,
                .at          = at_nic,
                .persistence = PERSISTENCE_PERMANENT | PERSISTENCE_INTERMITTENT,
                .triggers    = TRIGGER_TEMPERATURE | TRIGGER_ACTIVITY,
                .validate    = validate_nic,
                .is_shared   = true,
                .codes       = FAULT_CODES("efa-unresponsive"),
        },
        [KIND_COUNTER_STUCK] = {
                .name        = "nic-counter-stuck",
                .summary     = "the counters of the adapter stand still whatever happens",
                .family      = FAMILY_LINKS,
                .at          = at_nic,
                .persistence = PERSISTENCE_PERMANENT,
                .validate    = validate_nic,
                .is_shared   = true,
                .codes       = FAULT_CODES("efa-counter"),
        },
        {}
};

static int nic_inject(void *state, const Fault *fault) {
        Nic *nic = state;
        const Fault **more;

        more = realloc(nic->faults, (nic->n_faults + 1) * sizeof(*more));
        if (!more)
                return -ENOMEM;

        nic->faults = more;
        nic->faults[nic->n_faults++] = fault;
        return 0;
}

static void nic_heal(void *state, const Fault *fault) {
        Nic *nic = state;

        for (size_t i = 0; i < nic->n_faults; i++)
                if (nic->faults[i] == fault) {
                        nic->faults[i] = nic->faults[--nic->n_faults];
                        return;
                }
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
        .attributes = (const Attribute[]) {
                { "hw_counters/tx_bytes", read_tx_bytes },
                { "hw_counters/tx_pkts", read_tx_pkts },
                { "hw_counters/rx_bytes", read_rx_bytes },
                { "hw_counters/rx_pkts", read_rx_pkts },
                { "hw_counters/rx_drops", read_rx_drops },
                { "hw_counters/send_wrs", read_send_wrs },
                { "hw_counters/recv_wrs", read_recv_wrs },
                { "hw_counters/retrans_bytes", read_retrans_bytes },
                { "hw_counters/retrans_pkts", read_retrans_pkts },
                { "hw_counters/retrans_timeout_events", read_retrans_timeout_events },
                { "hw_counters/unresponsive_remote_events", read_unresponsive_remote_events },
                {}
        },
        .faults     = (const FaultKind *const[]) { kinds, NULL },
        .inject     = nic_inject,
        .heal       = nic_heal,
        .reset      = nic_reset,
};
