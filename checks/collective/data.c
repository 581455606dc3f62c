/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who makes data wrong. A block that is only passed on is right until some rank and wrong from the next one on: between these two it
 * was spoilt. A sum that is wrong could be any rank's; so each chip adds alone with a neighbour: see sums.c.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/collective/collective.h"

/* Enough for a fault that acts in every other collective: all of them miss it once in a million. */
#define MORE_GATHERS 20u /* each of 60 blocks from every chip */
#define MORE_PAIRS   28u /* seven with each of its four neighbours: 21 where one of these is to blame itself */
#define MORE_ELEMENTS 1024u

/* ---- what is wrong ---- */

static bool part_is_right(const Recital *recital, unsigned rank, const uint8_t *expected, size_t first, size_t n) {
        unsigned bytes = format_bytes(recital->post.format);

        return memcmp(recital->outputs + rank * recital->stride + first * bytes, expected + first * bytes, n * bytes) == 0;
}

static void note_edge(Recital *recital, Wrongs *wrongs, unsigned rank, unsigned ring) {
        Member member = recital->members[rank];

        wrongs->edges[member.server][member.chip][recital->ranks[rank].rings[ring].receive_port]++;
        wrongs->n_edges++;
}

/* All ranks have the same vector; each shard came round the ring from its owner. */
static void compare_round(Recital *recital, Wrongs *wrongs, const uint8_t *expected) {
        unsigned n = recital->post.ranks;

        for (unsigned k = 0; k < n; k++)
                for (unsigned c = 0; c < recital->post.rings; c++) {
                        uint32_t begin = part_begin(recital->post.elements, n, k);
                        uint32_t shard = part_begin(recital->post.elements, n, k + 1) - begin;
                        uint32_t first = begin + part_begin(shard, recital->post.rings, c);
                        uint32_t size = part_begin(shard, recital->post.rings, c + 1) - part_begin(shard, recital->post.rings, c);
                        const uint8_t *order = recital->ranks[k].rings[c].order;
                        unsigned q = recital->ranks[k].rings[c].position;

                        if (!part_is_right(recital, k, expected, first, size)) {
                                wrongs->n_unplaced++;
                                continue;
                        }
                        for (unsigned j = 1; j < n; j++) {
                                if (part_is_right(recital, order[(q + j) % n], expected, first, size))
                                        continue;
                                note_edge(recital, wrongs, order[(q + j) % n], c);
                                break;
                        }
                }
}

/* Whose block this is, if it is anybody's. */
static bool find_sender(const Recital *recital, const uint8_t *block, size_t bytes, unsigned *ret_rank, unsigned *ret_port) {
        unsigned parts = recital->post.rings;

        for (unsigned r = 0; r < recital->n; r++)
                for (unsigned c = 0; c < parts; c++)
                        if (memcmp(recital->inputs + r * recital->stride + part_begin(recital->post.elements, parts, c) *
                                   format_bytes(recital->post.format), block, bytes) == 0) {
                                *ret_rank = r;
                                *ret_port = c;
                                return true;
                        }
        return false;
}

static int compare_neighbours(Recital *recital, Wrongs *wrongs, unsigned rank, const uint8_t *expected) {
        unsigned parts = recital->post.rings, bytes = format_bytes(recital->post.format), sender, port;
        int r = 0;

        for (unsigned c = 0; c < parts && r >= 0; c++) {
                uint32_t first = part_begin(recital->post.elements, parts, c), size = part_begin(recital->post.elements, parts, c + 1) - first;
                char text[LOCATION_STRING_MAX];

                if (recital->from[rank][c] == NOBODY || part_is_right(recital, rank, expected, first, size))
                        continue;
                if (!find_sender(recital, recital->outputs + rank * recital->stride + first * bytes, size * bytes, &sender, &port)) {
                        note_edge(recital, wrongs, rank, c);
                        continue;
                }
                wrongs->misrouted[recital->members[rank].server][recital->members[rank].chip] |= (uint8_t) (1u << c);
                ensemble_name(recital->ensemble, recital->members[sender], port, text);
                r = ensemble_find(recital->ensemble, TROUBLE_CABLE, recital->members[rank], c, &(Evidence) { .actual = text, .replaceable = "cable" },
                                  "what comes in here is what %s sent: the cable ends at the wrong port", text);
        }
        return r;
}

