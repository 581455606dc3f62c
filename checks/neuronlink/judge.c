/* SPDX-License-Identifier: Apache-2.0 */

/* What one port is worth, from all that is known of it. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/neuronlink/ber.h"
#include "checks/neuronlink/judge.h"
#include "checks/neuronlink/wiring.h"

/* ---- lanes ---- */

static Location lane_location(const Judged *judged, unsigned lane) {
        Location where = judged->where;

        (void) location_append(&where, LOCATION_LANE, lane);
        return where;
}

static int allowed_errors(const Judged *judged) {
        const Port *port = judged->port;

        /* What could not be counted once more is not proven bad. */
        return port->undecided ? judged->fabric->certain[port->n_passes] - 1 : judged->fabric->allowed[port->n_passes];
}

static double counted_bits(const Judged *judged) {
        return (double) judged->port->n_passes * (double) judged->fabric->parameters->bits;
}

/* How sure it is that the ratio is beyond the limit: the chance that a lane at the limit makes fewer errors. */
static double excess_confidence(const Judged *judged, uint64_t errors) {
        double nb = counted_bits(judged) * judged->fabric->parameters->ber;

        return errors > 4 * nb + 100 ? 1 : 1 - ber_confidence(nb, (unsigned) errors - 1);
}

static int judge_errors(Judged *judged, const Location *where, const char *what, uint64_t errors, unsigned n_lanes) {
        char expected[64], actual[64];
        int allowed = allowed_errors(judged), r;
        Evidence evidence = {
                .expected = expected, .actual = actual, .has_count = true, .count = (double) errors,
                .has_confidence = true, .confidence = excess_confidence(judged, errors / n_lanes),
                .far_end = judged->far_text, .replaceable = judged_replaceable(judged),
        };

        (void) snprintf(expected, sizeof(expected), "at most %d errors a lane", allowed);
        (void) snprintf(actual, sizeof(actual), "%" PRIu64 " errors in %.3g bits", errors,
                        counted_bits(judged) * n_lanes);
        r = step_measure(judged->fabric->step, "neuronlink_lane_errors", (double) errors / n_lanes, "{error}",
                         LIMIT_LESS_THAN_OR_EQUAL, allowed, where);
        if (r < 0)
                return r;

        return step_finding(judged->fabric->step, judged->verdict, "link-errors", where, &evidence,
                            "%s: error ratio %.2g, the limit is %g with %g %% confidence; from %s", what,
                            (double) errors / (counted_bits(judged) * n_lanes), judged->fabric->parameters->ber,
                            judged->fabric->parameters->confidence * 100, judged->far_text);
}

static int judge_broken_lane(Judged *judged, unsigned l) {
        const Port *port = judged->port;
        Location where = lane_location(judged, l);
        Evidence evidence = { .far_end = judged->far_text, .replaceable = judged_replaceable(judged) };
        Step *step = judged->fabric->step;
        char source[32];

        if (port->dead >> l & 1)
                return step_finding(step, judged->verdict, "link-lane", &where, &evidence,
                                    "lane %u is dead: an idle line without a transition; from %s", l, judged->far_text);
        if (port->unlocked >> l & 1)
                return step_finding(step, judged->verdict, "link-lane", &where, &evidence,
                                    "lane %u changes but never locks to its pattern; from %s", l, judged->far_text);
        if (port->source[l] >= LINK_LANES_MAX)
                return step_finding(step, judged->verdict, "link-lane", &where, &evidence,
                                    "lane %u carries a stream that no lane of the far end sent; from %s", l,
                                    judged->far_text);

        (void) snprintf(source, sizeof(source), "lane %u", port->source[l]);
        evidence.actual = source;
        return step_finding(step, judged->verdict, "link-lane", &where, &evidence,
                            port->source[l] == l ? "lane %u is shifted: it carries the stream of %s at another phase; from %s" :
                                                   "lane %u carries the stream of %s; from %s",
                            l, source, judged->far_text);
}

static uint32_t lanes_beyond(const Judged *judged, uint64_t *ret_errors) {
        const Port *port = judged->port;
        int allowed = allowed_errors(judged);
        uint32_t beyond = 0;

        *ret_errors = 0;
        for (unsigned l = 0; l < link_port_width(judged->id.port); l++)
                if (port->errors[l] > (uint64_t) allowed && !((port->dead | port->unlocked | port->crossed) >> l & 1)) {
                        beyond |= UINT32_C(1) << l;
                        *ret_errors += port->errors[l];
                }

        return beyond;
}

/* Half of the lanes and more are not so many single lanes: it is the link. */
static int judge_lanes(Judged *judged) {
        unsigned width = link_port_width(judged->id.port), n_beyond;
        uint32_t broken, beyond;
        uint64_t errors;
        char what[32];
        int r = 0;

        broken = judged->port->dead | judged->port->unlocked | judged->port->crossed;
        beyond = lanes_beyond(judged, &errors);
        n_beyond = (unsigned) __builtin_popcount(beyond);
        if (n_beyond >= width / 2) {
                (void) snprintf(what, sizeof(what), "%u of %u lanes", n_beyond, width);
                r = judge_errors(judged, &judged->where, what, errors, n_beyond);
                beyond = 0;
        }

        for (unsigned l = 0; l < width && r >= 0; l++) {
                Location where = lane_location(judged, l);

                (void) snprintf(what, sizeof(what), "lane %u", l);
                if (beyond >> l & 1)
                        r = judge_errors(judged, &where, what, judged->port->errors[l], 1);
                else if (broken >> l & 1)
                        r = judge_broken_lane(judged, l);
        }

        return r;
}

