/* SPDX-License-Identifier: Apache-2.0 */

/*
 * efa
 *
 * Every adapter of a server sends to two others and to itself and hears from two others, and from and to other servers of the scan,
 * messages of the sizes where things change, over all paths of the fabric; and every packet is accounted for: lost, twice, corrupt, at the
 * wrong adapter, late. Order means nothing on this fabric: it is measured, and that there is one at all is a finding. What the
 * adapters count themselves must have moved by what was sent and received. What went wrong is looked at again path by path.
 */

#include "checks/efa/efa.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/step/check.h"

/* ---- what was measured ---- */

static uint64_t samples_of(const uint64_t *counts, unsigned n) {
        uint64_t sum = 0;

        for (unsigned i = 0; i < n; i++)
                sum += counts[i];
        return sum;
}

/* The smallest value that SHARE of all do not exceed, of a histogram. */
static unsigned quantile(const uint64_t *counts, unsigned n, double share) {
        uint64_t sum = samples_of(counts, n), so_far = 0;
        unsigned i = 0;

        for (; i + 1 < n; i++) {
                so_far += counts[i];
                if ((double) so_far >= share * (double) sum)
                        break;
        }

        return i;
}

/* Upper end of a bucket of distances, 0, 1, 3, 7 …: and no farther than any packet was. */
static double distance_of(const Round *round, unsigned bucket) {
        uint32_t end = bucket == 0 ? 0 : (1u << bucket) - 1;

        return end < round->reorder_max ? end : round->reorder_max;
}

/* In microseconds, the upper end too. */
static double usec_of(unsigned bucket) {
        return (bucket + 1) * LATENCY_BUCKET / 1000.0;
}

static int note_chip(Round *round, unsigned chip, const Location *where) {
        const Sum *sum = &round->sums[chip];
        uint32_t least = UINT32_MAX;
        int r = 0;

        for (unsigned p = 0; p < NIC_PATHS; p++)
                least = MIN(least, sum->arrivals[p]);
        if (round->verdicts[chip] != VERDICT_FAILED) /* else the findings say how many */
                r = step_measure(round->step, "efa_packets_wrong", 0, "{packet}", LIMIT_EQUAL, 0, where);
        if (r >= 0)
                r = step_note(round->step, "efa_packets_accounted", (double) ledger_sum(&round->ledger, chip).n_packets, "{packet}", where);
        if (r >= 0)
                r = step_note_series(round->step, "efa_path_packets_min", (Series) { STATISTIC_MIN, NIC_PATHS }, least, "{packet}", where);
        if (r >= 0)
                r = step_note_series(round->step, "efa_bandwidth_min", (Series) { STATISTIC_MIN, sum->n_paced }, sum->gbps, "Gbit/s", where);
        if (r >= 0)
                r = step_note_series(round->step, "efa_latency_max", (Series) { STATISTIC_MAX, sum->n_timed },
                                     (double) sum->worst_nsec / 1000, "us", where);
        return r;
}

/* Other servers that it was tested with; 0 where one that should have been was not. */
static unsigned count_others(const Round *round) {
        unsigned n_partners = 0;

        for (size_t i = 1; step_server(round->step, i); i++)
                n_partners += round_is_partner(round, i);
        for (size_t h = 1; h < round->hosts.n; h++)
                if (!(round_answering(round) >> (h * CHIPS) & OWN_ADAPTERS))
                        return 0;
        return round->hosts.n == n_partners + 1 ? n_partners : 0;
}

/* A scan of one server alone does not clear it of things that only flows between servers show. */
static int note_with_servers(Round *round, unsigned chip, const Location *where) {
        unsigned n = count_others(round);
        int r = 0;

        if (n > 0)
                r = step_note(round->step, "efa_tested_with_servers", n, "{server}", where);
        if (r >= 0 && round->verdicts[chip] == VERDICT_FAILED && round->with_servers >> chip & 1)
                r = step_note(round->step, "efa_found_with_servers", 1, "{server}", where);
        return r;
}

