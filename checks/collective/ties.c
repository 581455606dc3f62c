/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who is to blame for wrong blocks and sums. Each of them lies between two chips, of which one made it wrong: a chip that does so shows it with several
 * others. What comes and goes may need many runs for that, so chips are asked until no two are left that have it with each other alone.
 */

#include <math.h>
#include <string.h>

#include "checks/collective/collective.h"

/* One broken chip is likelier than so many of which each has it with that one alone; two of them may have a neighbour in common. */
#define SURE_PORTS   3
/* That a sender made these very sums wrong, and nothing else that it sent meanwhile, has at most this chance: one in a million. */
#define CLEARED      -13.8

/* ---- who ---- */

static void list_marks(const Wrongs *wrongs, Marks *ret) {
        *ret = (Marks) {};
        for (unsigned s = 0; s < RING_SERVERS; s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        for (unsigned p = 0; p < PORTS; p++)
                                ret->edges[s][c] |= (uint8_t) ((wrongs->edges[s][c][p] > 0) << p);
        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < LINK_Z_PLUS; p++)
                        ret->sums[c] |= (uint8_t) ((wrongs->sums[c][p].n_wrong > 0) << p);
}

/* Whether what came in, or was added, at PORT of MEMBER was wrong. */
static bool is_marked(const Marks *marks, Member member, unsigned port) {
        uint8_t ports = marks->edges[member.server][member.chip] | (member.server == 0 ? marks->sums[member.chip] : 0);

        return ports >> port & 1;
}

/* Ports of MEMBER at which something was wrong that it did in ROLE. */
static unsigned marked_ports(const Ensemble *ensemble, const Marks *marks, Member member, DataRole role) {
        unsigned ports = 0;
        Member far;

        if (role == DATA_TAKES)
                return marks->edges[member.server][member.chip];
        if (role == DATA_ADDS)
                return member.server == 0 ? marks->sums[member.chip] : 0;
        for (unsigned p = 0; p < PORTS; p++)
                if (ensemble_neighbour(ensemble, member, p, &far) && is_marked(marks, far, (unsigned) link_port_opposite((LinkPort) p)))
                        ports |= 1u << p;
        return ports;
}

/* Ports at which MEMBER could have shown what it does in ROLE: those to chips of the scan, or to partners that send what is right. */
static unsigned asked_ports(const Ensemble *ensemble, const Blame *blame, const Wrongs *wrongs, Member member, DataRole role) {
        unsigned ports = 0;
        Member far;

        for (unsigned p = 0; p < PORTS; p++)
                if (ensemble_neighbour(ensemble, member, p, &far) &&
                    (role != DATA_ADDS || (p < LINK_Z_PLUS && wrongs->sums[member.chip][p].n > 0 && !blame_spoils(blame, far))))
                        ports |= 1u << p;
        return ports;
}

/*
 * Whether the partner of MEMBER at PORT is not the one that made their sums wrong, for all else that it sent was right: sums of others, and runs in
 * which all send. If each was as likely to be wrong, K wrong ones of N + M are all among these N with a chance of (N / (N + M))^K or less.
 */
static bool partner_is_cleared(const Ensemble *ensemble, const Wrongs *wrongs, const Marks *marks, Member member, unsigned port) {
        const PairSums *sums = &wrongs->sums[member.chip][port];
        Member partner = ensemble_sender(ensemble, member, port), far;
        double n_others = wrongs->n_gathers;

        for (unsigned p = 0; p < PORTS; p++) {
                unsigned there = (unsigned) link_port_opposite((LinkPort) p);

                if (!ensemble_neighbour(ensemble, partner, p, &far) || (far.server == 0 && far.chip == member.chip))
                        continue;
                if (is_marked(marks, far, there))
                        return false;
                if (p < LINK_Z_PLUS && wrongs->sums[far.chip][there].n_wrong == 0)
                        n_others += wrongs->sums[far.chip][there].n;
        }
        return !(marks->edges[0][member.chip] >> port & 1) && sums->n_wrong * log(sums->n / (sums->n + n_others)) < CLEARED;
}

static bool is_sure(const Ensemble *ensemble, const Wrongs *wrongs, const Marks *marks, const Blame *blame, Member member, DataRole role) {
        unsigned ports = marked_ports(ensemble, marks, member, role), n = (unsigned) __builtin_popcount(ports);

        if (n >= SURE_PORTS || (n > 1 && !(asked_ports(ensemble, blame, wrongs, member, role) & ~ports)))
                return true;
        for (unsigned p = 0; role == DATA_ADDS && p < LINK_Z_PLUS; p++)
                if (ports >> p & 1 && partner_is_cleared(ensemble, wrongs, marks, member, p))
                        return true;
        return false;
}

/* Drops what CULPRIT explains. One that adds wrongly may send what is right, so sums of its partners stay. */
static void explain(const Ensemble *ensemble, Marks *marks, Member culprit, DataRole role) {
        Member far;

        if (culprit.server == 0)
                marks->sums[culprit.chip] = 0;
        if (role == DATA_ADDS)
                return;
        marks->edges[culprit.server][culprit.chip] = 0;
        for (unsigned p = 0; p < PORTS; p++) {
                unsigned there = (unsigned) link_port_opposite((LinkPort) p);

                if (!ensemble_neighbour(ensemble, culprit, p, &far))
                        continue;
                marks->edges[far.server][far.chip] &= (uint8_t) ~(1u << there);
                if (far.server == 0)
                        marks->sums[far.chip] &= (uint8_t) ~(1u << there);
        }
}

