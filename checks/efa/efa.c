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
#include <string.h>
#include <sys/param.h>

#include "checks/check.h"

#define SECOND_PEER   5u /* in the ring of those that take part */
#define DRAIN_MAX     256u
#define MORE_PACKETS  2048u /* of one byte, per flow, to tell suspects apart */
#define MORE_LARGE    32u
#define MORE_PARTNERS 3u

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
                for (unsigned k = 0; k < _NIC_COUNTER_MAX && round_answering(round) >> c & 1; k++) {
                        paths[n] = efa_counter_paths[k];
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

/* What an adapter alone is to blame for: it answers nonsense, or takes no command. */
static void note_error(Round *round, unsigned chip, int error) {
        if (error == -EPROTO)
                round->garbled |= (uint16_t) (1u << chip);
        else if (error < 0)
                round->mute |= (uint16_t) (1u << chip);
}

/* What earlier scans may have left behind. */
static int drain(Round *round) {
        _cleanup_free_ WireArrival *arrivals = NULL;
        uint64_t waiting[CHIPS];
        uint8_t chips[CHIPS];
        int errors[CHIPS], r;
        size_t n = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                if (round_answering(round) >> c & 1)
                        chips[n++] = (uint8_t) c;

        r = device_nic_waiting(round->device, chips, n, waiting, errors);
        if (r < 0)
                return r;

        arrivals = malloc(512 * sizeof(*arrivals));
        if (!arrivals)
                return -ENOMEM;

        for (size_t i = 0; i < n; i++) {
                note_error(round, chips[i], errors[i]);
                for (unsigned k = 0; errors[i] >= 0 && waiting[i] > 0 && k < DRAIN_MAX; k++) {
                        r = device_nic_receive(round->device, chips[i], arrivals, 512, 0, NULL, 0, &waiting[i]);
                        if (r < 0 && device_failure(round->device) < 0)
                                return r;
                        note_error(round, chips[i], r);
                        if (r <= 0)
                                break;
                }
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
                if (round_answering(round) >> c & 1)
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

                note_error(round, flow->from, flow->error);
                if (flow->error >= 0 && flow_is_denied(flow))
                        round->denied[flow->from] = *flow;
                if (flow->n_corrupt > 0 && round->corrupt[flow->from].n_corrupt == 0)
                        round->corrupt[flow->from] = *flow;
                round->reorder = MAX(round->reorder, flow->reorder);
        }

        for (unsigned c = 0; c < CHIPS; c++) {
                note_error(round, c, traffic->errors[c]);
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
                r = traffic_run(traffic, round_answering(round));
        if (r >= 0) {
                take_errors(round, traffic);
                ledger_add(&round->ledger, traffic, round->mute | round->garbled);
        }

        traffic_done(traffic);
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

        return all ? send_round(round, 1, all, round_answering(round) & (uint16_t) ~(blamed | known)) : 0;
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
                if (round_answering(round) >> c & 1 && !((round->mute | round->garbled) >> c & 1))
                        r = round_judge_counters(round, c);
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
                r = round_find_plain(round);
        if (r >= 0)
                r = round_find_wrong(round);
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
        if (__builtin_popcount(round_answering(round)) < 2)
                return step_error(step, -ETIMEDOUT, "fewer than two chips of the server answer");

        r = run_rounds(round);
        return r < 0 ? r : report(round, ret);
}

const Check check_efa = {
        .name         = "efa",
        .summary      = "every EFA adapter: flows to others of the server, every packet accounted for",
        .reads        = "NIC traffic; hw_counters/{tx,rx}_{pkts,bytes}",
        .codes        = (const char *const[]) { "efa-loss", "efa-corruption", "efa-unresponsive", "efa-misdelivery",
                                                "efa-counter", NULL },
        .skips        = "not-requested: fewer than two adapters of the server are in the scan",
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 30,
        .run          = efa_run,
};
