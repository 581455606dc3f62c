/* SPDX-License-Identifier: Apache-2.0 */

/*
 * collective
 *
 * The collectives that jobs use, over all chips of a server and, where all four servers of an UltraServer are in the scan, over these:
 * do they come to their end, are their data exact, are they as fast as the links allow? First every chip sends to and receives
 * from each of its neighbours, which shows each link alone; then come the rings. The first server of an UltraServer runs
 * what needs all four, and speaks of them all.
 *
 * What is wrong with a link is found by `neuronlink` as well; here stands what it does to collectives.
 */

#include "checks/collective/collective.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

#include "checks/check.h"

#define FIRST_ELEMENTS     1024u
#define ROUND_ELEMENTS     (CHIPS * 4u) /* of a round: what counts is how often a chip is asked */
#define ULTRA_ELEMENTS     (RANKS_MAX * RINGS_MAX)
#define NEIGHBOUR_ELEMENTS 16u /* of each port */
#define GIB                (double) (UINT64_C(1) << 30)
#define SECONDS_AT_WORST   2.0 /* what a hang may cost of the plan's budget */

/* nccom-test's factors: what busbw makes of algbw. */
static double bus_factor(const Recital *recital) {
        double n = recital->post.ranks;

        switch ((WireCollective) recital->post.operation) {
        case COLLECTIVE_ALL_REDUCE:
                return 2 * (n - 1) / n;
        case COLLECTIVE_ALL_GATHER:
        case COLLECTIVE_REDUCE_SCATTER:
        case COLLECTIVE_ALL_TO_ALL:
                return (n - 1) / n;
        case COLLECTIVE_SEND_RECEIVE:
        case _COLLECTIVE_MAX:
                break;
        }
        return 1;
}

/* As nccom-test's table has it: assayctl prints these. Rank 0 speaks for all, and its chip's record tells them. */
static int measure(const Recital *recital) {
        uint64_t bytes = (uint64_t) recital->post.elements * format_bytes(recital->post.format) * recital->post.repeat;
        Location where = ensemble_location(recital->ensemble, recital->members[0], CHAIR_CHIP);
        Step *step = recital->ensemble->step;
        char name[96];
        int r;

        if (recital->nsec == 0)
                return 0;
        (void) snprintf(name, sizeof(name), "collective_%s_%u_%s_%" PRIu64 "_time", collective_word(recital->post.operation), recital->n,
                        format_word(recital->post.format), bytes);
        r = step_note(step, name, (double) recital->nsec / 1000, "us", &where);
        if (r < 0)
                return r;
        (void) snprintf(name, sizeof(name), "collective_%s_%u_%s_%" PRIu64 "_busbw", collective_word(recital->post.operation), recital->n,
                        format_word(recital->post.format), bytes);
        return step_note(step, name, (double) bytes / ((double) recital->nsec * 1e-9) / GIB * bus_factor(recital), "GiBy/s", &where);
}

/* 1 where it came to its end at all ranks. */
static int play(Ensemble *ensemble, const Recipe *recipe, unsigned n_ranks, Wrongs *wrongs) {
        _cleanup_(recital_freep) Recital *recital = NULL;
        int r;

        r = recital_new(ensemble, recipe, n_ranks, &recital);
        if (r < 0)
                return r;

        if (recipe->operation != COLLECTIVE_SEND_RECEIVE)
                recital_lay_rings(recital);
        else
                recital_lay_neighbours(recital, n_ranks == RANKS_MAX);
        if (recipe->round > 0)
                recital_keep_ring(recital, recipe->round % recital->post.rings);

        r = recital_play(recital);
        if (r < 0)
                return r;
        /* Data first: a port that gets another's blocks explains who waits for it. */
        r = recital_compare(recital, wrongs);
        if (r < 0)
                return r;
        r = recital_judge_hang(recital);
        if (r <= 0)
                return r;
        r = recital_judge_speed(recital);
        if (r >= 0 && recipe->round == 0)
                r = measure(recital);
        return r < 0 ? r : 1;
}

/* ---- what is run ---- */

static bool has_all(const Ensemble *ensemble, unsigned s) {
        for (unsigned c = 0; c < CHIPS; c++)
                if (!ensemble_has(ensemble, (Member) { (uint8_t) s, (uint8_t) c }) || ensemble->servers[s].chairs[c].silent)
                        return false;
        return true;
}

static uint32_t repeat_for(const Ensemble *ensemble, const Recipe *recipe) {
        return (uint32_t) (ensemble->parameters->bytes / (recipe->elements * format_bytes(recipe->format)));
}

/* Sizes where shards or their parts become empty or uneven, and one that is even. */
static int play_sizes(Ensemble *ensemble, WireCollective operation, unsigned n_ranks, Wrongs *wrongs) {
        static const uint32_t sizes[] = { 1, 65, 1023, 15, 17, 63, 1025, 4096 };
        unsigned n = n_ranks > CHIPS ? 3 : ELEMENTS(sizes); /* over 64 chips the first will do: each takes milliseconds to work out */
        int r = 1;

        for (unsigned f = 0; f < _ELEMENT_MAX && r > 0; f++)
                for (unsigned i = 0; i < n && r > 0; i++)
                        r = play(ensemble, &(Recipe) { operation, (WireElement) f, sizes[i], 1, 0 }, n_ranks, wrongs);
        return r;
}

