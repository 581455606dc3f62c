/* SPDX-License-Identifier: Apache-2.0 */

#include <inttypes.h>
#include <stdio.h>
#include <sys/param.h>

#include "checks/efa/efa.h"

typedef struct WrongWords {
        const char *code, *words, *replaceable; /* the last one NULL: as the worker has it */
} WrongWords;

static const WrongWords wrongs[_WRONG_MAX] = {
        [WRONG_LOSS]       = { "efa-loss", "never arrived" },
        [WRONG_CORRUPTION] = { "efa-corruption", "arrived changed" },
        [WRONG_DELIVERY]   = { "efa-misdelivery", "arrived at the wrong adapter, or twice" },
        [WRONG_LATE]       = { "efa-retransmission", "were lost on the way and sent again" },
        [WRONG_SILENCE]    = { "efa-unresponsive", "found no response" },
        [WRONG_NOT_READY]  = { "efa-not-ready", "met no buffer of the receiver" },
        [WRONG_SLOW]       = { "efa-slow", "were sent too slowly", "cable" },
        [WRONG_CLOCK]      = { "efa-clock", "arrived before they were sent, or were sent at another pace than their chip says" },
};
static const WrongWords slow_paths = { "efa-slow", "arrived too late, and were not sent again", "cable" };

AdapterSet round_own(const Round *round) {
        return round_answering(round) & UINT64_C(0xffff);
}

AdapterSet round_answering(const Round *round) {
        return round->asked & ~round->silent;
}

void round_note_error(Round *round, unsigned adapter, int error) {
        if (error == -EPROTO)
                round->garbled |= UINT64_C(1) << adapter;
        else if (error < 0)
                round->mute |= UINT64_C(1) << adapter;
}

Location round_adapter(const Round *round, unsigned adapter) {
        Location where = {};

        (void) snprintf(where.server, sizeof(where.server), "%s", round->hosts.hosts[adapter / CHIPS].name);
        (void) location_append(&where, LOCATION_CHIP, adapter % CHIPS);
        (void) location_append(&where, LOCATION_NIC, adapter % CHIPS);
        return where;
}

/* ---- what an adapter says or does by itself ---- */

/* Of an adapter of the own server: more receivers than one say so, or what it counts itself. */
static bool does_flood(const Round *round, unsigned chip) {
        const Sum *sum = &round->sums[chip];
        uint64_t moved = 0;

        if (__builtin_popcountll(round->sufferers[chip]) >= 2)
                return true;
        return counter_moved(round->before[chip].values[COUNTER_TX_PKTS], round->after[chip].values[COUNTER_TX_PKTS], &moved) >= 0 &&
               moved >= sum->n_sent + sum->n_foreign;
}

/* A receiver that alone says so may say what is not. */
static void settle_floods(Round *round) {
        for (unsigned c = 0; c < CHIPS; c++)
                if (round->flooding >> c & 1 && !does_flood(round, c)) {
                        round->flooding &= ~(UINT64_C(1) << c);
                        round->open |= (UINT64_C(1) << c | round->sufferers[c]) & OWN_ADAPTERS;
                }
}

int round_find_plain(Round *round) {
        int r = 0;

        settle_floods(round);

        for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                Location where = round_adapter(round, c);
                Verdict *verdict = &round->verdicts[c];

                if (!(round_own(round) >> c & 1))
                        continue;
                if (round->garbled >> c & 1)
                        r = step_finding(round->step, verdict, "efa-counter", &where, &(Evidence) { .decided = { "efa_answers_garbled", 1, 0 } },
                                         "the adapter answers with values that none can have: nothing it says counts");
                else if (round->mute >> c & 1)
                        r = step_finding(round->step, verdict, "efa-unresponsive", &where, &(Evidence) { .decided = { "efa_commands_refused", 1, 0 } },
                                         "the adapter takes no commands, while its chip answers");
                if (r >= 0 && round->strange >> c & 1)
                        r = step_finding(round->step, verdict, "efa-misdelivery", &where, &(Evidence) { .decided = { "efa_packets_strange", 1, 0 } },
                                         "packets arrived that nobody of this scan sent, or more than were sent");
                if (r >= 0 && round->flooding >> c & 1)
                        r = step_finding(round->step, verdict, "efa-flood", &where,
                                         &(Evidence) { .has_count = true, .count = (double) round->sums[c].n_foreign,
                                                       .decided = { "efa_packets_unasked", (double) MAX(round->sums[c].n_foreign, 1u), 0 } },
                                         "it sent %" PRIu64 " packets or more that nobody asked it for", round->sums[c].n_foreign);
                if (r >= 0 && round->single >> c & 1)
                        r = step_finding(round->step, verdict, "efa-single-path", &where, &(Evidence) { .decided = { "efa_paths_used", 1, 2 } },
                                         "what it should have sprayed over %u paths came on one, or all in the order in which it was sent",
                                         NIC_PATHS);
        }

        return r;
}

