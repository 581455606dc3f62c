/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Link: one port of a chip. link.c plays it, cable.c knows what is plugged in. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/location.h"
#include "checks/wire.h"
#include "sim/cable.h"
#include "sim/frame-faults.h"
#include "sim/model.h"

#define LINK_FRAMES_MAX 16u /* buffers of a receiving port */

struct Frame {
        unsigned n_bytes;
        uint8_t bytes[WIRE_FRAME_MAX];
};

struct Link {
        Chip *chip;
        LinkPort port;
        Socket socket;     /* what was done to its plug, see cable.h */
        Frame *frames;     /* LINK_FRAMES_MAX, made when the first arrives */
        FrameMemory *frame_memory; /* see frame-faults.h */
        unsigned n_frames, first_frame;
        const Fault **faults;
        size_t n_faults;
        uint64_t frames_sent, frames_received, replays, errors;
};

extern const Model model_link;

unsigned link_port_lanes(LinkPort port);
Location link_location(const Link *link);
LinkPort link_fault_port(const Location *at);

/*
 * Moves BYTES of payload from the far end, whatever is plugged there, to LINK: 0 with the time it took on the link and how many frames
 * had to be sent once more, -EIO where nothing arrives. Clocks are the caller's affair.
 */
int link_transfer(Link *link, const Execution *execution, uint64_t bytes, uint64_t *ret_nsec, uint64_t *ret_replays);

/* Port of AT at the other end by design; its last part is the port. */
Location link_far_end(const Location *at);
