/* SPDX-License-Identifier: Apache-2.0 */

/*
 * collective
 *
 * The collectives that jobs use, over all chips of a server and, where all four servers of an UltraServer are in the scan, over these:
 * do they come to their end, are their data exact, are they as fast as the links allow? First every chip sends to and receives
 * from each of its neighbours, which shows each link alone; then come the rings. The first server of an UltraServer runs
 * what needs all four. Each tells what is wrong with its own chips, and of others' what their own collectives do not show.
 *
 * What is wrong with a link is found by `neuronlink` as well; here stands what it does to collectives.
 */

#include "checks/collective/collective.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

#include "checks/step/check.h"

#define UNTESTED_TOGETHER "collective_untested_together"
#define SECONDS_AT_WORST  7.0 /* what hangs may cost of the plan's budget: two own ones and one around what stopped; or the one together, and two of each other server */

/* Whether a link leads from CHIP to another one in the scan. */
static bool has_neighbour(const Ensemble *ensemble, unsigned chip) {
        Member far;

        for (unsigned p = 0; p < PORTS; p++)
                if (ensemble_has(ensemble, (Member) { 0, (uint8_t) chip }) && ensemble_neighbour(ensemble, (Member) { 0, (uint8_t) chip }, p, &far))
                        return true;
        return false;
}

static bool has_links(const Ensemble *ensemble) {
        for (unsigned c = 0; c < CHIPS; c++)
                if (has_neighbour(ensemble, c))
                        return true;
        return false;
}

/* ---- what is said ---- */

/* Of one that does not answer, or to which no sound link leads, nothing can be told; nor of one whose sums nobody sound took part in, or that another one may be in place of, unless
 * something else has failed it. */
static int end_part(const Ensemble *ensemble, const Chair *chair, const Location *where) {
        if (chair->silent)
                return step_part_done(ensemble->step, where, VERDICT_ERROR, REASON_DEVICE_ERROR);
        if ((chair->unpartnered || chair->tied) && chair->verdict != VERDICT_FAILED)
                return step_part_done(ensemble->step, where, VERDICT_ERROR, REASON_AMBIGUOUS);
        if (chair->n_bytes == 0 && chair->verdict == VERDICT_PASSED)
                return step_part_done(ensemble->step, where, VERDICT_SKIPPED,
                                      has_neighbour(ensemble, (unsigned) location_index(where, LOCATION_CHIP)) ? REASON_PREREQUISITE : REASON_NOT_REQUESTED);
        return step_part_done(ensemble->step, where, chair->verdict, REASON_NONE);
}

static int note_chips(const Ensemble *ensemble, unsigned n_servers, const char *name) {
        int r = 0;

        for (unsigned s = 0; s < n_servers; s++)
                for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                        Member member = { (uint8_t) s, (uint8_t) c };
                        Location where = ensemble_location(ensemble, member, CHAIR_CHIP);

                        if (ensemble_has(ensemble, member))
                                r = step_note(ensemble->step, name, 1, "{chip}", &where);
                }
        return r;
}

static bool has_all_servers(const Ensemble *ensemble) {
        for (unsigned s = 0; s < ensemble->n_servers; s++)
                if (!ensemble->servers[s].device)
                        return false;
        return true;
}

/*
 * Each chip of an UltraServer is in collectives with all others, or has it in its record that it was not. Where not all servers are in the scan each
 * step tells it of its own chips, else the first one of all.
 */
static int note_untested_together(const Ensemble *ensemble) {
        if (!has_all_servers(ensemble))
                return note_chips(ensemble, 1, UNTESTED_TOGETHER);
        return ensemble->n_untested_together > 0 ? note_chips(ensemble, ensemble->n_servers, UNTESTED_TOGETHER) : 0;
}

