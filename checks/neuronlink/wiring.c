/* SPDX-License-Identifier: Apache-2.0 */

#include "checks/neuronlink/wiring.h"

#include <stdio.h>
#include <string.h>

#define PORTS_OF_SERVER (CHIPS * PORTS)
#define TOLD_MAX (RING * LOCATION_STRING_MAX)

static_assert(CABLING_PORTS_MAX == RING * PORTS_OF_SERVER, "every port of a ring has a number");

/* ---- numbers ---- */

static unsigned rank_of(const Fabric *fabric, unsigned server) {
        unsigned rank = 0;

        for (unsigned s = 0; s < fabric->n_servers; s++)
                rank += strcmp(fabric->servers[s].name, fabric->servers[server].name) < 0;
        return rank;
}

static uint16_t number_of(const Fabric *fabric, PortId id) {
        return (uint16_t) (rank_of(fabric, id.server) * PORTS_OF_SERVER + id.chip * PORTS + id.port);
}

static PortId id_of(const Fabric *fabric, uint16_t number) {
        PortId id = { .chip = (uint8_t) (number % PORTS_OF_SERVER / PORTS), .port = (uint8_t) (number % PORTS) };

        while (rank_of(fabric, id.server) != number / PORTS_OF_SERVER)
                id.server++;
        return id;
}

static const Port *port_at(const Fabric *fabric, PortId id) {
        return &fabric->servers[id.server].ports[id.chip][id.port];
}

/* ---- what sits where ---- */

/* The port that the topology file gives this label, else the one whose location stands on it. */
static uint16_t home_of(const Fabric *fabric, const char *label) {
        Location where;
        PortId id = {};

        for (uint16_t i = 0; label[0] && i < fabric->n_servers * PORTS_OF_SERVER; i++) {
                const Port *port = port_at(fabric, id_of(fabric, i));

                if (port->wanted_label && strcmp(port->wanted_label, label) == 0)
                        return i;
        }
        if (label[0] == '\0' || location_parse(label, &where, NULL, NULL) < 0 || location_kind(&where) != LOCATION_LINK)
                return CABLING_NOWHERE;

        for (; id.server < fabric->n_servers; id.server++)
                if (strcmp(fabric->servers[id.server].name, where.server) == 0) {
                        id.chip = (uint8_t) location_index(&where, LOCATION_CHIP);
                        id.port = (uint8_t) location_index(&where, LOCATION_LINK);
                        return number_of(fabric, id);
                }

        return CABLING_NOWHERE;
}

static CablingPort read_port(const Fabric *fabric, PortId id) {
        const Port *port = port_at(fabric, id);
        CablingPort read = { .designed = CABLING_NOWHERE, .home = home_of(fabric, port->label) };
        const char *tray;
        PortId far;

        if (!port->driven || !fabric_designed(fabric, id, &far))
                return read;

        tray = step_tray(fabric->step, fabric->servers[id.server].name, id.chip);
        read.designed = number_of(fabric, far);
        read.place = (uint16_t) (rank_of(fabric, id.server) * CHIPS + strtoul(tray, NULL, 10) % CHIPS);
        if (port->empty)
                read.plug = CABLING_EMPTY;
        else if (port->heard == HEARD_PORT && port_id_equal(port->from, id))
                read.plug = port->frames == FRAMES_ECHO ? CABLING_UNKNOWN : CABLING_LOOPBACK;
        else if (port->heard == HEARD_PORT) {
                read.plug = CABLING_JOINED;
                read.far = number_of(fabric, port->from);
        }
        return read;
}

void wiring_solve(Fabric *fabric) {
        Cabling *cabling = &fabric->cabling;

        memset(cabling->group, 0xff, sizeof(cabling->group)); /* CABLING_NOWHERE */
        memset(cabling->mended, 0xff, sizeof(cabling->mended));
        if (fabric->as_designed)
                return;

        cabling->n = fabric->n_servers * PORTS_OF_SERVER;
        for (uint16_t i = 0; i < cabling->n; i++)
                cabling->ports[i] = read_port(fabric, id_of(fabric, i));
        cabling_solve(cabling);
}

