/* SPDX-License-Identifier: Apache-2.0 */

/* Which collectives are run, one after the other, and what each of them cost. */

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/param.h>

#include "checks/collective/collective.h"

#define FIRST_ELEMENTS     1024u
#define ROUND_ELEMENTS     (CHIPS * 4u) /* of a round: what counts is how often a chip is asked */
#define ULTRA_ELEMENTS     (RANKS_MAX * RINGS_MAX)
#define NEIGHBOUR_ELEMENTS 8u /* of each port */
#define PARTS_OWN          2u  /* of the collectives of one server: between neighbours, over rings */
#define SHORTER            16u /* each time that one does not come to its end because a link is slow: a link at a hundredth then takes milliseconds */
#define SHORTER_MAX        (SHORTER * SHORTER)
#define AROUND_TROUBLES_MAX 8u /* each run that stops costs a second */
#define GIB                (double) (UINT64_C(1) << 30)

double collective_bandwidth(WireCollective operation, unsigned ranks, uint64_t bytes, uint64_t nsec) {
        double n = ranks, algorithm = (double) bytes / ((double) nsec * 1e-9) / GIB;

        switch (operation) {
        case COLLECTIVE_ALL_REDUCE:
                return algorithm * 2 * (n - 1) / n;
        case COLLECTIVE_ALL_GATHER:
        case COLLECTIVE_REDUCE_SCATTER:
        case COLLECTIVE_ALL_TO_ALL:
                return algorithm * (n - 1) / n;
        case COLLECTIVE_SEND_RECEIVE:
        case _COLLECTIVE_MAX:
                break;
        }
        return algorithm;
}

/* As nccom-test's table has it: assayctl prints these. Of all ranks the last to end counts; rank 0 speaks for all, and its chip's record tells them. */
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
        r = step_note_series(step, name, (Series) { STATISTIC_MAX, recital->n }, (double) recital->nsec / 1000, "us", &where);
        if (r < 0)
                return r;
        (void) snprintf(name, sizeof(name), "collective_%s_%u_%s_%" PRIu64 "_busbw", collective_word(recital->post.operation), recital->n,
                        format_word(recital->post.format), bytes);
        return step_note_series(step, name, (Series) { STATISTIC_MIN, recital->n },
                                collective_bandwidth(recital->post.operation, recital->post.ranks, bytes, recital->nsec), "GiBy/s", &where);
}

/* 1 where it came to its end at all ranks. */
static int play_out(Recital *recital, bool measured, Wrongs *wrongs) {
        int r;

        recital->ensemble->crawls = false;
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
        if (r >= 0 && measured)
                r = measure(recital);
        return r < 0 ? r : 1;
}

/* A collective that was only slow is run again with a smaller message, so that it comes to its end. */
static bool try_shorter(Ensemble *ensemble) {
        if (!ensemble->crawls || ensemble->shorter >= SHORTER_MAX)
                return false;

        ensemble->shorter *= SHORTER;
        return true;
}

static int play_once(Ensemble *ensemble, const Recipe *recipe, unsigned n_ranks, Wrongs *wrongs) {
        _cleanup_(recital_freep) Recital *recital = NULL;
        int r;

        r = recital_new(ensemble, recipe, n_ranks, &recital);
        if (r < 0)
                return r;

        recital_lay_rings(recital);
        if (recipe->round > 0)
                recital_keep_ring(recital, recipe->round % recital->post.rings);
        return play_out(recital, recipe->round == 0 && !ensemble->listens, wrongs);
}

static int play(Ensemble *ensemble, const Recipe *recipe, unsigned n_ranks, Wrongs *wrongs) {
        int r;

        do
                r = play_once(ensemble, recipe, n_ranks, wrongs);
        while (r == 0 && try_shorter(ensemble));
        return r;
}

static uint32_t repeat_for(const Ensemble *ensemble, const Recipe *recipe) {
        return (uint32_t) (ensemble->parameters->bytes / (recipe->elements * format_bytes(recipe->format)));
}

