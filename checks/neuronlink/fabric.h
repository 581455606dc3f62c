/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fabric
 *
 * The links of one server as they are wired: every port, what the design wants at its far end, what was heard there, and
 * what its lanes delivered. In the order in which neuronlink.c runs them:
 *
 *     discovery     who is connected to whom
 *     looks         counts errors, by the statistics of ber and the answers of lanes
 *     margin        lanes that pass and are close to failing, and where an eye is closed
 *     traffic       payload
 *     crosstalk     errors that come from a neighbour
 *     ladder        where lanes fail
 *     judge         what all this says of a port: its cable, its lanes, its counters; wiring, of all plugs
 *
 * A port may be driven where its own chip and the chip that the design puts at its far end are both in the scan. Only
 * the receiving ports of server 0, the unit under test, are judged; the others of the ring are asked to send.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/neuronlink/cabling.h"
#include "checks/neuronlink/lanes.h"
#include "checks/port/device-link.h"
#include "checks/statistics/ber.h"
#include "checks/step/step.h"

#define RING      4u /* servers of an UltraServer */
#define LABEL_MAX 32u
#define LABEL_TEXT_MAX 64u /* what is printed on a plug */

#define GOOD_LANE   1e-15 /* bit error ratio */
#define FALSE_ALARM 1e-12 /* chance to fail a good lane: 64 million receivers are swept 15,000 times for one */

#define PARTS_MAX   256u

/*
 * A step may take the device seconds of all looks (ber.h) and these, if the plan has them: a lane that makes errors is counted on, and
 * followed up by crosstalk, ladder and margin, within that. All ports with such a lane are at it together. What is not known of a lane by
 * then is said of its port.
 */
#define FOLLOW_UP_SEC 0.5
#define PLACES_SEC    0.5 /* of all this, for where an eye is closed: 16 short runs (margin.c) */

#define CABLE_COUNTS 2048u /* a power of two */

#define MARGIN_FALSE_ALARM (FALSE_ALARM / 2) /* of margin.c: either side, as close to failing or as failing, an eighth each */

typedef struct NeuronlinkParameters {
        uint64_t bits;     /* per lane */
        double ber;        /* the bit error ratio to exclude … */
        double confidence; /* … and how surely */
        double margin;     /* a lane that would make more in the middle of its eye, told from its edges, is close to failing; 1: not asked */
        uint64_t parts;    /* commands that a look is cut into, 1 … PARTS_MAX */
        int polynomial;    /* WirePrbs */
} NeuronlinkParameters;

typedef enum Heard {
        HEARD_NOTHING,
        HEARD_GARBAGE, /* frames that nobody sent */
        HEARD_PORT,
} Heard;

typedef enum Frames { /* what is wrong with what arrives, whoever sent it */
        FRAMES_FINE,
        FRAMES_STRANGE, /* nobody of this scan sent them */
        FRAMES_STALE,   /* somebody did, but not in this exchange */
        FRAMES_ECHO,    /* its own, and another port hears them too: no loopback plug */
        FRAMES_ENDLESS, /* more than any port can hold, without one being sent */
        FRAMES_SURPLUS, /* after the right one, when all was done */
} Frames;

/* What the loopbacks of both ends of a link say, see ladder.c. A bit per lane that does not come back as it should. */
typedef struct Ladder {
        bool climbed, again; /* at all; in the next turn */
        unsigned n_agree;    /* times in a row that it showed what all times together have */
        bool whole;          /* nothing arrives, at all or at times: it is no matter of single lanes, and the near loops tell the ends apart */
        unsigned n_asked, n_down; /* how often it was asked between near loops whether its link is down, and said so */
        bool refused[2];     /* this end, the far end */
        bool far_up;
        double bits;
        uint32_t bad[2][_LOOPBACK_MAX], now[2][_LOOPBACK_MAX]; /* ever, and this time */
} Ladder;

/* What came of moving payload to a port, see traffic.c. */
typedef struct Payload {
        unsigned n_moved, n_blocked, n_slow; /* moves that arrived, that did not, and that did too slowly */
        double slowest, fastest;             /* GB/s */
        uint64_t replays;
} Payload;

typedef struct Port {
        bool driven;
        bool prbs;      /* its lanes were counted */
        bool undecided; /* too many errors to pass, too few bits to fail */
        bool either_end; /* down at times, and neither its loopbacks nor those of its far end show why */
        bool tested;
        bool refused;   /* it did not do something it was asked for, though it is up: nothing is proven; see fabric_refused() */
        bool unsent;    /* … and that was to send a frame */
        int error;      /* of asking for its status, see device-link.h */
        WireLinkStatus before, after; /* of the other servers of the ring `before` alone, and not where all is as designed */
        uint64_t n_sent, n_received, n_errors, n_replays; /* what its own counters should have counted since `before`, at least */
        Heard heard;
        PortId from; /* with HEARD_PORT */
        Frames frames;
        bool empty;  /* nothing is plugged in */
        const char *broken; /* why nothing goes through it, as its near loops show; NULL: they do not */
        char cable[LABEL_MAX]; /* serial number, "" for a trace of the board */
        char label[LABEL_TEXT_MAX]; /* "" where none is told */
        const char *wanted_cable, *wanted_label; /* of the topology file; NULL or "": it says nothing, and a label is that of the port's location */
        Lane *lanes; /* LINK_LANES_MAX; of server 0 only */
        Ladder ladder;
        Payload payload;
} Port;

