/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Link: one port of a chip.
 *
 *     link.c           what a port is asked: status, frames, transfers
 *     link-prbs.c      … PRBS and loopback
 *     link-path.c      the way of a lane through two ports, and what acts on it where
 *     link-faults.c    the kinds of fault
 *     link-counters.c  what a port counts
 *     cable.c          what is plugged in
 *     line.h           a lane on its way
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "checks/vocabulary/location.h"
#include "checks/wire/wire.h"
#include "sim/chip/dice.h"
#include "sim/chip/model.h"
#include "sim/links/cable.h"
#include "sim/links/frame-faults.h"

#define LINK_FRAMES_MAX 16u /* buffers of a receiving port */

struct Frame {
        unsigned n_bytes;
        uint8_t bytes[WIRE_FRAME_MAX];
};

typedef enum LinkCounter {
        LINK_FRAMES_SENT,
        LINK_FRAMES_RECEIVED,
        LINK_REPLAYS,
        LINK_ERRORS,
        LINK_RETRAINS,
        _LINK_COUNTER_MAX,
} LinkCounter;

struct Link {
        Chip *chip;
        LinkPort port;
        uint64_t seed;     /* see draw_seed() */
        Link *designed;    /* see link_designed(), which fills it in */
        Socket socket;     /* what was done to its plug, see cable.h */
        Frame *frames;     /* LINK_FRAMES_MAX, made when the first arrives */
        FrameMemory *frame_memory; /* see frame-faults.h */
        unsigned n_frames, first_frame;
        const Fault **faults;
        size_t n_faults;
        uint64_t counted[_LINK_COUNTER_MAX]; /* see link_counter() */
};

extern const Model model_link;

unsigned link_port_lanes(LinkPort port);
Location link_location(const Link *link);
LinkPort link_fault_port(const Location *at);

/* ---- what a command does ---- */

/* With STATUS and the time that a command takes which moves nothing. Returns 0. */
int link_answer(Execution *execution, WireStatus status);
/* A command that moves something keeps both chips busy: their clocks meet at its end. */
void link_end_together(const Link *link, const Execution *execution);

enum { /* apart from each other: draws of one command */
        LINK_DRAW_FRAME    = 1000,
        LINK_DRAW_TRANSFER = 3000, /* + the type of the command */
        LINK_DRAW_SOUND    = 4000, /* all lanes without a fault */
        LINK_DRAW_LANE     = 5000, /* + its number */
};

Dice link_dice(const Link *link, const Execution *execution, uint64_t draw);

int link_prbs(void *state, Execution *execution);
int link_loopback(void *state, Execution *execution);

/*
 * Moves BYTES of payload from the far end, whatever is plugged there, to LINK: 0 with the time it took on the link and how many frames
 * had to be sent once more, -EIO where nothing arrives. Clocks are the caller's affair.
 */
int link_transfer(Link *link, const Execution *execution, uint64_t bytes, uint64_t *ret_nsec, uint64_t *ret_replays);

void link_count(Link *link, LinkCounter counter, uint64_t n);
uint64_t link_counter(const Link *link, LinkCounter counter);
void link_counter_clear(Link *link, LinkCounter counter);
/* A fault that has the link train again counts from when it is injected to when it is healed. */
void link_counters_inject(Link *link, const Fault *fault);
void link_counters_heal(Link *link, const Fault *fault);

/* Port of AT at the other end by design; its last part is the port. */
Location link_far_end(const Location *at);
