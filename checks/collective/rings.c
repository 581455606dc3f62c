/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Which way collectives go. A torus of 4 × 4 (4 × 4 × 4) falls into two (three) Hamiltonian cycles that share no link; each is gone both
 * ways, so that every link of every chip works in both directions. A walk begins at chip 0 of the first server; a small letter is a
 * step along the plus port of its axis, a capital one along the minus port.
 */

#include <string.h>

#include "checks/collective/collective.h"

static const char *const server_walks[] = {
        "XYxxxyXyxxyXXXYY",
        "xYYYXXYXyyyxYxyy",
};
static const char *const ultraserver_walks[] = {
        "xyXyzYxyzxYzxxxZYYZxxxZXXXYZXXXzxYXYzXXXZZZxyXZXyxzxyzxxxZXyzXXz",
        "XyxZZxyXzzXzxyxZZZXyZyXYzyXZXYzxZYYXZYxyyyXZyyxYYYZYxyZZZYYYxYzy",
        "yzzyZxyyZYXYxxzzzyzzzXYzyyZXzyyyXyXzxYYZZYzzzyyyXyZZXzzzxYxYxZyZ",
};

static unsigned walk_port(char step) {
        static const char steps[] = "xXyYzZ";

        return (unsigned) (strchr(steps, step) - steps);
}

bool ensemble_has(const Ensemble *ensemble, Member member) {
        return ensemble->servers[member.server].device &&
               step_includes(ensemble->step, ensemble->servers[member.server].name, member.chip);
}

static Member neighbour(Member member, unsigned port) {
        unsigned ahead = port % 2 == 0 ? 1 : 3, row = member.chip / 4, column = member.chip % 4;

        if (port < LINK_Y_PLUS)
                member.chip = (uint8_t) (4 * row + (column + ahead) % 4);
        else if (port < LINK_Z_PLUS)
                member.chip = (uint8_t) (4 * ((row + ahead) % 4) + column);
        else
                member.server = (uint8_t) ((member.server + ahead) % RING_SERVERS);
        return member;
}

bool ensemble_neighbour(const Ensemble *ensemble, Member member, unsigned port, Member *ret) {
        if (port >= LINK_Z_PLUS && ensemble->n_servers == 1)
                return false;

        *ret = neighbour(member, port);
        return ensemble_has(ensemble, *ret);
}

/* Both directions of one walk are rings 2w and 2w + 1. */
static void lay_walk(Recital *recital, const char *walk, unsigned w) {
        unsigned ports[RANKS_MAX], n = recital->n;
        uint8_t order[2][RANKS_MAX] = {};
        Member at = {};

        for (unsigned p = 0; p < n; p++) {
                ports[p] = walk_port(walk[p]);
                order[0][p] = order[1][(n - p) % n] = (uint8_t) (at.server * CHIPS + at.chip);
                at = neighbour(at, ports[p]);
        }
        for (unsigned p = 0; p < n; p++) {
                unsigned rank = order[0][p], there = ports[p];
                unsigned back = (unsigned) link_port_opposite((LinkPort) ports[(p + n - 1) % n]);
                WireCollectiveRing *rings = &recital->ranks[rank].rings[2 * w];

                rings[0] = (WireCollectiveRing) { (uint8_t) there, (uint8_t) back, (uint8_t) p, 0, {} };
                rings[1] = (WireCollectiveRing) { (uint8_t) back, (uint8_t) there, (uint8_t) ((n - p) % n), 0, {} };
                memcpy(rings[0].order, order[0], sizeof(order[0]));
                memcpy(rings[1].order, order[1], sizeof(order[1]));
                recital->from[rank][2 * w] = order[0][(p + n - 1) % n];
                recital->from[rank][2 * w + 1] = order[0][(p + 1) % n];
        }
}

