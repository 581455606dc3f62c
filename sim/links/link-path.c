/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/links/link-path.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/param.h>

#include "checks/text/cleanup.h"
#include "sim/links/link-faults.h"

/* ---- ways ---- */

typedef struct Segment {
        bool far; /* of the far end's port */
        LinkSite site;
} Segment;

#define NEAR(SITE) { false, LINK_SITE_##SITE }
#define FAR(SITE)  { true, LINK_SITE_##SITE }
#define END        { false, _LINK_SITE_MAX }

static const Segment ways[_LOOPBACK_MAX + 1][12] = {
        [LOOPBACK_NEAR_PCS] = { NEAR(TRANSMITTER_PCS), NEAR(RECEIVER_PCS), END },
        [LOOPBACK_NEAR_PMA] = { NEAR(TRANSMITTER_PCS), NEAR(TRANSMITTER_PMA), NEAR(RECEIVER_PMA), NEAR(RECEIVER_PCS), END },
        [LOOPBACK_FAR_PMA]  = { NEAR(TRANSMITTER_PCS), NEAR(TRANSMITTER_PMA), FAR(LINE), FAR(RECEIVER_PMA), FAR(TRANSMITTER_PMA),
                                NEAR(LINE), NEAR(RECEIVER_PMA), NEAR(RECEIVER_PCS), END },
        [LOOPBACK_FAR_PCS]  = { NEAR(TRANSMITTER_PCS), NEAR(TRANSMITTER_PMA), FAR(LINE), FAR(RECEIVER_PMA), FAR(RECEIVER_PCS),
                                FAR(TRANSMITTER_PCS), FAR(TRANSMITTER_PMA), NEAR(LINE), NEAR(RECEIVER_PMA), NEAR(RECEIVER_PCS), END },
        [LINK_WAY_REAL]     = { FAR(TRANSMITTER_PCS), FAR(TRANSMITTER_PMA), NEAR(LINE), NEAR(RECEIVER_PMA), NEAR(RECEIVER_PCS), END },
};

/* ---- what acts ---- */

bool link_fault_acts(const Link *link, const Fault *fault, const Execution *execution) {
        Execution there = *execution;

        if (execution->number < fault->after_commands)
                return false;

        /* Either end and collectives count commands of their own. Were draws of one those of another, what is away from the fifth command of
         * one test would be away from the fifth of each: whoever has missed it would miss it again. */
        there.number |= (uint64_t) execution->command->type << 48;
        there.chip = link->chip;
        return fault_is_active(fault, &there);
}

/* What an act works on: lane L of a path, at the port that has the fault. */
typedef struct Acting {
        const LinkFault *fault;
        const Link *link;
        LinkPath *path;
} Acting;

typedef void (*Act)(const Acting *acting, Line *line);

static void act_crossed(const Acting *acting, Line *line) {
        Line *with = &acting->path->lines[acting->fault->with], kept = *line;

        *line = *with;
        *with = kept;
}

static void act_skewed(const Acting *acting, Line *line) {
        line->late += (int64_t) acting->fault->bits;
}

static void act_inverted(const Acting *acting, Line *line) {
        if (line->carries)
                line->inverted = !line->inverted;
        else
                line->high = !line->high;
}

static void act_bit_errors(const Acting *acting, Line *line) {
        line_add_rate(line, acting->fault->rate);
}

static void act_bursts(const Acting *acting, Line *line) {
        line_add_trouble(line, (LineTrouble) {
                .kind = LINE_BURSTS, .rate = acting->fault->rate, .length = acting->fault->length, .density = acting->fault->density,
        });
}

static void act_slips(const Acting *acting, Line *line) {
        line_add_trouble(line, (LineTrouble) {
                .kind = LINE_SLIPS, .rate = acting->fault->per_second / (acting->path->gbps * 1e9), .slip = acting->fault->drift ? -1 : 1,
        });
}

static void act_crosstalk(const Acting *acting, Line *line) {
        const Line *from = &acting->path->lines[acting->fault->from];

        if (from->carries) /* what is idle does not toggle */
                line_add_trouble(line, (LineTrouble) {
                        .kind = LINE_CROSSTALK, .rate = acting->fault->rate, .from = from->source, .from_late = from->late,
                });
}

static void act_eye(const Acting *acting, Line *line) {
        double warm = fmax(chip_temperature(acting->link->chip) - LINK_WARM, 0);

        line->closing += acting->fault->closing + acting->fault->per_degree * warm;
}

static void act_dead(const Acting *acting, Line *line) {
        line_silence(line, acting->fault->level);
}

