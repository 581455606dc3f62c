/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The moves against a breadth-first search that knows nothing of rings and paths: it moves plugs until all is right, in every
 * way there is. All links of the torus count as movable here; which of them are traces of a board is no affair of the solver.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "checks/neuronlink/cabling.h"
#include "checks/text/cleanup.h"
#include "tests/draw.h"

/* ---- plugs in sockets, moved by hand ---- */

enum { EMPTY = 0xfe, LOOP = 0xfd, STRANGE = 0xfc }; /* else the number of a cable: two sockets have the same */

typedef struct Rack {
        unsigned n;
        uint8_t at[64]; /* what sits in each socket */
        uint8_t want[64]; /* which socket is to be at the other end */
} Rack;

static bool rack_is_right(const Rack *rack) {
        for (unsigned p = 0; p < rack->n; p++)
                if (rack->at[p] != rack->at[rack->want[p]] || rack->at[p] == EMPTY || rack->at[p] == LOOP)
                        return false;

        return true;
}

static uint8_t other_end(const Rack *rack, unsigned p) {
        for (unsigned q = 0; q < rack->n; q++)
                if (q != p && rack->at[p] < STRANGE && rack->at[q] == rack->at[p])
                        return (uint8_t) q;

        return (uint8_t) p;
}

static void rack_connect(Rack *rack, unsigned a, unsigned b) {
        for (uint8_t cable = 0;; cable++)
                if (!memchr(rack->at, cable, rack->n)) {
                        rack->at[a] = rack->at[b] = cable;
                        return;
                }
}

static void rack_exchange(Rack *rack, unsigned a, unsigned b) {
        uint8_t plug = rack->at[a];

        rack->at[a] = rack->at[b];
        rack->at[b] = plug;
}

static void rack_move(Rack *rack, const CablingMove *move) {
        if (move->kind == CABLING_CONNECT) {
                assert_true(rack->at[move->a] >= STRANGE && rack->at[move->b] >= STRANGE);
                rack_connect(rack, move->a, move->b);
                return;
        }
        assert_true(move->kind != CABLING_PLUG || rack->at[move->b] == EMPTY || rack->at[move->b] == LOOP);
        assert_true(rack->at[move->a] < STRANGE);
        rack_exchange(rack, move->a, move->b);
        if (rack->at[move->a] == LOOP)
                rack->at[move->a] = EMPTY;
}

/* Solves RACK and plays the moves back. Returns how many it took. */
static unsigned solve(const Rack *rack, Cabling *cabling) {
        Rack after = *rack;

        *cabling = (Cabling) { .n = rack->n };
        for (unsigned p = 0; p < rack->n; p++)
                cabling->ports[p] = (CablingPort) {
                        .designed = rack->want[p], .home = CABLING_NOWHERE, .place = (uint16_t) (p / 8), .far = other_end(rack, p),
                        .plug = rack->at[p] == EMPTY   ? CABLING_EMPTY
                                : rack->at[p] == LOOP  ? CABLING_LOOPBACK
                                : rack->at[p] < STRANGE ? CABLING_JOINED
                                                        : CABLING_UNKNOWN,
                };
        cabling_solve(cabling);
        for (size_t i = 0; i < cabling->n_moves; i++)
                rack_move(&after, &cabling->moves[i]);
        assert_true(rack_is_right(&after));
        return (unsigned) cabling->n_moves;
}

/* ---- the search ---- */

/* Whether RACK can be made right in exactly DEPTH moves or fewer, by trying all of them. */
static bool reaches(const Rack *rack, unsigned depth) {
        if (rack_is_right(rack))
                return true;

        for (unsigned a = 0; depth > 0 && a < rack->n; a++)
                for (unsigned b = a + 1; b < rack->n; b++) {
                        Rack next = *rack;

                        rack_exchange(&next, a, b);
                        if (reaches(&next, depth - 1))
                                return true;
                        next = *rack;
                        if (rack->at[a] < STRANGE || rack->at[b] < STRANGE || (rack->at[a] == STRANGE && rack->at[b] == STRANGE))
                                continue;
                        rack_connect(&next, a, b);
                        if (reaches(&next, depth - 1))
                                return true;
                }

        return false;
}

static unsigned fewest(const Rack *rack) {
        unsigned depth = 0;

        while (!reaches(rack, depth))
                depth++;
        return depth;
}

/* ---- whole cables: all ways to plug n / 2 cables into n sockets, numbered, with how far each is from the right one ---- */

typedef struct Atlas {
        unsigned n;
        size_t n_ways;
        uint8_t *distance;
} Atlas;

