/* SPDX-License-Identifier: Apache-2.0 */

/* The rings: each visits every chip once, steps go to neighbours, and together they use each port of each chip once each way. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "checks/collective/collective.h"

/* Coordinates x, y, z of a rank, each modulo 4; ports are x+, x-, y+, … */
static void place_of(unsigned rank, unsigned ret[3]) {
        ret[0] = rank % 4;
        ret[1] = rank / 4 % 4;
        ret[2] = rank / 16;
}

static unsigned behind_port(unsigned rank, unsigned port) {
        unsigned at[3];

        place_of(rank, at);
        at[port / 2] = (at[port / 2] + (port % 2 == 0 ? 1 : 3)) % 4;
        return at[0] + 4 * at[1] + 16 * at[2];
}

static Recital *lay(Ensemble *ensemble, unsigned ranks) {
        Recital *recital = calloc(1, sizeof(*recital));

        ensemble->n_servers = RING_SERVERS;
        recital->ensemble = ensemble;
        recital->post.ranks = (uint8_t) ranks;
        recital->ranks = calloc(RANKS_MAX, sizeof(*recital->ranks));
        recital->from = calloc(RANKS_MAX, sizeof(*recital->from));
        recital_lay_rings(recital);
        assert_int_equal(recital->n, ranks);
        return recital;
}

static void expect_rings(unsigned ranks, unsigned rings) {
        Ensemble *ensemble = calloc(1, sizeof(*ensemble));
        Recital *recital = lay(ensemble, ranks);
        bool sends[RANKS_MAX][PORTS] = {}, takes[RANKS_MAX][PORTS] = {};

        assert_int_equal(recital->post.rings, rings);
        for (unsigned c = 0; c < rings; c++) {
                const uint8_t *order = recital->ranks[0].rings[c].order;
                uint64_t seen = 0;

                for (unsigned p = 0; p < ranks; p++) {
                        unsigned own = order[p], next = order[(p + 1) % ranks];
                        const WireCollectiveRing *here = &recital->ranks[own].rings[c], *there = &recital->ranks[next].rings[c];

                        seen |= UINT64_C(1) << own;
                        assert_int_equal(here->position, p);
                        assert_memory_equal(here->order, order, ranks);
                        assert_int_equal(behind_port(own, here->send_port), next);
                        assert_int_equal(behind_port(next, there->receive_port), own);
                        assert_int_equal(here->send_port ^ 1, there->receive_port);
                        assert_int_equal(recital->from[next][c], own);
                        assert_false(sends[own][here->send_port]);
                        assert_false(takes[own][here->receive_port]);
                        sends[own][here->send_port] = takes[own][here->receive_port] = true;
                }
                assert_true(seen == UINT64_MAX >> (64 - ranks));
        }
        /* As many as there are ports: none twice is each once. */
        recital_keep_ring(recital, rings - 1);
        assert_int_equal(recital->post.rings, 1);
        assert_int_equal(recital->from[0][0], recital->ranks[0].rings[0].order[(recital->ranks[0].rings[0].position + ranks - 1) % ranks]);
        free(recital->ranks);
        free(recital->from);
        free(recital);
        free(ensemble);
}

static void test_rings_of_a_server(void **state) {
        expect_rings(16, 4);
}

static void test_rings_of_an_ultraserver(void **state) {
        expect_rings(64, 6);
}

/* Bytes that come in, step by step as the table of checks/wire/wire-collective.h has them. */
static uint64_t bytes_in(const Recital *recital, unsigned rank, unsigned ring, unsigned step) {
        const WireCollectiveRing *way = &recital->ranks[rank].rings[ring];
        int n = recital->post.ranks, p = way->position, s = (int) step, at;
        uint64_t bytes = 0;

        switch ((WireCollective) recital->post.operation) {
        case COLLECTIVE_ALL_REDUCE:
                at = s < n - 1 ? p - 2 - s : p - 1 - (s - (n - 1));
                break;
        case COLLECTIVE_ALL_GATHER:
                at = p - 1 - s;
                break;
        case COLLECTIVE_REDUCE_SCATTER:
                at = p - 2 - s;
                break;
        case COLLECTIVE_ALL_TO_ALL: /* of position p - 1 - s, for this one … and up to the last that it has not come to */
                for (int to = p; to < p - 1 - s + n; to++)
                        bytes += recital->part_bytes[ring][way->order[to % n]];
                return bytes;
        case COLLECTIVE_SEND_RECEIVE:
        case _COLLECTIVE_MAX:
        default:
                return recital->part_bytes[ring][0];
        }
        return recital->part_bytes[ring][way->order[(at + 2 * n) % n]];
}

static void test_bytes_add_up_step_by_step(void **state) {
        Ensemble *ensemble = calloc(1, sizeof(*ensemble));
        Recital *recital = lay(ensemble, 16);

        for (unsigned k = 0; k < 16 * RINGS_MAX; k++)
                recital->part_bytes[k / 16][k % 16] = UINT64_C(1) << k % 16 << k % 7;
        for (unsigned operation = 0; operation < _COLLECTIVE_MAX; operation++) {
                unsigned steps = operation == COLLECTIVE_ALL_REDUCE ? 30 : operation == COLLECTIVE_SEND_RECEIVE ? 1 : 15;

                recital->post.operation = (uint8_t) operation;
                for (unsigned r = 0; r < 16; r++)
                        for (unsigned c = 0; c < 4; c++) {
                                uint64_t bytes = 0;

                                for (unsigned s = 0; s <= steps; s++) {
                                        assert_int_equal(recital_bytes(recital, r, c, s), bytes);
                                        bytes += bytes_in(recital, r, c, s);
                                }
                        }
        }
        free(recital->ranks);
        free(recital->from);
        free(recital);
        free(ensemble);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rings_of_a_server),
                cmocka_unit_test(test_rings_of_an_ultraserver),
                cmocka_unit_test(test_bytes_add_up_step_by_step),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