/* ---- what the ledger says ---- */

/* The pair of ADAPTER with the most of WRONG; that with itself only where no other has any. */
static const Pair *worst_pair(const Round *round, unsigned adapter, Wrong wrong, unsigned *ret_from, unsigned *ret_to) {
        const Pair *worst = &round->ledger.pairs[adapter][adapter];

        *ret_from = *ret_to = adapter;
        for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                for (unsigned way = 0; way < 2; way++) {
                        const Pair *pair = way == 0 ? &round->ledger.pairs[adapter][a] : &round->ledger.pairs[a][adapter];

                        if (a == adapter || pair->n_wrong[wrong] <= (*ret_from == *ret_to ? 0 : worst->n_wrong[wrong]))
                                continue;
                        worst = pair;
                        *ret_from = way == 0 ? adapter : a;
                        *ret_to = way == 0 ? a : adapter;
                }

        return worst;
}

/* "nic3", and of other servers which. */
static const char *name_adapter(const Round *round, unsigned adapter, char name[static LOCATION_STRING_MAX]) {
        Location where = round_adapter(round, adapter);

        if (adapter < CHIPS)
                (void) snprintf(name, LOCATION_STRING_MAX, "nic%u", adapter);
        else
                location_format(&where, name);
        return name;
}

/* Whether the adapters that sent what came late sent packets again: those of other servers are not asked. */
static bool was_resent(const Round *round, unsigned adapter) {
        uint64_t sum = 0, late = 0;

        for (unsigned c = 0; c < CHIPS; c++) {
                uint64_t moved = 0;

                if (c != adapter && round->ledger.pairs[c][adapter].n_wrong[WRONG_LATE] == 0)
                        continue;
                if (counter_moved(round->before[c].values[COUNTER_RETRANS_PKTS], round->after[c].values[COUNTER_RETRANS_PKTS], &moved) >= 0)
                        sum += moved;
        }
        late = ledger_sum(&round->ledger, adapter).n_wrong[WRONG_LATE];
        return sum >= late / 2 && sum > 0;
}

/* The loss of packets that an adapter sends to itself tells the adapter from its cable: code, part to replace and words follow. */
static const char *tell_loops(const Round *round, unsigned chip, Evidence *evidence, char words[static 160]) {
        const Pair *own = &round->ledger.pairs[chip][chip];
        uint32_t n_lost = own->n_wrong[WRONG_LOSS];

        if (n_lost > 0) {
                (void) snprintf(words, 160, ". To itself %" PRIu32 " of %" PRIu64 ": it is the adapter, not its cable or the switch port", n_lost,
                                own->n_packets);
                return "efa-loss";
        }
        if (!loops_are_silent(&round->loops[chip]))
                (void) snprintf(words, 160, ". To itself none of %" PRIu64 ": too few of others are to tell; adapter or cable cannot be told",
                                own->n_packets);
        else
                (void) snprintf(words, 160, ". To itself none of %" PRIu64 ": it is its cable or the switch port (99.9 %% sure)", own->n_packets);
        /* Where that cannot be told too: the cheaper of the two is looked at first. */
        evidence->replaceable = "cable";
        return "efa-cable";
}