/* Every chip with its neighbours, in the first round with those on both servers beside this one, then with one side after the other. */
static int play_neighbours_once(Ensemble *ensemble, uint64_t round, Wrongs *wrongs) {
        Recipe recipe = { COLLECTIVE_SEND_RECEIVE, ELEMENT_FP32, NEIGHBOUR_ELEMENTS, 1, round };
        bool ahead = round == 0 || round % 2 == 1, behind = round % 2 == 0;
        _cleanup_(recital_freep) Recital *recital = NULL;
        int r;

        recipe.elements *= ensemble->n_servers > 1 ? PORTS : LINK_Z_PLUS;
        /* As much as a link carries in the others, so that what hangs after many bytes hangs here too. */
        recipe.repeat = MIN(2 * repeat_for(ensemble, &recipe), COLLECTIVE_REPEAT_MAX);
        r = recital_new(ensemble, &recipe, CHIPS * (1u + ahead + behind), &recital);
        if (r < 0)
                return r;

        recital_lay_neighbours(recital, ahead, behind);
        if (recital->n < 2) /* what is in the scan is on the other side */
                return 1;
        return play_out(recital, round == 0 && !ensemble->listens && !ensemble->avoids, wrongs);
}

static int play_neighbours(Ensemble *ensemble, uint64_t round, Wrongs *wrongs) {
        int r;

        do
                r = play_neighbours_once(ensemble, round, wrongs);
        while (r == 0 && try_shorter(ensemble));
        return r;
}

/* ---- one after the other ---- */

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

/* The first is large and over all rings. */
static int play_operation(Ensemble *ensemble, WireCollective operation, unsigned n_ranks, uint64_t rounds, Wrongs *wrongs) {
        Recipe recipe = { operation, ELEMENT_FP32, n_ranks > CHIPS ? ULTRA_ELEMENTS : FIRST_ELEMENTS, 1, 0 };
        int r;

        recipe.repeat = repeat_for(ensemble, &recipe);
        r = play(ensemble, &recipe, n_ranks, wrongs);
        /* What comes and goes is seen by asking often. Over a link goes as much each time: what hangs after many bytes hangs here. */
        recipe.elements = ROUND_ELEMENTS;
        recipe.repeat = repeat_for(ensemble, &recipe) / LINK_Z_PLUS;
        for (recipe.round = 1; recipe.round < rounds && r > 0; recipe.round++)
                r = play(ensemble, &recipe, n_ranks, wrongs);
        return r;
}

/* 1 where all came to their end. */
static int play_rings(Ensemble *ensemble, unsigned n_ranks, uint64_t rounds, Wrongs *wrongs) {
        unsigned last = ensemble->parameters->operations == CHOICE_ALL ? COLLECTIVE_ALL_TO_ALL : COLLECTIVE_ALL_REDUCE;
        int r = 1;

        for (unsigned o = COLLECTIVE_ALL_REDUCE; o <= last && r > 0; o++) {
                r = play_operation(ensemble, (WireCollective) o, n_ranks, rounds, wrongs);
                if (r > 0 && ensemble->parameters->sizes == CHOICE_ALL)
                        r = play_sizes(ensemble, (WireCollective) o, n_ranks, wrongs);
        }
        return r;
}

/* A round of these asks all ports, one of a ring a port of each chip: half as many do. */
static int play_neighbour_rounds(Ensemble *ensemble, Wrongs *wrongs) {
        uint64_t rounds = (ensemble->parameters->rounds + 1) / 2;
        int r = 1;

        for (uint64_t round = 0; round < rounds && r > 0; round++)
                r = play_neighbours(ensemble, round, wrongs);
        return r;
}

/*
 * A dead link or chip keeps those beside it from their data as well, which must not be why they pass. So all neighbours are asked once more without it; and
 * again, where that stops at another one.
 */
static int play_around(Ensemble *ensemble, Wrongs *wrongs) {
        unsigned n_troubles;
        int r;

        ensemble->avoids = true;
        do {
                n_troubles = ensemble->n_troubles;
                r = play_neighbours(ensemble, 0, wrongs);
        } while (r == 0 && ensemble->n_troubles > n_troubles && ensemble->n_troubles < AROUND_TROUBLES_MAX);
        ensemble->avoids = false;
        return MIN(r, 0);
}