static int note_order(Round *round) {
        uint64_t n_ordered = samples_of(round->reorder, REORDER_BUCKETS), n_timed = samples_of(round->latency, LATENCY_BUCKETS);
        const struct {
                const char *name, *unit;
                Series series;
                double value;
        } notes[] = {
                { "efa_reorder_distance_p50", "{packet}", { STATISTIC_P50, n_ordered }, distance_of(round, quantile(round->reorder, REORDER_BUCKETS, 0.5)) },
                { "efa_reorder_distance_p99", "{packet}", { STATISTIC_P99, n_ordered }, distance_of(round, quantile(round->reorder, REORDER_BUCKETS, 0.99)) },
                { "efa_reorder_distance_max", "{packet}", { STATISTIC_MAX, n_ordered }, round->reorder_max },
                { "efa_latency_p50", "us", { STATISTIC_P50, n_timed }, usec_of(quantile(round->latency, LATENCY_BUCKETS, 0.5)) },
                { "efa_latency_p99", "us", { STATISTIC_P99, n_timed }, usec_of(quantile(round->latency, LATENCY_BUCKETS, 0.99)) },
        };
        int r = 0;

        for (size_t i = 0; i < ELEMENTS(notes) && r >= 0; i++)
                r = step_note_series(round->step, notes[i].name, notes[i].series, notes[i].value, notes[i].unit, NULL);
        return r;
}

/* Of this server: what adapters of others are to blame for is theirs. */
static double sum_wrong(const Round *round, Wrong wrong) {
        AdapterSet others = round->blamed[wrong] & ~UINT64_C(0xffff);
        double sum = 0;

        for (unsigned from = 0; from < ADAPTERS_MAX; from++)
                for (unsigned to = 0; to < ADAPTERS_MAX; to++)
                        if (!(others >> from & 1) && !(others >> to & 1))
                                sum += round->ledger.pairs[from][to].n_wrong[wrong];

        return sum;
}

static int note_server(Round *round) {
        Step *step = round->step;
        int r;

        r = step_measure(step, "efa_packets_lost", sum_wrong(round, WRONG_LOSS), "{packet}", LIMIT_LESS_THAN_OR_EQUAL, 0, NULL);
        if (r >= 0)
                r = step_measure(step, "efa_packets_corrupt", sum_wrong(round, WRONG_CORRUPTION), "{packet}", LIMIT_LESS_THAN_OR_EQUAL, 0,
                                 NULL);
        if (r >= 0)
                r = step_note(step, "efa_packets_late", sum_wrong(round, WRONG_LATE), "{packet}", NULL);
        if (r >= 0)
                r = note_order(round);
        if (r >= 0)
                r = step_note(step, "efa_payloads_compared", (double) round->n_sampled, "{packet}", NULL);
        /* Of those that a scan of several servers could reach. */
        if (r >= 0)
                r = step_note(step, "efa_servers_reached", (double) round->hosts.n - 1, "{server}", NULL);
        return r < 0 ? r : step_note(step, "efa_false_alarms", late_false_alarms(round), "1", NULL);
}

/* Ends the part of CHIP. Of one that does not answer nothing can be told; nor of one that cannot be heard for what others send it, or shares
 * what went wrong with a single other one. */
static int end_part(const Round *round, unsigned chip, const Location *where) {
        Verdict verdict = round->verdicts[chip];
        bool is_silent = round->silent >> chip & 1;

        if (verdict == VERDICT_FAILED || !((round->silent | round->flooded | round->open) >> chip & 1))
                return step_part_done(round->step, where, verdict, REASON_NONE);
        return step_part_done(round->step, where, VERDICT_ERROR, is_silent ? REASON_DEVICE_ERROR : REASON_AMBIGUOUS);
}

static int report(Round *round, Verdict *ret) {
        Verdict worst = round->fabric;
        int r = 0;

        for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                Location where = *step_unit(round->step);

                if (!(round->asked >> c & 1))
                        continue;
                (void) location_append(&where, LOCATION_CHIP, c);
                if (round_own(round) >> c & 1 && !((round->mute | round->garbled) >> c & 1))
                        r = round_judge_counters(round, c);
                if (r >= 0)
                        r = note_chip(round, c, &where);
                if (r >= 0)
                        r = note_with_servers(round, c, &where);
                worst = MAX(worst, round->verdicts[c]); /* passed, warned, failed */
                if (r >= 0)
                        r = end_part(round, c, &where);
        }
        if (r >= 0)
                r = round_tell_untested(round);
        if (r >= 0)
                r = note_server(round);
        if (r < 0)
                return r;

        *ret = worst;
        return 0;
}