int recital_compare(Recital *recital, Wrongs *wrongs) {
        bool same = (recital->post.operation == COLLECTIVE_ALL_REDUCE || recital->post.operation == COLLECTIVE_ALL_GATHER) && !recital->paired;
        _cleanup_free_ uint8_t *expected = calloc(1, recital->stride);
        bool wrong = false;
        int r = 0;

        if (!expected)
                return -ENOMEM;

        for (unsigned i = 0; i < recital->n && recital->post.operation != COLLECTIVE_SEND_RECEIVE; i++)
                if (recital->ranks[i].error < 0) /* without all of them nothing can be placed */
                        return 0;
        for (unsigned i = 0; i < recital->n && r >= 0; i++) {
                CollectiveRank *rank = &recital->ranks[i];

                if (rank->error < 0)
                        continue;
                if (!same || i == 0)
                        recital_expected(recital, i, recital->inputs, expected);
                ensemble_chair(recital->ensemble, recital->members[i])->n_bytes += rank->n_output;
                if (recital->paired)
                        recital_compare_pair(recital, wrongs, i, expected);
                if (memcmp(rank->output, expected, rank->n_output) == 0)
                        continue;
                wrong = true;
                if (recital->post.operation == COLLECTIVE_SEND_RECEIVE)
                        r = compare_neighbours(recital, wrongs, i, expected);
                else if (!same && !recital->paired)
                        wrongs->n_unplaced++;
        }
        if (r >= 0 && same && wrong)
                compare_round(recital, wrongs, expected);
        return r;
}

/* ---- who it is ---- */

static int play_more(Ensemble *ensemble, Wrongs *wrongs, WireCollective operation, unsigned port) {
        Recipe recipe = { operation, ELEMENT_FP32, MORE_ELEMENTS, 1, 0 };
        _cleanup_(recital_freep) Recital *recital = NULL;
        int r;

        r = recital_new(ensemble, &recipe, CHIPS, &recital);
        if (r < 0)
                return r;

        if (operation == COLLECTIVE_ALL_GATHER)
                recital_lay_rings(recital);
        else
                recital_lay_pairs(recital, port);
        r = recital_play(recital);
        if (r >= 0)
                r = recital_judge_hang(recital);
        return r > 0 ? recital_compare(recital, wrongs) : r;
}

typedef struct Ends {
        unsigned sent[RING_SERVERS][CHIPS], taken[RING_SERVERS][CHIPS]; /* ports by which wrong blocks went out, came in */
} Ends;

