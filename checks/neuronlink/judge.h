/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Judged: one port of the unit under test while it is judged. judge.c asks the others in turn. */

#include "checks/neuronlink/fabric.h"

typedef struct Judged {
        Fabric *fabric;
        PortId id, far; /* far: by design */
        PortId sender;  /* see fabric_sender() */
        Port *port;
        Location where;
        char far_text[LOCATION_STRING_MAX];
        char cable[LABEL_MAX + 8]; /* as a replaceable unit, "" where it tells no serial number: a trace of the board, a loopback plug */
        Verdict *verdict;
} Judged;

#define JUDGED_DOWN { "neuronlink_links_down", 1, 0 } /* Decided: the link of this port is down, by its doing or that of what is plugged in */

/* Whether it went down and came up again during the scan. */
static inline bool judged_retrained(const Judged *judged) {
        return judged->port->after.retrains > judged->port->before.retrains; /* going back is for judge_counters() */
}

/* Whether what it heard may be from where it says. */
static inline bool judged_hears(const Judged *judged) {
        return judged->port->frames == FRAMES_FINE || judged->port->frames == FRAMES_SURPLUS;
}

/* The part that a technician replaces for it: the cable, or NULL for the tray, of a trace of its board. */
const char *judged_replaceable(const Judged *judged);

/* ---- judge-cable.c ---- */

/* A port that hears a port which is not the designed one. */
int judge_cable(Judged *judged);
/* A port that is up and hears nobody of this scan. */
int judge_nowhere(Judged *judged);
/* A port where nothing is plugged in. */
int judge_unplugged(Judged *judged);
/* Serial number and label of whatever is plugged in. */
int judge_plug(Judged *judged);

/* ---- judge-lanes.c ---- */

bool judged_lanes_fail(const Judged *judged);
int judge_lanes(Judged *judged);

/* ---- judge-counters.c ---- */

/* One finding per port: a port that does not count does not count anything. */
int judge_counters(Judged *judged);

/* ---- traffic.c ---- */

int judge_traffic(Judged *judged);
/* Frames that the payload which arrived is made of, none of them counted twice. */
uint64_t judged_payload_frames(const Judged *judged);
