/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The near loops of a link on which nothing arrives, at all or at times. They go on, at both ends, until one fails, or until none has failed so
 * often that an end which is dead as often as the link is down would have, by Fisher's exact test on loops and on times asked, or on loops and
 * moves of payload: only then do both hear themselves, and it is what lies between them. A link that is down so rarely that neither comes is of
 * either end or of what lies between, and blames none of them.
 *
 * All turns together take 32 ms of device time at the most, or 48 where PRBS asks, so that there is time for them whatever else is looked for.
 */

#include "checks/neuronlink/ladder.h"
#include "checks/neuronlink/wiring.h"

#define LEVEL     0.0005 /* of each of the two tests: that both ends hear themselves is said with 99.9 % */
#define LOOPS_MAX 512u   /* of each end; an end that is dead in 1 % of them is missed once in 170 (0.99^512), and in 3 % once in 6 million times */

/* What a port that is looped back near its transceivers does not hear of itself: NULL where it hears all. */
static const char *failed_loopback(const Ladder *ladder, unsigned end) {
        if (ladder->refused[end])
                return "it does not hear itself in its near-end loopback";
        if (ladder->bad[end][LOOPBACK_NEAR_PCS] != 0)
                return "it does not hear itself in its near-end PCS loopback: it is its PCS";
        if (ladder->bad[end][LOOPBACK_NEAR_PMA] != 0)
                return "it does not hear itself in its near-end PMA loopback, and does in that of its PCS: it is its PMA";

        return NULL;
}

/* Of all ways to share out N_DOWN failures among N_ASKED times and N_LOOPS loops, so many leave none to the loops. */
static double chance_of_no_loop(unsigned n_down, unsigned n_asked, unsigned n_loops) {
        double chance = 1;

        for (unsigned i = 0; i < n_down; i++)
                chance *= (double) (n_asked - i) / (n_asked + n_loops - i);
        return chance;
}

static bool clears_end(const Port *port) {
        const Ladder *ladder = &port->ladder;
        const Payload *payload = &port->payload;

        return chance_of_no_loop(ladder->n_down, ladder->n_asked, ladder->n_asked) <= LEVEL ||
               (payload->n_moved > 0 && chance_of_no_loop(payload->n_blocked, payload->n_blocked + payload->n_moved, ladder->n_asked) <= LEVEL);
}

/* The far end as a port of this server that is looped back for itself; NULL: it is none. */
static const Port *other_ladder(Fabric *fabric, PortId id) {
        PortId far = fabric_sender(fabric, id);

        return far.server == 0 && !port_id_equal(far, id) && port_id_equal(fabric_sender(fabric, far), id) ? fabric_port(fabric, far) : NULL;
}

/* What either end of a link shows is so of both. */
static bool clears_ends(Fabric *fabric, PortId id) {
        const Port *other = other_ladder(fabric, id);

        return clears_end(fabric_port(fabric, id)) || (other && clears_end(other));
}

/* ---- turns ---- */

static bool is_open(Fabric *fabric, PortId id) {
        const Ladder *ladder = &fabric_port(fabric, id)->ladder;

        return ladder->whole && (ladder->n_asked == 0 || (!failed_loopback(ladder, 0) && !failed_loopback(ladder, 1) && !clears_ends(fabric, id)));
}

static unsigned choose_open(Fabric *fabric) {
        unsigned n = 0;

        for (unsigned i = 0; i < CHIPS * PORTS; i++) {
                bool again = is_open(fabric, port_id_at(i));

                fabric_port(fabric, port_id_at(i))->ladder.again = again;
                n += again;
        }

        return n;
}

/* Whether the far ends on other servers are up; those of this one are known. */
static int ask_far_ends(Fabric *fabric, Run *run, PortId *owners) {
        size_t n_own = ladder_gather(fabric, run, 0, owners);

        for (size_t i = n_own; i < run->n; i++) {
                LinkEnd end = { run->ids[i].chip, run->ids[i].port };
                WireLinkStatus status = {};
                int error = 0, r;

                r = device_link_status(fabric->servers[run->ids[i].server].device, &end, 1, &status, &error);
                if (r < 0)
                        return r;
                fabric_port(fabric, owners[i])->ladder.far_up = error >= 0 && status.up;
        }

        return 0;
}

/* A port whose lanes were idle is asked in the way in which that was seen, for its status may say that all is well. */
static bool is_asked_by_prbs(Fabric *fabric, PortId id) {
        const Port *port = fabric_port(fabric, id);

        return port->prbs && lanes_are_idle(port->lanes, link_port_width(id.port)) && fabric_may_drive(fabric, id);
}

