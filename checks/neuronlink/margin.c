/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Lanes that pass and are about to fail. First all lanes are screened a little off the middle, on both sides: where a good lane makes
 * an error in 36 such runs, one of a ratio of 1e-12 makes 8. Those that show more than good ones do are sampled further out, and what
 * they do in the middle is worked out from there. All of that is cut into as many commands as a look, for what comes and goes.
 *
 * Where an eye is closed is bracketed by the near-end PMA loopbacks of both ends, off the middle as well: an end that shows it there has
 * it in its own PMA, and where neither does it is the line. Far loops are turned round by a receiver that samples in the middle.
 */

#include "checks/neuronlink/margin.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "checks/neuronlink/fabric.h"

#define SCREEN_OFFSET 6
#define SCREEN_BITS   UINT64_C(1000000000) /* 31 ms */
#define SCREEN_ERRORS 3u                   /* good ones: 4 in a million; looking again costs little */
#define POINT_BITS    UINT64_C(100000000)
#define PLACE_TURNS   4u
#define PLACE_ERRORS  8u                   /* in all turns, both sides: of good lanes 1 in 1e10, of those with a ratio of 1e-12 nearly all */
#define EYE_HALF      ((LINK_OFFSET_MAX + 1) * 1.0)

static const int8_t point_offsets[] = { 10, 12, 14 };

double margin_q(double z) {
        return 0.5 * erfc(z / M_SQRT2);
}

double margin_q_inverse(double q) {
        double low = -40, high = 40;

        for (unsigned i = 0; i < 80; i++) {
                double middle = (low + high) / 2;

                if (margin_q(middle) > q)
                        low = middle;
                else
                        high = middle;
        }

        return (low + high) / 2;
}

double margin_ratio(double good, double middle, int offset) {
        double sigma = EYE_HALF / margin_q_inverse(good), half = margin_q_inverse(middle) * sigma;

        return (margin_q((half - offset) / sigma) + margin_q((half + offset) / sigma)) / 2;
}

double margin_extrapolate(const MarginPoint *points, size_t n) {
        double sum = 0, x = 0, y = 0, xx = 0, xy = 0, slope;

        for (size_t i = 0; i < n; i++) {
                double ratio = (double) points[i].errors / (double) points[i].bits, z, weight;

                if (points[i].errors == 0 || !(ratio <= 0.25))
                        continue;

                /* z moves by about 1 / (z sqrt errors) where the count moves by its standard deviation. */
                z = margin_q_inverse(2 * ratio);
                weight = (double) points[i].errors * fmax(z * z, 1);
                sum += weight;
                x += weight * points[i].offset;
                y += weight * z;
                xx += weight * points[i].offset * points[i].offset;
                xy += weight * points[i].offset * z;
        }

        if (!(sum * xx - x * x > 1e-9 * sum * xx))
                return -1;
        slope = (sum * xy - x * y) / (sum * xx - x * x);
        if (!(slope < 0))
                return -1;

        return margin_q((y - slope * x) / sum) / 2;
}

/* ---- screening ---- */

static bool lane_may_be_marginal(const Lane *lane) {
        return lane_is_sound(lane) && lane->outcome != BER_FAILS;
}

static void add_sides(const Fabric *fabric, Run *run, PortId id, unsigned number, uint64_t bits, int offset) {
        for (unsigned side = 0; side < 2; side++) {
                run_add(fabric, run, id, number + side, bits);
                run->prbs[run->n - 1].offset = (int8_t) (side == 0 ? offset : -offset);
        }
}

typedef struct Points { /* of one port, by side and offset; the first is of the screening */
        bool refused;
        MarginPoint points[LINK_LANES_MAX][2][1 + ELEMENTS(point_offsets)];
} Points;

static void add_points(const Run *run, size_t i, const Lane *lanes, unsigned index, Points *ret) {
        int offset = run->prbs[i].offset;

        for (unsigned l = 0; l < run->lanes[i].n; l++) {
                MarginPoint *point = &ret->points[l][offset < 0][index];

                *point = (MarginPoint) { abs(offset), point->bits + lanes[l].bits, point->errors + lanes[l].errors };
        }
}

/* What comes and goes may show here first: a lane that is sound has no reason not to be so near the middle. */
static void add_faults(Port *port, const Lane *lanes, unsigned n_lanes) {
        for (unsigned l = 0; l < n_lanes; l++)
                if (lane_may_be_marginal(&port->lanes[l]) && !lane_is_sound(&lanes[l]))
                        lane_add(&port->lanes[l], &lanes[l]);
}

static uint32_t suspects_of(const Port *port, unsigned n_lanes, const Points *points) {
        uint32_t suspects = 0;

        for (unsigned l = 0; l < n_lanes; l++)
                if (lane_may_be_marginal(&port->lanes[l]) &&
                    (points->points[l][0][0].errors >= SCREEN_ERRORS || points->points[l][1][0].errors >= SCREEN_ERRORS))
                        suspects |= UINT32_C(1) << l;

        return suspects;
}