/* The one with the most ports of those that are sure; of as many, one that sends. Returns their number, 0 where there is none. */
static unsigned find_worst(const Ensemble *ensemble, const Wrongs *wrongs, const Blame *blame, Member *ret, DataRole *ret_role) {
        unsigned most = 0;

        for (DataRole role = DATA_SENDS; role < _DATA_ROLE_MAX; role++)
                for (unsigned i = 0; i < ensemble->n_servers * CHIPS; i++) {
                        Member member = { (uint8_t) (i / CHIPS), (uint8_t) (i % CHIPS) };
                        unsigned n = (unsigned) __builtin_popcount(marked_ports(ensemble, &blame->ties, member, role));

                        if (n <= most || !is_sure(ensemble, wrongs, &blame->ties, blame, member, role))
                                continue;
                        most = n;
                        *ret = member;
                        *ret_role = role;
                }
        return most;
}

static bool is_culprit(const Blame *blame, Member member) {
        return blame->culprits[member.server][member.chip].n_ports > 0;
}

bool blame_spoils(const Blame *blame, Member member) {
        return is_culprit(blame, member) && blame->culprits[member.server][member.chip].role != DATA_ADDS;
}

/* What lies between one that is to blame and another one is explained by it. */
static void drop_explained(const Ensemble *ensemble, Blame *blame) {
        for (unsigned s = 0; s < ensemble->n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        for (unsigned p = 0; p < PORTS; p++) {
                                Member member = { (uint8_t) s, (uint8_t) c };

                                if (!is_culprit(blame, member) && !is_culprit(blame, ensemble_sender(ensemble, member, p)))
                                        continue;
                                blame->ties.edges[s][c] &= (uint8_t) ~(1u << p);
                                if (s == 0)
                                        blame->ties.sums[c] &= (uint8_t) ~(1u << p);
                        }
}

void ensemble_blame(const Ensemble *ensemble, const Wrongs *wrongs, Blame *ret) {
        unsigned n_ports;
        DataRole role;
        Member worst;

        memset(ret, 0, sizeof(*ret));
        list_marks(wrongs, &ret->ties);
        while ((n_ports = find_worst(ensemble, wrongs, ret, &worst, &role)) > 0) {
                ret->culprits[worst.server][worst.chip] = (Culprit) { role, n_ports };
                ret->n_culprits++;
                explain(ensemble, &ret->ties, worst, role);
        }
        drop_explained(ensemble, ret);
}

/* Of the two servers of what lies between MEMBER and the chip at PORT. */
static unsigned doubtful_servers(const Ensemble *ensemble, Member member, unsigned port, unsigned shown) {
        Member far = ensemble_sender(ensemble, member, port);

        if (shown >> far.server & 1)
                return 0;
        return (1u << member.server | 1u << far.server) & ~shown;
}

unsigned ensemble_doubts(const Ensemble *ensemble, const Wrongs *wrongs, unsigned shown) {
        unsigned servers = 0;
        Blame blame;

        ensemble_blame(ensemble, wrongs, &blame);
        for (unsigned s = 0; s < ensemble->n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        for (unsigned p = 0; p < PORTS; p++) {
                                Member member = { (uint8_t) s, (uint8_t) c };

                                if (is_marked(&blame.ties, member, p))
                                        servers |= doubtful_servers(ensemble, member, p, shown);
                        }
        return servers > 0 || blame.n_culprits > 0 || shown > 0 ? servers : 1;
}

/* ---- what cannot be told ---- */

static int find_end(Ensemble *ensemble, const Wrongs *wrongs, Member member, Member far, uint32_t n, const char *words) {
        Evidence evidence = { .has_count = true, .count = n, .decided = { "collective_runs_wrong_either_end", n, 0 } };
        char text[LOCATION_STRING_MAX];

        evidence.far_end = ensemble_name(ensemble, far, CHAIR_CHIP, text);
        ensemble_chair(ensemble, member)->tied = true;
        return ensemble_find(ensemble, TROUBLE_EITHER, member, CHAIR_CHIP, &evidence,
                             "%u %s between it and %s were wrong. In %u runs more of all chips neither of the two was wrong with enough others: it is one "
                             "of them, and which cannot be told", n, words, text, wrongs->n_gathers);
}

/*
 * Of two chips of the server, both; of one of it and one of another server, whose step has more of that one to go by, its own. Links check what they
 * carry, so what such a one passed on is its own doing first of all: where its own collectives show anything, its step tells.
 */
static int find_both_ends(Ensemble *ensemble, Wrongs *wrongs, Member member, unsigned port, uint32_t n, const char *words) {
        Member far = ensemble_sender(ensemble, member, port);
        unsigned other = member.server > 0 ? member.server : far.server;
        int r = other > 0 ? ensemble_shows(ensemble, other, TROUBLE_DATA, member.server > 0 ? member.chip : far.chip) : 0;

        if (r != 0)
                return r < 0 ? r : 0;
        if (member.server > 0 && far.server > 0) {
                wrongs->n_unplaced += n;
                return 0;
        }
        if (member.server == 0)
                r = find_end(ensemble, wrongs, member, far, n, words);
        return r >= 0 && far.server == 0 ? find_end(ensemble, wrongs, far, member, n, words) : r;
}

int ensemble_find_ties(Ensemble *ensemble, Wrongs *wrongs, const Blame *blame) {
        int r = 0;

        for (unsigned s = 0; s < ensemble->n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        for (unsigned p = 0; p < PORTS && r >= 0; p++) {
                                Member member = { (uint8_t) s, (uint8_t) c };

                                if (blame->ties.edges[s][c] >> p & 1)
                                        r = find_both_ends(ensemble, wrongs, member, p, wrongs->edges[s][c][p], "blocks");
                                else if (s == 0 && blame->ties.sums[c] >> p & 1)
                                        r = find_both_ends(ensemble, wrongs, member, p, wrongs->sums[c][p].n_wrong, "sums");
                        }
        return r;
}
