/* SPDX-License-Identifier: Apache-2.0 */

/* What adapters count themselves must have moved by what was sent and received. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "checks/efa/efa.h"

/* Beyond what was seen: traffic of the driver's own and what was sent again. A counter of 32 bits that ran backwards seems to move by more. */
#define SLACK_FACTOR 4u
#define SLACK        (UINT64_C(1) << 30)

const char *const efa_counter_paths[_NIC_COUNTER_MAX] = {
        [COUNTER_TX_PKTS]      = "hw_counters/tx_pkts",
        [COUNTER_TX_BYTES]     = "hw_counters/tx_bytes",
        [COUNTER_RX_PKTS]      = "hw_counters/rx_pkts",
        [COUNTER_RX_BYTES]     = "hw_counters/rx_bytes",
        [COUNTER_RETRANS_PKTS] = "hw_counters/retrans_pkts",
        [COUNTER_RX_DROPS]     = "hw_counters/rx_drops",
};

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

int round_read_counters(Round *round, Counters *counters) {
        char (*texts)[ATTRIBUTE_TEXT_MAX] __attribute__((cleanup(free_address))) = NULL;
        const char *paths[CHIPS * _NIC_COUNTER_MAX];
        uint8_t chips[CHIPS * _NIC_COUNTER_MAX];
        int errors[CHIPS * _NIC_COUNTER_MAX], r;
        size_t n = 0;

        texts = malloc(CHIPS * _NIC_COUNTER_MAX * sizeof(*texts));
        if (!texts)
                return -ENOMEM;

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned k = 0; k < _NIC_COUNTER_MAX && round_own(round) >> c & 1; k++) {
                        paths[n] = efa_counter_paths[k];
                        chips[n++] = (uint8_t) c;
                }

        r = device_attributes_of(round->hosts.hosts[0].device, chips, paths, n, texts, errors);
        if (r < 0)
                return r;

        for (size_t i = 0; i < n; i += _NIC_COUNTER_MAX) {
                Counters *own = &counters[chips[i]];

                *own = (Counters) {};
                for (unsigned k = 0; k < _NIC_COUNTER_MAX; k++) {
                        if (errors[i + k] == -ETIMEDOUT)
                                round->silent |= UINT64_C(1) << chips[i];
                        if (errors[i + k] < 0 || parse_counter(texts[i + k], &own->values[k]) < 0)
                                own->missing |= (uint16_t) (1u << k);
                }
                /* Without any counter there is no adapter here, nor a chip: not for this check to say. */
                if (own->missing == (1u << _NIC_COUNTER_MAX) - 1)
                        round->silent |= UINT64_C(1) << chips[i];
        }

        return 0;
}

int counter_moved(uint64_t before, uint64_t after, uint64_t *ret) {
        if (after >= before)
                *ret = after - before;
        else if (before <= UINT32_MAX)
                *ret = after + (UINT64_C(1) << 32) - before; /* 32 bits wide, and wrapped once */
        else
                return -EPROTO;

        return 0;
}

/* The completion of a flow is a count of the adapter like any other. */
static int judge_completions(Round *round, unsigned chip) {
        const Flow *flow = &round->denied[chip];
        Location where = round_adapter(round, chip);
        char expected[16], actual[32];

        if (flow->packets == 0)
                return 0;

        (void) snprintf(expected, sizeof(expected), "%" PRIu32, flow->packets);
        (void) snprintf(actual, sizeof(actual), "%" PRIu64, flow->completion.delivered);
        return step_finding(round->step, &round->verdicts[chip], "efa-counter", &where,
                            &(Evidence) { .address = "completion", .expected = expected, .actual = actual,
                                          .decided = { "efa_counter_moved", (double) flow->completion.delivered, flow->packets } },
                            "of %s packets to nic%u it says that %s were delivered, and all of them arrived", expected,
                            flow->to % CHIPS, actual);
}

/* What is wrong with one counter, in words; NULL where nothing is. */
static const char *judge_counter(const Counters *before, const Counters *after, unsigned k, uint64_t seen, bool floods, uint64_t *ret_moved) {
        if ((before->missing | after->missing) >> k & 1)
                return "is not there, or is no number";
        if (counter_moved(before->values[k], after->values[k], ret_moved) < 0)
                return "ran backwards";
        if (*ret_moved < seen)
                return *ret_moved == 0 ? "stood still" : "moved by less than was seen";
        if (*ret_moved > SLACK_FACTOR * seen + SLACK && !floods)
                return "moved by more than anything explains, or ran backwards";
        return NULL;
}

int round_judge_counters(Round *round, unsigned chip) {
        const Sum *sum = &round->sums[chip];
        const uint64_t seen[_NIC_COUNTER_MAX] = {
                [COUNTER_TX_PKTS] = sum->n_sent,     [COUNTER_TX_BYTES] = sum->n_sent_bytes,
                [COUNTER_RX_PKTS] = sum->n_received, [COUNTER_RX_BYTES] = sum->n_received_bytes,
        };
        Location where = round_adapter(round, chip);

        for (unsigned k = 0; k < _NIC_COUNTER_MAX; k++) {
                const Counters *before = &round->before[chip], *after = &round->after[chip];
                char expected[48], actual[64];
                uint64_t moved = 0;
                Decided decided;
                const char *wrong = judge_counter(before, after, k, seen[k], (round->flooding | round->strange | round->flooded) >> chip & 1, &moved);

                if (!wrong)
                        continue;
                (void) snprintf(expected, sizeof(expected), "%" PRIu64 " more, at least", seen[k]);
                (void) snprintf(actual, sizeof(actual), "%" PRIu64 ", then %" PRIu64, before->values[k], after->values[k]);
                decided = moved > seen[k] ? (Decided) { "efa_counter_excess", (double) moved, (double) (SLACK_FACTOR * seen[k] + SLACK) } :
                                            (Decided) { "efa_counter_moved", moved > 0 ? (double) moved : -1, (double) seen[k] };
                return step_finding(round->step, &round->verdicts[chip], "efa-counter", &where,
                                    &(Evidence) { .address = efa_counter_paths[k], .expected = expected, .actual = actual, .decided = decided },
                                    "%s %s: %s, and %" PRIu64 " were seen", efa_counter_paths[k], wrong, actual, seen[k]);
        }

        return judge_completions(round, chip);
}
