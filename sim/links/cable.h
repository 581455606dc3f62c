/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cable
 *
 * Every link is a cable with two plugs; a plug is called by the port that it belongs to, and on its label stands that port. A
 * fault puts plugs elsewhere: what sits where follows from all faults together, whatever their order, so that the wiring is
 * right again when the last of them is healed. A plug whose socket was given to another one hangs loose, unless a fault says where
 * it went. The link between tray partners is a trace of their board, which nobody can move.
 */

#include <stdbool.h>
#include <stddef.h>

#include "checks/vocabulary/location.h"
#include "sim/chip/model.h"

typedef struct Link Link; /* sim/links/link.h */

/* What faults did at one port; all zero: nothing. */
typedef struct Socket {
        Link *moved_to; /* the plug that belongs here was put there … */
        bool pulled;    /* … or hangs loose */
        Link *holds;    /* the plug of that port was put here */
        bool loopback;  /* a loopback plug was put here */
} Socket;

/* The port the design wants at the other end, NULL where this chip has no such port. */
Link *link_designed(const Link *link);
/* The port that is there; where the cable leads nowhere the designed one, and cable_is_broken() says so. */
Link *link_far(const Link *link);
/* Whether nothing comes through what is plugged in at LINK, or nothing is. */
bool cable_is_broken(const Link *link);
bool cable_is_present(const Link *link);
bool cable_is_trace(unsigned chip, LinkPort port);

/* Serial number and label of the plug at PORT, "" for a trace; -ENOENT without such a port, or without a plug of a cable. */
int cable_serial(Chip *chip, LinkPort port, char *text, size_t size);
int cable_label(Chip *chip, LinkPort port, char *text, size_t size);

/* ---- faults (cable-kinds.c) ---- */

extern const FaultKind cable_kinds[];

/* What a fault does to the cable at the port that has it, beyond moving plugs. */
bool cable_fault_breaks(const Fault *fault);
/* The port whose cable's number, or whose label, this plug tells instead of its own; NULL: its own. */
const Location *cable_fault_serial(const Fault *fault);
const Location *cable_fault_label(const Fault *fault);

/* Where one plug goes; of a loopback plug there is no `plug`. */
typedef struct PlugMove {
        Link *plug;
        Link *to; /* NULL: it hangs loose */
} PlugMove;

#define PLUG_MOVES_MAX 8u

/* What FAULT at LINK moves. Returns how many, or -ENXIO where there is no such port. */
int cable_fault_moves(Link *link, const Fault *fault, PlugMove ret[static PLUG_MOVES_MAX]);

/* -EEXIST where one of the plugs was moved already, or one of the sockets given away. What does not move plugs is let in. */
int cable_inject(Link *link, const Fault *fault);
void cable_heal(Link *link, const Fault *fault);
