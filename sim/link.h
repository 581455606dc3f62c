/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Link: one port of a chip, and whose plug sits in it. link.c plays the port, cable.c knows what it is plugged to. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/location.h"
#include "checks/wire.h"
#include "sim/model.h"

#define LINK_FRAMES_MAX 16u /* buffers of a receiving port */

typedef struct Frame {
        unsigned n_bytes;
        uint8_t bytes[WIRE_FRAME_MAX];
} Frame;

typedef struct Link Link;

struct Link {
        Chip *chip;
        LinkPort port;
        Link *plugged;     /* the port at the other end of the cable, where it is not the designed one */
        Link *cable;       /* the port whose designed cable ends here, where it is not the designed one */
        Frame *frames;     /* LINK_FRAMES_MAX, made when the first arrives */
        unsigned n_frames, first_frame;
        const Fault **faults;
        size_t n_faults;
        uint64_t frames_sent, frames_received, replays, errors;
};

typedef struct SwapParameters { /* of cable-swapped */
        Location with;
} SwapParameters;

extern const Model model_link;

unsigned link_port_lanes(LinkPort port);
Location link_location(const Link *link);
LinkPort link_fault_port(const Location *at);

/* The port the design wants at the other end, NULL where this chip has no such port. */
Link *link_designed(const Link *link);
/* The port that is there. */
Link *link_far(const Link *link);

/*
 * Moves BYTES of payload from the far end, whatever is plugged there, to LINK: 0 with the time it took on the link and how many frames
 * had to be sent once more, -EIO where nothing arrives. Clocks are the caller's affair.
 */
int link_transfer(Link *link, const Execution *execution, uint64_t bytes, uint64_t *ret_nsec, uint64_t *ret_replays);

/* The serial number of the cable at PORT, "" for a board trace; -ENOENT without such a port. */
int cable_text(Chip *chip, LinkPort port, char *text, size_t size);

/* Port of AT at the other end by design; its last part is the port. */
Location link_far_end(const Location *at);

/* ---- faults of cables ---- */

extern const FaultKind cable_kinds[];

/* Whether what ends at LINK carries anything. */
bool cable_is_broken(const Link *link);
/* What FAULT does to the plugs, where it is one of cable_kinds; else nothing. -EEXIST where one of the plugs has been moved
 * already or both are of one cable, -ENXIO where there is no such port. */
int cable_inject(Link *link, const Fault *fault);
void cable_heal(Link *link, const Fault *fault);