static size_t way_number(const uint8_t *mate, unsigned n) {
        uint32_t open = (UINT32_C(1) << n) - 1;
        size_t number = 0;

        for (unsigned left = n; left > 2; left -= 2) {
                unsigned p = (unsigned) __builtin_ctz(open), q = mate[p];

                open &= open - 1;
                number = number * (left - 1) + (unsigned) __builtin_popcount(open & ((UINT32_C(1) << q) - 1));
                open &= ~(UINT32_C(1) << q);
        }
        return number;
}

static void way_of_number(size_t number, unsigned n, uint8_t *mate) {
        uint32_t open = (UINT32_C(1) << n) - 1;
        unsigned digits[16] = {};

        for (unsigned i = n / 2 - 1, base = 3; i-- > 0; base += 2) {
                digits[i] = (unsigned) (number % base);
                number /= base;
        }
        for (unsigned i = 0; i < n / 2; i++) {
                unsigned p = (unsigned) __builtin_ctz(open), q;
                uint32_t rest = open & (open - 1);

                for (unsigned k = 0; k < digits[i]; k++)
                        rest &= rest - 1;
                q = (unsigned) __builtin_ctz(rest);
                mate[p] = (uint8_t) q;
                mate[q] = (uint8_t) p;
                open &= ~(UINT32_C(1) << p | UINT32_C(1) << q);
        }
}

/* Breadth first from the way in which 2i and 2i + 1 are joined: any plug against any other. */
static void atlas_draw(Atlas *atlas, unsigned n) {
        _cleanup_free_ uint32_t *queue = NULL;
        size_t first = 0, last = 0;
        uint8_t mate[16];

        *atlas = (Atlas) { .n = n, .n_ways = 1 };
        for (unsigned i = 3; i < n; i += 2)
                atlas->n_ways *= i;
        atlas->distance = malloc(atlas->n_ways);
        queue = calloc(atlas->n_ways, sizeof(*queue));
        memset(atlas->distance, 0xff, atlas->n_ways);
        for (unsigned p = 0; p < n; p++)
                mate[p] = (uint8_t) (p ^ 1);
        queue[last++] = (uint32_t) way_number(mate, n);
        atlas->distance[queue[0]] = 0;
        while (first < last) {
                uint32_t from = queue[first++];

                way_of_number(from, n, mate);
                for (unsigned a = 0; a < n; a++)
                        for (unsigned b = a + 1; b < n; b++) {
                                uint8_t next[16];
                                size_t number;

                                if (mate[a] == b)
                                        continue;
                                memcpy(next, mate, sizeof(next));
                                next[a] = mate[b];
                                next[b] = mate[a];
                                next[mate[a]] = (uint8_t) b;
                                next[mate[b]] = (uint8_t) a;
                                number = way_number(next, n);
                                if (atlas->distance[number] != 0xff)
                                        continue;
                                atlas->distance[number] = (uint8_t) (atlas->distance[from] + 1);
                                queue[last++] = (uint32_t) number;
                        }
        }
        assert_int_equal(last, atlas->n_ways);
}

/* ---- the torus of a server ---- */

/* Sockets 4c … 4c + 3 of chip c are x+ x- y+ y-, by walking rows and columns. */
static void torus(Rack *rack) {
        *rack = (Rack) { .n = 64 };
        for (unsigned row = 0; row < 4; row++)
                for (unsigned column = 0; column < 4; column++) {
                        unsigned chip = row * 4 + column;
                        unsigned right = row * 4 + (column == 3 ? 0 : column + 1), below = (row == 3 ? 0 : row + 1) * 4 + column;

                        rack->want[4 * chip] = (uint8_t) (4 * right + 1);
                        rack->want[4 * right + 1] = (uint8_t) (4 * chip);
                        rack->want[4 * chip + 2] = (uint8_t) (4 * below + 3);
                        rack->want[4 * below + 3] = (uint8_t) (4 * chip + 2);
                }
        for (unsigned p = 0, cable = 0; p < 64; p++)
                if (rack->want[p] > p) {
                        rack->at[p] = rack->at[rack->want[p]] = (uint8_t) cable++;
                }
}

static void test_a_right_torus_needs_no_move(void **state) {
        Cabling cabling;
        Rack rack;

        torus(&rack);
        assert_true(rack_is_right(&rack));
        assert_int_equal(solve(&rack, &cabling), 0);
        for (unsigned p = 0; p < 64; p++) {
                assert_int_equal(cabling.group[p], CABLING_NOWHERE);
                assert_int_equal(cabling.mended[p], CABLING_NOWHERE);
        }
}