/* Errors that not even a lane with a ratio of MIDDLE in its middle makes there. */
static bool is_beyond(const MarginPoint *point, double middle) {
        double expected = (double) point->bits * margin_ratio(GOOD_LANE, middle, point->offset);

        return point->errors > 0 && ber_confidence(expected, point->errors - 1) < FALSE_ALARM / 8;
}

static void fail_by(Lane *lane, const MarginPoint *point) {
        if (lane->outcome != BER_FAILS)
                lane->bits = lane->errors = lane->blocks = 0; /* of the middle, where it passed */

        lane->outcome = BER_FAILS;
        lane->offset = (uint8_t) point->offset;
        lane->bits += point->bits;
        lane->errors += point->errors;
        lane->blocks += point->errors; /* that far out errors are alone */
        lane->limit = SCREEN_ERRORS;
}

/* Worse than MARGIN in the middle by its edges, and further out than any good lane would be; or, where edges do not explain it, so wrong near the
 * middle as no lane within MARGIN is: then it was right before, and is not always. */
static void judge_margin(const Fabric *fabric, Lane *lane, MarginPoint points[2][1 + ELEMENTS(point_offsets)]) {
        double middle = 0;
        bool certain = false;

        for (unsigned side = 0; side < 2; side++) {
                double ratio = margin_extrapolate(points[side], 1 + ELEMENTS(point_offsets));

                middle += fmax(ratio, 0);
                certain |= ratio >= 0 && is_beyond(&points[side][1], GOOD_LANE);
        }
        if (certain && middle >= fabric->parameters->margin) {
                lane->margin = middle;
                return;
        }

        for (unsigned side = 0; side < 2; side++)
                if (is_beyond(&points[side][0], fabric->parameters->margin))
                        fail_by(lane, &points[side][0]);
}

/* Adds what a run of two sides of each port showed to the points of these, at INDEX. */
static void take_run(Fabric *fabric, const Run *run, unsigned index, Points *points) {
        for (size_t i = 0; i < run->n; i++) {
                PortId id = run->ids[i];
                Points *own = &points[id.chip * PORTS + id.port];
                Lane lanes[LINK_LANES_MAX];

                if (run->errors[i] < 0) {
                        own->refused = true;
                        continue;
                }
                lanes_classify(run->lanes[i].lanes, run->lanes[i].n, &run->prbs[i], lanes);
                add_points(run, i, lanes, index, own);
                if (index == 0)
                        add_faults(fabric_port(fabric, id), lanes, run->lanes[i].n);
        }
}

static int examine(Fabric *fabric, Run *run, PortId id, uint32_t suspects, Points *points) {
        Points *own = &points[id.chip * PORTS + id.port];
        unsigned n_parts = (unsigned) fabric->parameters->parts;

        for (unsigned k = 0; k < ELEMENTS(point_offsets) * n_parts && !own->refused; k++) {
                int r;

                run->n = 0;
                add_sides(fabric, run, id, RUN_MARGIN + 2 * (n_parts + k), POINT_BITS / n_parts, point_offsets[k / n_parts]);
                r = run_all(fabric, run, RUN_PRBS);
                if (r < 0)
                        return r;
                take_run(fabric, run, 1 + k / n_parts, points);
        }

        for (unsigned l = 0; l < link_port_width(id.port); l++)
                if (suspects >> l & 1 && !own->refused)
                        judge_margin(fabric, &fabric_port(fabric, id)->lanes[l], own->points[l]);
        return 0;
}

static bool any_may_be_marginal(const Port *port, unsigned n_lanes) {
        for (unsigned l = 0; l < n_lanes; l++)
                if (lane_may_be_marginal(&port->lanes[l]))
                        return true;

        return false;
}

static int screen(Fabric *fabric, Run *run, Points *points) {
        unsigned n_parts = (unsigned) fabric->parameters->parts;
        int r = 0;

        for (unsigned part = 0; part < n_parts && r >= 0; part++) {
                run->n = 0;
                for (unsigned i = 0; i < CHIPS * PORTS; i++) {
                        PortId id = port_id_at(i);
                        const Port *port = fabric_port(fabric, id);

                        if (port->prbs && !points[i].refused && any_may_be_marginal(port, link_port_width(id.port)) && fabric_may_drive(fabric, id))
                                add_sides(fabric, run, id, RUN_MARGIN + 2 * part, SCREEN_BITS / n_parts, SCREEN_OFFSET);
                }
                r = run_all(fabric, run, RUN_PRBS);
                if (r >= 0)
                        take_run(fabric, run, 0, points);
        }

        return r;
}

/* ---- places ---- */

typedef struct Places { /* of all ports: errors at both ends, own first */
        bool refused[CHIPS][PORTS];
        uint64_t errors[CHIPS][PORTS][2][LINK_LANES_MAX];
} Places;

