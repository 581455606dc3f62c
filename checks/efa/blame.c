/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/efa/blame.h"

#include <string.h>

void ledger_add(Ledger *ledger, const Traffic *traffic, uint16_t deaf) {
        for (size_t f = 0; f < traffic->n_flows; f++) {
                const Flow *flow = &traffic->flows[f];
                Pair *pair = &ledger->pairs[flow->from][flow->to];

                if (flow->error < 0 || deaf >> flow->to & 1)
                        continue;

                pair->n_packets += flow->packets;
                if (flow->completion.status != EFA_OK) {
                        pair->n_wrong[WRONG_SILENCE] += flow->packets;
                        continue;
                }
                pair->n_wrong[WRONG_LOSS] += flow_lost(flow);
                pair->n_wrong[WRONG_CORRUPTION] += flow->n_corrupt;
                pair->n_wrong[WRONG_DELIVERY] += flow->n_astray + flow->n_again;
        }
}

Pair ledger_sum(const Ledger *ledger, unsigned chip) {
        Pair sum = {};

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned way = 0; way < (c == chip ? 1u : 2u); way++) {
                        const Pair *pair = way == 0 ? &ledger->pairs[chip][c] : &ledger->pairs[c][chip];

                        sum.n_packets += pair->n_packets;
                        for (unsigned w = 0; w < _WRONG_MAX; w++)
                                sum.n_wrong[w] += pair->n_wrong[w];
                }

        return sum;
}

typedef struct Wrongs {
        uint16_t to[CHIPS]; /* bit per receiver of each sender */
} Wrongs;

static void explain(Wrongs *wrongs, unsigned chip) {
        wrongs->to[chip] = 0;
        for (unsigned c = 0; c < CHIPS; c++)
                wrongs->to[c] &= (uint16_t) ~(1u << chip);
}

static unsigned n_wrongs(const Wrongs *wrongs, unsigned chip) {
        unsigned n = (unsigned) __builtin_popcount(wrongs->to[chip]);

        for (unsigned c = 0; c < CHIPS; c++)
                n += c != chip && wrongs->to[c] >> chip & 1;

        return n;
}

/* An adapter that has as many wrong flows as CHIP and shares one with it: either could be the one. -1 without. */
static int rival_of(const Wrongs *wrongs, unsigned chip) {
        for (unsigned c = 0; c < CHIPS; c++)
                if (c != chip && ((wrongs->to[chip] >> c | wrongs->to[c] >> chip) & 1) &&
                    n_wrongs(wrongs, c) == n_wrongs(wrongs, chip))
                        return (int) c;

        return -1;
}

uint16_t ledger_blame(const Ledger *ledger, Wrong wrong, uint16_t known, uint16_t *ret_suspects) {
        uint16_t blamed = 0, suspects = 0;
        Wrongs wrongs = {};

        for (unsigned from = 0; from < CHIPS; from++)
                for (unsigned to = 0; to < CHIPS; to++)
                        if (ledger->pairs[from][to].n_wrong[wrong] > 0)
                                wrongs.to[from] |= (uint16_t) (1u << to);
        for (unsigned c = 0; c < CHIPS; c++)
                if (known >> c & 1)
                        explain(&wrongs, c);

        for (;;) {
                unsigned worst = 0;
                int rival;

                for (unsigned c = 1; c < CHIPS; c++)
                        if (n_wrongs(&wrongs, c) > n_wrongs(&wrongs, worst))
                                worst = c;
                if (n_wrongs(&wrongs, worst) == 0)
                        break;

                rival = rival_of(&wrongs, worst);
                blamed |= (uint16_t) (1u << worst);
                if (rival >= 0) {
                        suspects |= (uint16_t) (1u << worst | 1u << rival);
                        explain(&wrongs, (unsigned) rival);
                }
                explain(&wrongs, worst);
        }

        *ret_suspects = suspects;
        return blamed | suspects;
}