/* Every pair of 32 links, both ways of exchanging their ends. */
static void test_all_992_swaps_of_two_cables_take_one_move(void **state) {
        Cabling cabling;
        unsigned n = 0;
        Rack right;

        torus(&right);
        for (unsigned p = 0; p < 64; p++)
                for (unsigned q = p + 1; q < 64; q++) {
                        Rack rack = right;

                        unsigned far_p = right.want[p], far_q = right.want[q];

                        /* p with q is the same wiring as their far ends with each other: count it once. */
                        if (far_p == q || (far_p < far_q ? far_p * 64 + far_q : far_q * 64 + far_p) < p * 64 + q)
                                continue;
                        rack_exchange(&rack, p, q);
                        n++;
                        assert_false(reaches(&rack, 0));
                        assert_true(reaches(&rack, 1));
                        assert_int_equal(solve(&rack, &cabling), 1);
                        for (unsigned k = 0; k < 64; k++)
                                assert_int_equal(cabling.mended[k], right.at[k] == right.at[p] || right.at[k] == right.at[q] ?
                                                                            0 : CABLING_NOWHERE);
                }
        assert_int_equal(n, 992);
}

/* Takes up to N_PLUGS plugs out of the torus, puts them back in any order, and asks the atlas about the sockets concerned. */
static unsigned permute(const Rack *right, const Atlas *atlas, unsigned n_plugs, bool any_cable) {
        unsigned chosen[8], n_chosen = 0, sockets[16], n_sockets = 0, number_of[64];
        Rack rack = *right;
        uint8_t mate[16], cables[8];
        unsigned n_cables = 0;
        Cabling cabling;

        while (n_chosen < n_plugs) {
                unsigned p = draw() % 64;
                bool taken = false, known = memchr(cables, right->at[p], n_cables) != NULL;

                for (unsigned i = 0; i < n_chosen; i++)
                        taken = taken || chosen[i] == p;
                if (taken || (!known && n_cables == atlas->n / 2) || (known && any_cable))
                        continue;
                if (!known)
                        cables[n_cables++] = right->at[p];
                chosen[n_chosen++] = p;
        }
        for (unsigned i = n_plugs; i > 1; i--)
                rack_exchange(&rack, chosen[i - 1], chosen[draw() % i]);

        while (n_cables < atlas->n / 2) { /* some that stayed as they were, to fill the atlas */
                uint8_t cable = (uint8_t) (draw() % 32);

                if (!memchr(cables, cable, n_cables))
                        cables[n_cables++] = cable;
        }
        for (unsigned i = 0; i < n_cables; i++)
                for (unsigned p = 0; p < 64; p++)
                        if (right->at[p] == cables[i]) {
                                number_of[p] = n_sockets;
                                sockets[n_sockets++] = p;
                        }
        assert_int_equal(n_sockets, atlas->n);
        for (unsigned i = 0; i < n_sockets; i++)
                mate[i] = (uint8_t) number_of[other_end(&rack, sockets[i])];
        assert_int_equal(solve(&rack, &cabling), atlas->distance[way_number(mate, atlas->n)]);
        return (unsigned) cabling.n_moves;
}

/* Seven cables are what an atlas is drawn of in no time; eight, with every plug of another cable, take CABLING_ATLAS=16. */
static void test_permutations_of_up_to_eight_plugs_take_as_few_moves_as_can_be(void **state) {
        const char *wanted = getenv("CABLING_ATLAS");
        unsigned n = wanted ? (unsigned) atoi(wanted) : 14, counts[9] = {};
        Atlas atlas;
        Rack right;

        assert_true(n == 14 || n == 16);
        torus(&right);
        atlas_draw(&atlas, n);
        for (unsigned i = 0; i < 7000; i++)
                counts[permute(&right, &atlas, 2 + i % 7, n == 16 && i % 2)]++;
        for (unsigned i = 0; i < 9; i++)
                print_message("# %u moves: %u\n", i, counts[i]);
        assert_true(counts[6] > 0 && (n == 14 || counts[7] > 0));
        free(atlas.distance);
}

/* ---- missing cables, loopback plugs, plugs of unknown cables ---- */

