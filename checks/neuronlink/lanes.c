/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What one PRBS says of each lane. Every receiving port has a seed of its own in every run and lanes differ, so the state a lane shows
 * says whose stream it is and that it is not an old one; errors alone would pass a dead line, which has none.
 */

#include "checks/neuronlink/lanes.h"

#include <stdlib.h>
#include <string.h>

#include "checks/neuronlink/fabric.h"
#include "checks/neuronlink/prbs.h"
#include "checks/statistics/ber.h"

#define LATE_BITS 4096u /* a lock is found in a few hundred bits, whatever error falls into them */

/* START is where lane L of N_LANES begins. */
static LaneFault classify(const WireLane *wire, const WireLinkPrbs *prbs, uint32_t start, unsigned l, unsigned n_lanes, Lane *ret) {
        int source, skew = 0;

        if (wire->transitions == 0)
                return wire->state == 0 ? LANE_LOW : LANE_HIGH;
        if (!wire->locked)
                return LANE_UNLOCKED;
        if (wire->resyncs == 0 && wire->bits + LATE_BITS < prbs->bits)
                return LANE_LATE;

        ret->bits = wire->bits;
        ret->errors = wire->errors;
        ret->blocks = wire->errored_blocks;
        if (wire->errors > 0)
                ret->least = ber_least(wire->bits, wire->errors, wire->errored_blocks);
        ret->resyncs = wire->resyncs;
        ret->slipped = wire->slipped;
        if (wire->state == start)
                return wire->inverted ? LANE_INVERTED : LANE_SOUND;

        source = prbs_whose((WirePrbs) prbs->polynomial, prbs->seed, n_lanes, l, wire->state, &skew);
        ret->source = (uint8_t) (source < 0 ? (int) LINK_LANES_MAX : source);
        ret->skew = skew;
        return source < 0 ? LANE_FOREIGN : source != (int) l ? LANE_CROSSED : LANE_SKEWED;
}

static int compare_skews(const void *a, const void *b) {
        int32_t x = *(const int32_t *) a, y = *(const int32_t *) b;

        return (x > y) - (x < y);
}

/* All lanes late together is the cable's length: told is the distance from the middle one. */
static void deskew(Lane *lanes, unsigned n) {
        int32_t skews[LINK_LANES_MAX];
        unsigned n_own = 0;

        for (unsigned l = 0; l < n; l++)
                if (lanes[l].fault == LANE_SOUND || lanes[l].fault == LANE_SKEWED)
                        skews[n_own++] = lanes[l].skew;
        qsort(skews, n_own, sizeof(skews[0]), compare_skews);

        for (unsigned l = 0; l < n; l++)
                if (lanes[l].fault == LANE_SOUND || lanes[l].fault == LANE_SKEWED) {
                        lanes[l].skew -= skews[n_own / 2];
                        lanes[l].fault = abs(lanes[l].skew) > LINK_DESKEW_BITS ? LANE_SKEWED : LANE_SOUND;
                }
}

void lanes_classify(const WireLane *wires, unsigned n, const WireLinkPrbs *prbs, Lane *ret) {
        uint32_t starts[LINK_LANES_MAX];
        bool skewed = false;

        prbs_seeds((WirePrbs) prbs->polynomial, prbs->seed, n, starts);
        for (unsigned l = 0; l < n; l++) {
                ret[l] = (Lane) {};
                ret[l].fault = (uint8_t) classify(&wires[l], prbs, starts[l], l, n, &ret[l]);
                skewed |= ret[l].fault == LANE_SKEWED;
        }
        if (skewed)
                deskew(ret, n);
}

void lane_add(Lane *sum, const Lane *lane) {
        if (sum->fault == LANE_SOUND) {
                sum->fault = lane->fault;
                sum->source = lane->source;
                sum->skew = lane->skew;
        }
        sum->bits += lane->bits;
        sum->errors += lane->errors;
        sum->blocks += lane->blocks;
        sum->least += lane->least;
        sum->resyncs += lane->resyncs;
        sum->slipped += lane->slipped;
}

bool lanes_are_idle(const Lane *lanes, unsigned n) {
        for (unsigned l = 0; l < n; l++)
                if (lanes[l].fault != LANE_LOW && lanes[l].fault != LANE_HIGH)
                        return false;
        return true;
}

/* ---- runs ---- */

void run_add(const Fabric *fabric, Run *run, PortId id, unsigned number, uint64_t bits) {
        uint64_t place = (uint64_t) id.server << 16 | (uint64_t) id.chip << 8 | id.port;

        run->ids[run->n] = id;
        run->prbs[run->n++] = (WireLinkPrbs) {
                .bits = bits,
                .seed = fabric_hash(fabric->seed, 3 + number, place),
                .polynomial = (uint8_t) fabric->parameters->polynomial,
        };
}

static int run_part(Fabric *fabric, Run *run, size_t first, size_t n, int stage) {
        Device *device = fabric->servers[run->ids[first].server].device;
        LinkEnd ends[RUN_MAX];

        for (size_t i = 0; i < n; i++)
                ends[i] = (LinkEnd) { run->ids[first + i].chip, run->ids[first + i].port };
        if (stage == RUN_PRBS)
                return device_link_prbs(device, ends, n, run->prbs + first, run->lanes + first, run->errors + first);

        return device_link_loopback(device, ends, n, (WireLoopback) stage, run->prbs + first, run->lanes + first,
                                    run->errors + first);
}

int run_all(Fabric *fabric, Run *run, int stage) {
        for (size_t first = 0, n; first < run->n; first += n) {
                int r;

                for (n = 1; first + n < run->n && run->ids[first + n].server == run->ids[first].server; n++)
                        ;
                r = run_part(fabric, run, first, n, stage);
                if (r < 0)
                        return r;
        }

        for (size_t i = 0; i < run->n; i++) {
                Port *port = fabric_port(fabric, run->ids[i]);

                for (unsigned l = 0; run->errors[i] >= 0 && l < run->lanes[i].n; l++)
                        port->n_errors += run->lanes[i].lanes[l].errors;
        }

        return 0;
}