static void count_ends(const Ensemble *ensemble, const Wrongs *wrongs, Ends *ret) {
        *ret = (Ends) {};
        for (unsigned s = 0; s < ensemble->n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        for (unsigned p = 0; p < PORTS; p++) {
                                Member member = { (uint8_t) s, (uint8_t) c }, far = ensemble_sender(ensemble, member, p);

                                if (wrongs->edges[s][c][p] == 0)
                                        continue;
                                ret->taken[s][c]++;
                                ret->sent[far.server][far.chip]++;
                        }
}

static void explain(const Ensemble *ensemble, Wrongs *wrongs, Member member) {
        for (unsigned p = 0; p < PORTS; p++) {
                Member far = ensemble_sender(ensemble, member, p);

                wrongs->edges[member.server][member.chip][p] = 0;
                wrongs->edges[far.server][far.chip][link_port_opposite((LinkPort) p)] = 0;
        }
}

/* A chip that spoils what goes through it does so at several ports: the one with the most of them, until none has two. */
static int blame_chips(Ensemble *ensemble, Wrongs *wrongs) {
        for (;;) {
                Member worst = {};
                unsigned most = 1;
                bool sends = false;
                Ends ends;
                int r;

                count_ends(ensemble, wrongs, &ends);
                for (unsigned s = 0; s < ensemble->n_servers; s++)
                        for (unsigned c = 0; c < CHIPS; c++) {
                                unsigned n = ends.sent[s][c] > ends.taken[s][c] ? ends.sent[s][c] : ends.taken[s][c];

                                if (n <= most)
                                        continue;
                                most = n;
                                worst = (Member) { (uint8_t) s, (uint8_t) c };
                                sends = ends.sent[s][c] == n;
                        }
                if (most == 1)
                        return 0;
                r = ensemble_find(ensemble, TROUBLE_DATA, worst, CHAIR_CHIP, &(Evidence) { .has_count = true, .count = most },
                                  "blocks that this chip %s are changed, by %u of its ports: its DMA engines",
                                  sends ? "passes on" : "takes in", most);
                if (r < 0)
                        return r;
                explain(ensemble, wrongs, worst);
        }
}

/*
 * One port of one chip. On this server all its other ports have been tried since: it is the link. Of a chip of another server no more
 * was seen; links check what they carry, so what arrives changed was so when it was sent.
 */
static int blame_edge(Ensemble *ensemble, Member member, unsigned port, uint32_t n) {
        unsigned there = (unsigned) link_port_opposite((LinkPort) port);
        Member far = ensemble_sender(ensemble, member, port);
        char text[LOCATION_STRING_MAX];

        if (far.server > 0) {
                ensemble_name(ensemble, member, port, text);
                return ensemble_find(ensemble, TROUBLE_DATA, far, CHAIR_CHIP, &(Evidence) { .far_end = text },
                                     "%u blocks that this chip passed on came in changed at %s", n, text);
        }
        ensemble_name(ensemble, far, there, text);
        return ensemble_find(ensemble, TROUBLE_DATA, member, port, &(Evidence) { .far_end = text },
                             "%u blocks came in changed from %s, and by no other port of either chip", n, text);
}

static int blame_edges(Ensemble *ensemble, const Wrongs *wrongs) {
        int r = 0;

        for (unsigned s = 0; s < ensemble->n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        for (unsigned p = 0; p < PORTS && r >= 0; p++)
                                if (wrongs->edges[s][c][p] > 0)
                                        r = blame_edge(ensemble, (Member) { (uint8_t) s, (uint8_t) c }, p, wrongs->edges[s][c][p]);
        return r;
}

int ensemble_judge_data(Ensemble *ensemble, Wrongs *wrongs) {
        unsigned before = ensemble->n_troubles;
        int r = 0;

        if (wrongs->n_edges + wrongs->n_sums + wrongs->n_unplaced == 0)
                return 0;

        for (unsigned i = 0; i < MORE_GATHERS && r >= 0 && ensemble_has_rings(ensemble, wrongs, 1); i++)
                r = play_more(ensemble, wrongs, COLLECTIVE_ALL_GATHER, 0);
        for (unsigned i = 0; i < MORE_PAIRS && r >= 0 && wrongs->n_unplaced > 0; i++)
                r = play_more(ensemble, wrongs, COLLECTIVE_REDUCE_SCATTER, i % LINK_Z_PLUS);
        if (r >= 0)
                r = blame_chips(ensemble, wrongs);
        if (r >= 0)
                r = ensemble_judge_sums(ensemble, wrongs);
        if (r >= 0)
                r = blame_edges(ensemble, wrongs);
        /* Over an UltraServer it may be a chip of another server, which its own step finds. */
        for (unsigned s = 1; s < ensemble->n_servers && r == 0 && ensemble->n_troubles == before; s++)
                r = ensemble_shows(ensemble, s, TROUBLE_DATA, NOBODY);
        if (r != 0 || ensemble->n_troubles > before)
                return r < 0 ? r : 0;
        return ensemble_find(ensemble, TROUBLE_DATA, (Member) {}, NOBODY, &(Evidence) { .has_count = true, .count = wrongs->n_unplaced },
                             "%u sums or pieces were wrong, and not again when chips were asked one by one", wrongs->n_unplaced);
}
