/* SPDX-License-Identifier: Apache-2.0 */

/*
 * efa
 *
 * Every adapter of a server sends to two others and hears from two others, messages of the sizes where things change,
 * and every packet is accounted for: lost, twice, corrupt, at the wrong adapter. Order means nothing on this fabric, so
 * it is measured and not judged. What the adapters count themselves must have moved by what was sent and received.
 */

#include "checks/efa/efa.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/check.h"
#include "checks/efa/blame.h"
#include "checks/step.h"

#define SECOND_PEER   5u /* in the ring of those that take part */
#define DRAIN_MAX     256u
#define MORE_PACKETS  2048u /* of one byte, per flow, to tell suspects apart */
#define MORE_LARGE    32u
#define MORE_PARTNERS 3u

typedef enum NicCounter {
        COUNTER_TX_PKTS,
        COUNTER_TX_BYTES,
        COUNTER_RX_PKTS,
        COUNTER_RX_BYTES,
        _NIC_COUNTER_MAX,
} NicCounter;

static const char *const counter_paths[_NIC_COUNTER_MAX] = {
        [COUNTER_TX_PKTS]  = "hw_counters/tx_pkts",
        [COUNTER_TX_BYTES] = "hw_counters/tx_bytes",
        [COUNTER_RX_PKTS]  = "hw_counters/rx_pkts",
        [COUNTER_RX_BYTES] = "hw_counters/rx_bytes",
};

typedef struct Counters {
        uint64_t values[_NIC_COUNTER_MAX];
        uint16_t missing; /* bit per counter: not there, or no number */
} Counters;

static const char *const wrong_codes[_WRONG_MAX] = {
        [WRONG_LOSS]       = "efa-loss",
        [WRONG_CORRUPTION] = "efa-corruption",
        [WRONG_DELIVERY]   = "efa-misdelivery",
        [WRONG_SILENCE]    = "efa-unresponsive",
};

static const char *const wrong_words[_WRONG_MAX] = {
        [WRONG_LOSS]       = "never arrived",
        [WRONG_CORRUPTION] = "arrived changed",
        [WRONG_DELIVERY]   = "arrived at the wrong adapter, or twice",
        [WRONG_SILENCE]    = "found no response",
};

typedef struct Round {
        Step *step;
        const EfaParameters *parameters;
        Device *device;
        const char *server;
        uint16_t asked;   /* chips in the scan */
        uint16_t silent;  /* of them: the chip does not answer */
        uint16_t mute;    /* its adapter takes no command: to blame without further ado */
        uint16_t garbled; /* its adapter says what none may say */
        uint16_t strange; /* packets of nobody arrived there, or without end */
        Verdict verdicts[CHIPS];
        Counters before[CHIPS], after[CHIPS];
        uint64_t n_sent[CHIPS], n_sent_bytes[CHIPS], n_received[CHIPS], n_received_bytes[CHIPS];
        uint32_t reorder;
        uint64_t n_sampled;
        Ledger ledger;
        Flow corrupt[CHIPS]; /* by sender: the first flow with a corrupt packet */
} Round;

static uint16_t answering(const Round *round) {
        return round->asked & (uint16_t) ~round->silent;
}

/* ---- counters ---- */

static int parse_counter(const char *text, uint64_t *ret) {
        unsigned long long value;
        char *end;

        errno = 0;
        value = strtoull(text, &end, 10);
        if (text[0] < '0' || text[0] > '9' || errno != 0 || *end)
                return -EPROTO;

        *ret = value;
        return 0;
}

