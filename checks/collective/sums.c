/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Finds chips that add wrongly. A chip that adds alone with one of its neighbours has a wrong sum if it adds wrongly or if that neighbour
 * sends wrong data; so it is judged by neighbours that send right data, and where it has none of these it is not judged.
 */

#include <string.h>

#include "checks/collective/collective.h"

void recital_compare_pair(Recital *recital, Wrongs *wrongs, unsigned rank, const uint8_t *expected) {
        const uint8_t *actual = recital->outputs + rank * recital->stride;
        PairSums *sums = &wrongs->sums[recital->members[rank].chip][recital->ranks[rank].rings[0].receive_port];

        sums->n++;
        if (memcmp(actual, expected, recital->ranks[rank].n_output) == 0)
                return;

        sums->n_wrong++;
        wrongs->n_sums++;
        for (uint32_t i = 0; i < recital->ranks[rank].n_output / 4 && recital->post.format == ELEMENT_FP32; i++) {
                uint32_t is, should;

                memcpy(&is, actual + (size_t) 4 * i, 4);
                memcpy(&should, expected + (size_t) 4 * i, 4);
                sums->differ |= is ^ should;
                sums->ones |= (is ^ should) & is;
        }
}

/* Counts sums with partners that send what is right and, as *ret_others, with the other partners. */
static PairSums sums_of(const Ensemble *ensemble, const Wrongs *wrongs, const Blame *blame, Member member, PairSums *ret_others) {
        PairSums sound = {}, others = {};

        for (unsigned p = 0; p < LINK_Z_PLUS; p++) {
                const PairSums *with = &wrongs->sums[member.chip][p];
                PairSums *sums = blame_spoils(blame, ensemble_sender(ensemble, member, p)) ? &others : &sound;

                sums->n += with->n;
                sums->n_wrong += with->n_wrong;
                sums->differ |= with->differ;
                sums->ones |= with->ones;
        }

        *ret_others = others;
        return sound;
}

static int find_adder(Ensemble *ensemble, Member member, const PairSums *sums, unsigned n_ports) {
        const Evidence evidence = { .has_count = true, .count = sums->n_wrong, .decided = { "collective_ports_wrong", n_ports, 0 } };

        if (sums->differ > 0 && (sums->differ & (sums->differ - 1)) == 0 && (sums->ones == 0 || sums->ones == sums->differ))
                return ensemble_find(ensemble, TROUBLE_DATA, member, CHAIR_CHIP, &evidence,
                                     "sums of its DMA engines are wrong, %u of %u: bit %d is stuck at %u", sums->n_wrong, sums->n,
                                     __builtin_ctz(sums->differ), sums->ones > 0);
        return ensemble_find(ensemble, TROUBLE_DATA, member, CHAIR_CHIP, &evidence,
                             "sums of its DMA engines are wrong, %u of %u, in bits 0x%08x; blocks arrive as they were sent", sums->n_wrong,
                             sums->n, sums->differ);
}

int ensemble_judge_sums(Ensemble *ensemble, const Wrongs *wrongs, const Blame *blame) {
        int r = 0;

        for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                Member member = { 0, (uint8_t) c };
                PairSums others, sound = sums_of(ensemble, wrongs, blame, member, &others);

                if (blame->culprits[0][c].n_ports > 0 && blame->culprits[0][c].role == DATA_ADDS)
                        r = find_adder(ensemble, member, &sound, blame->culprits[0][c].n_ports);
                else if (sound.n == 0 && others.n_wrong > 0)
                        ensemble_chair(ensemble, member)->unpartnered = true;
        }
        return r;
}
