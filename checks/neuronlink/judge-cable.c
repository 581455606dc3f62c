/* SPDX-License-Identifier: Apache-2.0 */

/* What one port is worth by its cable: whom it hears, and what stands on the plug. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/neuronlink/judge.h"
#include "checks/neuronlink/wiring.h"

#define ADVICE_MAX   (MOVE_TEXT_MAX + 64u)
#define FRAMES_WRONG { "neuronlink_frames_wrong", 1, 0 }

/* ---- whom it hears ---- */

static bool same_chip(PortId a, PortId b) {
        return a.server == b.server && a.chip == b.chip;
}

static const char *kind_of_mistake(const Judged *judged) {
        PortId from = judged->port->from, far = judged->far, id = judged->id, behind = id;

        id.port = (uint8_t) link_port_opposite((LinkPort) id.port);
        (void) fabric_designed(judged->fabric, id, &behind);
        if (port_id_equal(from, judged->id))
                return "hears itself: a loopback plug";
        if (same_chip(from, judged->id))
                return "hears another port of its own chip: a cable bent back";
        if (same_chip(from, far))
                return "comes from the right chip, but from its wrong port";
        if (same_chip(from, behind) && from.port / 2 == judged->id.port / 2)
                return "comes from the chip on the other side: the ring is the wrong way round";
        if (from.port == judged->id.port)
                return "is reversed: it comes from a port of its own kind";
        if (from.port / 2 != judged->id.port / 2)
                return "comes from another axis and another chip";
        return "comes from the wrong chip";
}

/* ". Move 2 of 3 puts it right: …" */
static void advise(const Judged *judged, char text[static ADVICE_MAX]) {
        char move[MOVE_TEXT_MAX];
        unsigned number, n;

        n = wiring_move_of(judged->fabric, judged->id, &number, move);
        if (n == 0)
                text[0] = '\0';
        else if (n == 1)
                (void) snprintf(text, ADVICE_MAX, "%s. One move puts it right: %s",
                                wiring_ports_of(judged->fabric, judged->id) == 4 ? " (two cables are swapped)" : "", move);
        else
                (void) snprintf(text, ADVICE_MAX, ". Move %u of %u puts it right: %s", number, n, move);
}

/* Whether a port hears what another sends that does not hear it back. */
static bool is_one_way(const Judged *judged) {
        const Port *from = fabric_port(judged->fabric, judged->port->from);

        return from->heard != HEARD_PORT || !port_id_equal(from->from, judged->id);
}

int judge_cable(Judged *judged) {
        char from[LOCATION_STRING_MAX], advice[ADVICE_MAX];
        Location where = fabric_location(judged->fabric, judged->port->from);
        Evidence evidence = {
                .expected = judged->far_text, .actual = from, .far_end = from, .replaceable = judged_replaceable(judged),
                .decided = { "neuronlink_ports_miscabled", 1, 0 },
        };

        if (!judged_hears(judged))
                return 0; /* see judge_frames() */
        location_format(&where, from);
        advise(judged, advice);
        return step_finding(judged->fabric->step, judged->verdict, "link-miscabled", &judged->where, &evidence,
                            "%s%s: %s instead of %s%s", kind_of_mistake(judged),
                            is_one_way(judged) ? ", in one direction only" : "", from, judged->far_text, advice);
}

/* ---- who is heard nowhere ---- */

/* All payload came through and the link never went down, so it carries frames as well; and the far end sent them all. */
static bool is_carried(const Judged *judged, const Port *far) {
        const Port *port = judged->port;

        return port->heard == HEARD_NOTHING && port->payload.n_moved > 0 && port->payload.n_blocked == 0 && port->before.up && port->after.up &&
               !judged_retrained(judged) && port->ladder.n_asked > 0 && port->ladder.n_down == 0 && far->n_sent > 0 && !far->unsent;
}