/* Of all chips that answer; those that do not turn out here. */
static int read_counters(Round *round, Counters *counters) {
        char (*texts)[ATTRIBUTE_TEXT_MAX] __attribute__((cleanup(free_address))) = NULL;
        const char *paths[CHIPS * _NIC_COUNTER_MAX];
        uint8_t chips[CHIPS * _NIC_COUNTER_MAX];
        int errors[CHIPS * _NIC_COUNTER_MAX], r;
        size_t n = 0;

        texts = calloc(CHIPS * _NIC_COUNTER_MAX, sizeof(*texts));
        if (!texts)
                return -ENOMEM;

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned k = 0; k < _NIC_COUNTER_MAX && answering(round) >> c & 1; k++) {
                        paths[n] = counter_paths[k];
                        chips[n++] = (uint8_t) c;
                }

        r = device_attributes_of(round->device, chips, paths, n, texts, errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i += _NIC_COUNTER_MAX) {
                Counters *own = &counters[chips[i]];

                *own = (Counters) {};
                for (unsigned k = 0; k < _NIC_COUNTER_MAX; k++) {
                        if (errors[i + k] == -ETIMEDOUT)
                                round->silent |= (uint16_t) (1u << chips[i]);
                        if (errors[i + k] < 0 || parse_counter(texts[i + k], &own->values[k]) < 0)
                                own->missing |= (uint16_t) (1u << k);
                }
                /* Without any counter there is no adapter here, nor a chip: not for this check to say. */
                if (own->missing == (1u << _NIC_COUNTER_MAX) - 1)
                        round->silent |= (uint16_t) (1u << chips[i]);
        }

        return 0;
}

/* ---- traffic ---- */

/* What earlier scans may have left behind. */
static int drain(Round *round) {
        _cleanup_free_ WireArrival *arrivals = NULL;
        uint64_t waiting[CHIPS];
        uint8_t chips[CHIPS];
        int errors[CHIPS], r;
        size_t n = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                if (answering(round) >> c & 1)
                        chips[n++] = (uint8_t) c;

        r = device_nic_waiting(round->device, chips, n, waiting, errors);
        if (r < 0)
                return r;

        arrivals = malloc(512 * sizeof(*arrivals));
        if (!arrivals)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++)
                for (unsigned k = 0; errors[i] >= 0 && waiting[i] > 0 && k < DRAIN_MAX; k++) {
                        r = device_nic_receive(round->device, chips[i], arrivals, 512, 0, NULL, 0, &waiting[i]);
                        if (r < 0 && device_failure(round->device) < 0)
                                return r;
                        if (r <= 0)
                                break;
                }

        return 0;
}

static int add_flows(Round *round, Traffic *traffic, unsigned from, unsigned to, uint32_t small, uint32_t large) {
        int r = 0;

        for (unsigned s = 0; s < TRAFFIC_SIZES && r >= 0; s++)
                r = traffic_add(traffic, from, to, s == 0 ? small : large, traffic_sizes[s]);

        return r;
}

/* Each of those that take part sends to the next in the ring, and to one further on. */
static int plan_ring(Round *round, Traffic *traffic) {
        unsigned chips[CHIPS], n = 0, second;
        int r = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                if (answering(round) >> c & 1)
                        chips[n++] = c;

        second = n > SECOND_PEER + 1 ? SECOND_PEER : 2;
        for (unsigned i = 0; i < n && r >= 0; i++) {
                uint32_t small = (uint32_t) round->parameters->packets, large = (uint32_t) round->parameters->large;

                r = add_flows(round, traffic, chips[i], chips[(i + 1) % n], small, large);
                if (r >= 0 && n > 2)
                        r = add_flows(round, traffic, chips[i], chips[(i + second) % n], small, large);
        }

        return r;
}

/* Suspects talk to others that are beyond suspicion, both ways. */
static int plan_suspects(Round *round, Traffic *traffic, uint16_t suspects, uint16_t sound) {
        for (unsigned c = 0; c < CHIPS; c++) {
                unsigned n_partners = 0;

                for (unsigned k = 1; k < CHIPS && n_partners < MORE_PARTNERS && suspects >> c & 1; k++) {
                        unsigned partner = (c + k) % CHIPS;

                        if (!(sound >> partner & 1) || traffic->n_flows + 4 > FLOWS_MAX)
                                continue;
                        n_partners++;
                        (void) traffic_add(traffic, c, partner, MORE_PACKETS, traffic_sizes[0]);
                        (void) traffic_add(traffic, partner, c, MORE_PACKETS, traffic_sizes[0]);
                        (void) traffic_add(traffic, c, partner, MORE_LARGE, traffic_sizes[TRAFFIC_SIZES - 1]);
                        (void) traffic_add(traffic, partner, c, MORE_LARGE, traffic_sizes[TRAFFIC_SIZES - 1]);
                }
        }

        return 0;
}

