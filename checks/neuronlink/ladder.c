/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The loopback ladder, where something fails: a lane on its way from the far port F to this one, R, passes F's PCS and PMA, the line, R's
 * PMA and PCS. Each end is looped back at each of four stages. The near ones tell the ends apart from what lies between:
 *
 *     R near PCS   R's PCS                            F near PCS   F's PCS
 *     R near PMA   R's PMA as well                    F near PMA   F's PMA as well
 *
 * The far ones go over the line and back, turned round between the other end's PMA and PCS or behind its PCS, and must agree. A transmitter
 * and a receiver of one end are in a loop together; which of them it is tells the way that fails: into R it is R's receiver or F's
 * transmitter. Driver, cable and the input of the receiver are in no near loop and cannot be told apart.
 *
 * It is climbed until two turns show the same; what comes and goes shows in the loops that it is in, and in no other, turn by turn.
 * A link on which nothing arrives, at all or at times, is no matter of its lanes and not climbed: see near-loops.c. These loops are short and
 * come first, for the turns here go on as long as there is time.
 *
 * A rare failure takes as many bits again to be seen: bits for TRACES errors, as far as the time that is left goes. Where it does not go as far
 * as TRACES_LEAST, the loops of that lane would say nothing, and it stays without a place.
 */

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/param.h>

#include "checks/neuronlink/ladder.h"

#define BITS_MOST   1e11 /* more and good lanes begin to make errors */
#define AGREE        2u   /* turns in a row that show the same */
#define TRACES       10.0 /* none of so many: 5 in 100,000 */
#define TRACES_LEAST 5.0 /* … 7 in 1000 */

static bool fails(const Lane *lane) {
        return !lane_is_sound(lane) || lane->outcome == BER_FAILS;
}

/* The rate of the events to wait for: slips where the clock slips, else disturbances, of which one spoils several blocks. */
static double traces_of(const Lane *lane) {
        return (double) (lane->slipped != 0 ? lane->resyncs : lane->least);
}

/* How many bits lie between two of them, on average; 0 where every bit shows what is wrong. */
static double bits_between(const Lane *lane) {
        return lane->fault == LANE_SOUND && traces_of(lane) > 0 ? (double) lane->bits / traces_of(lane) : 0;
}

/* It is down, or lost at some time all of what it was sent, or did not do what a port that is up does; and no single lane explains that. */
static bool is_whole(const Port *port, unsigned n_lanes) {
        bool at_times = port->error < 0 || port->refused || port->unsent || port->heard == HEARD_NOTHING;

        if (!port->prbs)
                return !port->before.up || at_times;
        if (lanes_are_idle(port->lanes, n_lanes))
                return true;
        for (unsigned l = 0; l < n_lanes; l++)
                if (fails(&port->lanes[l]))
                        return false;
        return at_times || port->payload.n_blocked > 0;
}

static bool may_climb(const Port *port) {
        return port->driven && !port->empty && port->error != -ETIMEDOUT && port->error != -ENXIO && port->error != -EPROTO;
}

/* Whether any lane is worth it. MOST: bits that there is time for in each loop. */
static bool wants_ladder(const Port *port, unsigned n_lanes, double most) {
        for (unsigned l = 0; l < n_lanes; l++)
                if (fails(&port->lanes[l]) && bits_between(&port->lanes[l]) <= most / TRACES_LEAST)
                        return true;

        return false;
}

/* The rarest of the failing lanes that it has the time for decides. */
static double bits_for(const Port *port, unsigned n_lanes, double most) {
        double bits = BITS_LEAST;

        for (unsigned l = 0; l < n_lanes; l++)
                if (fails(&port->lanes[l]) && bits_between(&port->lanes[l]) <= most / TRACES_LEAST)
                        bits = fmax(bits, TRACES * bits_between(&port->lanes[l]));

        return fmin(bits, most);
}

size_t ladder_gather(Fabric *fabric, Run *run, unsigned number, PortId *owners) {
        size_t n_own;

        run->n = 0;
        for (unsigned i = 0; i < CHIPS * PORTS; i++) {
                const Ladder *ladder = &fabric_port(fabric, port_id_at(i))->ladder;

                if (!ladder->again)
                        continue;
                owners[run->n] = port_id_at(i);
                run_add(fabric, run, port_id_at(i), number, (uint64_t) ladder->bits);
        }

        n_own = run->n;
        for (unsigned s = 0; s < fabric->n_servers; s++)
                for (size_t i = 0; i < n_own; i++) {
                        PortId far = fabric_sender(fabric, owners[i]);

                        if (far.server != s || !fabric_includes(fabric, far))
                                continue;
                        owners[run->n] = owners[i];
                        run_add(fabric, run, far, number, run->prbs[i].bits);
                }

        return n_own;
}

