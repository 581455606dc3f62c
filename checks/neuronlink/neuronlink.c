/* SPDX-License-Identifier: Apache-2.0 */

/*
 * neuronlink
 *
 * Every link of a server, at the port that receives: is it there and as wide as built, does it come from the port that
 * the design says, does each lane deliver its bits, and do the port's own counters tell the truth. Where a link is
 * down, be it at times, the ports at both ends are looped back near their transceivers: the one that does not hear itself
 * is to blame, alone, and where both do, so often that it says something, it is what lies between them, and both chips fail.
 * Where it was down too rarely for that, both could not be judged.
 *
 * A chip that does not answer is left to its own step; its neighbours are judged by what they can do alone.
 */

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "checks/neuronlink/fabric.h"
#include "checks/neuronlink/wiring.h"
#include "checks/statistics/ber.h"
#include "checks/step/check.h"

/* What was done of a chip, for the plan to hold against what it promises. */
typedef struct Tested {
        unsigned ports, lanes, untested;
        bool refused, undecided, either_end;
        unsigned n_passed;     /* lanes by their errors … */
        uint64_t worst, limit; /* … and of the one with the most of them these, and those that it might have had */
} Tested;

static void add_lanes(const Port *port, unsigned n_lanes, Tested *tested) {
        for (unsigned l = 0; l < n_lanes; l++) {
                const Lane *lane = &port->lanes[l];

                if (lane->outcome != BER_PASSES || (tested->n_passed++ > 0 && lane->counted <= tested->worst))
                        continue;
                tested->worst = lane->counted;
                tested->limit = lane->limit;
        }
}

static int judge_chip(Fabric *fabric, unsigned chip, Tested *ret) {
        for (unsigned p = 0; p < PORTS; p++) {
                PortId id = { 0, (uint8_t) chip, (uint8_t) p }, far;
                const Port *port = fabric_port(fabric, id);
                int r;

                if (!fabric_designed(fabric, id, &far))
                        continue;
                r = fabric_judge(fabric, id);
                if (r < 0)
                        return r;
                ret->ports += port->tested;
                ret->lanes += port->prbs && port->tested ? link_port_width(p) : 0;
                if (port->prbs && port->tested)
                        add_lanes(port, link_port_width(p), ret);
                ret->untested += !port->tested;
                if (port->driven && port->error == -ETIMEDOUT)
                        fabric->silent[chip] = true;
                ret->refused = ret->refused || (port->driven && fabric_refused(fabric, id));
                ret->undecided = ret->undecided || (port->driven && port->undecided);
                ret->either_end = ret->either_end || port->either_end;
        }

        return 0;
}

/* Why a port was not tested, as the name of a measurement that stands at it. */
static const char *untested_why(Fabric *fabric, PortId id) {
        const Port *port = fabric_port(fabric, id);

        if (!port->driven)
                return "neuronlink_untested_out_of_scan"; /* a chip at one of its ends, or in service: it is not to be disturbed */
        if (fabric->silent[id.chip] || port->error == -ETIMEDOUT)
                return "neuronlink_untested_silent";
        if (port->either_end)
                return "neuronlink_untested_either_end"; /* it is down at times, and what its link has may be of the far end */
        if (fabric_refused(fabric, id) || port->error < 0)
                return "neuronlink_untested_refused";
        if (port->undecided)
                return "neuronlink_untested_undecided"; /* the plan had no time to count on */

        return "neuronlink_untested_other_end"; /* what is plugged in is not known to be in the scan */
}

static int tell_untested(Fabric *fabric, unsigned chip) {
        for (unsigned p = 0; p < PORTS; p++) {
                PortId id = { 0, (uint8_t) chip, (uint8_t) p }, far;
                Location where = fabric_location(fabric, id);
                int r;

                if (!fabric_designed(fabric, id, &far) || fabric_port(fabric, id)->tested)
                        continue;
                r = step_note(fabric->step, untested_why(fabric, id), 1, "{port}", &where);
                if (r < 0)
                        return r;
        }

        return 0;
}