static void take_errors(Round *round, const Traffic *traffic) {
        for (size_t f = 0; f < traffic->n_flows; f++) {
                const Flow *flow = &traffic->flows[f];

                if (flow->error == -EPROTO)
                        round->garbled |= (uint16_t) (1u << flow->from);
                else if (flow->error < 0)
                        round->mute |= (uint16_t) (1u << flow->from);
                if (flow->n_corrupt > 0 && round->corrupt[flow->from].n_corrupt == 0)
                        round->corrupt[flow->from] = *flow;
                round->reorder = MAX(round->reorder, flow->reorder);
        }

        for (unsigned c = 0; c < CHIPS; c++) {
                if (traffic->errors[c] == -EPROTO)
                        round->garbled |= (uint16_t) (1u << c);
                else if (traffic->errors[c] < 0)
                        round->mute |= (uint16_t) (1u << c);
                if (traffic->n_strange[c] > 0 || traffic->flooded[c])
                        round->strange |= (uint16_t) (1u << c);
                round->n_sent[c] += traffic->n_sent[c];
                round->n_sent_bytes[c] += traffic->n_sent_bytes[c];
                round->n_received[c] += traffic->n_received[c];
                round->n_received_bytes[c] += traffic->n_received_bytes[c];
        }
        round->n_sampled += traffic->n_sampled;
}

static int send_round(Round *round, unsigned number, uint16_t suspects, uint16_t sound) {
        _cleanup_free_ Traffic *traffic = NULL;
        int r;

        traffic = malloc(sizeof(*traffic));
        if (!traffic)
                return -ENOMEM;

        /* Flow numbers of this scan, apart from those of the last one. */
        traffic_init(traffic, round->device, round->server, step_seed(round->step) + number,
                     (uint32_t) (step_seed(round->step) * UINT64_C(0x9e3779b97f4a7c15) >> 32) + number * FLOWS_MAX);
        r = number == 0 ? plan_ring(round, traffic) : plan_suspects(round, traffic, suspects, sound);
        if (r >= 0)
                r = traffic_run(traffic, answering(round));
        if (r >= 0) {
                take_errors(round, traffic);
                ledger_add(&round->ledger, traffic, round->mute | round->garbled);
        }

        traffic_done(traffic);
        return r;
}

/* ---- findings ---- */

static Location adapter(const Round *round, unsigned chip) {
        Location where = *step_unit(round->step);

        (void) location_append(&where, LOCATION_CHIP, chip);
        (void) location_append(&where, LOCATION_NIC, chip);
        return where;
}

/* The pair of CHIP with the most of WRONG. */
static const Pair *worst_pair(const Round *round, unsigned chip, Wrong wrong, unsigned *ret_from, unsigned *ret_to) {
        const Pair *worst = &round->ledger.pairs[chip][chip];

        *ret_from = *ret_to = chip;
        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned way = 0; way < 2; way++) {
                        const Pair *pair = way == 0 ? &round->ledger.pairs[chip][c] : &round->ledger.pairs[c][chip];

                        if (pair->n_wrong[wrong] <= worst->n_wrong[wrong])
                                continue;
                        worst = pair;
                        *ret_from = way == 0 ? chip : c;
                        *ret_to = way == 0 ? c : chip;
                }

        return worst;
}

