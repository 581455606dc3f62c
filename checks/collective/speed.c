/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Who is slow. All ranks of a ring end at about the same time, so the whole tells nothing; but every rank says how long its blocks
 * took to come in once they were on their way, and how long it worked on them itself: which is held against the other ranks'. What was done
 * is judged, all steps or not.
 */

#include <errno.h>
#include <inttypes.h>
#include <sys/param.h>

#include "checks/collective/collective.h"
#include "checks/port/device-link.h"

#define WORK_SLACK 1.5 /* where there is nobody to compare with, or all are slow: half as long again is no spread */

double link_bytes_per_nsec(unsigned port) {
        return link_port_width(port) * (double) LINK_LANE_GBPS / 8;
}

static int judge_link(Recital *recital, unsigned rank, unsigned ring, uint64_t bytes) {
        const WireCollectiveProgress *progress = &recital->ranks[rank].status.progress[ring];
        unsigned port = recital->ranks[rank].rings[ring].receive_port;
        double hops = (double) progress->done * COLLECTIVE_HOP_NSEC, built, rate, limit = recital->ensemble->parameters->bandwidth;
        char far_text[LOCATION_STRING_MAX];
        Member far;

        if (port >= PORTS || bytes == 0)
                return 0;
        if (progress->done == progress->steps && progress->received != bytes)
                return ensemble_find(recital->ensemble, TROUBLE_DATA, recital->members[rank], port,
                                     &(Evidence) { .decided = { "collective_bytes_miscounted", (double) progress->received - (double) bytes, 0 } },
                                     "%s: this port counts %" PRIu64 " bytes that came in, and %" PRIu64 " did",
                                     collective_word(recital->post.operation), progress->received, bytes);

        built = link_bytes_per_nsec(port);
        if ((double) progress->transfer_nsec <= hops + (double) bytes / (built * limit))
                return 0;
        rate = (double) bytes / ((double) progress->transfer_nsec - hops);
        if (!ensemble_neighbour(recital->ensemble, recital->members[rank], port, &far))
                return -EINVAL;
        return ensemble_find(recital->ensemble, TROUBLE_SLOW, recital->members[rank], port,
                             &(Evidence) { .far_end = ensemble_name(recital->ensemble, far, (unsigned) link_port_opposite((LinkPort) port),
                                                                    far_text),
                                           .replaceable = ensemble_cable(recital->members[rank], port),
                                           .decided = { "collective_port_bandwidth", rate, built * limit } },
                             "%s: blocks come in at %.1f GB/s, it is built for %.0f and %.0f is the least; all ranks wait for it",
                             collective_word(recital->post.operation), rate, built, built * limit);
}

/* Of what a rank's own steps on a ring should have taken, how many times that. */
static double work_ratio(const Recital *recital, unsigned rank, unsigned ring) {
        const WireCollectiveProgress *progress = &recital->ranks[rank].status.progress[ring];
        double bytes = (double) recital_bytes(recital, rank, ring, progress->done);

        return (double) progress->work_nsec /
               (MAX(progress->done, 1u) * (double) COLLECTIVE_STEP_NSEC + bytes / COLLECTIVE_BYTES_PER_NSEC);
}

/* By how much longer the steps of a rank are, blocks coming in and all, than they would be with its siblings' own time. */
static double harm_of(const WireCollectiveProgress *progress, double ratio, double median) {
        double own = (double) progress->work_nsec, theirs = own * median / ratio;

        return (own - theirs) / (theirs + (double) progress->transfer_nsec);
}

static int judge_rank(Recital *recital, unsigned rank, unsigned ring, double ratio, const Siblings *siblings) {
        const WireCollectiveProgress *progress = &recital->ranks[rank].status.progress[ring];
        double step = (double) progress->work_nsec / MAX(progress->done, 1u);

        if (ratio > siblings->limit)
                return ensemble_find(recital->ensemble, TROUBLE_SLOW, recital->members[rank], CHAIR_CHIP,
                                     &(Evidence) { .decided = { "collective_step_ratio", ratio / siblings->median, siblings->limit / siblings->median } },
                                     "%s: its CC-cores take %.0f ns for a step, %.3g times as long as the median of %u ranks, %.3g is the "
                                     "limit; all ranks wait for it, and their steps take %.2g %% longer", collective_word(recital->post.operation),
                                     step, ratio / siblings->median, siblings->n, siblings->limit / siblings->median,
                                     100 * harm_of(progress, ratio, siblings->median));
        if (ratio > WORK_SLACK)
                return ensemble_find(recital->ensemble, TROUBLE_SLOW, recital->members[rank], CHAIR_CHIP,
                                     &(Evidence) { .decided = { "collective_step_ratio_built", ratio, WORK_SLACK } },
                                     "%s: its CC-cores take %.0f ns for a step, %.0f is right; all ranks wait for it",
                                     collective_word(recital->post.operation), step, step / ratio);
        return 0;
}

/* Those that take something in on this ring, against each other. */
static int judge_ring(Recital *recital, unsigned ring) {
        uint8_t ranks[RANKS_MAX];
        double ratios[RANKS_MAX] = {};
        Siblings siblings;
        unsigned n = 0;
        int r = 0;

        for (unsigned i = 0; i < recital->n; i++) {
                if (recital->from[i][ring] == NOBODY || recital->ranks[i].status.progress[ring].done == 0)
                        continue;
                ratios[n] = work_ratio(recital, i, ring);
                ranks[n++] = (uint8_t) i;
        }

        siblings = siblings_of(ratios, n, recital->ensemble->parameters->straggler);
        for (unsigned k = 0; k < n && r >= 0; k++)
                r = judge_rank(recital, ranks[k], ring, ratios[k], &siblings);
        return r;
}

int recital_judge_speed(Recital *recital) {
        unsigned before = recital->ensemble->n_troubles;
        uint64_t longest = 0, said;
        Decided decided;
        unsigned n_late = 0;
        int r = 0;

        for (unsigned i = 0; i < recital->n && r >= 0; i++) {
                n_late += recital->ranks[i].error == -ETIME;
                for (unsigned c = 0; c < recital->post.rings && r >= 0; c++) {
                        const WireCollectiveProgress *progress = &recital->ranks[i].status.progress[c];
                        uint64_t bytes = recital_bytes(recital, i, c, progress->done);

                        r = judge_link(recital, i, c, bytes);
                        said = progress->wait_nsec + progress->transfer_nsec + progress->work_nsec;
                        longest = said > longest ? said : longest;
                }
        }
        for (unsigned c = 0; c < recital->post.rings && r >= 0; c++)
                r = judge_ring(recital, c);
        decided = n_late > 0 ? (Decided) { "collective_ranks_late", n_late, 0 } :
                               (Decided) { "collective_time_unexplained", ((double) recital->nsec - 2.0 * (double) longest - COLLECTIVE_HOP_NSEC) / 1000, 0 };
        /* Times that do not add up to the whole name nobody; and what came too late was not compared. */
        if (r < 0 || recital->ensemble->n_troubles > before || (n_late == 0 && recital->nsec <= 2 * longest + COLLECTIVE_HOP_NSEC))
                return r;
        return ensemble_find(recital->ensemble, TROUBLE_SLOW, (Member) {}, NOBODY, &(Evidence) { .decided = decided },
                             "%s took %" PRIu64 " ns%s, and no rank says where more than %" PRIu64 " of them went",
                             collective_word(recital->post.operation), recital->nsec, n_late > 0 ? " and more" : "", longest);
}