static uint32_t bad_lanes(const Run *run, size_t i) {
        Lane lanes[LINK_LANES_MAX];
        uint32_t bad = 0;

        lanes_classify(run->lanes[i].lanes, run->lanes[i].n, &run->prbs[i], lanes);
        for (unsigned l = 0; l < run->lanes[i].n; l++)
                if (!lane_is_sound(&lanes[l]) || lanes[l].blocks > 0)
                        bad |= UINT32_C(1) << l;

        return bad;
}

static bool is_near_stage(WireLoopback stage) {
        return stage == LOOPBACK_NEAR_PCS || stage == LOOPBACK_NEAR_PMA;
}

int ladder_stage(Fabric *fabric, Run *run, PortId *owners, unsigned turn, WireLoopback stage) {
        size_t n_own;
        int r;

        n_own = ladder_gather(fabric, run, RUN_LADDER + turn * _LOOPBACK_MAX + (unsigned) stage, owners);
        r = run_all(fabric, run, (int) stage);
        if (r < 0)
                return r;

        for (size_t i = 0; i < run->n; i++) {
                Ladder *ladder = &fabric_port(fabric, owners[i])->ladder;
                unsigned end = i < n_own ? 0 : 1;

                if (run->errors[i] == -ETIMEDOUT && end == 0)
                        fabric_port(fabric, owners[i])->error = -ETIMEDOUT;
                else if (run->errors[i] == -ETIMEDOUT)
                        ladder->far_up = false;
                if (is_near_stage(stage)) /* what is looped back far off needs the other end, too */
                        ladder->refused[end] = run->errors[i] < 0 || (stage == LOOPBACK_NEAR_PMA && ladder->refused[end]);
                if (run->errors[i] >= 0)
                        ladder->now[end][stage] = bad_lanes(run, i);
        }

        return 0;
}

#define OWN(stage) (1u << (stage))
#define FAR(stage) (1u << (_LOOPBACK_MAX + (stage)))
#define FAR_STAGES (FAR(LOOPBACK_FAR_PMA) | FAR(LOOPBACK_FAR_PCS))

/* The loops that each place is in, as far as lanes on their way to this end pass it: all of them fail, and no other. What is broken twice has
 * another pattern and no place. */
static Segment segment_of(const Ladder *ladder, unsigned l) {
        static const unsigned loops[_SEGMENT_MAX] = {
                [SEGMENT_FAR_PCS] = OWN(LOOPBACK_FAR_PCS) | FAR(LOOPBACK_NEAR_PCS) | FAR(LOOPBACK_NEAR_PMA) | FAR_STAGES,
                [SEGMENT_FAR_PMA] = OWN(LOOPBACK_FAR_PMA) | OWN(LOOPBACK_FAR_PCS) | FAR(LOOPBACK_NEAR_PMA) | FAR_STAGES,
                [SEGMENT_LINE]    = OWN(LOOPBACK_FAR_PMA) | OWN(LOOPBACK_FAR_PCS) | FAR_STAGES,
                [SEGMENT_OWN_PMA] = OWN(LOOPBACK_NEAR_PMA) | OWN(LOOPBACK_FAR_PMA) | OWN(LOOPBACK_FAR_PCS) | FAR_STAGES,
                [SEGMENT_OWN_PCS] = OWN(LOOPBACK_NEAR_PCS) | OWN(LOOPBACK_NEAR_PMA) | OWN(LOOPBACK_FAR_PMA) | OWN(LOOPBACK_FAR_PCS) |
                                    FAR(LOOPBACK_FAR_PCS),
        };
        unsigned bad = 0;

        for (unsigned stage = 0; stage < _LOOPBACK_MAX; stage++)
                bad |= (ladder->bad[0][stage] >> l & 1) * OWN(stage) | (ladder->bad[1][stage] >> l & 1) * FAR(stage);
        for (unsigned segment = SEGMENT_UNKNOWN + 1; segment < _SEGMENT_MAX; segment++)
                if (bad == loops[segment] && !ladder->refused[0] && !ladder->refused[1])
                        return (Segment) segment;

        return SEGMENT_UNKNOWN;
}

