/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The kinds of fault that sit in ports and in their lanes, and what each is given. */

#include "sim/chip/model.h"
#include "sim/links/line.h"

typedef enum LinkFaultKind { /* indices into link_kinds[]; in a segment they act in this order: silence hides all else */
        LINK_LANES_CROSSED,
        LINK_LANE_SKEWED,
        LINK_LANE_INVERTED,
        LINK_BIT_ERRORS,
        LINK_BURST_ERRORS,
        LINK_CLOCK_SLIPS,
        LINK_CROSSTALK,
        LINK_EYE_CLOSED,
        LINK_LANE_DEAD,
        LINK_ONE_WAY,
        LINK_DOWN,
        LINK_NARROWED,
        LINK_SLOWED,
        LINK_THROTTLED,
        LINK_FLAPS,
        LINK_COUNTER_STUCK,
        LINK_COUNTER_RUNS_BACK,
        LINK_COUNTER_WRAPS,
        _LINK_FAULT_KIND_MAX,
} LinkFaultKind;

typedef enum LinkSite {
        LINK_SITE_LINE,
        LINK_SITE_RECEIVER_PMA,
        LINK_SITE_RECEIVER_PCS,
        LINK_SITE_TRANSMITTER_PMA,
        LINK_SITE_TRANSMITTER_PCS,
        _LINK_SITE_MAX,
} LinkSite;

typedef struct LinkFault { /* what a kind does not have is zero */
        int site;  /* LinkSite */
        int level; /* of an idle line: 0 low, 1 high */
        int drift; /* of clocks: 0 late, 1 early */
        double rate, length, density, per_second, closing, per_degree, share, every;
        uint64_t with, from, bits, width, gbps;
} LinkFault;

#define LINK_TROUBLES_MAX (LINE_TROUBLES_MAX / 2) /* of one port: a lane passes at most two */
#define LINK_FLAP_NSEC    UINT64_C(1000000)       /* how long training takes */
#define LINK_WARM         50.0                    /* °C, above which an eye closes by so much per degree */

extern const FaultKind link_kinds[];

/* The kind of FAULT, _LINK_FAULT_KIND_MAX where it is of another table. */
LinkFaultKind link_fault_kind(const Fault *fault);
/* Whether a line has to keep it in mind, see line_add_trouble(). */
bool link_fault_is_trouble(const Fault *fault);
