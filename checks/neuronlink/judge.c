/* SPDX-License-Identifier: Apache-2.0 */

/* What one port is worth, from all that is known of it. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/neuronlink/judge.h"
#include "checks/neuronlink/wiring.h"

/* ---- links that are down ---- */

static int judge_far_end(Judged *judged, const char *failure) {
        Location where = fabric_location(judged->fabric, judged->sender);
        char own_text[LOCATION_STRING_MAX];
        Evidence evidence = { .far_end = own_text, .decided = JUDGED_DOWN };

        location_format(&judged->where, own_text);
        return step_finding(judged->fabric->step, &judged->fabric->verdicts[judged->sender.server][judged->sender.chip], "link-down",
                            &where, &evidence, "nothing of what this port sends arrives at %s: %s", own_text, failure);
}

/* The end that does not hear itself, told once: by itself where it is down, else by the port at which nothing arrives. */
static int judge_broken(Judged *judged) {
        const Port *far = fabric_port(judged->fabric, judged->sender);
        const Ladder *ladder = &judged->port->ladder;
        Evidence evidence = { .far_end = judged->far_text, .decided = JUDGED_DOWN };

        judged->port->tested = true;
        if (judged->port->broken)
                return step_finding(judged->fabric->step, judged->verdict, "link-down", &judged->where, &evidence, "the port is broken: %s",
                                    judged->port->broken);
        /* A far end that is down as well, or silent, is judged where it stands, and this one works as far as it can be seen. Of this server a
         * port that comes and goes may have been up when it was judged, and away when it was asked. */
        if (far->ladder.whole || (!ladder->far_up && (judged->sender.server > 0 || ladder->refused[1])))
                return 0;
        return judge_far_end(judged, far->broken);
}

static int judge_down(Judged *judged) {
        Evidence evidence = { .far_end = judged->far_text, .replaceable = judged_replaceable(judged), .decided = JUDGED_DOWN };
        const Ladder *ladder = &judged->port->ladder;

        if (!ladder->climbed || judged->port->either_end)
                return 0;

        judged->port->tested = true;
        if (wiring_ports_of(judged->fabric, judged->id) > 0)
                return 0; /* it is a plug, which is told by the moves */
        return step_finding(judged->fabric->step, judged->verdict, "link-down", &judged->where, &evidence,
                            "%s, and the ports at both ends hear themselves: it is what lies between here and %s",
                            ladder->far_up && !judged->port->before.up ? "the link is down, this way only" :
                            ladder->far_up ? "nothing arrives, and the other way works" : "the link is down", judged->far_text);
}

/* Told at both ends, and neither has failed. */
static int judge_either_end(Judged *judged) {
        unsigned n = MAX(judged->port->ladder.n_asked, fabric_port(judged->fabric, judged->sender)->ladder.n_asked);
        Evidence evidence = { .far_end = judged->far_text, .decided = { "neuronlink_links_either_end", 1, 0 } };

        judged->port->tested = false;
        return step_finding(judged->fabric->step, judged->verdict, "link-either-end", &judged->where, &evidence,
                            "the link to %s is down at times, and %u near-end loopbacks of both ends did not show whether it is one of the two "
                            "ports or what lies between", judged->far_text, n);
}

/* ---- ports and chips ---- */

static int judge_training(Judged *judged) {
        unsigned width = link_port_width(judged->id.port);
        const WireLinkStatus *status = &judged->port->before;
        Evidence evidence = { .far_end = judged->far_text, .replaceable = judged_replaceable(judged) };
        char expected[48], actual[48];
        bool narrow = status->width < width && !judged_lanes_fail(judged); /* lanes that fail explain it */

        if (!status->up || (!narrow && status->lane_gbps == LINK_LANE_GBPS))
                return 0;

        (void) snprintf(expected, sizeof(expected), "%u lanes of %u Gb/s", width, LINK_LANE_GBPS);
        (void) snprintf(actual, sizeof(actual), "%u lanes of %u Gb/s", status->width, status->lane_gbps);
        evidence.expected = expected;
        evidence.actual = actual;
        evidence.decided = narrow ? (Decided) { "neuronlink_lanes_trained", status->width, width } :
                                    (Decided) { "neuronlink_lane_rate", status->lane_gbps, LINK_LANE_GBPS };
        return step_finding(judged->fabric->step, judged->verdict, "link-degraded", &judged->where, &evidence,
                            "trained at %s, and is built for %s; from %s", actual, expected, judged->far_text);
}