/* Frames of payload count, too. One that comes twice may count twice: where any did, the counter proves nothing. */
static bool has_counted(const Judged *judged, const Port *far) {
        const Port *port = judged->port;
        uint64_t moved = port->after.frames_received - port->before.frames_received;

        return port->payload.replays == 0 && moved <= UINT32_MAX && moved >= judged_payload_frames(judged) + far->n_sent;
}

static int judge_kept(Judged *judged, const Port *far) {
        Evidence evidence = { .expected = judged->far_text, .actual = "nothing", .far_end = judged->far_text, .decided = FRAMES_WRONG };

        if (has_counted(judged, far))
                return step_finding(judged->fabric->step, judged->verdict, "link-frames", &judged->where, &evidence,
                                    "the port counts the %" PRIu64 " frames that %s sent as received and hands out none of them; all payload comes through",
                                    far->n_sent, judged->far_text);

        return step_finding(judged->fabric->step, judged->verdict, "link-frames", &judged->where, &evidence,
                            "the port neither counts nor hands out the %" PRIu64 " frames that %s says it sent, and all payload comes through: one of the "
                            "two ports drops frames", far->n_sent, judged->far_text);
}

int judge_nowhere(Judged *judged) {
        Evidence evidence = { .expected = judged->far_text, .actual = "nothing", .replaceable = judged_replaceable(judged), .decided = JUDGED_DOWN };
        const Port *far = fabric_port(judged->fabric, judged->far);
        char advice[ADVICE_MAX];

        /* Explained by a far end that talks nonsense or is down, which is found there. */
        if (far->error < 0 || (judged->far.server == 0 && far->n_sent == 0 && !far->before.up) || !judged_hears(judged))
                return 0;
        if (far->heard == HEARD_PORT && port_id_equal(far->from, judged->id))
                return is_carried(judged, far) ? judge_kept(judged, far) :
                       step_finding(judged->fabric->step, judged->verdict, "link-down", &judged->where, &evidence,
                                    "in one direction only: %s hears this port, and nothing of what it sends arrives here",
                                    judged->far_text);

        advise(judged, advice);
        evidence.decided = (Decided) { "neuronlink_ports_miscabled", 1, 0 };
        return step_finding(judged->fabric->step, judged->verdict, "link-miscabled", &judged->where, &evidence,
                            "the link is up, but no port of this scan is heard: it should be %s%s", judged->far_text,
                            advice[0] ? advice : ". Follow the cable");
}

int judge_unplugged(Judged *judged) {
        Evidence evidence = {
                .expected = judged->far_text, .actual = "nothing is plugged in", .far_end = judged->far_text, .replaceable = "cable",
                .decided = { "neuronlink_ports_unplugged", 1, 0 },
        };
        char advice[ADVICE_MAX];

        advise(judged, advice);
        judged->port->tested = true;
        return step_finding(judged->fabric->step, judged->verdict, "link-unplugged", &judged->where, &evidence,
                            "no plug: the cable from %s belongs here%s", judged->far_text, advice);
}

/* ---- what stands on the plug ---- */

/* The cable's own other end, where both ends hear each other. */
static bool other_end(const Judged *judged, PortId *ret) {
        *ret = judged->port->from;
        return judged->port->heard == HEARD_PORT && !is_one_way(judged) && !port_id_equal(*ret, judged->id);
}

static int judge_serial(Judged *judged, PortId other, const char *what) {
        const Port *port = fabric_port(judged->fabric, other);
        Location where = fabric_location(judged->fabric, other);
        char text[LOCATION_STRING_MAX];
        Evidence evidence = {
                .expected = port->cable, .actual = judged->port->cable, .far_end = text, .replaceable = judged_replaceable(judged),
                .decided = { "neuronlink_cables_differing", 1, 0 },
        };

        location_format(&where, text);
        return step_finding(judged->fabric->step, judged->verdict, "link-serial", &judged->where, &evidence,
                            "%s: cable %s here, cable %s at %s", what, judged->port->cable, port->cable, text);
}

