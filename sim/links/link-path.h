/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Path: the way of all lanes into a port. The real one begins at the far end; the four loopbacks begin at this end and turn round earlier
 * or later. A way is a list of segments, and a fault acts in the one it sits in, of the port it sits in, whatever the way.
 */

#include "sim/links/line.h"
#include "sim/links/link.h"

#define LINK_WAY_REAL _LOOPBACK_MAX /* beside the stages of WireLoopback */

typedef struct LinkPath {
        unsigned n;       /* lines */
        unsigned gbps;    /* of each; 0: it does not train */
        bool has_line;    /* it leaves the chip */
        bool in_training; /* just now, as EXECUTION starts */
        double share;     /* of the bandwidth that frames may use */
        unsigned width_max;
        Line lines[LINK_LANES_MAX];
} LinkPath;

/* What arrives at LINK by WAY when lanes of QUIET are idle, and samples are taken OFFSET 64ths of a unit interval late. */
void link_path(Link *link, WireLoopback way, const Execution *execution, uint32_t quiet, int offset, LinkPath *ret);

/* Whether nothing acts on what LINK and its far end send each other. */
bool link_path_is_sound(const Link *link);

/* How many lanes it trains with, 0 where it is down. */
unsigned link_path_width(const LinkPath *path);

/* What a link does to frames. */
typedef struct LinkCarriage {
        unsigned width; /* 0: it is down */
        double gbps;    /* of all lanes, as far as frames may use them */
        double ratio;   /* of bits that are wrong; INFINITY where lanes are skewed beyond what is taken up */
} LinkCarriage;

LinkCarriage link_carriage(Link *link, const Execution *execution);
/* How likely a frame of so many BYTES arrives wrong. */
double link_frame_loss(const LinkCarriage *carriage, uint64_t bytes);

/* When the link is down in the NSEC from EXECUTION's start on, in bits at PATH's speed; malloc()ed, NULL for never. */
int link_path_silences(Link *link, const LinkPath *path, const Execution *execution, uint64_t bits, LineEvent **ret, size_t *ret_n);

/* Whether FAULT of LINK acts: with the temperature of its own chip, and the number of the command that runs. */
bool link_fault_acts(const Link *link, const Fault *fault, const Execution *execution);