/* As the name of a measurement. */
static const char *untested_why(const Ensemble *ensemble, const Wrongs *wrongs) {
        for (unsigned c = 0; c < CHIPS; c++)
                if (!ensemble_has(ensemble, (Member) { 0, (uint8_t) c }) || ensemble->servers[0].chairs[c].silent)
                        return "collective_untested_out_of_scan";

        return ensemble_has_rings(ensemble, wrongs, 1) ? "collective_untested_stopped" : "collective_untested_cables";
}

int ensemble_play(Ensemble *ensemble, Wrongs *wrongs) {
        int ended, r = 0;

        ended = play_neighbour_rounds(ensemble, wrongs);
        step_progress(ensemble->step, 20);
        if (ended == 0)
                r = play_around(ensemble, wrongs);
        if (ended < 0 || r < 0)
                return MIN(ended, r);

        if (ensemble_has_rings(ensemble, wrongs, 1))
                r = play_rings(ensemble, CHIPS, ensemble->parameters->rounds, wrongs);
        ensemble->untested = r > 0 ? NULL : untested_why(ensemble, wrongs);
        step_progress(ensemble->step, 60);
        if (r > 0 && ended > 0 && ensemble->n_untested_together > 0 && ensemble_has_rings(ensemble, wrongs, RING_SERVERS)) {
                ensemble->is_together = true;
                r = play_rings(ensemble, RANKS_MAX, 1, wrongs);
                ensemble->is_together = false;
                ensemble->n_untested_together = r > 0 ? 0 : RANKS_MAX;
        }
        return r < 0 ? r : ensemble_judge_data(ensemble, wrongs);
}

/* ---- what others see themselves ---- */

int ensemble_listen(Ensemble *ensemble, unsigned server, int (*call)(Ensemble *ensemble, void *userdata), void *userdata) {
        unsigned n_troubles = ensemble->n_troubles;
        int r;

        ensemble->listens = true;
        ensemble_turn(ensemble, server);
        r = call(ensemble, userdata);
        ensemble_turn(ensemble, RING_SERVERS - server);
        ensemble->n_troubles = n_troubles;
        ensemble->listens = false;
        return r;
}

/* A part of what the step on the server in the place of this one plays of its own. */
static int listen_to(Ensemble *ensemble, void *userdata) {
        _cleanup_free_ Wrongs *wrongs = calloc(1, sizeof(*wrongs));
        unsigned part = *(unsigned *) userdata;
        int r = 0;

        if (!wrongs)
                return -ENOMEM;

        if (part == 0)
                r = play_neighbour_rounds(ensemble, wrongs);
        else if (ensemble_has_rings(ensemble, wrongs, 1))
                r = play_rings(ensemble, CHIPS, ensemble->parameters->rounds, wrongs);
        if (wrongs->n_edges + wrongs->n_sums + wrongs->n_unplaced > 0)
                ensemble->servers[0].shown[TROUBLE_DATA] = UINT16_MAX;
        return MIN(r, 0);
}

/* Wrong data that nobody can be blamed for may be of chips there whose collectives stop before their data are seen. */
static bool is_shown(const EnsembleServer *there, Trouble trouble, unsigned chip) {
        uint16_t bits = chip == NOBODY ? UINT16_MAX : (uint16_t) (1u << chip);

        return there->shown[trouble] & bits || there->shown[TROUBLE_CABLE] ||
               (trouble == TROUBLE_DATA && chip == NOBODY && there->shown[TROUBLE_HANG]);
}

int ensemble_shows(Ensemble *ensemble, unsigned server, Trouble trouble, unsigned chip) {
        const EnsembleServer *there = &ensemble->servers[server];
        int r = 0;

        while (there->device && !is_shown(there, trouble, chip) && there->n_heard < PARTS_OWN && r >= 0) {
                unsigned part = ensemble->servers[server].n_heard++;

                r = ensemble_listen(ensemble, server, listen_to, &part);
        }
        return r < 0 ? r : is_shown(there, trouble, chip);
}