/* ---- links that are down ---- */

static int judge_down(Judged *judged) {
        Evidence evidence = { .far_end = judged->far_text, .replaceable = judged_replaceable(judged) };
        Fabric *fabric = judged->fabric;
        int own, far;

        own = fabric_hears_itself(fabric, judged->id);
        if (own == -ETIMEDOUT)
                return 0; /* it has fallen silent: see judge_port() */
        if (own < 0)
                return own;
        if (own == 0) {
                judged->port->tested = true;
                evidence.replaceable = NULL;
                return step_finding(fabric->step, judged->verdict, "link-down", &judged->where, &evidence,
                                    "the port is broken: it does not hear itself in its near-end loopback");
        }

        far = fabric_hears_itself(fabric, judged->far);
        if (far < 0 && far != -ETIMEDOUT)
                return far;

        judged->port->tested = true;
        if (far <= 0 || wiring_ports_of(fabric, judged->id) > 0)
                return 0; /* a plug, or the far end is to blame, and judged where it stands; this one works as far as it can be seen */

        return step_finding(fabric->step, judged->verdict, "link-down", &judged->where, &evidence,
                            "the link is down, and the ports at both ends hear themselves: it is what lies between "
                            "here and %s", judged->far_text);
}

/* ---- counters ---- */

static int judge_counter(Judged *judged, const char *name, uint64_t before, uint64_t after, uint64_t least) {
        Evidence evidence = { .address = name };
        char expected[32], actual[32];

        if (after >= before && after - before >= least)
                return 0;

        (void) snprintf(expected, sizeof(expected), "at least %" PRIu64, least);
        (void) snprintf(actual, sizeof(actual), "%" PRId64, (int64_t) (after - before));
        evidence.expected = expected;
        evidence.actual = actual;
        return 1 + step_finding(judged->fabric->step, judged->verdict, "link-counter", &judged->where, &evidence,
                                "counter %s moved by %s, and %" PRIu64 " were seen", name, actual, least);
}

/* One finding per port: a port that does not count does not count anything. */
static int judge_counters(Judged *judged) {
        const Port *port = judged->port;
        int r;

        r = judge_counter(judged, "errors", port->before.errors, port->after.errors, port->n_errors);
        if (r == 0)
                r = judge_counter(judged, "frames_sent", port->before.frames_sent, port->after.frames_sent, port->n_sent);
        if (r == 0)
                r = judge_counter(judged, "frames_received", port->before.frames_received,
                                  port->after.frames_received, port->n_received);
        return r < 0 ? r : 0;
}

/* ---- ports and chips ---- */

static bool all_lanes_dead(const Judged *judged) {
        return judged->port->prbs &&
               (unsigned) __builtin_popcount(judged->port->dead) == link_port_width(judged->id.port);
}

static int judge_width(Judged *judged) {
        unsigned width = link_port_width(judged->id.port);
        Evidence evidence = { .far_end = judged->far_text, .replaceable = judged_replaceable(judged) };

        return step_finding(judged->fabric->step, judged->verdict, "link-lane", &judged->where, &evidence,
                            "the port trained %u of its %u lanes, and all of them deliver", judged->port->before.width,
                            width);
}

static int judge_up(Judged *judged) {
        Port *port = judged->port;
        uint64_t errors;
        uint32_t bad;
        int r = 0;

        bad = port->dead | port->unlocked | port->crossed | lanes_beyond(judged, &errors);
        if (port->heard == HEARD_PORT && !port_id_equal(port->from, judged->far))
                r = judge_cable(judged);
        else if (port->heard != HEARD_PORT && bad == 0)
                r = judge_nowhere(judged);
        if (r >= 0 && bad != 0)
                r = judge_lanes(judged);
        else if (r >= 0 && port->prbs && port->before.width < link_port_width(judged->id.port))
                r = judge_width(judged);

        port->tested = port->prbs && !port->undecided;
        return r;
}

static int judge_port(Judged *judged) {
        Port *port = judged->port;
        int r;

        if (!port->driven || judged->fabric->silent[judged->id.chip] || port->error == -ETIMEDOUT)
                return 0;
        if (port->error == -EPROTO)
                return step_finding(judged->fabric->step, judged->verdict, "link-counter", &judged->where, NULL,
                                    "the port answers with values that no port can have: nothing it says counts");
        if (port->error == -ENXIO)
                return step_finding(judged->fabric->step, judged->verdict, "link-down", &judged->where, NULL,
                                    "the chip says that it has no such port");

        if (port->empty)
                r = judge_unplugged(judged);
        else if (!port->prbs && (!port->before.up || port->error < 0))
                r = judge_down(judged);
        else if (all_lanes_dead(judged))
                r = judge_down(judged);
        else
                r = judge_up(judged);

        if (r >= 0)
                r = judge_plug(judged);
        return r < 0 || port->error < 0 ? r : judge_counters(judged);
}

const char *judged_replaceable(const Judged *judged) {
        return judged->cable[0] ? judged->cable : NULL;
}

int fabric_judge(Fabric *fabric, PortId id, Verdict *verdict) {
        Judged judged = { .fabric = fabric, .id = id, .port = fabric_port(fabric, id), .verdict = verdict };
        Location far;

        if (!fabric_designed(fabric, id, &judged.far))
                return 0;

        judged.where = fabric_location(fabric, id);
        far = fabric_location(fabric, judged.far);
        location_format(&far, judged.far_text);
        if (judged.port->cable[0])
                (void) snprintf(judged.cable, sizeof(judged.cable), "cable %s", judged.port->cable);

        return judge_port(&judged);
}