static void test_holes_and_loops_take_as_few_moves_as_can_be(void **state) {
        unsigned counts[8] = {};

        for (unsigned i = 0; i < 1500; i++) {
                static const uint8_t odd[] = { EMPTY, EMPTY, LOOP, STRANGE };
                Rack rack = { .n = i % 8 == 0 ? 8 : 6 };
                Cabling cabling;
                unsigned moves;

                for (unsigned p = 0; p < rack.n; p++) {
                        rack.want[p] = (uint8_t) (p ^ 1);
                        rack.at[p] = (uint8_t) (p / 2);
                }
                for (unsigned k = 0; k <= i % 3; k++) { /* both ends of a cable out of their sockets, or of something else in them */
                        unsigned p = draw() % rack.n, q = other_end(&rack, p);

                        rack.at[p] = odd[draw() % 4];
                        rack.at[q] = odd[draw() % 4];
                }
                for (unsigned k = rack.n; k > 1; k--)
                        rack_exchange(&rack, k - 1, draw() % k);
                moves = solve(&rack, &cabling);
                assert_true(moves == 0 || !reaches(&rack, moves - 1));
                counts[moves]++;
        }
        for (unsigned i = 0; i < 8; i++)
                print_message("# %u moves: %u\n", i, counts[i]);
        assert_true(counts[4] > 0);
}

static void test_a_loopback_plug_is_put_away(void **state) {
        Cabling cabling;
        Rack rack = { .n = 4, .at = { LOOP, EMPTY, 1, 1 }, .want = { 1, 0, 3, 2 } };

        assert_int_equal(solve(&rack, &cabling), 1);
        assert_int_equal(cabling.moves[0].kind, CABLING_CONNECT);
        assert_int_equal(cabling.moves[0].was_a, CABLING_LOOPBACK);
        assert_int_equal(cabling.moves[0].was_b, CABLING_EMPTY);
        assert_int_equal(fewest(&rack), 1);
}

static void test_a_shifted_row_of_plugs_begins_at_its_hole(void **state) {
        /* 1-2, 3-4 and nothing in 0 and 5: every plug of one side is one socket too far. */
        Rack rack = { .n = 6, .at = { EMPTY, 0, 0, 1, 1, EMPTY }, .want = { 1, 0, 3, 2, 5, 4 } };
        Cabling cabling;

        assert_int_equal(solve(&rack, &cabling), 3);
        assert_int_equal(cabling.moves[0].kind, CABLING_PLUG);
        assert_int_equal(fewest(&rack), 3);
}

static void test_the_plug_with_the_wrong_label_is_the_one_that_moves(void **state) {
        for (unsigned side = 0; side < 2; side++) {
                Cabling cabling = { .n = 4 };

                for (uint16_t p = 0; p < 4; p++) /* 0-1 and 2-3 are wanted; 0-3 and 2-1 are there */
                        cabling.ports[p] = (CablingPort) {
                                .designed = p ^ 1, .far = 3 - p, .plug = CABLING_JOINED, .home = p % 2 == side ? p ^ 2 : p,
                        };
                cabling_solve(&cabling);
                assert_int_equal(cabling.n_moves, 1);
                assert_int_equal(cabling.moves[0].a % 2, side);
                assert_int_equal(cabling.moves[0].b % 2, side);
        }
}

/* Whatever it is told, it ends, and stays within what there is. */
static void test_contradictions_are_unknown(void **state) {
        for (unsigned i = 0; i < 3000; i++) {
                Cabling cabling = { .n = draw() % (CABLING_PORTS_MAX + 1) };

                for (size_t p = 0; p < cabling.n; p++)
                        cabling.ports[p] = (CablingPort) {
                                .designed = (uint16_t) (draw() % 5 == 0 ? draw() : p ^ 1), .plug = draw() % 4,
                                .far = (uint16_t) (draw() % 3 == 0 ? draw() : p ^ 2), .home = (uint16_t) (draw() % 500),
                        };
                cabling_solve(&cabling);
                assert_true(cabling.n_moves <= cabling.n / 2);
                for (size_t m = 0; m < cabling.n_moves; m++)
                        assert_true(cabling.moves[m].a < cabling.n && cabling.moves[m].b < cabling.n);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_right_torus_needs_no_move),
                cmocka_unit_test(test_all_992_swaps_of_two_cables_take_one_move),
                cmocka_unit_test(test_permutations_of_up_to_eight_plugs_take_as_few_moves_as_can_be),
                cmocka_unit_test(test_holes_and_loops_take_as_few_moves_as_can_be),
                cmocka_unit_test(test_a_loopback_plug_is_put_away),
                cmocka_unit_test(test_a_shifted_row_of_plugs_begins_at_its_hole),
                cmocka_unit_test(test_the_plug_with_the_wrong_label_is_the_one_that_moves),
                cmocka_unit_test(test_contradictions_are_unknown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
