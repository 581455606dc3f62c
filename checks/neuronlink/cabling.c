/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/neuronlink/cabling.h"

#include <limits.h>
#include <stdbool.h>

/* What sits where, as it changes with the moves. */
typedef struct Wall {
        size_t n;
        CablingPort ports[CABLING_PORTS_MAX];
} Wall;

static bool leads_back(const Cabling *cabling, uint16_t port, uint16_t there, uint16_t back) {
        return there < cabling->n && there != port && back == port;
}

static void wall_init(Wall *wall, const Cabling *cabling) {
        wall->n = cabling->n;
        for (uint16_t p = 0; p < wall->n; p++) {
                CablingPort *port = &wall->ports[p];

                *port = cabling->ports[p];
                if (!leads_back(cabling, p, port->designed, port->designed < cabling->n ? cabling->ports[port->designed].designed : 0))
                        port->designed = CABLING_NOWHERE;
        }

        for (uint16_t p = 0; p < wall->n; p++) {
                CablingPort *port = &wall->ports[p];
                const CablingPort *far = port->far < cabling->n ? &cabling->ports[port->far] : NULL;

                if (port->plug != CABLING_JOINED)
                        continue;
                if (!far || far->plug != CABLING_JOINED || !leads_back(cabling, p, port->far, far->far) ||
                    wall->ports[port->far].designed == CABLING_NOWHERE || port->designed == CABLING_NOWHERE)
                        port->plug = CABLING_UNKNOWN;
        }
}

static bool is_right(const Wall *wall, uint16_t p) {
        const CablingPort *port = &wall->ports[p];

        if (port->designed == CABLING_NOWHERE)
                return true;
        if (port->plug == CABLING_JOINED)
                return port->far == port->designed;
        return port->plug == CABLING_UNKNOWN && wall->ports[port->designed].plug == CABLING_UNKNOWN;
}

/* Rings and paths of wrong plugs: along designed links and cables in turn, whatever is wrong on the way. */
static void find_groups(const Wall *wall, Cabling *cabling) {
        bool grown;

        for (uint16_t p = 0; p < wall->n; p++)
                cabling->group[p] = is_right(wall, p) ? CABLING_NOWHERE : p;

        do {
                grown = false;
                for (uint16_t p = 0; p < wall->n; p++) {
                        const CablingPort *port = &wall->ports[p];
                        uint16_t beside[2] = { port->designed, port->plug == CABLING_JOINED ? port->far : port->designed };

                        for (unsigned i = 0; cabling->group[p] != CABLING_NOWHERE && i < 2; i++)
                                if (cabling->group[beside[i]] < cabling->group[p]) {
                                        cabling->group[p] = cabling->group[beside[i]];
                                        grown = true;
                                }
                }
        } while (grown);
}

/* How many more of the two plugs are where their labels say when they have changed places. */
static int labels_gained(const Wall *wall, uint16_t a, uint16_t b) {
        uint16_t home_a = wall->ports[a].plug == CABLING_JOINED ? wall->ports[a].home : CABLING_NOWHERE;
        uint16_t home_b = wall->ports[b].plug == CABLING_JOINED ? wall->ports[b].home : CABLING_NOWHERE;

        return (home_a == b) + (home_b == a) - (home_a == a) - (home_b == b);
}

typedef struct Choice {
        CablingMove move;
        uint16_t closes; /* this port's designed link */
        int worth;
} Choice;

static void consider(const Wall *wall, uint16_t p, uint16_t from, uint16_t to, CablingMoveKind kind, Choice *best) {
        Choice choice = {
                .move = { .kind = kind, .a = from, .b = to, .was_a = wall->ports[from].plug, .was_b = wall->ports[to].plug },
                .closes = p,
                .worth = 2 * labels_gained(wall, from, to) + (wall->ports[from].place == wall->ports[to].place),
        };

        if (choice.worth > best->worth)
                *best = choice;
}

/* Each of these closes the link between P and where it should lead. */
static void consider_port(const Wall *wall, uint16_t p, Choice *best) {
        const CablingPort *port = &wall->ports[p];
        uint16_t to = port->designed;
        CablingPlug there = wall->ports[to].plug;

        if (port->plug == CABLING_JOINED)
                consider(wall, p, port->far, to,
                         there == CABLING_EMPTY || there == CABLING_LOOPBACK ? CABLING_PLUG : CABLING_EXCHANGE, best);
        else if (there != CABLING_JOINED && p < to)
                consider(wall, p, p, to, CABLING_CONNECT, best);
}

static void set_plug(Wall *wall, uint16_t p, const CablingPort *taken) {
        CablingPort *port = &wall->ports[p];

        port->plug = taken->plug == CABLING_LOOPBACK ? CABLING_EMPTY : taken->plug; /* put away */
        port->far = taken->far;
        port->home = taken->home;
        if (port->plug == CABLING_JOINED)
                wall->ports[port->far].far = p;
}

static void wall_move(Wall *wall, const CablingMove *move) {
        CablingPort a = wall->ports[move->a], b = wall->ports[move->b];

        if (move->kind == CABLING_CONNECT) {
                a = (CablingPort) { .plug = CABLING_JOINED, .far = move->a, .home = CABLING_NOWHERE };
                b = (CablingPort) { .plug = CABLING_JOINED, .far = move->b, .home = CABLING_NOWHERE };
        }
        set_plug(wall, move->a, &b);
        set_plug(wall, move->b, &a);
}

static void solve_group(Wall *wall, Cabling *cabling, uint16_t group) {
        for (;;) {
                Choice best = { .worth = INT_MIN };

                for (uint16_t p = 0; p < wall->n; p++)
                        if (cabling->group[p] == group && !is_right(wall, p))
                                consider_port(wall, p, &best);
                if (best.worth == INT_MIN)
                        return;

                best.move.group = group;
                wall_move(wall, &best.move);
                for (uint16_t p = 0; p < wall->n; p++)
                        if (cabling->group[p] == group && cabling->mended[p] == CABLING_NOWHERE && is_right(wall, p))
                                cabling->mended[p] = (uint16_t) cabling->n_moves;
                cabling->moves[cabling->n_moves++] = best.move;
        }
}

void cabling_solve(Cabling *cabling) {
        Wall wall;

        wall_init(&wall, cabling);
        find_groups(&wall, cabling);
        cabling->n_moves = 0;
        for (uint16_t p = 0; p < wall.n; p++)
                cabling->mended[p] = CABLING_NOWHERE;
        for (uint16_t p = 0; p < wall.n; p++)
                if (cabling->group[p] == p)
                        solve_group(&wall, cabling, p);
}