static int report(Ensemble *ensemble, Verdict *ret) {
        Verdict worst = ensemble->verdict;
        int r = 0;

        for (unsigned s = 0; s < ensemble->n_servers; s++)
                for (unsigned c = 0; c < CHIPS && r >= 0; c++) {
                        const Chair *chair = &ensemble->servers[s].chairs[c];
                        Location where = ensemble_location(ensemble, (Member) { (uint8_t) s, (uint8_t) c }, CHAIR_CHIP);

                        if (chair->verdict == VERDICT_FAILED || (chair->verdict == VERDICT_WARNED && worst == VERDICT_PASSED))
                                worst = chair->verdict;
                        if (s > 0 || !ensemble_has(ensemble, (Member) { 0, (uint8_t) c }))
                                continue;
                        r = step_note(ensemble->step, "collective_bytes_compared", (double) chair->n_bytes, "By", &where);
                        if (r >= 0 && !(chair->found[TROUBLE_DATA] >> CHAIR_CHIP & 1)) /* else the finding says how many */
                                r = step_measure(ensemble->step, "collective_ports_wrong", 0, "{port}", LIMIT_EQUAL, 0, &where);
                        if (r >= 0 && ensemble->untested)
                                r = step_note(ensemble->step, ensemble->untested, 1, "{chip}", &where);
                        if (r >= 0 && chair->unpartnered)
                                r = step_note(ensemble->step, "collective_untested_partners", 1, "{chip}", &where);
                        if (r >= 0 && chair->tied)
                                r = step_note(ensemble->step, "collective_untested_either_end", 1, "{chip}", &where);
                        if (r >= 0)
                                r = end_part(ensemble, chair, &where);
                }
        if (r >= 0 && ensemble->n_untested_together > 0)
                r = step_note(ensemble->step, "collective_ranks_untested_together", ensemble->n_untested_together, "{rank}", NULL);
        if (r >= 0 && ensemble->shorter > 1)
                r = note_chips(ensemble, 1, "collective_untested_large");
        if (r >= 0)
                r = note_untested_together(ensemble);
        *ret = worst;
        return r;
}

static double collective_least_sec(const void *parameters) {
        return SECONDS_AT_WORST;
}

static int collective_run(Step *step, Verdict *ret) {
        _cleanup_free_ Ensemble *ensemble = NULL;
        _cleanup_free_ Wrongs *wrongs = NULL;
        int r, said;

        ensemble = calloc(1, sizeof(*ensemble));
        wrongs = calloc(1, sizeof(*wrongs));
        if (!ensemble || !wrongs)
                return -ENOMEM;

        ensemble_init(ensemble, step);
        if (!has_links(ensemble))
                r = step_skip(step, ret, REASON_NOT_REQUESTED, "no link has both its ends in this scan");
        else if (step_budget_sec(step) < collective_least_sec(step_parameters(step)))
                r = step_skip(step, ret, REASON_BUDGET, "a collective that hangs would take %g s of device time", SECONDS_AT_WORST);
        else {
                r = ensemble_play(ensemble, wrongs);
                if (r >= 0)
                        return report(ensemble, ret);
        }

        /* Also where this step comes to no end: it is said of chips of other servers too. */
        said = has_all_servers(ensemble) ? note_untested_together(ensemble) : 0;
        return r < 0 ? r : MIN(said, 0);
}

const Check check_collective = {
        .name         = "collective",
        .summary      = "all-reduce, all-gather, reduce-scatter, all-to-all and send-receive between chips: their end, their data, their speed",
        .reads        = "collectives on the CC-cores, and how far each rank came; loopback of ports where one does not end",
        .codes        = (const char *const[]) { "collective-data", "collective-cable", "collective-hang", "collective-slow", "collective-either-end", NULL },
        .skips        = "not-requested: no link has both its ends in the scan; prerequisite: no link or neighbour of the chip lets data come in; budget: the plan has less device time left than a hang takes",
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 60,
        .least_sec    = collective_least_sec,
        .run          = collective_run,
};