/* 1 where all came to their end. */
static int play_rings(Ensemble *ensemble, unsigned n_ranks, Wrongs *wrongs) {
        bool all = ensemble->parameters->operations == CHOICE_ALL, sizes = ensemble->parameters->sizes == CHOICE_ALL;
        unsigned last = all ? COLLECTIVE_ALL_TO_ALL : COLLECTIVE_ALL_REDUCE;
        int r = 1;

        for (unsigned o = COLLECTIVE_ALL_REDUCE; o <= last && r > 0; o++) {
                Recipe recipe = { (WireCollective) o, ELEMENT_FP32, n_ranks > CHIPS ? ULTRA_ELEMENTS : FIRST_ELEMENTS, 1, 0 };

                recipe.repeat = repeat_for(ensemble, &recipe);
                r = play(ensemble, &recipe, n_ranks, wrongs);
                /* What comes and goes is seen by asking often. Over a link goes as much each time: what hangs after many bytes hangs here. */
                recipe.elements = ROUND_ELEMENTS;
                recipe.repeat = repeat_for(ensemble, &recipe) / LINK_Z_PLUS;
                for (recipe.round = 1; n_ranks == CHIPS && recipe.round < ensemble->parameters->rounds && r > 0; recipe.round++)
                        r = play(ensemble, &recipe, n_ranks, wrongs);
                if (r > 0 && sizes)
                        r = play_sizes(ensemble, (WireCollective) o, n_ranks, wrongs);
        }
        return r;
}

static unsigned n_included(const Ensemble *ensemble, unsigned s) {
        unsigned n = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                n += ensemble_has(ensemble, (Member) { (uint8_t) s, (uint8_t) c });
        return n;
}

static int play_all(Ensemble *ensemble, Wrongs *wrongs, unsigned *ret_untested) {
        Recipe neighbours = { COLLECTIVE_SEND_RECEIVE, ELEMENT_FP32, NEIGHBOUR_ELEMENTS, 1, 0 };
        bool ultra = ensemble->n_servers > 1 && ensemble->first == 0, whole = true;
        int ended, r = 0;

        for (unsigned s = 0; s < ensemble->n_servers; s++)
                ultra = ultra && has_all(ensemble, s);
        neighbours.elements *= ensemble->n_servers > 1 ? PORTS : LINK_Z_PLUS;
        /* As much as a link carries in the others, so that what hangs after many bytes hangs here too. */
        neighbours.repeat = MIN(2 * repeat_for(ensemble, &neighbours), COLLECTIVE_REPEAT_MAX);
        ended = play(ensemble, &neighbours, ultra ? RANKS_MAX : CHIPS, wrongs);
        step_progress(ensemble->step, 20);
        if (ended < 0)
                return ended;

        /* Where cables end at wrong ports there are no such rings. */
        whole = has_all(ensemble, 0) && wrongs->n_misrouted == 0;
        *ret_untested = whole ? 0 : n_included(ensemble, 0);
        if (whole)
                r = play_rings(ensemble, CHIPS, wrongs);
        step_progress(ensemble->step, 60);
        if (r > 0 && ended > 0 && ultra)
                r = play_rings(ensemble, RANKS_MAX, wrongs);
        return r < 0 ? r : ensemble_judge_data(ensemble, wrongs);
}

/* ---- what is said ---- */

static int report(Ensemble *ensemble, unsigned n_untested, Verdict *ret) {
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
                        if (r >= 0)
                                r = step_part_done(ensemble->step, &where, chair->silent ? VERDICT_ERROR : chair->verdict);
                }
        if (r >= 0)
                r = step_note(ensemble->step, "collective_ranks_untested", n_untested, "{rank}", NULL);
        *ret = worst;
        return r;
}

static int collective_run(Step *step, Verdict *ret) {
        _cleanup_free_ Ensemble *ensemble = NULL;
        unsigned n_links = 0, n_untested;
        _cleanup_free_ Wrongs *wrongs = NULL;
        Member far;
        int r;

        ensemble = calloc(1, sizeof(*ensemble));
        wrongs = calloc(1, sizeof(*wrongs));
        if (!ensemble || !wrongs)
                return -ENOMEM;

        ensemble_init(ensemble, step);
        for (unsigned c = 0; c < CHIPS; c++)
                for (unsigned p = 0; p < PORTS; p++)
                        n_links += ensemble_has(ensemble, (Member) { 0, (uint8_t) c }) &&
                                   ensemble_neighbour(ensemble, (Member) { 0, (uint8_t) c }, p, &far);
        if (n_links == 0)
                return step_skip(step, ret, REASON_NOT_REQUESTED, "no link has both its ends in this scan");
        if (step_budget_sec(step) < SECONDS_AT_WORST)
                return step_skip(step, ret, REASON_BUDGET, "a collective that hangs would take %g s of device time", SECONDS_AT_WORST);

        r = play_all(ensemble, wrongs, &n_untested);
        return r < 0 ? r : report(ensemble, n_untested, ret);
}

const Check check_collective = {
        .name         = "collective",
        .summary      = "all-reduce, all-gather, reduce-scatter, all-to-all and send-receive between chips: their end, their data, their speed",
        .reads        = "collectives on the CC-cores, and how far each rank came; loopback of ports where one does not end",
        .codes        = (const char *const[]) { "collective-data", "collective-cable", "collective-hang", "collective-slow", NULL },
        .skips        = "not-requested: no link has both its ends in the scan; budget: the plan has less device time left than a hang takes",
        .unit         = LOCATION_SERVER,
        .disturbs     = DISTURBS_LINKS,
        .deadline_sec = 60,
        .run          = collective_run,
};
