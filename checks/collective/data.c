/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who makes data wrong. A block that is only passed on is right until some rank and wrong from the next one on: between these two it
 * was spoilt. A sum that is wrong could be any rank's; so each chip adds alone with a neighbour: see sums.c. Of two, which: see ties.c.
 */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/collective/collective.h"

/* Enough for a fault that acts in every other collective: all of them miss it once in a million. */
#define MORE_GATHERS 20u /* each of 60 blocks from every chip */
#define MORE_PAIRS   28u /* seven with each of its four neighbours: 21 where one of these is to blame itself */
#define MORE_ELEMENTS 1024u
/*
 * So often all neighbours are asked again, once each way, while two chips are left of which either may be the one: 1,200 gathers and 300 sums with each
 * neighbour at the most. What escapes is computed, from independent runs: one that sends wrongly in one run of fifty, and then one block in a hundred,
 * spoils one gather in 110, and has then not shown it at three of its four ports with a chance of 1.0 % (1 - 0.02 (1 - 0.99^15k) for k ports); one
 * that adds wrongly in one run of a hundred with a chance of 1.4 % (0.99^300k). They are asked only where something was wrong.
 */
#define MORE_ROUNDS  300u

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
                r = ensemble_find(recital->ensemble, TROUBLE_CABLE, recital->members[rank], c, &(Evidence) { .actual = text, .replaceable = "cable", .decided = { "collective_ports_miscabled", 1, 0 } },
                                  "what comes in here is what %s sent: the cable ends at the wrong port", text);
        }
        return r;
}

/* Of all that comes out at RANK what somebody has sent. */
static uint64_t sent_bytes(const Recital *recital, unsigned rank) {
        unsigned parts = recital->post.rings;
        uint64_t elements = 0;

        if (recital->post.operation != COLLECTIVE_SEND_RECEIVE)
                return recital->ranks[rank].n_output;
        for (unsigned c = 0; c < parts; c++)
                if (recital->from[rank][c] != NOBODY)
                        elements += part_begin(recital->post.elements, parts, c + 1) - part_begin(recital->post.elements, parts, c);
        return elements * format_bytes(recital->post.format);
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
                ensemble_chair(recital->ensemble, recital->members[i])->n_bytes += sent_bytes(recital, i);
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

/* ---- more ---- */

/* 1 where all came to their end. */
static int play_more(Ensemble *ensemble, Wrongs *wrongs, WireCollective operation, unsigned port) {
        Recipe recipe = { operation, ELEMENT_FP32, MORE_ELEMENTS, 1, 0 };
        _cleanup_(recital_freep) Recital *recital = NULL;
        int r;

        r = recital_new(ensemble, &recipe, CHIPS, &recital);
        if (r < 0)
                return r;

        if (operation == COLLECTIVE_ALL_GATHER)
                recital_lay_rings(recital);
        else if (operation == COLLECTIVE_SEND_RECEIVE)
                recital_lay_neighbours(recital, false, false);
        else
                recital_lay_pairs(recital, port);
        if (recital->n < 2) /* those who are in the scan have no neighbours there, or on other servers alone */
                return 1;
        r = recital_play(recital);
        if (r >= 0)
                r = recital_judge_hang(recital);
        if (r <= 0)
                return r;
        wrongs->n_gathers += !recital->paired;
        r = recital_compare(recital, wrongs);
        return r < 0 ? r : 1;
}

/* Where there is no ring, neighbours alone. */
static int gather_more(Ensemble *ensemble, Wrongs *wrongs) {
        return play_more(ensemble, wrongs, ensemble_has_rings(ensemble, wrongs, 1) ? COLLECTIVE_ALL_GATHER : COLLECTIVE_SEND_RECEIVE, 0);
}

static int add_more(Ensemble *ensemble, Wrongs *wrongs, unsigned port) {
        return wrongs->n_unplaced > 0 ? play_more(ensemble, wrongs, COLLECTIVE_REDUCE_SCATTER, port) : 1;
}

/* Other servers whose own collectives show wrong data: a bit for each. */
static int list_others(Ensemble *ensemble) {
        int servers = 0;

        for (unsigned s = 1; s < ensemble->n_servers; s++) {
                int r = ensemble_shows(ensemble, s, TROUBLE_DATA, NOBODY);

                if (r < 0)
                        return r;
                servers |= r << s;
        }
        return servers;
}

/* On a server in the place of the one under test. Neighbours first: cables there may end at wrong ports. */
static int gather_there(Ensemble *ensemble, void *userdata) {
        Wrongs *wrongs = userdata;

        return wrongs->n_gathers == 0 ? play_more(ensemble, wrongs, COLLECTIVE_SEND_RECEIVE, 0) : gather_more(ensemble, wrongs);
}

/* Adds what chips of SERVER do among themselves. THERE is what was seen of them alone. */
static int gather_at(Ensemble *ensemble, Wrongs *wrongs, unsigned server, Wrongs *there) {
        int r;

        if (!ensemble->servers[server].device)
                return 1;

        r = ensemble_listen(ensemble, server, gather_there, there);
        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < LINK_Z_PLUS; p++) {
                        wrongs->edges[server][c][p] += there->edges[0][c][p];
                        there->edges[0][c][p] = 0;
                }
        return r;
}