static int ask_by_prbs(Fabric *fabric, Run *run, unsigned turn) {
        Lane lanes[LINK_LANES_MAX];
        int r;

        run->n = 0;
        for (unsigned i = 0; i < CHIPS * PORTS; i++)
                if (fabric_port(fabric, port_id_at(i))->ladder.again && is_asked_by_prbs(fabric, port_id_at(i)))
                        run_add(fabric, run, port_id_at(i), RUN_LADDER + turn * _LOOPBACK_MAX + LOOPBACK_FAR_PCS, (uint64_t) BITS_LEAST);
        if (run->n == 0)
                return 0;
        r = run_all(fabric, run, RUN_PRBS);
        for (size_t i = 0; i < run->n && r >= 0; i++) {
                Ladder *ladder = &fabric_port(fabric, run->ids[i])->ladder;

                if (run->errors[i] >= 0)
                        lanes_classify(run->lanes[i].lanes, run->lanes[i].n, &run->prbs[i], lanes);
                ladder->n_asked++;
                ladder->n_down += run->errors[i] < 0 || lanes_are_idle(lanes, run->lanes[i].n);
        }

        return r;
}

static int ask_by_status(Fabric *fabric) {
        WireLinkStatus statuses[CHIPS * PORTS];
        LinkEnd ends[CHIPS * PORTS];
        int errors[CHIPS * PORTS], r;
        size_t n = 0;

        for (unsigned i = 0; i < CHIPS * PORTS; i++)
                if (fabric_port(fabric, port_id_at(i))->ladder.again && !is_asked_by_prbs(fabric, port_id_at(i)))
                        ends[n++] = (LinkEnd) { port_id_at(i).chip, port_id_at(i).port };
        if (n == 0)
                return 0;
        r = device_link_status(fabric->servers[0].device, ends, n, statuses, errors);
        for (size_t i = 0; i < n && r >= 0; i++) {
                Ladder *ladder = &fabric->servers[0].ports[ends[i].chip][ends[i].port].ladder;

                ladder->n_asked++;
                ladder->n_down += errors[i] >= 0 && !statuses[i].up;
        }

        return r;
}

static void end_turn(Ladder *ladder) {
        for (unsigned end = 0; end < 2 && ladder->again; end++) {
                ladder->bad[end][LOOPBACK_NEAR_PCS] |= ladder->now[end][LOOPBACK_NEAR_PCS];
                ladder->bad[end][LOOPBACK_NEAR_PMA] |= ladder->now[end][LOOPBACK_NEAR_PMA];
        }
}

/* A port that does not hear itself explains what happens at both ends of its link. */
static void mark_broken(Fabric *fabric) {
        for (unsigned i = 0; i < CHIPS * PORTS; i++) {
                PortId id = port_id_at(i), far = fabric_sender(fabric, id);
                Port *port = fabric_port(fabric, id);

                if (!port->ladder.whole)
                        continue;
                port->broken = port->broken ?: failed_loopback(&port->ladder, 0);
                if (!port_id_equal(far, id))
                        fabric_port(fabric, far)->broken = fabric_port(fabric, far)->broken ?: failed_loopback(&port->ladder, 1);
        }
}

int ladder_loop_near(Fabric *fabric, Run *run, PortId *owners) {
        int r = choose_open(fabric) > 0 ? ask_far_ends(fabric, run, owners) : 0;

        for (unsigned turn = LADDER_TURNS; turn < LADDER_TURNS + LOOPS_MAX && r >= 0 && choose_open(fabric) > 0; turn++) {
                r = ask_by_status(fabric);
                if (r >= 0)
                        r = ask_by_prbs(fabric, run, turn);
                if (r >= 0)
                        r = ladder_stage(fabric, run, owners, turn, LOOPBACK_NEAR_PCS);
                if (r >= 0)
                        r = ladder_stage(fabric, run, owners, turn, LOOPBACK_NEAR_PMA);
                for (unsigned i = 0; i < CHIPS * PORTS && r >= 0; i++)
                        end_turn(&fabric_port(fabric, port_id_at(i))->ladder);
        }
        if (r >= 0)
                mark_broken(fabric);

        return r;
}

/* ---- what they leave open ---- */

/* Whether it was seen down, or let through some and some not: what never did what it should, and was up all the time, is told as such. */
static bool was_down(const Port *port, unsigned n_lanes) {
        return port->ladder.n_down > 0 || !port->before.up || port->error < 0 || (port->payload.n_blocked > 0 && port->payload.n_moved > 0) ||
               lanes_are_idle(port->lanes, n_lanes);
}

static bool leaves_open(Fabric *fabric, PortId id) {
        const Port *port = fabric_port(fabric, id);

        return port->ladder.whole && is_open(fabric, id) && !port->broken && !fabric_port(fabric, fabric_sender(fabric, id))->broken &&
               was_down(port, link_port_width(id.port)) && wiring_ports_of(fabric, id) == 0;
}

bool fabric_is_either_end(Fabric *fabric, PortId id) {
        return leaves_open(fabric, id) || (other_ladder(fabric, id) && leaves_open(fabric, fabric_sender(fabric, id)));
}