/* What happens to lanes, in the order in which it happens within a segment. */
static const Act acts[] = {
        [LINK_LANES_CROSSED] = act_crossed, [LINK_LANE_SKEWED] = act_skewed, [LINK_LANE_INVERTED] = act_inverted,
        [LINK_BIT_ERRORS] = act_bit_errors, [LINK_BURST_ERRORS] = act_bursts, [LINK_CLOCK_SLIPS] = act_slips,
        [LINK_CROSSTALK] = act_crosstalk, [LINK_EYE_CLOSED] = act_eye, [LINK_LANE_DEAD] = act_dead, [LINK_ONE_WAY] = act_dead,
};

static void fault_act(const Link *link, const Fault *fault, LinkPath *path) {
        Acting acting = { .fault = fault->parameters, .link = link, .path = path };
        int lane = location_index(&fault->at, LOCATION_LANE);
        Act act = acts[link_fault_kind(fault)];

        for (unsigned l = 0; l < path->n; l++)
                if (lane < 0 || lane == (int) l)
                        act(&acting, &path->lines[l]);
}

static bool is_down(const Link *link, LinkSite site, const Execution *execution) {
        if (site != LINK_SITE_RECEIVER_PMA && site != LINK_SITE_TRANSMITTER_PMA)
                return site == LINK_SITE_LINE && cable_is_broken(link);

        for (size_t i = 0; i < link->n_faults; i++)
                if (link_fault_kind(link->faults[i]) == LINK_DOWN && link_fault_acts(link, link->faults[i], execution))
                        return true;

        return false;
}

static void pass_segment(const Link *link, LinkSite site, const Execution *execution, LinkPath *path) {
        if (is_down(link, site, execution))
                for (unsigned l = 0; l < path->n; l++)
                        line_silence(&path->lines[l], false);

        for (unsigned kind = 0; link->n_faults > 0 && kind < ELEMENTS(acts); kind++)
                for (size_t i = 0; i < link->n_faults; i++) {
                        const Fault *fault = link->faults[i];

                        if (link_fault_kind(fault) == kind && ((const LinkFault *) fault->parameters)->site == (int) site &&
                            link_fault_acts(link, fault, execution))
                                fault_act(link, fault, path);
                }
}

/* The receiver samples: what the way has left of the eye becomes wrong bits. */
static void sample_lines(LinkPath *path, int offset) {
        double closing = -1, rate = 0;

        for (unsigned l = 0; l < path->n; l++) {
                Line *line = &path->lines[l];

                if (line->closing != closing) {
                        closing = line->closing;
                        rate = line_eye_rate(closing, offset);
                }
                line_add_rate(line, rate);
                line->closing = 0;
        }
}

/* ---- training ---- */

/* Where in its period of training a link that flaps is: LINK_FLAP_NSEC and more mean up. */
static uint64_t since_flap(const LinkFault *fault, uint64_t nsec) {
        double every = fault->every * 1e9;
        double flaps = floor((double) nsec / every);

        return flaps > 0 ? (uint64_t) ((double) nsec - flaps * every) : UINT64_MAX;
}

static void train_with(const Link *link, const Execution *execution, LinkPath *path) {
        for (size_t i = 0; i < link->n_faults; i++) {
                const LinkFault *fault = link->faults[i]->parameters;
                LinkFaultKind kind = link_fault_kind(link->faults[i]);

                if (kind == LINK_NARROWED)
                        path->width_max = MIN(path->width_max, (unsigned) fault->width);
                else if (kind == LINK_SLOWED)
                        path->gbps = MIN(path->gbps, (unsigned) fault->gbps);
                else if (kind == LINK_FLAPS)
                        path->in_training |= since_flap(fault, execution->start_nsec) < LINK_FLAP_NSEC;
        }
}

static void throttle(const Link *link, const Execution *execution, LinkPath *path) {
        for (size_t i = 0; i < link->n_faults; i++)
                if (link_fault_kind(link->faults[i]) == LINK_THROTTLED && link_fault_acts(link, link->faults[i], execution))
                        path->share *= ((const LinkFault *) link->faults[i]->parameters)->share;
}

void link_path(Link *link, WireLoopback way, const Execution *execution, uint32_t quiet, int offset, LinkPath *ret) {
        const Link *far = link_far(link);

        ret->n = link_port_lanes(link->port);
        ret->gbps = LINK_LANE_GBPS;
        ret->width_max = ret->n;
        ret->share = 1;
        ret->in_training = false;
        ret->has_line = way != LOOPBACK_NEAR_PCS && way != LOOPBACK_NEAR_PMA;
        if (ret->has_line) {
                train_with(link, execution, ret);
                train_with(far, execution, ret);
        }
        throttle(link, execution, ret);

        line_send(ret->lines, ret->n, quiet);
        for (const Segment *segment = ways[way]; segment->site != _LINK_SITE_MAX; segment++) {
                const Link *port = segment->far ? far : link;

                if (chip_hangs(port->chip))
                        line_send(ret->lines, ret->n, UINT32_MAX);
                pass_segment(port, segment->site, execution, ret);
                if (segment->site == LINK_SITE_RECEIVER_PMA)
                        sample_lines(ret, segment->far ? 0 : offset);
        }
}

