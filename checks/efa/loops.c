/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Adapter or cable. What an adapter sends to itself is turned round in it and passes neither cable nor switch, so one packet that is lost
 * there is lost by the adapter; but that none is lost says only something where the adapter, if it were to blame, would have lost some.
 * Flows are counted and not packets, because what comes and goes does so with the flows.
 */

#include <errno.h>

#include "checks/efa/efa.h"

#define LEVEL       0.001 /* of the test: that it is the cable is said with 99.9 % */
#define FIRST_ROUND 4u    /* after those of rounds.c */

bool loops_are_silent(const LoopCount *count) {
        double chance = 1, n = count->n_others, n_loops = count->n_loops;

        for (unsigned i = 0; i < count->n_others_wrong; i++)
                chance *= (n - i) / (n + n_loops - i);
        return chance <= LEVEL;
}

void round_count_flow(Round *round, const Flow *flow) {
        bool is_loop = flow->from == flow->to;

        if (flow->packets != LOOP_PACKETS || flow->bytes != 1 || flow->completion.status != EFA_OK)
                return;
        for (unsigned way = 0; way < (is_loop ? 1u : 2u); way++) {
                unsigned adapter = way == 0 ? flow->from : flow->to;

                if (adapter >= CHIPS)
                        continue;
                round->loops[adapter].n_loops += is_loop;
                round->loops[adapter].n_others += !is_loop;
                round->loops[adapter].n_others_wrong += !is_loop && flow_lost(flow) > 0;
        }
}

static bool is_open(const Round *round, unsigned chip) {
        const LoopCount *count = &round->loops[chip];

        return round->ledger.pairs[chip][chip].n_wrong[WRONG_LOSS] == 0 && !loops_are_silent(count) && count->n_loops < LOOPS_MAX;
}

/* A batch for each that loses packets and of which it is open why; returns how many these are. */
static int add_batches(const Round *round, Traffic *traffic, AdapterSet blamed, unsigned already) {
        int n = 0;

        for (unsigned c = 0; c < CHIPS; c++) {
                if (!(blamed >> c & 1) || (already > 0 && !is_open(round, c)))
                        continue;
                n++;
                for (unsigned i = 0; i < LOOPS_BATCH; i++) {
                        int r = traffic_add(traffic, c, c, NIC_PATH_SPRAYED, LOOP_PACKETS, 1);

                        if (r < 0)
                                return r;
                }
        }

        return n;
}

int round_send_loops(Round *round) {
        AdapterSet blamed = round_own(round) & ledger_blame(&round->ledger, WRONG_LOSS, round->mute | round->garbled | round->silent).blamed;

        for (unsigned i = 0; blamed && i < LOOPS_MAX / LOOPS_BATCH; i++) {
                _cleanup_traffic_ Traffic *traffic = round_traffic(round, FIRST_ROUND + i);
                int r;

                if (!traffic)
                        return -ENOMEM;
                r = add_batches(round, traffic, blamed & ~round->flooded, i);
                if (r <= 0)
                        return r;
                r = round_run(round, traffic);
                if (r < 0)
                        return r;
        }

        return 0;
}