static int tell_chip(Fabric *fabric, unsigned chip, const Tested *tested) {
        Location where = fabric_location(fabric, (PortId) { .chip = (uint8_t) chip });
        Verdict verdict = fabric->verdicts[0][chip];
        const struct {
                const char *name, *unit;
                double value;
        } notes[] = {
                { "neuronlink_ports_tested", "{port}", tested->ports },
                { "neuronlink_lanes_tested", "{lane}", tested->lanes },
                /* how many good lanes of so many this test would fail, on average */
                { "neuronlink_false_alarms", "1", tested->lanes * (fabric->looks.false_alarm + (fabric->parameters->margin < 1 ? MARGIN_FALSE_ALARM : 0)) },
        };
        int r;

        (void) location_truncate(&where, LOCATION_CHIP);
        for (size_t i = 0; i < ELEMENTS(notes); i++) {
                r = step_note(fabric->step, notes[i].name, notes[i].value, notes[i].unit, &where);
                if (r < 0)
                        return r;
        }
        r = step_measure_series(fabric->step, "neuronlink_lane_errors", (Series) { STATISTIC_MAX, tested->n_passed }, (double) tested->worst, "{error}",
                                LIMIT_LESS_THAN_OR_EQUAL, (double) tested->limit, &where);
        if (r >= 0 && tested->untested > 0)
                r = step_note(fabric->step, "neuronlink_ports_untested", tested->untested, "{port}", &where);
        if (r >= 0 && tested->untested > 0)
                r = tell_untested(fabric, chip);
        if (r < 0)
                return r;

        /* As with two adapters: neither end is called broken, and none has passed. */
        if (tested->either_end && verdict != VERDICT_FAILED && !fabric->silent[chip])
                return step_part_done(fabric->step, &where, VERDICT_ERROR, REASON_AMBIGUOUS);
        /* What a silent chip is worth is for the step that asks it alone; here it could not be judged. */
        if ((tested->refused || fabric->silent[chip]) && verdict == VERDICT_PASSED)
                verdict = VERDICT_ERROR;
        /* A lane with errors that was not counted to the end is no pass, and as it may be a sound one it is not named. */
        else if (tested->undecided && verdict != VERDICT_FAILED)
                verdict = VERDICT_SKIPPED;
        /* Of a chip that has no link to another one of the scan nothing was asked, as where the scan has no link at all. */
        else if (tested->n_passed == 0 && verdict == VERDICT_PASSED)
                return step_part_done(fabric->step, &where, VERDICT_SKIPPED, REASON_NOT_REQUESTED);
        return step_part_done(fabric->step, &where, verdict, verdict == VERDICT_SKIPPED ? REASON_BUDGET : REASON_NONE);
}

/* All ports first: what fails at one may be the fault of another chip. */
static int judge_server(Fabric *fabric, Verdict *ret) {
        Verdict worst = VERDICT_PASSED;
        Tested tested[CHIPS] = {};
        unsigned n_untested = 0;
        int r;

        wiring_solve(fabric);
        r = wiring_judge(fabric, &worst);
        for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                if (fabric_includes(fabric, (PortId) { .chip = (uint8_t) c }))
                        r = judge_chip(fabric, c, &tested[c]);
                n_untested += tested[c].untested;
                step_progress(fabric->step, 50 + 50 * (c + 1) / CHIPS);
        }
        for (unsigned c = 0; c < CHIPS && r >= 0; c++)
                if (fabric_includes(fabric, (PortId) { .chip = (uint8_t) c }))
                        r = tell_chip(fabric, c, &tested[c]);
        if (r >= 0)
                r = step_note(fabric->step, "neuronlink_ports_untested", n_untested, "{port}", NULL);
        if (r >= 0)
                r = step_note(fabric->step, "neuronlink_bits_per_lane", (double) fabric->parameters->bits, "bit", NULL);
        if (r < 0)
                return r;

        for (unsigned s = 0; s < fabric->n_servers; s++)
                for (unsigned c = 0; c < CHIPS; c++)
                        if (fabric->verdicts[s][c] == VERDICT_FAILED || worst == VERDICT_PASSED)
                                worst = fabric->verdicts[s][c];
        *ret = worst;
        return 0;
}

/* ---- the step ---- */