bool link_path_is_sound(const Link *link) {
        const Link *far = link_far(link);

        return link->n_faults == 0 && far->n_faults == 0 && !cable_is_broken(link) && !chip_hangs(link->chip) && !chip_hangs(far->chip);
}

unsigned link_path_width(const LinkPath *path) {
        unsigned width = 0;

        for (unsigned l = 0; l < path->n; l++)
                width += path->lines[l].carries;

        return path->in_training ? 0 : MIN(width, path->width_max);
}

/* ---- frames ---- */

static LinkCarriage carriage_of(const LinkPath *path) {
        unsigned width = link_path_width(path);
        int64_t first = INT64_MAX, last = INT64_MIN;
        double ratio = 0;

        for (unsigned l = 0; l < path->n; l++)
                if (path->lines[l].carries) {
                        ratio += line_error_ratio(&path->lines[l]);
                        first = MIN(first, path->lines[l].late);
                        last = MAX(last, path->lines[l].late);
                }

        if (width == 0)
                return (LinkCarriage) {};
        return (LinkCarriage) { width, width * path->gbps * path->share, last - first > LINK_DESKEW_BITS ? INFINITY : ratio / width };
}

double link_frame_loss(const LinkCarriage *carriage, uint64_t bytes) {
        return -expm1(-carriage->ratio * 8 * (double) bytes);
}

static pthread_once_t sound_once = PTHREAD_ONCE_INIT;
static LinkCarriage sound_carriages[LINK_LANES_MAX + 1]; /* by lanes, of links that nothing acts on: most, and most often */

static void work_out_sound(void) {
        for (unsigned n = 1; n <= LINK_LANES_MAX; n++) {
                LinkPath path = { .n = n, .gbps = LINK_LANE_GBPS, .width_max = n, .share = 1, .has_line = true };

                line_send(path.lines, n, 0);
                sample_lines(&path, 0);
                sound_carriages[n] = carriage_of(&path);
        }
}

LinkCarriage link_carriage(Link *link, const Execution *execution) {
        LinkPath path;

        if (link_path_is_sound(link)) {
                (void) pthread_once(&sound_once, work_out_sound);
                return sound_carriages[link_port_lanes(link->port)];
        }

        link_path(link, LINK_WAY_REAL, execution, 0, 0, &path);
        return carriage_of(&path);
}

/* ---- flaps ---- */

static size_t add_silences(const LinkFault *fault, const LinkPath *path, uint64_t start, uint64_t bits, LineEvent *events) {
        double every = fault->every * 1e9, end = (double) start + (double) bits / path->gbps;
        uint64_t since = since_flap(fault, start);
        size_t n = 0;

        if (since < LINK_FLAP_NSEC)
                events[n++] = (LineEvent) { .at = 0, .silent = (LINK_FLAP_NSEC - since) * path->gbps };
        for (double at = (floor((double) start / every) + 1) * every; at < end; at += every)
                events[n++] = (LineEvent) { .at = (uint64_t) ((at - (double) start) * path->gbps), .silent = LINK_FLAP_NSEC * path->gbps };
        return n;
}

static int add_all_silences(const Link *link, const LinkPath *path, uint64_t start, uint64_t bits, LineEvent **events, size_t *n) {
        for (size_t i = 0; i < link->n_faults; i++) {
                const LinkFault *fault = link->faults[i]->parameters;
                LineEvent *more;

                if (link_fault_kind(link->faults[i]) != LINK_FLAPS)
                        continue;
                more = reallocarray(*events, *n + 3 + (size_t) ((double) bits / path->gbps / (fault->every * 1e9)), sizeof(*more));
                if (!more)
                        return -ENOMEM;
                *events = more;
                *n += add_silences(fault, path, start, bits, *events + *n);
        }

        return 0;
}

static int by_bit(const void *a, const void *b) {
        const LineEvent *left = a, *right = b;

        return left->at < right->at ? -1 : left->at > right->at;
}

int link_path_silences(Link *link, const LinkPath *path, const Execution *execution, uint64_t bits, LineEvent **ret, size_t *ret_n) {
        _cleanup_free_ LineEvent *events = NULL;
        size_t n = 0;
        int r;

        if (path->has_line) {
                r = add_all_silences(link, path, execution->start_nsec, bits, &events, &n);
                if (r < 0)
                        return r;
                if (link_far(link) != link) {
                        r = add_all_silences(link_far(link), path, execution->start_nsec, bits, &events, &n);
                        if (r < 0)
                                return r;
                }
                if (n > 0)
                        qsort(events, n, sizeof(*events), by_bit);
        }

        *ret = TAKE_PTR(events);
        *ret_n = n;
        return 0;
}