/* Once each way of all neighbours of DOUBTS. */
static int ask_round(Ensemble *ensemble, Wrongs *wrongs, unsigned doubts, Wrongs others[static RING_SERVERS]) {
        int r = 1;

        for (unsigned port = 0; port < LINK_Z_PLUS && r > 0; port++) {
                if (doubts & 1)
                        r = gather_more(ensemble, wrongs);
                if (doubts & 1 && r > 0)
                        r = add_more(ensemble, wrongs, port);
                for (unsigned s = 1; s < ensemble->n_servers && r > 0; s++)
                        if (doubts >> s & 1)
                                r = gather_at(ensemble, wrongs, s, &others[s]);
        }
        return r;
}

/* Until it is told who it is, or one of these does not come to its end: each that hangs takes as long as all others. */
static int ask_until_told(Ensemble *ensemble, Wrongs *wrongs) {
        _cleanup_free_ Wrongs *others = NULL;
        int shown, r = 1;
        unsigned doubts;

        if (ensemble_doubts(ensemble, wrongs, 0) == 0)
                return 0;
        others = calloc(RING_SERVERS, sizeof(*others));
        if (!others)
                return -ENOMEM;
        shown = list_others(ensemble);
        if (shown < 0)
                return shown;
        for (unsigned i = 0; i < MORE_ROUNDS && r > 0; i++) {
                doubts = ensemble_doubts(ensemble, wrongs, (unsigned) shown);
                if (doubts == 0)
                        break;
                r = ask_round(ensemble, wrongs, doubts, others);
        }
        return MIN(r, 0);
}

static int ask_more(Ensemble *ensemble, Wrongs *wrongs) {
        int r = 0;

        for (unsigned i = 0; i < MORE_GATHERS && r >= 0; i++)
                r = gather_more(ensemble, wrongs);
        for (unsigned i = 0; i < MORE_PAIRS && r >= 0; i++)
                r = add_more(ensemble, wrongs, i % LINK_Z_PLUS);
        return r < 0 ? r : ask_until_told(ensemble, wrongs);
}

/* ---- who it is ---- */

/* Chips that spoil what they pass on or take in. */
static int judge_spoilers(Ensemble *ensemble, const Blame *blame) {
        int r = 0;

        for (unsigned i = 0; i < ensemble->n_servers * CHIPS && r >= 0; i++) {
                Member member = { (uint8_t) (i / CHIPS), (uint8_t) (i % CHIPS) };
                const Culprit *culprit = &blame->culprits[member.server][member.chip];

                if (blame_spoils(blame, member))
                        r = ensemble_find(ensemble, TROUBLE_DATA, member, CHAIR_CHIP,
                                          &(Evidence) { .has_count = true, .count = culprit->n_ports, .decided = { "collective_ports_wrong", culprit->n_ports, 0 } },
                                          "blocks that this chip %s are changed, by %u of its ports: its DMA engines",
                                          culprit->role == DATA_SENDS ? "passes on" : "takes in", culprit->n_ports);
        }
        return r;
}

int ensemble_judge_data(Ensemble *ensemble, Wrongs *wrongs) {
        unsigned before = ensemble->n_troubles;
        Blame blame;
        int r;

        if (wrongs->n_edges + wrongs->n_sums + wrongs->n_unplaced == 0)
                return 0;

        r = ask_more(ensemble, wrongs);
        if (r < 0)
                return r;
        ensemble_blame(ensemble, wrongs, &blame);
        r = judge_spoilers(ensemble, &blame);
        if (r >= 0)
                r = ensemble_judge_sums(ensemble, wrongs, &blame);
        if (r >= 0)
                r = ensemble_find_ties(ensemble, wrongs, &blame);
        /* Over an UltraServer it may be a chip of another server, which its own step finds. */
        if (r >= 0 && ensemble->n_troubles == before)
                r = list_others(ensemble);
        if (r != 0 || ensemble->n_troubles > before)
                return r < 0 ? r : 0;
        return ensemble_find(ensemble, TROUBLE_DATA, (Member) {}, NOBODY,
                             &(Evidence) { .has_count = true, .count = wrongs->n_unplaced,
                                           .decided = { "collective_pieces_wrong", wrongs->n_edges + wrongs->n_sums + wrongs->n_unplaced, 0 } },
                             "%u sums or pieces were wrong, and not again when chips were asked one by one", wrongs->n_unplaced);
}