static int find_wrong(Round *round, unsigned chip, Wrong wrong) {
        char expected[32], actual[32], rate[80] = "", address[400], loops[160] = "", far[LOCATION_STRING_MAX], from_name[LOCATION_STRING_MAX], to_name[LOCATION_STRING_MAX];
        const WrongWords *words = wrong == WRONG_LATE && !was_resent(round, chip) ? &slow_paths : &wrongs[wrong];
        const char *code = words->code;
        Pair sum = ledger_sum(&round->ledger, chip);
        Location where = round_adapter(round, chip), other;
        const Pair *worst;
        unsigned from, to;
        Evidence evidence = { .has_count = true, .count = (double) sum.n_wrong[wrong], .far_end = far, .address = address,
                              .replaceable = words->replaceable,
                              .decided = words->code == wrongs[WRONG_LATE].code ? round_late_decided(round, chip) :
                                         (Decided) { "efa_packets_wrong", (double) sum.n_wrong[wrong], 0 } };

        worst = worst_pair(round, chip, wrong, &from, &to);
        other = round_adapter(round, from == chip ? to : from);
        location_format(&other, far);
        (void) name_adapter(round, from, from_name);
        (void) name_adapter(round, to, to_name);
        (void) snprintf(address, sizeof(address), "from %s to %s", from_name, to_name);
        if (wrong == WRONG_CORRUPTION && round->corrupt[from].n_corrupt > 0) {
                const Flow *corrupt = &round->corrupt[from];

                (void) snprintf(address, sizeof(address), "from %s to %s, packet %" PRIu32 ", of %" PRIu32 " byte%s",
                                from_name, name_adapter(round, corrupt->to, to_name), corrupt->corrupt_sequence, corrupt->bytes,
                                corrupt->bytes == 1 ? "" : "s");
                (void) snprintf(expected, sizeof(expected), "0x%08" PRIx32, corrupt->corrupt_expected);
                (void) snprintf(actual, sizeof(actual), "0x%08" PRIx32, corrupt->corrupt_actual);
                evidence.expected = expected;
                evidence.actual = actual;
        }
        if (wrong == WRONG_LOSS)
                code = tell_loops(round, chip, &evidence, loops);
        if (wrong == WRONG_SLOW) {
                (void) snprintf(expected, sizeof(expected), "%g Gb/s", round->parameters->bandwidth);
                (void) snprintf(actual, sizeof(actual), "%.1f Gb/s", round->sums[chip].gbps);
                (void) snprintf(rate, sizeof(rate), "a flow ran at %.1f Gb/s where %g are the least: ", round->sums[chip].gbps, round->parameters->bandwidth);
                evidence.expected = expected;
                evidence.actual = actual;
        }

        return step_finding(round->step, &round->verdicts[chip], code, &where, &evidence,
                            "%s%" PRIu32 " of %" PRIu64 " packets %s; worst: %" PRIu32 " of %" PRIu64 " %s%s", rate, sum.n_wrong[wrong],
                            sum.n_packets, words->words, worst->n_wrong[wrong], worst->n_packets, address, loops);
}

/* Its completions say of several receivers what nobody else says of them. */
static int find_false_reports(Round *round, unsigned chip) {
        Location where = round_adapter(round, chip);
        unsigned n_receivers = 0;
        Pair sum = {};

        for (unsigned a = 0; a < ADAPTERS_MAX; a++) {
                const Pair *pair = &round->ledger.pairs[chip][a];

                sum.n_packets += pair->n_packets;
                sum.n_wrong[WRONG_NOT_READY] += pair->n_wrong[WRONG_NOT_READY];
                n_receivers += pair->n_wrong[WRONG_NOT_READY] > 0 && !(round->blamed[WRONG_NOT_READY] >> a & 1);
        }
        return step_finding(round->step, &round->verdicts[chip], "efa-counter", &where,
                            &(Evidence) { .address = "completion", .has_count = true, .count = sum.n_wrong[WRONG_NOT_READY],
                                          .decided = { "efa_packets_wrong", sum.n_wrong[WRONG_NOT_READY], 0 } },
                            "it says that %" PRIu32 " of %" PRIu64 " packets met no buffer, at %u sound receivers: these took what others sent",
                            sum.n_wrong[WRONG_NOT_READY], sum.n_packets, n_receivers);
}

/* Of ENDS the one with which most was wrong. */
static unsigned worst_end(const Round *round, unsigned chip, AdapterSet ends, Wrong wrong) {
        unsigned worst = 0;
        uint64_t most = 0;

        for (unsigned a = 0; a < ADAPTERS_MAX; a++) {
                uint64_t n = (uint64_t) round->ledger.pairs[chip][a].n_wrong[wrong] + round->ledger.pairs[a][chip].n_wrong[wrong];

                if (ends >> a & 1 && n > most) {
                        most = n;
                        worst = a;
                }
        }
        return worst;
}

