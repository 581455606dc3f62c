/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/links/cable.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/chip/topology.h"
#include "sim/links/link.h"

#define DRAW_CABLE 2000u

unsigned link_port_lanes(LinkPort port) {
        return port == LINK_Z_PLUS || port == LINK_Z_MINUS ? LINK_LANES_Z : LINK_LANES_XY;
}

Location link_location(const Link *link) {
        const char *server = chip_server_name(link->chip);
        Location at = {};

        memcpy(at.server, server, strnlen(server, sizeof(at.server) - 1));
        (void) location_append(&at, LOCATION_CHIP, chip_index(link->chip));
        (void) location_append(&at, LOCATION_LINK, link->port);
        return at;
}

Link *link_designed(const Link *link) {
        Chip *neighbour;

        if (link->designed)
                return link->designed;

        neighbour = chip_neighbour(link->chip, link->port);
        return ((Link *) link)->designed = neighbour ? chip_part(neighbour, &model_link, link_port_opposite(link->port)) : NULL;
}

bool cable_is_trace(unsigned chip, LinkPort port) {
        /* Tray partners sit side by side, columns 3-0 and 1-2 of a row: a trace of their board, no cable. */
        return port == (chip % 2 == 1 ? LINK_X_PLUS : LINK_X_MINUS);
}

/* ---- what sits where ---- */

static bool is_given_away(const Link *socket) {
        return socket->socket.holds || socket->socket.loopback;
}

/* The port whose plug sits at SOCKET; NULL: none, or a loopback plug. */
static Link *plug_at(const Link *socket) {
        if (is_given_away(socket))
                return socket->socket.holds;
        return socket->socket.moved_to || socket->socket.pulled ? NULL : (Link *) socket;
}

/* Where the plug of PORT sits; NULL: it hangs loose. */
static Link *seat_of(const Link *port) {
        if (port->socket.moved_to)
                return port->socket.moved_to;
        return port->socket.pulled || is_given_away(port) ? NULL : (Link *) port;
}

bool cable_is_present(const Link *link) {
        return link->socket.loopback || plug_at(link);
}

/* NULL too where the design knows no such port. */
static Link *other_seat(const Link *link) {
        const Link *plug = plug_at(link), *other = plug ? link_designed(plug) : NULL;

        return other ? seat_of(other) : NULL;
}

Link *link_far(const Link *link) {
        Link *far;

        if (link->socket.loopback)
                return (Link *) link;
        far = other_seat(link);
        return far ? far : link_designed(link);
}

static bool breaks(const Link *plug) {
        for (size_t i = 0; i < plug->n_faults; i++)
                if (cable_fault_breaks(plug->faults[i]))
                        return true;

        return false;
}

bool cable_is_broken(const Link *link) {
        const Link *plug = plug_at(link);

        if (link->socket.loopback)
                return false;
        return !plug || !other_seat(link) || breaks(plug) || breaks(link_designed(plug));
}

/* ---- what stands on it ---- */

/* Which port the plug at PORT names, by TOLD where a fault tells another. 0: a trace, on which nothing stands; -ENOENT as below. */
static int read_plug(Chip *chip, LinkPort port, const Location *(*told)(const Fault *fault), Location *ret) {
        const Link *link = chip_part(chip, &model_link, port), *plug = link && link_designed(link) ? plug_at(link) : NULL;

        if (!plug)
                return -ENOENT;
        if (cable_is_trace(chip_index(plug->chip), plug->port))
                return 0;

        *ret = link_location(plug);
        for (size_t i = 0; i < plug->n_faults; i++)
                if (told(plug->faults[i]))
                        *ret = *told(plug->faults[i]);
        return 1;
}

int cable_serial(Chip *chip, LinkPort port, char *text, size_t size) {
        Location at;
        int r;

        text[0] = '\0';
        r = read_plug(chip, port, cable_fault_serial, &at);
        if (r <= 0)
                return r;

        /* Both ends of a cable tell the same number: that of its plus end. */
        if (link_fault_port(&at) % 2 == 1)
                at = link_far_end(&at);
        (void) snprintf(text, size, "NLC%012" PRIX64, draw_u64(chip, &at, 0, DRAW_CABLE) >> 16);
        return 0;
}

int cable_label(Chip *chip, LinkPort port, char *text, size_t size) {
        char label[LOCATION_STRING_MAX];
        Location at;
        int r;

        text[0] = '\0';
        r = read_plug(chip, port, cable_fault_label, &at);
        if (r > 0)
                (void) snprintf(text, size, "%s", location_format(&at, label));
        return r < 0 ? r : 0;
}

/* ---- moving plugs ---- */

static bool is_possible(const PlugMove *moves, int n) {
        for (int i = 0; i < n; i++) {
                if (moves[i].plug && (moves[i].plug->socket.moved_to || moves[i].plug->socket.pulled))
                        return false;
                if (moves[i].to && is_given_away(moves[i].to))
                        return false;
                for (int k = 0; k < i; k++)
                        if (moves[k].plug == moves[i].plug || (moves[i].to && moves[k].to == moves[i].to))
                                return false;
        }

        return true;
}

static void plug_move(const PlugMove *move, bool back) {
        if (move->plug) {
                move->plug->socket.moved_to = back ? NULL : move->to;
                move->plug->socket.pulled = !back && !move->to;
        } else
                move->to->socket.loopback = !back;
        if (move->plug && move->to)
                move->to->socket.holds = back ? NULL : move->plug;
}

int cable_inject(Link *link, const Fault *fault) {
        PlugMove moves[PLUG_MOVES_MAX];
        int n;

        n = cable_fault_moves(link, fault, moves);
        if (n < 0)
                return n;
        if (!is_possible(moves, n))
                return -EEXIST;

        for (int i = 0; i < n; i++)
                plug_move(&moves[i], false);
        return 0;
}

void cable_heal(Link *link, const Fault *fault) {
        PlugMove moves[PLUG_MOVES_MAX];
        int n = cable_fault_moves(link, fault, moves);

        for (int i = 0; i < n; i++)
                plug_move(&moves[i], true);
}
