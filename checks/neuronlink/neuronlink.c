/* SPDX-License-Identifier: Apache-2.0 */

/*
 * neuronlink
 *
 * Every link of a server, at the port that receives: is it there and as wide as built, does it come from the port that
 * the design says, does each lane deliver its bits, and do the port's own counters tell the truth. Where a link is
 * down, the ports at both ends are looped back near their transceivers: the one that does not hear itself is to blame,
 * and where both do it is what lies between them, and both chips fail.
 *
 * A chip that does not answer is left to its own step; its neighbours are judged by what they can do alone.
 */

#include <errno.h>
#include <inttypes.h>

#include "checks/check.h"
#include "checks/neuronlink/ber.h"
#include "checks/neuronlink/fabric.h"
#include "checks/neuronlink/wiring.h"

#define GOOD_LANE   1e-15 /* bit error ratio */
#define FALSE_ALARM 1e-12 /* chance to fail a good lane: 64 million receivers are swept 15,000 times for one */
#define NB_MAX 100000.0 /* bits × ratio: more proves no more and costs time */

static int judge_chip(Fabric *fabric, unsigned chip, Verdict *verdict, unsigned *ret_untested) {
        Location where = *step_unit(fabric->step);
        unsigned n_ports = 0, n_lanes = 0, n_untested = 0;
        bool refused = false;
        int r;

        (void) location_append(&where, LOCATION_CHIP, chip);
        for (unsigned p = 0; p < PORTS; p++) {
                PortId id = { 0, (uint8_t) chip, (uint8_t) p }, far;
                const Port *port = fabric_port(fabric, id);

                if (!fabric_designed(fabric, id, &far))
                        continue;
                r = fabric_judge(fabric, id, verdict);
                if (r < 0)
                        return r;
                n_ports += port->tested;
                n_lanes += port->prbs && port->tested ? link_port_width(p) : 0;
                n_untested += !port->tested;
                if (port->driven && port->error == -ETIMEDOUT)
                        fabric->silent[chip] = true;
                refused = refused || (port->driven && port->refused);
        }

        *ret_untested += n_untested;
        r = step_note(fabric->step, "neuronlink_ports_tested", n_ports, "{port}", &where);
        if (r >= 0)
                r = step_note(fabric->step, "neuronlink_ports_untested", n_untested, "{port}", &where);
        if (r >= 0)
                r = step_note(fabric->step, "neuronlink_lanes_tested", n_lanes, "{lane}", &where);
        if (r >= 0) /* how many good lanes of so many this test would fail, on average */
                r = step_note(fabric->step, "neuronlink_false_alarms",
                              n_lanes * ber_false_alarm((double) fabric->parameters->bits * GOOD_LANE, fabric->allowed, fabric->certain,
                                                        PASSES_MAX), "1", &where);
        /* What a silent chip is worth is for the step that asks it alone; here it could not be judged. */
        refused = refused || fabric->silent[chip];
        return r < 0 ? r : step_part_done(fabric->step, &where, refused && *verdict == VERDICT_PASSED ? VERDICT_ERROR :
                                                                                                        *verdict);
}

static int judge_server(Fabric *fabric, Verdict *ret) {
        Verdict worst = VERDICT_PASSED;
        unsigned n_untested = 0;
        int r;

        wiring_solve(fabric);
        r = wiring_judge(fabric, &worst);
        for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                Verdict verdict = VERDICT_PASSED;

                if (!fabric_includes(fabric, (PortId) { .chip = (uint8_t) c }))
                        continue;
                r = judge_chip(fabric, c, &verdict, &n_untested);
                if (verdict == VERDICT_FAILED || (verdict == VERDICT_WARNED && worst == VERDICT_PASSED))
                        worst = verdict;
                step_progress(fabric->step, 50 + 50 * (c + 1) / CHIPS);
        }
        if (r >= 0)
                r = step_note(fabric->step, "neuronlink_ports_untested", n_untested, "{port}", NULL);
        if (r >= 0)
                r = step_note(fabric->step, "neuronlink_bits_per_lane", (double) fabric->parameters->bits, "bit", NULL);
        if (r < 0)
                return r;

        *ret = worst;
        return 0;
}

/* ---- the step ---- */

static int set_limits(Fabric *fabric) {
        const NeuronlinkParameters *parameters = fabric->parameters;
        double nb = (double) parameters->bits * parameters->ber;

        if (nb > NB_MAX)
                return step_error(fabric->step, -EINVAL, "%g errors are expected at the limit: fewer bits will do", nb);

        for (unsigned n = 1; n <= PASSES_MAX; n++) {
                fabric->allowed[n] = ber_allowed(n * nb, parameters->confidence);
                fabric->certain[n] = (int) ber_certain(n * (double) parameters->bits * GOOD_LANE, FALSE_ALARM);
                if (fabric->certain[n] <= fabric->allowed[n])
                        fabric->certain[n] = fabric->allowed[n] + 1;
        }
        if (fabric->allowed[1] < 0)
                return step_error(fabric->step, -EINVAL, "%" PRIu64 " bits cannot exclude %g with %g %% confidence, %.3g do",
                                  parameters->bits, parameters->ber, parameters->confidence * 100,
                                  ber_required(parameters->confidence, 0) / parameters->ber);

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

static int neuronlink_run(Step *step, Verdict *ret) {
        const NeuronlinkParameters *parameters = step_parameters(step);
        double sec = (double) parameters->bits / (LINK_LANE_GBPS * 1e9);
        _cleanup_free_ Fabric *fabric = NULL;
        bool silent;
        int r;

        fabric = calloc(1, sizeof(*fabric));
        if (!fabric)
                return -ENOMEM;

        fabric_init(fabric, step, parameters);
        r = set_limits(fabric);
        if (r < 0)
                return r;
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
        r = fabric_read_after(fabric);
        if (r < 0)
                return r;

        return judge_server(fabric, ret);
}

const Check check_neuronlink = {
        .name         = "neuronlink",
        .summary      = "every NeuronLink port: where its cable comes from, and the bit errors of each lane",
        .reads        = "link status, discovery frames, PRBS and loopback of every port; info/serial_number, "
                        "assay/link/PORT/cable and label",
        .codes        = (const char *const[]) { "link-errors", "link-lane", "link-down", "link-miscabled", "link-counter",
                                                "link-cabling", "link-frames", "link-label", "link-serial", "link-unplugged",
                                                NULL },
        .skips        = "not-requested: no link has both its ends in the scan; budget: the plan has less device time left than PRBS takes",
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 30,
        .run          = neuronlink_run,
};