/* It is close to failing; or it fails, and nothing has told where. */
static bool wants_place(const Lane *lane) {
        return lane->margin > 0 ||
               (lane_is_sound(lane) && lane->outcome == BER_FAILS && !lane->crosstalk && lane->segment == SEGMENT_UNKNOWN);
}

static bool any_wants_place(const Port *port, unsigned n_lanes) {
        if (port->error < 0)
                return false;

        for (unsigned l = 0; l < n_lanes; l++)
                if (wants_place(&port->lanes[l]))
                        return true;

        return false;
}

/* Adds one turn of loops at an end of all links that have such a lane: 0 own, 1 far. */
static int add_loops(Fabric *fabric, Run *run, unsigned turn, unsigned end, Places *places) {
        PortId owners[RUN_MAX];
        int r;

        run->n = 0;
        for (unsigned i = 0; i < CHIPS * PORTS; i++) {
                PortId id = port_id_at(i);

                if (!any_wants_place(fabric_port(fabric, id), link_port_width(id.port)))
                        continue;
                owners[run->n] = owners[run->n + 1] = id;
                add_sides(fabric, run, end == 0 ? id : fabric_sender(fabric, id), RUN_PLACES + 4 * turn + 2 * end, SCREEN_BITS,
                          SCREEN_OFFSET);
        }

        r = run_all(fabric, run, LOOPBACK_NEAR_PMA);
        for (size_t i = 0; i < run->n && r >= 0; i++) {
                places->refused[owners[i].chip][owners[i].port] |= run->errors[i] < 0;
                for (unsigned l = 0; run->errors[i] >= 0 && l < run->lanes[i].n; l++)
                        places->errors[owners[i].chip][owners[i].port][end][l] += run->lanes[i].lanes[l].errors;
        }

        return r;
}

/* More of them than good lanes make, and than this one makes in the middle, whatever is wrong there. */
static bool shows_eye(const Lane *lane, uint64_t errors) {
        double bits = 2.0 * PLACE_TURNS * (double) SCREEN_BITS;

        return errors >= PLACE_ERRORS && (lane->offset > 0 || (double) errors > 10 * bits * (double) lane->errors / (double) lane->bits);
}

static void place_lanes(Port *port, unsigned n_lanes, uint64_t errors[2][LINK_LANES_MAX]) {
        for (unsigned l = 0; l < n_lanes; l++) {
                Lane *lane = &port->lanes[l];
                bool own = shows_eye(lane, errors[0][l]), far = shows_eye(lane, errors[1][l]);

                /* Where neither end shows it, what fails need not be an eye that is closed. */
                if (!wants_place(lane) || (own && far) || (!own && !far && !(lane->margin > 0)))
                        continue;
                lane->segment = own ? SEGMENT_OWN_PMA : far ? SEGMENT_FAR_PMA : SEGMENT_LINE;
                lane->by_eye = true;
        }
}

static bool anything_to_place(Fabric *fabric) {
        for (unsigned i = 0; i < CHIPS * PORTS; i++)
                if (any_wants_place(fabric_port(fabric, port_id_at(i)), link_port_width(port_id_at(i).port)))
                        return true;

        return false;
}

int fabric_place_eyes(Fabric *fabric) {
        double sec = link_sec(4 * PLACE_TURNS * (double) SCREEN_BITS);
        _cleanup_free_ Places *places = NULL;
        _cleanup_free_ Run *run = NULL;

        if (!(fabric->parameters->margin < 1) || fabric_budget_sec(fabric) < sec || !anything_to_place(fabric))
                return 0;

        places = calloc(1, sizeof(*places));
        run = malloc(sizeof(*run));
        if (!places || !run)
                return -ENOMEM;
        for (unsigned i = 0; i < 2 * PLACE_TURNS; i++) {
                int r;

                r = add_loops(fabric, run, i / 2, i % 2, places);
                if (r < 0)
                        return r;
        }

        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++)
                        if (!places->refused[c][p])
                                place_lanes(&fabric->servers[0].ports[c][p], link_port_width(p), places->errors[c][p]);
        return 0;
}

int fabric_look_at_edges(Fabric *fabric) {
        double sec = link_sec(2 * (double) SCREEN_BITS);
        _cleanup_free_ Points *points = NULL;
        _cleanup_free_ Run *run = NULL;
        int r;

        if (!(fabric->parameters->margin < 1) || fabric_budget_sec(fabric) < 2 * sec)
                return 0;

        run = malloc(sizeof(*run));
        points = calloc(CHIPS * PORTS, sizeof(*points));
        if (!run || !points)
                return -ENOMEM;

        r = screen(fabric, run, points);
        for (unsigned i = 0; i < CHIPS * PORTS && r >= 0; i++) {
                PortId id = port_id_at(i);
                Port *port = fabric_port(fabric, id);
                uint32_t suspects = points[i].refused ? 0 : suspects_of(port, link_port_width(id.port), &points[i]);

                if (suspects != 0)
                        r = examine(fabric, run, id, suspects, points);
                port->refused = port->refused || points[i].refused;
        }

        return r;
}
