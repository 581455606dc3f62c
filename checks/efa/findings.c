/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdio.h>

#include "checks/efa/efa.h"

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

const char *const efa_counter_paths[_NIC_COUNTER_MAX] = {
        [COUNTER_TX_PKTS]  = "hw_counters/tx_pkts",
        [COUNTER_TX_BYTES] = "hw_counters/tx_bytes",
        [COUNTER_RX_PKTS]  = "hw_counters/rx_pkts",
        [COUNTER_RX_BYTES] = "hw_counters/rx_bytes",
};

uint16_t round_answering(const Round *round) {
        return round->asked & (uint16_t) ~round->silent;
}

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

int round_find_plain(Round *round) {
        int r = 0;

        for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                Location where = adapter(round, c);

                if (!(round_answering(round) >> c & 1))
                        continue;
                if (round->garbled >> c & 1)
                        r = step_finding(round->step, &round->verdicts[c], "efa-counter", &where, NULL,
                                         "the adapter answers with values that none can have: nothing it says counts");
                else if (round->mute >> c & 1)
                        r = step_finding(round->step, &round->verdicts[c], "efa-unresponsive", &where, NULL,
                                         "the adapter takes no commands, while its chip answers");
                if (r >= 0 && round->strange >> c & 1)
                        r = step_finding(round->step, &round->verdicts[c], "efa-misdelivery", &where, NULL,
                                         "packets arrived that nobody of this scan sent, or more than were sent");
        }

        return r;
}

int round_find_wrong(Round *round) {
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

/* The completion of a flow is a count of the adapter like any other. */
static int judge_completions(Round *round, unsigned chip) {
        const Flow *flow = &round->denied[chip];
        Location where = adapter(round, chip);
        char expected[16], actual[32];

        if (flow->packets == 0)
                return 0;

        (void) snprintf(expected, sizeof(expected), "%" PRIu32, flow->packets);
        (void) snprintf(actual, sizeof(actual), "%" PRIu64, flow->completion.delivered);
        return step_finding(round->step, &round->verdicts[chip], "efa-counter", &where,
                            &(Evidence) { .address = "completion", .expected = expected, .actual = actual },
                            "of %s packets to nic%u it says that %s were delivered, and all of them arrived", expected,
                            flow->to, actual);
}

int round_judge_counters(Round *round, unsigned chip) {
        const uint64_t seen[_NIC_COUNTER_MAX] = {
                [COUNTER_TX_PKTS]  = round->n_sent[chip],     [COUNTER_TX_BYTES] = round->n_sent_bytes[chip],
                [COUNTER_RX_PKTS]  = round->n_received[chip], [COUNTER_RX_BYTES] = round->n_received_bytes[chip],
        };
        const Counters *before = &round->before[chip], *after = &round->after[chip];
        Location where = adapter(round, chip);

        for (unsigned k = 0; k < _NIC_COUNTER_MAX; k++) {
                uint64_t moved = after->values[k] - before->values[k];
                Evidence evidence = { .address = efa_counter_paths[k] };
                char expected[48], actual[32];

                if ((before->missing | after->missing) >> k & 1)
                        return step_finding(round->step, &round->verdicts[chip], "efa-counter", &where, &evidence,
                                            "%s is not there, or is no number", efa_counter_paths[k]);
                if (after->values[k] >= before->values[k] && moved >= seen[k])
                        continue;

                (void) snprintf(expected, sizeof(expected), "at least %" PRIu64, seen[k]);
                (void) snprintf(actual, sizeof(actual), "%" PRId64, (int64_t) moved);
                evidence.expected = expected;
                evidence.actual = actual;
                return step_finding(round->step, &round->verdicts[chip], "efa-counter", &where, &evidence,
                                    "%s moved by %s, and %" PRIu64 " were seen", efa_counter_paths[k], actual, seen[k]);
        }

        return judge_completions(round, chip);
}