void recital_lay_rings(Recital *recital) {
        bool ultra = recital->post.ranks > CHIPS;
        const char *const *walks = ultra ? ultraserver_walks : server_walks;
        unsigned n_walks = ultra ? ELEMENTS(ultraserver_walks) : ELEMENTS(server_walks);

        recital->n = recital->post.ranks;
        recital->post.rings = (uint8_t) (2 * n_walks);
        for (unsigned r = 0; r < recital->n; r++)
                recital->members[r] = (Member) { (uint8_t) (r / CHIPS), (uint8_t) (r % CHIPS) };
        for (unsigned w = 0; w < n_walks; w++)
                lay_walk(recital, walks[w], w);
}

void recital_keep_ring(Recital *recital, unsigned ring) {
        recital->post.rings = 1;
        for (unsigned r = 0; r < recital->n; r++) {
                recital->ranks[r].rings[0] = recital->ranks[r].rings[ring];
                recital->from[r][0] = recital->from[r][ring];
        }
}

/* Whether a run has stopped at PORT of MEMBER, or, for any port, at its chip, and this one is to come to its end without it. */
static bool is_avoided(const Ensemble *ensemble, Member member, unsigned port) {
        const Chair *chair = &ensemble->servers[member.server].chairs[member.chip];

        return ensemble->avoids && (chair->silent || chair->found[TROUBLE_HANG] & (1u << CHAIR_CHIP | 1u << port));
}

void recital_lay_neighbours(Recital *recital, bool ahead, bool behind) {
        const bool takes_part[RING_SERVERS] = { true, ahead, false, behind };
        const Ensemble *ensemble = recital->ensemble;
        uint8_t ranks[RING_SERVERS][CHIPS];

        memset(ranks, NOBODY, sizeof(ranks));
        for (unsigned s = 0; s < ensemble->n_servers; s++)
                for (unsigned c = 0; c < CHIPS && takes_part[s]; c++)
                        if (ensemble_has(ensemble, (Member) { (uint8_t) s, (uint8_t) c }) &&
                            !is_avoided(ensemble, (Member) { (uint8_t) s, (uint8_t) c }, CHAIR_CHIP)) {
                                recital->members[recital->n] = (Member) { (uint8_t) s, (uint8_t) c };
                                ranks[s][c] = (uint8_t) recital->n++;
                        }
        recital->post.ranks = (uint8_t) recital->n;
        recital->post.rings = ensemble->n_servers > 1 ? PORTS : LINK_Z_PLUS;
        for (unsigned r = 0; r < recital->n; r++)
                for (unsigned p = 0; p < recital->post.rings; p++) {
                        Member far = neighbour(recital->members[r], p);
                        /* Of the other servers only what is plugged to the one under test. */
                        bool sends = (recital->members[r].server == 0 || far.server == 0) && !is_avoided(ensemble, recital->members[r], p) &&
                                     !is_avoided(ensemble, far, (unsigned) link_port_opposite((LinkPort) p));
                        uint8_t port = (uint8_t) p;

                        recital->from[r][p] = sends ? ranks[far.server][far.chip] : NOBODY;
                        if (recital->from[r][p] == NOBODY)
                                port = COLLECTIVE_NO_PORT;
                        recital->ranks[r].rings[p].send_port = recital->ranks[r].rings[p].receive_port = port;
                }
}

void recital_lay_pairs(Recital *recital, unsigned port) {
        for (unsigned c = 0; c < CHIPS; c++) {
                Member one = { 0, (uint8_t) c }, far;

                if ((port < LINK_Y_PLUS ? c : c / 4) % 2 != 0 || !ensemble_has(recital->ensemble, one) ||
                    !ensemble_neighbour(recital->ensemble, one, port, &far))
                        continue;
                for (unsigned i = 0; i < 2; i++) {
                        unsigned own = i == 0 ? port : (unsigned) link_port_opposite((LinkPort) port);

                        recital->members[recital->n + i] = i == 0 ? one : far;
                        recital->from[recital->n + i][0] = (uint8_t) (recital->n + 1 - i);
                        recital->ranks[recital->n + i].rings[0] =
                                        (WireCollectiveRing) { (uint8_t) own, (uint8_t) own, (uint8_t) i, 0, { 0, 1 } };
                }
                recital->n += 2;
        }
        recital->paired = true;
        recital->post.ranks = 2;
        recital->post.rings = 1;
}
