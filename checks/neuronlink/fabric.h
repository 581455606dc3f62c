/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fabric
 *
 * The links of one server as they are wired: every port, what the design wants at its far end, what was heard there, and
 * what its lanes delivered. neuronlink.c runs, judge.c
 * judges a port, discovery.c finds out who is connected to whom, lanes.c counts
 * errors.
 *
 * A port may be driven where its own chip and the chip that the design puts at its far end are both in the scan. Only
 * the receiving ports of server 0, the unit under test, are judged; the others of the ring are asked to send.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/device-link.h"
#include "checks/neuronlink/cabling.h"
#include "checks/step.h"

#define RING      4u /* servers of an UltraServer */
#define LABEL_MAX 32u
#define LABEL_TEXT_MAX 64u /* what is printed on a plug */

#define PASSES_MAX 4u

typedef struct NeuronlinkParameters {
        uint64_t bits;     /* per lane */
        double ber;        /* the bit error ratio to exclude … */
        double confidence; /* … and how surely */
        int polynomial;    /* WirePrbs */
} NeuronlinkParameters;

typedef struct PortId {
        uint8_t server; /* of Fabric.servers */
        uint8_t chip;
        uint8_t port;
} PortId;

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
} Frames;

typedef struct Port {
        bool driven;
        bool prbs;      /* its lanes were counted */
        bool undecided; /* too many errors to pass, too few bits to fail */
        bool tested;
        bool refused;   /* it did not do something it was asked for, though it is up: nothing is proven */
        int error;      /* of asking for its status, see device-link.h */
        WireLinkStatus before, after;
        uint64_t n_sent, n_received, n_errors; /* what its own counters should have counted since `before`, at least */
        Heard heard;
        PortId from; /* with HEARD_PORT */
        Frames frames;
        bool empty;  /* nothing is plugged in */
        char cable[LABEL_MAX]; /* serial number, "" for a trace of the board */
        char label[LABEL_TEXT_MAX]; /* by our convention the location of the port it belongs to; "" where none is told */
        unsigned n_passes;     /* of parameters->bits each */
        uint64_t errors[LINK_LANES_MAX];
        uint32_t dead, unlocked, crossed; /* a bit per lane */
        uint8_t source[LINK_LANES_MAX];   /* of a crossed lane: whose stream it carries, LINK_LANES_MAX for nobody's */
        bool skewed[LINK_LANES_MAX];
} Port;

typedef struct FabricServer {
        char name[LOCATION_SERVER_NAME_MAX];
        Device *device; /* NULL: not in the scan */
        char serials[CHIPS][LABEL_MAX];
        Port ports[CHIPS][PORTS];
} FabricServer;

typedef struct Fabric {
        Step *step;
        const NeuronlinkParameters *parameters;
        uint64_t seed;
        unsigned n_servers; /* RING, or 1 without a ring */
        bool silent[CHIPS]; /* of server 0 */
        /* Errors of a lane after so many passes: up to `allowed` it passes, from `certain` on no good lane made them. */
        int allowed[PASSES_MAX + 1], certain[PASSES_MAX + 1];
        FabricServer servers[RING];
        Cabling cabling; /* see wiring.h */
} Fabric;

uint64_t fabric_hash(uint64_t seed, uint64_t a, uint64_t b);

/* Knows the servers of the ring and which ports may be driven. */
void fabric_init(Fabric *fabric, Step *step, const NeuronlinkParameters *parameters);

Port *fabric_port(Fabric *fabric, PortId id);
/* The far end by design: the torus within the server, the ring between servers. False: a single server has no such port. */
bool fabric_designed(const Fabric *fabric, PortId id, PortId *ret);
bool port_id_equal(PortId a, PortId b);
/* Whether the chip of ID is in the scan: it may be driven. */
bool fabric_includes(const Fabric *fabric, PortId id);
Location fabric_location(const Fabric *fabric, PortId id);

/* The ports of one server that may be driven, at most CHIPS × PORTS. Returns how many. */
size_t fabric_ends(const Fabric *fabric, unsigned server, LinkEnd *ret);

/* Statuses, labels, frames both ways. Afterwards every port knows what it heard, and silent chips are known. */
int fabric_discover(Fabric *fabric);
/* The ports' own view again, when all is done. */
int fabric_read_after(Fabric *fabric);

/* PRBS on every port of server 0 whose far end may be driven; again where that did not decide. */
int fabric_count_errors(Fabric *fabric);

/* Near-end loopback of one port: 1 it hears itself on all lanes, 0 it does not, -ETIMEDOUT its chip does not answer. */
int fabric_hears_itself(Fabric *fabric, PortId id);

/* Writes what is wrong with a port of server 0 and raises *verdict by it; tells in port->tested whether it was judged. */
int fabric_judge(Fabric *fabric, PortId id, Verdict *verdict);