/* ---- words ---- */

/* Which plug sits where while the moves are played: by the port that it sat in at first. */
typedef struct Played {
        uint16_t plugs[CABLING_PORTS_MAX];
} Played;

static void play(Played *played, const Cabling *cabling, size_t n) {
        for (uint16_t i = 0; i < cabling->n; i++)
                played->plugs[i] = i;
        for (size_t m = 0; m < n; m++) {
                const CablingMove *move = &cabling->moves[m];
                uint16_t plug = played->plugs[move->a];

                if (move->kind == CABLING_CONNECT)
                        continue;
                played->plugs[move->a] = played->plugs[move->b];
                played->plugs[move->b] = plug;
        }
}

/* "tray 3 chip 10 port y+ (NLC0123456789AB)", with the server where plugs go from one to the next. */
static void format_end(const Fabric *fabric, const Played *played, uint16_t number, char text[static 128]) {
        PortId id = id_of(fabric, number);
        const FabricServer *server = &fabric->servers[id.server];
        bool z = id.port == LINK_Z_PLUS || id.port == LINK_Z_MINUS;
        const char *tray = step_tray(fabric->step, server->name, id.chip);
        const char *serial = port_at(fabric, id_of(fabric, played->plugs[number]))->cable;

        (void) snprintf(text, 128, "%s%s%s%.8s%schip %u port %s%s%s%s", z ? server->name : "", z ? " " : "", tray[0] ? "tray " : "",
                        tray, tray[0] ? " " : "", id.chip, link_port_to_string((LinkPort) id.port), serial[0] ? " (" : "", serial,
                        serial[0] ? ")" : "");
}

static void format_move(const Fabric *fabric, size_t index, char text[static MOVE_TEXT_MAX]) {
        const CablingMove *move = &fabric->cabling.moves[index];
        bool loop_a = move->was_a == CABLING_LOOPBACK, loop_b = move->was_b == CABLING_LOOPBACK;
        char a[128], b[128];
        Played played;

        play(&played, &fabric->cabling, index);
        format_end(fabric, &played, move->a, a);
        format_end(fabric, &played, move->b, b);
        switch (move->kind) {
        case CABLING_EXCHANGE:
                (void) snprintf(text, MOVE_TEXT_MAX, "swap the cables in %s and %s", a, b);
                return;
        case CABLING_PLUG:
                (void) snprintf(text, MOVE_TEXT_MAX, "move the plug from %s to %s%s", a, b,
                                loop_b ? ", and put the loopback plug there away" : "");
                return;
        case CABLING_CONNECT:
                if (move->was_a == CABLING_UNKNOWN || move->was_b == CABLING_UNKNOWN)
                        (void) snprintf(text, MOVE_TEXT_MAX, "put the other end of the cable in %s into %s%s",
                                        move->was_a == CABLING_UNKNOWN ? a : b, move->was_a == CABLING_UNKNOWN ? b : a,
                                        loop_a || loop_b ? ", in place of the loopback plug" : "");
                else
                        (void) snprintf(text, MOVE_TEXT_MAX, "connect %s and %s with a cable%s", a, b,
                                        loop_a || loop_b ? ", in place of loopback plugs" : "");
                return;
        }
}

/* ---- verdicts ---- */

/* The moves of one ring or path stand one after the other: the first of GROUP, and in RET how many. */
static size_t group_moves(const Cabling *cabling, uint16_t group, unsigned *ret) {
        size_t first = 0;

        while (first < cabling->n_moves && cabling->moves[first].group != group)
                first++;
        for (*ret = 0; first + *ret < cabling->n_moves && cabling->moves[first + *ret].group == group;)
                (*ret)++;
        return first;
}

