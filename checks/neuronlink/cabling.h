/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Cabling
 *
 * From what sits in every port to the fewest moves that make it what the design wants. It knows ports by number only: no device,
 * no torus, no words.
 *
 * A move touches two ports, and all moves cost the same: a technician stands before two sockets, has the plugs of both in hand, and
 * puts in again what belongs there. What takes time, and what can go wrong, is to find the two sockets; whether one plug leaves
 * an empty socket or two plugs change places is the same walk. So there are three kinds:
 *
 *     exchange  two plugs change places
 *     plug      a plug goes to a port where nothing is, or where a loopback plug is, which is put away
 *     connect   a cable goes between two ports without one; or the loose end of one port's cable into the other port
 *
 * Why the result is the smallest: designed links and cables, drawn as edges between ports, make rings and paths of the two in turn. A
 * ring of k cables needs k - 1 moves, a path of k cables k, and one more for the cable it is short of (none where nothing is known
 * of either of its ends: that may be one cable which only cannot be heard). A move joins or parts two rings or paths at most, so
 * it saves one at most; and here each move closes a designed link, which saves one always. Cables of one kind are alike, so it does
 * not matter which of them closes a link; where there is a choice, the plug goes where its label says.
 */

#include <stddef.h>
#include <stdint.h>

#define CABLING_PORTS_MAX 384u
#define CABLING_NOWHERE   UINT16_MAX

typedef enum CablingPlug {
        CABLING_UNKNOWN,  /* something, but where its other end is was not found */
        CABLING_JOINED,   /* a cable whose other end sits in the port `far` */
        CABLING_LOOPBACK, /* what it sends comes back */
        CABLING_EMPTY,
} CablingPlug;

typedef struct CablingPort {
        uint16_t designed; /* which port should be at the other end; CABLING_NOWHERE: left alone */
        CablingPlug plug;
        uint16_t far;
        uint16_t home;     /* the port that the label of the plug names; CABLING_NOWHERE: it names none */
        uint16_t place;    /* ports with the same number are close to each other */
} CablingPort;

typedef enum CablingMoveKind {
        CABLING_EXCHANGE,
        CABLING_PLUG,    /* from a to b */
        CABLING_CONNECT,
} CablingMoveKind;

typedef struct CablingMove {
        CablingMoveKind kind;
        uint16_t a, b;
        CablingPlug was_a, was_b; /* what sits there just before */
        uint16_t group;
} CablingMove;

typedef struct Cabling {
        size_t n;
        CablingPort ports[CABLING_PORTS_MAX];
        /* The results: moves in order, those of one ring or path one after the other. */
        size_t n_moves;
        CablingMove moves[CABLING_PORTS_MAX / 2];
        uint16_t group[CABLING_PORTS_MAX]; /* the first port of the ring or path of wrong plugs it is in, or CABLING_NOWHERE */
        uint16_t mended[CABLING_PORTS_MAX]; /* index of the move that puts the port right, or CABLING_NOWHERE */
} Cabling;

/* What contradicts itself in `ports` (a far end that does not lead back) counts as unknown. */
void cabling_solve(Cabling *cabling);