static void bracket(Port *port, unsigned n_lanes) {
        for (unsigned l = 0; l < n_lanes; l++) {
                Lane *lane = &port->lanes[l];
                double traces = lane->bits > 0 ? port->ladder.bits * traces_of(lane) / (double) lane->bits : 0;

                /* Of what is too rare to come back in every loop, the first loop in which it does says nothing. */
                if (fails(lane) && (lane->fault != LANE_SOUND || traces >= TRACES_LEAST))
                        lane->segment = (uint8_t) segment_of(&port->ladder, l);
        }
}

/* Adds what this turn showed. What comes and goes shows more each time; what is broken for good shows the same. */
static void end_turn(Ladder *ladder) {
        bool agrees = true;

        for (unsigned end = 0; end < 2; end++)
                for (unsigned stage = 0; stage < _LOOPBACK_MAX; stage++) {
                        ladder->bad[end][stage] |= ladder->now[end][stage];
                        agrees = agrees && ladder->now[end][stage] == ladder->bad[end][stage];
                }
        ladder->n_agree = agrees ? ladder->n_agree + 1 : 0;
        ladder->again = ladder->n_agree < AGREE;
}

static int climb(Fabric *fabric, Run *run, PortId *owners, unsigned turn) {
        for (unsigned stage = 0; stage < _LOOPBACK_MAX; stage++) {
                int r;

                r = ladder_stage(fabric, run, owners, turn, (WireLoopback) stage);
                if (r < 0)
                        return r;
        }

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++)
                        if (fabric->servers[0].ports[c][p].ladder.again)
                                end_turn(&fabric->servers[0].ports[c][p].ladder);

        return 0;
}

/* ---- all of it ---- */

/* Returns the bits of the rarest lane to climb for; 0: none is. */
static double set_up(Fabric *fabric) {
        double sec = (fabric_budget_sec(fabric) - PLACES_SEC) / AGREE / _LOOPBACK_MAX, most = fmax(BITS_LEAST, fmin(sec / link_sec(1), BITS_MOST));
        double rarest = 0;

        for (unsigned i = 0; i < CHIPS * PORTS; i++) {
                Port *port = fabric_port(fabric, port_id_at(i));
                unsigned width = link_port_width(port_id_at(i).port);
                bool whole = is_whole(port, width);

                if (!may_climb(port) || (!whole && !wants_ladder(port, width, most)))
                        continue;
                port->ladder = (Ladder) {
                        .climbed = true, .whole = whole, .refused = { true, true }, .bits = whole ? BITS_LEAST : bits_for(port, width, most),
                };
                rarest = whole ? rarest : fmax(rarest, port->ladder.bits);
        }

        return rarest;
}

static int climb_all(Fabric *fabric, Run *run, PortId *owners, double bits) {
        int r = 0;

        for (unsigned i = 0; i < CHIPS * PORTS; i++) {
                Ladder *ladder = &fabric_port(fabric, port_id_at(i))->ladder;

                ladder->again = ladder->climbed && !ladder->whole;
        }
        for (unsigned turn = 0; turn < LADDER_TURNS && r >= 0; turn++)
                if (turn < AGREE || fabric_budget_sec(fabric) > PLACES_SEC + _LOOPBACK_MAX * link_sec(bits))
                        r = climb(fabric, run, owners, turn);
        for (unsigned i = 0; i < CHIPS * PORTS && r >= 0; i++) {
                Port *port = fabric_port(fabric, port_id_at(i));

                if (port->ladder.climbed && !port->ladder.whole)
                        bracket(port, link_port_width(port_id_at(i).port));
        }

        return r;
}

int fabric_climb(Fabric *fabric) {
        _cleanup_free_ PortId *owners = NULL;
        _cleanup_free_ Run *run = NULL;
        double bits = set_up(fabric);
        int r;

        run = malloc(sizeof(*run));
        owners = malloc(RUN_MAX * sizeof(*owners));
        if (!run || !owners)
                return -ENOMEM;

        r = ladder_loop_near(fabric, run, owners);
        return r < 0 || bits == 0 ? r : climb_all(fabric, run, owners, bits);
}