unsigned wiring_move_of(const Fabric *fabric, PortId id, unsigned *ret_number, char text[static MOVE_TEXT_MAX]) {
        const Cabling *cabling = &fabric->cabling;
        uint16_t number = number_of(fabric, id);
        unsigned n;
        size_t first;

        if (cabling->mended[number] == CABLING_NOWHERE)
                return 0;

        first = group_moves(cabling, cabling->group[number], &n);
        *ret_number = (unsigned) (cabling->mended[number] - first) + 1;
        format_move(fabric, cabling->mended[number], text);
        return n;
}

unsigned wiring_ports_of(const Fabric *fabric, PortId id) {
        uint16_t group = fabric->cabling.group[number_of(fabric, id)];
        unsigned n = 0;

        for (size_t i = 0; group != CABLING_NOWHERE && i < fabric->cabling.n; i++)
                n += fabric->cabling.group[i] == group;
        return n;
}

/* Whether a port of the server under test is in GROUP. */
static bool concerns(const Fabric *fabric, uint16_t group) {
        size_t first = rank_of(fabric, 0) * PORTS_OF_SERVER;

        for (size_t i = first; i < first + PORTS_OF_SERVER; i++)
                if (fabric->cabling.group[i] == group)
                        return true;

        return false;
}

/*
 * " (told at us0-1 and us0-2: make it once)": a move of a ring or path between servers stands in what each of them is told, in these same
 * words, and made twice it is undone. "" where one server alone is told.
 */
static void format_told(const Fabric *fabric, uint16_t group, char text[static TOLD_MAX]) {
        const char *names[RING];
        size_t length = 0;
        unsigned n = 0;

        for (uint16_t i = 0; i < fabric->cabling.n; i++) {
                const char *name = fabric->servers[id_of(fabric, i).server].name;

                if (fabric->cabling.group[i] == group && (n == 0 || strcmp(names[n - 1], name) != 0))
                        names[n++] = name;
        }
        text[0] = '\0';
        for (unsigned k = 0; n > 1 && k < n && length < TOLD_MAX; k++)
                length += (size_t) snprintf(text + length, TOLD_MAX - length, "%s%s%s", k == 0 ? " (told at " : k + 1 == n ? " and " : ", ",
                                            names[k], k + 1 == n ? ": make it once)" : "");
}

int wiring_judge(Fabric *fabric, Verdict *verdict) {
        const Cabling *cabling = &fabric->cabling;
        char text[STREAM_MESSAGE_MAX - 128] = "", move[MOVE_TEXT_MAX], told[TOLD_MAX], first[MOVE_TEXT_MAX] = "";
        unsigned n = 0, n_told = 0;
        size_t length = 0;
        Evidence evidence = { .actual = first, .has_count = true, .replaceable = "cables" };

        for (size_t i = 0; i < cabling->n_moves; i++) {
                if (!concerns(fabric, cabling->moves[i].group))
                        continue;
                n++;
                format_move(fabric, i, move);
                if (n == 1)
                        (void) snprintf(first, sizeof(first), "%s", move);
                format_told(fabric, cabling->moves[i].group, told);
                if (n_told + 1 < n || length + strlen(move) + strlen(told) + 8 >= sizeof(text))
                        continue; /* each of its ports tells it too */
                n_told++;
                length += (size_t) snprintf(text + length, sizeof(text) - length, "%s%s%s", n > 1 ? "; then " : "", move, told);
        }
        if (n == 0)
                return 0;

        evidence.count = n;
        evidence.decided = (Decided) { "neuronlink_cable_moves", n, 0 };
        return step_finding(fabric->step, verdict, "link-cabling", NULL, &evidence, "%u move%s put%s the cables right: %s%s", n,
                            n > 1 ? "s" : "", n > 1 ? "" : "s", text, n_told < n ? "; the others stand at their ports" : "");
}