/* ---- the step ---- */

static int run_rounds(Round *round) {
        int r;

        r = round_drain(round);
        if (r >= 0)
                r = round_send_ring(round);
        if (r >= 0)
                r = round_send_rest(round);
        step_progress(round->step, 60);
        if (r >= 0 && round_suspects_paths(round))
                r = round_send_paths(round);
        if (r >= 0)
                r = round_tell_apart(round);
        if (r >= 0)
                r = round_send_loops(round);
        if (r >= 0)
                r = round_read_counters(round, round->after);
        if (r >= 0)
                r = round_find_plain(round);
        if (r >= 0)
                r = round_find_paths(round);
        if (r >= 0)
                r = round_find_wrong(round);
        return r;
}

static void add_host(Round *round, const char *name, Device *device) {
        Host *host = &round->hosts.hosts[round->hosts.n];
        AdapterSet chips = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                if (step_includes(round->step, name, c))
                        chips |= UINT64_C(1) << c;
        if (!device || !chips)
                return;

        host->device = device;
        (void) snprintf(host->name, sizeof(host->name), "%s", name);
        round->asked |= chips << (round->hosts.n++ * CHIPS);
}

bool round_is_partner(const Round *round, size_t server) {
        return server == 1 || !step_server(round->step, server + 1);
}

/* The own server, and of the scan the one before it and the one behind: so every server meets others of its rack and of another one, and
 * the traffic grows with the servers and not with their pairs. */
static void find_hosts(Round *round) {
        size_t n = 0, n_hosts;

        while (step_server(round->step, n))
                n++;
        add_host(round, step_server(round->step, 0), step_device(round->step));
        n_hosts = round->hosts.n;
        for (size_t i = 1; i < n && n_hosts > 0 && round->parameters->peers > 0; i++)
                if (round_is_partner(round, i))
                        add_host(round, step_server(round->step, i), step_neighbour(round->step, step_server(round->step, i)));
}

static int run_all(Round *round, Verdict *ret) {
        int r;

        find_hosts(round);
        if (__builtin_popcountll(round->asked & 0xffff) < 2 || round->hosts.n == 0)
                return step_skip(round->step, ret, REASON_NOT_REQUESTED, "a flow needs two adapters in the scan");

        r = round_read_counters(round, round->before);
        if (r < 0)
                return r;
        if (__builtin_popcountll(round_own(round)) < 2)
                return step_error(round->step, -ETIMEDOUT, "fewer than two chips of the server answer");

        r = run_rounds(round);
        return r < 0 ? r : report(round, ret);
}

/* Sound adapters take a millisecond, packets that are lost and asked for again on each path some more. */
static double efa_least_sec(const void *parameters) {
        return 0.1;
}

static int efa_run(Step *step, Verdict *ret) {
        _cleanup_free_ Round *round = calloc(1, sizeof(*round));
        int r;

        if (!round)
                return -ENOMEM;

        round->step = step;
        round->parameters = step_parameters(step);
        r = run_all(round, ret);
        free(round->paths);
        return r;
}

const Check check_efa = {
        .name         = "efa",
        .summary      = "every EFA adapter: flows to others, to itself and to other servers of the scan, over all paths, every packet accounted for",
        .reads        = "NIC traffic; hw_counters/{tx,rx}_{pkts,bytes}, hw_counters/{retrans_pkts,rx_drops}",
        .codes        = (const char *const[]) { "efa-loss", "efa-cable", "efa-corruption", "efa-unresponsive", "efa-misdelivery", "efa-flood", "efa-path", "efa-fabric",
                                                "efa-retransmission", "efa-slow", "efa-not-ready", "efa-single-path", "efa-clock",
                                                "efa-counter", "efa-either-end", NULL },
        .skips        = "not-requested: fewer than two adapters of the server are in the scan",
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 30,
        .least_sec    = efa_least_sec,
        .run          = efa_run,
};