static int judge_retrains(Judged *judged) {
        const Port *port = judged->port;
        uint64_t n = port->after.retrains - port->before.retrains;
        Evidence evidence = { .has_count = true, .count = (double) n, .far_end = judged->far_text, .replaceable = judged_replaceable(judged),
                              .decided = { "neuronlink_retrains", (double) n, 0 } };

        if (!judged_retrained(judged))
                return 0;

        return step_finding(judged->fabric->step, judged->verdict, "link-flap", &judged->where, &evidence,
                            "the link went down and came up again %" PRIu64 " times during the scan; from %s", n, judged->far_text);
}

static int judge_up(Judged *judged) {
        Port *port = judged->port;
        int r = 0;

        if (port->heard == HEARD_PORT && !port_id_equal(port->from, judged->far))
                r = judge_cable(judged);
        else if (port->heard != HEARD_PORT && !judged_lanes_fail(judged) && !port->either_end)
                r = judge_nowhere(judged);
        if (r >= 0 && port->prbs)
                r = judge_lanes(judged);
        if (r >= 0)
                r = judge_training(judged);
        if (r >= 0)
                r = judge_traffic(judged);
        if (r >= 0)
                r = judge_retrains(judged);

        port->tested = port->prbs && !port->undecided;
        return r;
}

static int judge_port(Judged *judged) {
        Port *port = judged->port;
        int r;

        if (!port->driven || judged->fabric->silent[judged->id.chip] || port->error == -ETIMEDOUT)
                return 0;
        if (port->error == -EPROTO)
                return step_finding(judged->fabric->step, judged->verdict, "link-counter", &judged->where,
                                    &(Evidence) { .decided = { "neuronlink_answers_garbled", 1, 0 } },
                                    "the port answers with values that no port can have: nothing it says counts");
        if (port->error == -ENXIO)
                return step_finding(judged->fabric->step, judged->verdict, "link-down", &judged->where, &(Evidence) { .decided = JUDGED_DOWN },
                                    "the chip says that it has no such port");

        if (port->empty)
                r = judge_unplugged(judged);
        else if (port->ladder.whole && (port->broken || fabric_port(judged->fabric, judged->sender)->broken))
                r = judge_broken(judged);
        else if (!port->prbs && (!port->before.up || port->error < 0))
                r = judge_down(judged);
        else if (port->prbs && lanes_are_idle(port->lanes, link_port_width(judged->id.port)))
                r = judge_down(judged);
        else
                r = judge_up(judged);

        if (r >= 0 && port->either_end)
                r = judge_either_end(judged);
        if (r >= 0)
                r = judge_plug(judged);
        return r < 0 || port->error < 0 ? r : judge_counters(judged);
}

const char *judged_replaceable(const Judged *judged) {
        return judged->cable[0] ? judged->cable : topology_is_trace(judged->id.chip, judged->id.port) ? NULL : "cable";
}

int fabric_judge(Fabric *fabric, PortId id) {
        Judged judged = {
                .fabric = fabric, .id = id, .port = fabric_port(fabric, id), .verdict = &fabric->verdicts[id.server][id.chip],
        };
        Location far;

        if (!fabric_designed(fabric, id, &judged.far))
                return 0;

        judged.sender = fabric_sender(fabric, id);
        judged.port->either_end = fabric_is_either_end(fabric, id);
        judged.where = fabric_location(fabric, id);
        far = fabric_location(fabric, judged.far);
        location_format(&far, judged.far_text);
        if (judged.port->cable[0])
                (void) snprintf(judged.cable, sizeof(judged.cable), "cable %s", judged.port->cable);

        return judge_port(&judged);
}