typedef struct FabricServer {
        char name[LOCATION_SERVER_NAME_MAX];
        Device *device; /* NULL: not in the scan */
        char serials[CHIPS][LABEL_MAX];
        Port ports[CHIPS][PORTS];
} FabricServer;

struct Fabric {
        Step *step;
        const NeuronlinkParameters *parameters;
        uint64_t seed;
        unsigned n_servers; /* RING, or 1 without a ring */
        bool silent[CHIPS]; /* of server 0 */
        bool as_designed;   /* every port that may be driven hears the one it should */
        BerLooks looks;
        uint64_t begin_nsec; /* of device time */
        double allowed_sec;  /* of device time, from then on */
        Verdict verdicts[RING][CHIPS];
        FabricServer servers[RING];
        Lane lanes[CHIPS][PORTS][LINK_LANES_MAX];
        uint16_t cable_counts[CABLE_COUNTS]; /* ports by the hash of Port.cable */
        Cabling cabling; /* see wiring.h */
};

uint64_t fabric_hash(uint64_t seed, uint64_t a, uint64_t b);

/* Knows the servers of the ring and which ports may be driven. */
void fabric_init(Fabric *fabric, Step *step, const NeuronlinkParameters *parameters);

/* The ports of a ring in one row: 0 … RING × CHIPS × PORTS - 1, server 0 first. */
PortId port_id_at(unsigned number);
Port *fabric_port(Fabric *fabric, PortId id);
/* The far end by design: the torus within the server, the ring between servers. False: a single server has no such port. */
bool fabric_designed(const Fabric *fabric, PortId id, PortId *ret);
/* The port that sends to ID: the one that was heard, else the one by design. */
PortId fabric_sender(Fabric *fabric, PortId id);
/* Whether ID refused something that it could have done: where the other end of its cable is down, frames that are not sent are no refusal. */
bool fabric_refused(Fabric *fabric, PortId id);
bool port_id_equal(PortId a, PortId b);
/* Whether the chip of ID is in the scan: it may be driven. */
bool fabric_includes(const Fabric *fabric, PortId id);
Location fabric_location(const Fabric *fabric, PortId id);

/* The ports of one server that may be driven, at most CHIPS × PORTS. Returns how many. */
size_t fabric_ends(const Fabric *fabric, unsigned server, LinkEnd *ret);

/* Statuses, labels, frames both ways. Afterwards every port knows what it heard, and silent chips are known. */
int fabric_discover(Fabric *fabric);
/* How many ports tell this serial number of a cable, or another one that falls together with it. */
uint16_t *fabric_cable_count(Fabric *fabric, const char *cable);
/* The ports' own view again, when all is done, and what frames came unasked. */
int fabric_read_after(Fabric *fabric);

/* Device seconds that BITS of a lane take, of all lanes at a time. */
static inline double link_sec(double bits) {
        return bits / (LINK_LANE_GBPS * 1e9);
}
/* Device seconds that this step may still take. */
double fabric_budget_sec(const Fabric *fabric);
/* Whether PRBS may drive both ends of what is plugged into port ID of server 0. */
bool fabric_may_drive(Fabric *fabric, PortId id);
/* PRBS on every such port; again where that did not decide. */
int fabric_count_errors(Fabric *fabric);

/* Lanes that pass and are close to failing, see margin.c. */
int fabric_look_at_edges(Fabric *fabric);
/* Where the eye is closed, of these and of lanes that fail too rarely for the loopbacks in its middle. */
int fabric_place_eyes(Fabric *fabric);
/* Whose errors go away while another lane is quiet. */
int fabric_find_crosstalk(Fabric *fabric);
/* Payload through every link. */
int fabric_move_payload(Fabric *fabric);
/* The loopbacks of both ends of every port that is down or has a lane that fails. */
int fabric_climb(Fabric *fabric);
/* Whether the link of ID was down so rarely that its loopbacks tell neither of its two ends from what lies between. */
bool fabric_is_either_end(Fabric *fabric, PortId id);

/* What the ports of server 0 counted of all this, where they stood at zero before, is taken away again. */
int fabric_clear_counters(Fabric *fabric);

/* Writes what is wrong with a port of server 0 and raises the verdict of the chip to blame; tells in port->tested whether it was judged. */
int fabric_judge(Fabric *fabric, PortId id);