static int find_wrong(Round *round, unsigned chip, Wrong wrong, bool suspect) {
        char expected[16], actual[16], address[96], far[LOCATION_STRING_MAX];
        Pair sum = ledger_sum(&round->ledger, chip);
        Location where = adapter(round, chip), other;
        const Flow *corrupt = NULL;
        const Pair *worst;
        unsigned from, to;
        Evidence evidence = {
                .has_count = true, .count = (double) sum.n_wrong[wrong], .far_end = far, .address = address,
                .replaceable = NULL,
        };

        worst = worst_pair(round, chip, wrong, &from, &to);
        other = adapter(round, from == chip ? to : from);
        location_format(&other, far);
        (void) snprintf(address, sizeof(address), "from nic%u to nic%u", from, to);
        if (wrong == WRONG_CORRUPTION && round->corrupt[from].n_corrupt > 0) {
                corrupt = &round->corrupt[from];
                (void) snprintf(address, sizeof(address), "from nic%u to nic%u, packet %" PRIu32 " of %" PRIu32 " bytes",
                                corrupt->from, corrupt->to, corrupt->corrupt_sequence, corrupt->bytes);
                (void) snprintf(expected, sizeof(expected), "0x%08" PRIx32, corrupt->corrupt_expected);
                (void) snprintf(actual, sizeof(actual), "0x%08" PRIx32, corrupt->corrupt_actual);
                evidence.expected = expected;
                evidence.actual = actual;
        }

        return step_finding(round->step, &round->verdicts[chip], wrong_codes[wrong], &where, &evidence,
                            "%" PRIu64 " of %" PRIu64 " packets %s; worst: %" PRIu64 " of %" PRIu64
                            " from nic%u to nic%u%s", sum.n_wrong[wrong], sum.n_packets, wrong_words[wrong],
                            worst->n_wrong[wrong], worst->n_packets, from, to,
                            suspect ? ". Which of these two is to blame cannot be told" : "");
}

static int find_plain(Round *round) {
        int r = 0;

        for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                Location where = adapter(round, c);

                if (!(answering(round) >> c & 1))
                        continue;
                if (round->garbled >> c & 1)
                        r = step_finding(round->step, &round->verdicts[c], "device-garbled", &where, NULL,
                                         "the adapter answered with what none may say");
                else if (round->mute >> c & 1)
                        r = step_finding(round->step, &round->verdicts[c], "efa-unresponsive", &where, NULL,
                                         "the adapter takes no commands, while its chip answers");
                if (r >= 0 && round->strange >> c & 1)
                        r = step_finding(round->step, &round->verdicts[c], "efa-misdelivery", &where, NULL,
                                         "packets arrived that nobody of this scan sent, or more than were sent");
        }

        return r;
}

static int find_all_wrong(Round *round) {
        uint16_t known = round->mute | round->garbled | round->silent, suspects, blamed;
        int r = 0;

        for (unsigned w = 0; w < _WRONG_MAX && r >= 0; w++) {
                blamed = ledger_blame(&round->ledger, (Wrong) w, known, &suspects);
                for (unsigned c = 0; c < CHIPS && r >= 0; c++)
                        if (blamed >> c & 1)
                                r = find_wrong(round, c, (Wrong) w, suspects >> c & 1);
        }

        return r;
}

/* More traffic where two ends are equally suspect. */
static int tell_apart(Round *round) {
        uint16_t known = round->mute | round->garbled | round->silent, all = 0, blamed = 0;

        for (unsigned w = 0; w < _WRONG_MAX; w++) {
                uint16_t suspects;

                blamed |= ledger_blame(&round->ledger, (Wrong) w, known, &suspects);
                all |= suspects;
        }

        return all ? send_round(round, 1, all, answering(round) & (uint16_t) ~(blamed | known)) : 0;
}

static int judge_counters(Round *round, unsigned chip) {
        const uint64_t seen[_NIC_COUNTER_MAX] = {
                [COUNTER_TX_PKTS]  = round->n_sent[chip],     [COUNTER_TX_BYTES] = round->n_sent_bytes[chip],
                [COUNTER_RX_PKTS]  = round->n_received[chip], [COUNTER_RX_BYTES] = round->n_received_bytes[chip],
        };
        const Counters *before = &round->before[chip], *after = &round->after[chip];
        Location where = adapter(round, chip);

        for (unsigned k = 0; k < _NIC_COUNTER_MAX; k++) {
                uint64_t moved = after->values[k] - before->values[k];
                Evidence evidence = { .address = counter_paths[k] };
                char expected[48], actual[32];

                if ((before->missing | after->missing) >> k & 1)
                        return step_finding(round->step, &round->verdicts[chip], "efa-counter", &where, &evidence,
                                            "%s is not there, or is no number", counter_paths[k]);
                if (after->values[k] >= before->values[k] && moved >= seen[k])
                        continue;

                (void) snprintf(expected, sizeof(expected), "at least %" PRIu64, seen[k]);
                (void) snprintf(actual, sizeof(actual), "%" PRId64, (int64_t) moved);
                evidence.expected = expected;
                evidence.actual = actual;
                return step_finding(round->step, &round->verdicts[chip], "efa-counter", &where, &evidence,
                                    "%s moved by %s, and %" PRIu64 " were seen", counter_paths[k], actual, seen[k]);
        }

        return 0;
}

