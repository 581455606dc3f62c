/* SPDX-License-Identifier: Apache-2.0 */

/* What the checkers of a port make of PRBS, from its far end or looped back: all lanes of a path at a time. */

#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "sim/links/line.h"
#include "sim/links/link-path.h"
#include "sim/links/link.h"

#define BITS_MAX (UINT64_C(1) << 50)

/*
 * Sound lanes share one draw: their bits are taken one lane behind the other, and the first that is wrong is drawn for all. Where
 * one has been found in a lane the next is drawn anew, which makes no difference: bits have no memory.
 */
static int check_lanes(const Link *link, const Execution *execution, const LinkPath *path, const LineRun *run, WireLane *lanes) {
        Dice sound = link_dice(link, execution, LINK_DRAW_SOUND);
        const Line *first_sound = NULL;
        uint64_t first = 0;
        int r;

        for (unsigned l = 0; l < path->n; l++) {
                const Line *line = &path->lines[l];
                Dice dice;

                if (line->n_troubles > 0 || run->n_events > 0 || (first_sound && line->rate != first_sound->rate)) {
                        dice = link_dice(link, execution, LINK_DRAW_LANE + l);
                        r = line_check(line, run, dice_gap(&dice, line->rate), &dice, &lanes[l]);
                        if (r < 0)
                                return r;
                        continue;
                }

                if (!first_sound) {
                        first_sound = line;
                        first = dice_gap(&sound, line->rate);
                }
                if (first >= run->bits && line->rate <= LINE_RATE_MAX) {
                        line_check_sound(line, run, &lanes[l]);
                        first -= run->bits;
                        continue;
                }
                dice = link_dice(link, execution, LINK_DRAW_LANE + l);
                r = line_check(line, run, first, &dice, &lanes[l]);
                if (r < 0)
                        return r;
                first = dice_gap(&sound, line->rate);
        }

        return 0;
}

/* Where nothing acts on a link, and no bit of it is wrong: what check_lanes() makes of its path, which is not made. */
static bool all_lanes_sound(const Link *link, const Execution *execution, const LineRun *run, int offset, WireLane *lanes) {
        Dice sound = link_dice(link, execution, LINK_DRAW_SOUND);
        unsigned n = link_port_lanes(link->port);
        double rate = line_eye_rate(0, offset);
        Line line = { .carries = true };

        if (rate > LINE_RATE_MAX || dice_gap(&sound, rate) / n < run->bits)
                return false;

        for (unsigned l = 0; l < n; l++) {
                line.source = (uint8_t) l;
                line_check_sound(&line, run, &lanes[l]);
        }
        return true;
}

static int run_lanes(Link *link, const Execution *execution, const WireLinkPrbs *prbs, WireLoopback way, LineRun *run,
                     WireLane *lanes, unsigned *ret_gbps) {
        _cleanup_free_ LineEvent *silences = NULL;
        LinkPath path;
        int r;

        link_path(link, way, execution, prbs->quiet, prbs->offset, &path);
        *ret_gbps = path.gbps;
        r = link_path_silences(link, &path, execution, prbs->bits, &silences, &run->n_events);
        if (r < 0)
                return r;
        run->events = silences;
        r = check_lanes(link, execution, &path, run, lanes);
        if (r < 0)
                return r;

        for (unsigned l = 0; l < path.n; l++)
                link_count(link, LINK_ERRORS, lanes[l].errors);
        return 0;
}

static int run_prbs(Link *link, Execution *execution, const WireLinkPrbs *prbs, WireLoopback way) {
        size_t n_bytes = link_port_lanes(link->port) * sizeof(WireLane);
        LineRun run = { .polynomial = (WirePrbs) prbs->polynomial, .seed = prbs->seed, .bits = prbs->bits };
        WireLane lanes[LINK_LANES_MAX];
        unsigned gbps = LINK_LANE_GBPS;
        int r;

        if (!link_designed(link))
                return link_answer(execution, STATUS_NRT_INVALID_HANDLE);
        if (prbs->bits == 0 || prbs->bits > BITS_MAX || prbs->polynomial >= _PRBS_MAX || abs(prbs->offset) > LINK_OFFSET_MAX ||
            execution->command->out_bytes < n_bytes)
                return link_answer(execution, STATUS_NRT_INVALID);

        if (way != LINK_WAY_REAL || prbs->quiet != 0 || !link_path_is_sound(link) ||
            !all_lanes_sound(link, execution, &run, prbs->offset, lanes)) {
                r = run_lanes(link, execution, prbs, way, &run, lanes, &gbps);
                if (r < 0)
                        return r;
        }

        memcpy(execution->out, lanes, n_bytes);
        execution->completion->status = STATUS_NRT_SUCCESS;
        execution->completion->out_bytes = (uint32_t) n_bytes;
        execution->completion->device_nsec = (prbs->bits + gbps - 1) / gbps;
        link_end_together(link, execution);
        return 0;
}

int link_prbs(void *state, Execution *execution) {
        return run_prbs(state, execution, &execution->command->prbs, LINK_WAY_REAL);
}

int link_loopback(void *state, Execution *execution) {
        const WireLinkLoopback *loopback = &execution->command->loopback;

        if (loopback->stage >= _LOOPBACK_MAX)
                return link_answer(execution, STATUS_NRT_INVALID);

        return run_prbs(state, execution, &loopback->prbs, (WireLoopback) loopback->stage);
}