/* Of a plug whose other end is not known nothing can be said: it may be any that has the number. */
static int judge_serials(Judged *judged) {
        PortId far;

        if (!other_end(judged, &far))
                return 0;
        if (strcmp(fabric_port(judged->fabric, far)->cable, judged->port->cable) != 0)
                return judge_serial(judged, far, "the two ends of this cable tell different numbers");

        if (*fabric_cable_count(judged->fabric, judged->port->cable) <= 2)
                return 0; /* its own two ends */

        for (unsigned i = 0; i < RING * CHIPS * PORTS; i++) {
                PortId id = port_id_at(i);

                if (!port_id_equal(id, judged->id) && !port_id_equal(id, far) &&
                    strcmp(fabric_port(judged->fabric, id)->cable, judged->port->cable) == 0)
                        return judge_serial(judged, id, "another cable tells the same number");
        }

        return 0;
}

/* Two whole cables in each other's place make the right torus all the same. */
static int judge_intended(Judged *judged) {
        const Port *port = judged->port;
        Evidence evidence = { .expected = port->wanted_cable, .actual = port->cable, .replaceable = judged_replaceable(judged),
                              .decided = { "neuronlink_cables_differing", 1, 0 } };

        if (!port->wanted_cable || port->wanted_cable[0] == '\0' || strcmp(port->wanted_cable, port->cable) == 0)
                return 0;

        return step_finding(judged->fabric->step, judged->verdict, "link-serial", &judged->where, &evidence,
                            "the link is right, but its cable is %s and not %s, which the topology file wants here", port->cable,
                            port->wanted_cable);
}

static int judge_label(Judged *judged) {
        char text[LOCATION_STRING_MAX];
        const char *wanted = judged->port->wanted_label && judged->port->wanted_label[0] ? judged->port->wanted_label : text;
        Evidence evidence = { .expected = wanted, .actual = judged->port->label, .replaceable = judged_replaceable(judged),
                              .decided = { "neuronlink_labels_differing", 1, 0 } };

        location_format(&judged->where, text);
        if (strcmp(judged->port->label, wanted) == 0)
                return 0;

        return step_finding(judged->fabric->step, judged->verdict, "link-label", &judged->where, &evidence,
                            "the link is right, but the label on the plug says %s and not %s", judged->port->label, wanted);
}

static int judge_frames(Judged *judged) {
        static const char *const words[] = {
                [FRAMES_STRANGE] = "hands out frames that no port of this scan sent: who is at its other end cannot be told",
                [FRAMES_STALE]   = "hands out frames of an earlier exchange in place of those that are sent now: who is at its other end cannot be told",
                [FRAMES_ECHO]    = "hands out its own frames, which also arrive elsewhere, and no loopback plug does that: who is at its other end cannot be told",
                [FRAMES_ENDLESS] = "hands out frames without end, while nothing is sent: who is at its other end cannot be told",
                [FRAMES_SURPLUS] = "hands out frames after the one that was sent to it, while nothing is sent",
        };
        Evidence evidence = { .expected = judged->far_text, .far_end = judged->far_text, .decided = FRAMES_WRONG };

        return step_finding(judged->fabric->step, judged->verdict, "link-frames", &judged->where, &evidence,
                            "the port %s", words[judged->port->frames]);
}

int judge_plug(Judged *judged) {
        const Port *port = judged->port;
        bool right = port->heard == HEARD_PORT && port_id_equal(port->from, judged->far);
        int r = 0;

        if (port->frames != FRAMES_FINE)
                r = judge_frames(judged);
        if (r >= 0 && port->cable[0])
                r = judge_serials(judged);
        if (r >= 0 && right && port->cable[0])
                r = judge_intended(judged);
        if (r >= 0 && right && port->label[0])
                r = judge_label(judged);
        return r;
}