/* One of two: what could be asked was asked, and neither is called broken. ENDS are all with which something was wrong. */
static int find_tied(Round *round, unsigned chip, AdapterSet ends, Wrong wrong) {
        unsigned other = worst_end(round, chip, ends & OWN_ADAPTERS, wrong), n_more = (unsigned) __builtin_popcountll(ends) - 1;
        const Pair *there = &round->ledger.pairs[chip][other], *back = &round->ledger.pairs[other][chip];
        const WrongWords *words = wrong == WRONG_LATE && !was_resent(round, chip) ? &slow_paths : &wrongs[wrong];
        uint64_t n_wrong = (uint64_t) there->n_wrong[wrong] + back->n_wrong[wrong];
        Location where = round_adapter(round, chip), far_where = round_adapter(round, other);
        char far[LOCATION_STRING_MAX], address[64], others[32] = "others";

        if (n_more > 0)
                (void) snprintf(others, sizeof(others), "others but %u", n_more);
        location_format(&far_where, far);
        (void) snprintf(address, sizeof(address), "between nic%u and nic%u", MIN(chip, other), MAX(chip, other));
        return step_finding(round->step, &round->verdicts[chip], "efa-either-end", &where,
                            &(Evidence) { .has_count = true, .count = (double) n_wrong, .far_end = far, .address = address,
                                          .decided = { "efa_packets_either_end", (double) n_wrong, 0 } },
                            "%" PRIu64 " of %" PRIu64 " packets %s %s. Nothing was wrong with %s: it is one of these two, and which "
                            "cannot be told",
                            n_wrong, there->n_packets + back->n_packets, address, words->words,
                            others);
}

/* What went wrong with one that is to blame for something else is explained by it. */
static int find_ties(Round *round, const Blame *blame, Wrong wrong, AdapterSet guilty) {
        int r = 0;

        for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                AdapterSet ends = guilty >> c & 1 ? 0 : blame_ends(blame, c) & ~guilty;
                bool is_foreign = !(ends & OWN_ADAPTERS);

                if (!ends && !((blame->open & ~(blame->tied | blame->shared)) >> c & 1))
                        continue;
                /* A late packet that was sent again is not lost and keeps nobody from passing. One that was not is late for either end, also where
                 * that is on another server: of two servers each step sees these same pairs. */
                if (wrong != WRONG_LATE || !was_resent(round, c))
                        round->open |= UINT64_C(1) << c;
                if (!is_foreign)
                        r = find_tied(round, c, ends, wrong);
        }
        return r;
}

/* A receiver that has itself counted what met no buffer, as a sender says, is no end of a tie: both say the same. */
static void believe_receivers(const Round *round, Blame *blame) {
        for (unsigned c = 0; c < CHIPS; c++) {
                const Counters *before = &round->before[c], *after = &round->after[c];
                uint64_t n_refused = 0, moved = 0;

                for (unsigned a = 0; a < ADAPTERS_MAX; a++)
                        n_refused += round->ledger.pairs[a][c].n_wrong[WRONG_NOT_READY];
                if (!(blame->tied >> c & 1) || n_refused == 0 || (before->missing | after->missing) >> COUNTER_RX_DROPS & 1 ||
                    counter_moved(before->values[COUNTER_RX_DROPS], after->values[COUNTER_RX_DROPS], &moved) < 0 || moved < n_refused)
                        continue;
                blame->tied &= ~(UINT64_C(1) << c);
                blame->suspects &= ~(UINT64_C(1) << c);
        }
}

int round_find_wrong(Round *round) {
        AdapterSet known = round->mute | round->garbled | round->silent;
        AdapterSet clocks = round_blame(&round->ledger, WRONG_CLOCK, known).blamed, guilty = 0;
        Blame blames[_WRONG_MAX];
        int r = 0;

        /* What a clock says that is wrong is neither late nor slow. */
        round->explained[WRONG_LATE] |= clocks;
        round->explained[WRONG_SLOW] |= clocks;
        for (unsigned w = 0; w < _WRONG_MAX && r >= 0; w++) {
                Blame *blame = &blames[w];

                *blame = round_blame(&round->ledger, (Wrong) w, known | round->explained[w]);
                if (w == WRONG_NOT_READY)
                        believe_receivers(round, blame);
                round->blamed[w] = blame->blamed;
                guilty |= w == WRONG_LATE ? 0 : blame->blamed & ~(blame->suspects | blame->shared | OWN_ADAPTERS);
                for (unsigned c = 0; c < CHIPS && r >= 0; c++)
                        if ((blame->blamed & ~(blame->open | blame->tied | blame->shared)) >> c & 1) {
                                if (!(blame->ends[c] & OWN_ADAPTERS)) /* else it has been told from another end of this server */
                                        round_note_with_servers(round, &round->ledger, (Wrong) w, known | round->explained[w], c);
                                r = blame->senders >> c & 1 ? find_false_reports(round, c) : find_wrong(round, c, (Wrong) w);
                        }
        }
        for (unsigned c = 0; c < CHIPS; c++)
                guilty |= round->verdicts[c] == VERDICT_FAILED ? UINT64_C(1) << c : 0;
        for (unsigned w = 0; w < _WRONG_MAX && r >= 0; w++)
                r = find_ties(round, &blames[w], (Wrong) w, guilty);

        return r;
}