/* ---- the step ---- */

static int report(Round *round, Verdict *ret) {
        Verdict worst = VERDICT_PASSED;
        Pair sum = {};
        int r = 0;

        for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                Location where = *step_unit(round->step);
                Pair own = ledger_sum(&round->ledger, c);

                if (!(round->asked >> c & 1))
                        continue;
                (void) location_append(&where, LOCATION_CHIP, c);
                if (answering(round) >> c & 1 && !(round->mute >> c & 1))
                        r = judge_counters(round, c);
                if (r >= 0)
                        r = step_note(round->step, "efa_packets_accounted", (double) own.n_packets, "{packet}", &where);
                if (round->verdicts[c] == VERDICT_FAILED)
                        worst = VERDICT_FAILED;
                if (r >= 0)
                        r = step_part_done(round->step, &where,
                                           round->silent >> c & 1 ? VERDICT_ERROR : round->verdicts[c]);
                for (unsigned w = 0; w < _WRONG_MAX; w++)
                        sum.n_wrong[w] += own.n_wrong[w];
        }

        /* Each packet has two ends. */
        if (r >= 0)
                r = step_measure(round->step, "efa_packets_lost", (double) sum.n_wrong[WRONG_LOSS] / 2, "{packet}",
                                 LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
        if (r >= 0)
                r = step_measure(round->step, "efa_packets_corrupt", (double) sum.n_wrong[WRONG_CORRUPTION] / 2, "{packet}",
                                 LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
        if (r >= 0)
                r = step_note(round->step, "efa_reorder_distance_max", round->reorder, "{packet}", NULL);
        if (r >= 0)
                r = step_note(round->step, "efa_payloads_compared", (double) round->n_sampled, "{packet}", NULL);
        if (r < 0)
                return r;

        *ret = worst;
        return 0;
}

static int run_rounds(Round *round) {
        int r;

        r = drain(round);
        if (r >= 0)
                r = send_round(round, 0, 0, 0);
        step_progress(round->step, 60);
        if (r >= 0)
                r = tell_apart(round);
        if (r >= 0)
                r = read_counters(round, round->after);
        if (r >= 0)
                r = find_plain(round);
        if (r >= 0)
                r = find_all_wrong(round);
        return r;
}

static int efa_run(Step *step, Verdict *ret) {
        _cleanup_free_ Round *round = NULL;
        int r;

        round = calloc(1, sizeof(*round));
        if (!round)
                return -ENOMEM;

        round->step = step;
        round->parameters = step_parameters(step);
        round->device = step_device(step);
        round->server = step_unit(step)->server;
        for (unsigned c = 0; c < CHIPS; c++)
                if (step_includes(step, round->server, c))
                        round->asked |= (uint16_t) (1u << c);
        if (__builtin_popcount(round->asked) < 2)
                return step_skip(step, ret, REASON_NOT_REQUESTED, "a flow needs two adapters in the scan");

        r = read_counters(round, round->before);
        if (r < 0)
                return r;
        if (__builtin_popcount(answering(round)) < 2)
                return step_error(step, -ETIMEDOUT, "fewer than two chips of the server answer");

        r = run_rounds(round);
        return r < 0 ? r : report(round, ret);
}

const Check check_efa = {
        .name         = "efa",
        .summary      = "every EFA adapter: flows to others of the server, every packet accounted for",
        .reads        = "NIC traffic; hw_counters/{tx,rx}_{pkts,bytes}",
        .codes        = (const char *const[]) { "efa-loss", "efa-corruption", "efa-unresponsive", "efa-misdelivery",
                                                "efa-counter", "device-garbled", NULL },
        .skips        = "not-requested where fewer than two adapters of the server are in the scan",
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 30,
        .run          = efa_run,
};