static int set_limits(Fabric *fabric) {
        const NeuronlinkParameters *parameters = fabric->parameters;

        if (ber_plan(&fabric->looks, parameters->bits, parameters->ber, parameters->confidence, GOOD_LANE, FALSE_ALARM) < 0)
                return step_error(fabric->step, -EINVAL, "%" PRIu64 " bits do not fit %g with %g %% confidence: %.3g to %.3g do",
                                  parameters->bits, parameters->ber, parameters->confidence * 100,
                                  ber_required(parameters->confidence, 0) / parameters->ber, BER_NB_MAX / parameters->ber);

        return 0;
}

static bool anything_to_do(const Fabric *fabric, bool *ret_all_silent) {
        LinkEnd ends[CHIPS * PORTS];
        size_t n = fabric_ends(fabric, 0, ends);

        *ret_all_silent = true;
        for (size_t i = 0; i < n; i++)
                if (!fabric->silent[ends[i].chip])
                        *ret_all_silent = false;

        return n > 0;
}

/* PRBS on all lanes at a time, where none makes an error: two looks. */
static double neuronlink_least_sec(const void *given) {
        const NeuronlinkParameters *parameters = given;

        return link_sec((double) (ber_short_bits(parameters->bits) + parameters->bits));
}

static int neuronlink_run(Step *step, Verdict *ret) {
        const NeuronlinkParameters *parameters = step_parameters(step);
        double sec = neuronlink_least_sec(parameters);
        _cleanup_free_ Fabric *fabric = NULL;
        bool silent;
        int r;

        fabric = calloc(1, sizeof(*fabric));
        if (!fabric)
                return -ENOMEM;

        fabric_init(fabric, step, parameters);
        fabric->begin_nsec = device_nsec(step_device(step));
        r = set_limits(fabric);
        if (r < 0)
                return r;
        fabric->allowed_sec = fmin(step_budget_sec(step), link_sec((double) fabric->looks.bits[fabric->looks.n - 1]) + FOLLOW_UP_SEC);
        if (!anything_to_do(fabric, &silent))
                return step_skip(step, ret, REASON_NOT_REQUESTED, "no link has both its ends in this scan");
        if (step_budget_sec(step) < sec)
                return step_skip(step, ret, REASON_BUDGET, "PRBS takes %.3g s of device time", sec);

        r = fabric_discover(fabric);
        if (r < 0)
                return r;
        (void) anything_to_do(fabric, &silent);
        if (silent)
                return step_error(step, -ETIMEDOUT, "no chip of the server answers");

        r = fabric_count_errors(fabric);
        if (r < 0)
                return r;
        step_progress(step, 50);
        r = fabric_look_at_edges(fabric);
        if (r >= 0)
                r = fabric_move_payload(fabric);
        if (r >= 0)
                r = fabric_find_crosstalk(fabric);
        if (r >= 0)
                r = fabric_climb(fabric);
        if (r >= 0)
                r = fabric_place_eyes(fabric);
        if (r < 0)
                return r;
        r = fabric_read_after(fabric);
        if (r >= 0)
                r = fabric_clear_counters(fabric);
        if (r < 0)
                return r;

        return judge_server(fabric, ret);
}

const Check check_neuronlink = {
        .name         = "neuronlink",
        .summary      = "every NeuronLink port: where its cable comes from, and the bit errors of each lane",
        .reads        = "link status, discovery frames, PRBS and loopback of every port; info/serial_number, "
                        "assay/link/PORT/cable and label; clears errors and replays there where it moved them from zero",
        .codes        = (const char *const[]) { "link-errors", "link-lane", "link-clock", "link-crosstalk", "link-margin", "link-undecided", "link-bandwidth",
                                                "link-down", "link-either-end", "link-degraded", "link-flap", "link-miscabled", "link-counter",
                                                "link-cabling", "link-frames", "link-label", "link-serial", "link-unplugged",
                                                NULL },
        .skips        = "not-requested: no link has both its ends in the scan; budget: the plan has less device time left than PRBS takes",
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 30,
        .least_sec    = neuronlink_least_sec,
        .run          = neuronlink_run,
};
