/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Two ends that are equally suspect, and one that had it with two others alone, are asked more, together with others: the one that is broken has wrong flows with these too. One that
 * comes and goes may need many flows for that.
 */

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "checks/efa/efa.h"

#define MORE_PACKETS  2048u /* of one byte, in a flow that tells suspects apart */
#define MORE_LARGE    32u
#define MORE_PARTNERS 3u
#define ONCE_ROUNDS   2u
#define ONCE          2u /* flows, of each kind one */
/*
 * Six rounds of eight flows, both ways, with three partners each. What escapes them is computed, from independent flows and without those to
 * itself: an adapter that shows it in 5 % of its flows stays tied less than once in a million times (0.95^288), in 2 % of them with a chance of
 * 0.3 % (0.98^288); where only one direction has it, of 0.06 % and 5.5 % (0.95^144, 0.98^144). A sound scan has no ties.
 */
#define OFTEN_ROUNDS  6u
#define OFTEN         8u
#define OFTEN_PACKETS 256u
#define OFTEN_LARGE   2u  /* of LARGE_BYTES: the time between two is a bandwidth, and longer ones hide what an adapter needs for each */
#define OFTEN_SUSPECTS 8u /* more have something else in common than an adapter that comes and goes */
#define FIRST_MORE    32u /* no other round has these numbers */

/* A round has room for all flows that its suspects are asked for: with each partner both ways, and often also with themselves. */
static_assert(ADAPTERS_MAX * 2 * MORE_PARTNERS * ONCE <= FLOWS_MAX, "a flow of each kind, for any adapters");
static_assert(OFTEN_SUSPECTS * (2 * MORE_PARTNERS + 1) * OFTEN <= FLOWS_MAX, "many flows, for few");

/* One flow of each kind that shows what is always there. */
static int ask_once(Traffic *traffic, Wrong wrong, unsigned from, unsigned to) {
        int r = traffic_add(traffic, from, to, NIC_PATH_SPRAYED, MORE_PACKETS, 1);

        return r < 0 ? r : traffic_add(traffic, from, to, NIC_PATH_SPRAYED, MORE_LARGE, NIC_PAYLOAD_MAX);
}

/* What comes and goes does so with the flows, so many small ones show it best: of the kind in which it was seen. */
static int ask_often(Traffic *traffic, Wrong wrong, unsigned from, unsigned to) {
        bool is_timed = wrong == WRONG_SLOW || wrong == WRONG_CLOCK;
        int r = 0;

        for (unsigned i = 0; i < OFTEN && r >= 0; i++)
                r = traffic_add(traffic, from, to, NIC_PATH_SPRAYED, is_timed ? OFTEN_LARGE : OFTEN_PACKETS, is_timed ? LARGE_BYTES : 1);
        return r;
}

typedef struct Asking {
        Traffic *traffic;
        unsigned round;       /* 0, 1: each suspect once, until it has had so many partners; from 2 on often, and each time others */
        AdapterSet *partners; /* of each suspect, those that it has had */
} Asking;

static int plan_suspect(const Asking *asking, Wrong wrong, unsigned suspect, AdapterSet sound) {
        int (*ask)(Traffic *traffic, Wrong wrong, unsigned from, unsigned to) = asking->round < ONCE_ROUNDS ? ask_once : ask_often;
        AdapterSet *partners = &asking->partners[suspect];
        int r = 0;

        for (unsigned k = 1; k < CHIPS && r >= 0 && __builtin_popcountll(*partners & sound) < (int) MORE_PARTNERS; k++) {
                unsigned partner = (suspect + asking->round * MORE_PARTNERS + k) % CHIPS;

                if (!((sound & ~*partners) >> partner & 1) || partner == suspect)
                        continue;
                *partners |= UINT64_C(1) << partner;
                r = ask(asking->traffic, wrong, suspect, partner);
                if (r >= 0)
                        r = ask(asking->traffic, wrong, partner, suspect);
        }
        /* Where there is nobody else, it still has itself. */
        return r < 0 || asking->round < ONCE_ROUNDS ? r : ask(asking->traffic, wrong, suspect, suspect);
}

/* SUSPECTS, of whatever server, talk to others of the own one that are beyond suspicion, both ways. */
static int plan_suspects(const Asking *asking, Wrong wrong, AdapterSet suspects, AdapterSet sound) {
        int r = 0;

        if (asking->round >= ONCE_ROUNDS)
                memset(asking->partners, 0, ADAPTERS_MAX * sizeof(*asking->partners));
        for (unsigned a = 0; a < ADAPTERS_MAX && r >= 0; a++)
                if (suspects >> a & 1)
                        r = plan_suspect(asking, wrong, a, sound);
        return r;
}

/* Of those that are to be asked in this round; *ret_sound may be asked with them. One may be sound in this and not in that: where a path of the
 * fabric makes packets of all late, none is beyond suspicion in that. Many suspects that stay so are no matter of one that comes and goes. */
static AdapterSet find_suspects(const Round *round, unsigned k, Wrong wrong, AdapterSet *ret_sound) {
        AdapterSet known = round->mute | round->garbled | round->silent;
        bool once = k < ONCE_ROUNDS;
        Blame blame = (once ? ledger_blame : round_blame)(&round->ledger, wrong, known);

        *ret_sound = round_own(round) & ~(blame.blamed | known);
        return once || __builtin_popcountll(blame.unsure) <= (int) OFTEN_SUSPECTS ? blame.unsure : 0;
}

/* Each kind of wrong has a round of its own. */
static int ask_suspects(Round *round, unsigned k, Wrong wrong, AdapterSet *partners) {
        _cleanup_traffic_ Traffic *traffic = NULL;
        AdapterSet sound, suspects = find_suspects(round, k, wrong, &sound);
        int r;

        if (!suspects)
                return 0;
        traffic = round_traffic(round, FIRST_MORE + k * _WRONG_MAX + wrong);
        if (!traffic)
                return -ENOMEM;
        r = plan_suspects(&(Asking) { .traffic = traffic, .round = k, .partners = partners }, wrong, suspects, sound);
        return r < 0 || traffic->n_flows == 0 ? r : round_run(round, traffic);
}

/* Those twice, as what is asked may show a suspect that had been lucky before. */
int round_tell_apart(Round *round) {
        AdapterSet partners[ADAPTERS_MAX] = {};
        int r = 0;

        for (unsigned k = 0; k < ONCE_ROUNDS + OFTEN_ROUNDS; k++)
                for (unsigned w = 0; w < _WRONG_MAX && r >= 0; w++)
                        r = ask_suspects(round, k, (Wrong) w, partners);
        return r;
}
