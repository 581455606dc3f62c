/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Collectives of the chips of one server, or of all that are in the ring of an UltraServer. programme.c runs them, rings.c
 * says which way they go, golden.c what goes in and must come out, data.c, ties.c, sums.c, hang.c, speed.c and straggler.c say who
 * is to blame.
 */

#include <stdbool.h>
#include <stdint.h>

#include "checks/port/device-collective.h"
#include "checks/step/step.h"
#include "checks/text/cleanup.h"

#define RING_SERVERS 4u /* of an UltraServer */
#define RANKS_MAX   COLLECTIVE_RANKS_MAX
#define RINGS_MAX   COLLECTIVE_RINGS_MAX
#define NOBODY      UINT8_MAX

typedef struct CollectiveParameters {
        int operations;   /* CollectiveChoice */
        int sizes;        /* the same */
        uint64_t bytes;   /* of the large vector */
        uint64_t rounds;  /* of each over one server */
        double bandwidth; /* the least share of what a link is built for */
        double straggler; /* times the median of all ranks' own time for a step, the most that one may take */
} CollectiveParameters;

typedef enum CollectiveChoice {
        CHOICE_FEW,
        CHOICE_ALL,
        _CHOICE_MAX,
} CollectiveChoice;

typedef struct Member {
        uint8_t server; /* of Ensemble.servers */
        uint8_t chip;
} Member;

typedef enum Trouble {
        TROUBLE_DATA,
        TROUBLE_CABLE, /* data of another port than should be at the other end */
        TROUBLE_HANG,
        TROUBLE_SLOW,
        TROUBLE_EITHER, /* wrong data that two chips have with each other alone */
        _TROUBLE_MAX,
} Trouble;

typedef struct Chair {
        Verdict verdict;
        bool silent;
        bool tied;        /* it or another chip made data wrong */
        bool unpartnered; /* its sums are wrong, and none of its neighbours sends what is right */

        uint64_t n_bytes; /* compared */
        uint16_t found[_TROUBLE_MAX]; /* by Trouble: a bit for each port, and CHAIR_CHIP, that has been told already */
} Chair;

#define CHAIR_CHIP PORTS

typedef struct EnsembleServer {
        char name[LOCATION_SERVER_NAME_MAX];
        Device *device; /* NULL: not in this scan */
        unsigned n_heard; /* of the parts of its own collectives, those that were played from here */
        uint16_t shown[_TROUBLE_MAX]; /* what they showed: a bit for each chip, all of them where no chip can be told */
        Chair chairs[CHIPS];
} EnsembleServer;

typedef struct Ensemble {
        Step *step;
        const CollectiveParameters *parameters;
        unsigned n_servers; /* RING_SERVERS, or 1 without a ring */
        unsigned first;     /* index of server 0 in the ring */
        EnsembleServer servers[RING_SERVERS]; /* the one under test first */
        uint64_t n_groups;  /* so far */
        unsigned n_troubles; /* seen, told or not */
        bool listens;        /* keeps what there is on the server under test, and tells nothing */
        bool is_together;    /* what is played goes over all servers */
        bool avoids;         /* what neighbours play leaves out each link and chip at which a run has stopped */
        bool crawls;         /* the last one did not come to its end, and was on its way */
        uint32_t shorter;    /* by which all are shorter since then, in bytes over each link; 1: they are as planned */
        const char *untested; /* why the chips of the server were in no ring that came to its end, as the name of a measurement; NULL: they were */
        unsigned n_untested_together; /* ranks in no ring of the UltraServer */
        Verdict verdict;    /* of the server itself */
} Ensemble;

/* One collective. */
typedef struct Recital {
        Ensemble *ensemble;
        WireCollectivePost post; /* without group and rank */
        uint64_t seed;
        bool paired; /* ranks 2i and 2i + 1 are a group of their own, all with ranks 0 and 1 */
        unsigned n;  /* members, rank by rank */
        Member members[RANKS_MAX];
        CollectiveRank *ranks;
        uint8_t (*from)[RINGS_MAX]; /* [n]: whose blocks come in on each ring, by design; NOBODY */
        uint8_t *inputs, *outputs;  /* of `stride` bytes each; one piece */
        size_t stride;
        uint64_t part_bytes[RINGS_MAX][RANKS_MAX]; /* what a ring carries of each shard, or, of send-receive, of the vector */
        uint64_t nsec; /* of the slowest */
} Recital;

/* Of one chip, what it and one partner added, just the two. */
typedef struct PairSums {
        unsigned n, n_wrong;   /* sums that came out of it */
        uint32_t differ, ones; /* bits of those that are wrong, and those of them that are set */
} PairSums;

/* Which blocks arrived wrong, of many runs. */
typedef struct Wrongs {
        uint32_t edges[RING_SERVERS][CHIPS][PORTS]; /* that came in at this port */
        PairSums sums[CHIPS][LINK_Z_PLUS];          /* of the server under test, by the port to the partner */
        uint8_t misrouted[RING_SERVERS][CHIPS]; /* ports that got another port's blocks: a bit for each */
        uint32_t n_edges, n_sums, n_unplaced;
        uint32_t n_gathers; /* runs since something was wrong in which each chip of the server sent to all its neighbours */
} Wrongs;

/* What a chip does wrongly with blocks. */
typedef enum DataRole {
        DATA_SENDS,
        DATA_TAKES, /* in */
        DATA_ADDS,
        _DATA_ROLE_MAX,
} DataRole;

/* Of each chip the ports at which blocks came in changed, or at whose far end the partner in a wrong sum sits: a bit for each. */
typedef struct Marks {
        uint8_t edges[RING_SERVERS][CHIPS];
        uint8_t sums[CHIPS];
} Marks;

typedef struct Culprit {
        DataRole role;
        unsigned n_ports; /* at which it shows; 0: it is none */
} Culprit;

typedef struct Blame {
        Culprit culprits[RING_SERVERS][CHIPS];
        unsigned n_culprits;
        Marks ties; /* what none of them explains: either end may be the one */
} Blame;

/* ---- rings.c ---- */

/* Chips of the server under test on the rings of its torus, or of all servers on those of the UltraServer. */
void recital_lay_rings(Recital *recital);
/* Of these only RING. */
void recital_keep_ring(Recital *recital, unsigned ring);
/* Every chip with each of its neighbours in the scan, with those on the server AHEAD in the ring and on the one BEHIND. */
void recital_lay_neighbours(Recital *recital, bool ahead, bool behind);
/* Pairs of neighbours along PORT. */
void recital_lay_pairs(Recital *recital, unsigned port);
/* The far end by design; false: not in this scan. */
bool ensemble_neighbour(const Ensemble *ensemble, Member member, unsigned port, Member *ret);
bool ensemble_has(const Ensemble *ensemble, Member member);

/* ---- golden.c: nothing of it is shared with the simulator ---- */

uint32_t part_begin(uint32_t n, unsigned parts, unsigned k);
unsigned format_bytes(unsigned format);
const char *collective_word(unsigned operation);
/*
 * What nccom-test calls busbw, in GiB/s: BYTES of each rank's larger vector, over the time, times what a link of the ring carries of it. NSEC
 * is not 0.
 */
double collective_bandwidth(WireCollective operation, unsigned ranks, uint64_t bytes, uint64_t nsec);
const char *format_word(unsigned format);
/* Elements that go in at RANK, and that come out. */
uint32_t recital_input_elements(const Recital *recital, unsigned rank);
uint32_t recital_output_elements(const Recital *recital, unsigned rank);
/* The whole vector of RANK, of which all-gather sends a shard: depends on the run's seed, the member and nothing else. */
void recital_vector(const Recital *recital, unsigned rank, uint8_t *ret);
/* What must come out at RANK. VECTORS: those of all ranks, stride apart. */
void recital_expected(const Recital *recital, unsigned rank, const uint8_t *vectors, uint8_t *ret);

/* ---- recital.c ---- */

typedef struct Recipe {
        WireCollective operation;
        WireElement format;
        uint32_t elements, repeat;
        uint64_t round; /* 0 is large and tells its time; later ones go over one ring each */
} Recipe;

/* Begins a run, to be laid out and then played; released with recital_free(). */
int recital_new(Ensemble *ensemble, const Recipe *recipe, unsigned n_ranks, Recital **ret);
/* Posts, waits. Returns 0 with what became of each rank in it; statuses are in the ranks. */
int recital_play(Recital *recital);
Recital *recital_free(Recital *recital);
DEFINE_CLEANUP(Recital *, recital_free);

/* ---- ensemble.c ---- */

/* Knows the servers of the ring. */
void ensemble_init(Ensemble *ensemble, Step *step);
/* The rings of the server under test, or those of all RING_SERVERS: every chip is there, and no cable on them ends at a wrong port. */
bool ensemble_has_rings(const Ensemble *ensemble, const Wrongs *wrongs, unsigned n_servers);
Chair *ensemble_chair(Ensemble *ensemble, Member member);
/* What to replace where the link at PORT is to blame: the cable, of which ensemble_find() adds the serial number, or NULL, the tray, where it is a trace of its board. */
const char *ensemble_cable(Member member, unsigned port);
/* The member at the far end of PORT by design; MEMBER itself where that chip is not of the scan. */
Member ensemble_sender(const Ensemble *ensemble, Member member, unsigned port);
/* Puts the next server but BY - 1 in the place of the one under test. */
void ensemble_turn(Ensemble *ensemble, unsigned by);
/*
 * Finds TROUBLE at PORT of MEMBER, or, for CHAIR_CHIP, at its chip, or, for NOBODY, at the server; once. What is wrong on another
 * server is told by the step on that one, if it sees it.
 */
int ensemble_find(Ensemble *ensemble, Trouble trouble, Member member, unsigned port, const Evidence *evidence,
                  const char *format, ...) __attribute__((format(printf, 6, 7)));
Location ensemble_location(const Ensemble *ensemble, Member member, unsigned port);
char *ensemble_name(const Ensemble *ensemble, Member member, unsigned port, char buffer[static LOCATION_STRING_MAX]);

/* ---- programme.c ---- */

/* All that the plan asks for, and what is wrong with it. */
int ensemble_play(Ensemble *ensemble, Wrongs *wrongs);
/* Calls CALL with SERVER, of the others, in the place of the one under test; tells nothing. */
int ensemble_listen(Ensemble *ensemble, unsigned server, int (*call)(Ensemble *ensemble, void *userdata), void *userdata);
/*
 * Returns whether the step on SERVER sees TROUBLE in its own collectives, at CHIP or, for NOBODY, at any; or wrong cables, which explain all
 * that blocks do there. What else it sees is no reason to leave this one untold.
 */
int ensemble_shows(Ensemble *ensemble, unsigned server, Trouble trouble, unsigned chip);

/* ---- straggler.c ---- */

typedef struct Siblings {
        unsigned n;
        double median;
        double limit; /* above it one is a straggler; infinite where there are too few to tell */
} Siblings;

/*
 * Of N values, one for each rank: the limit is RATIO times their median, or 6 x 1.4826 times their median absolute deviation above it,
 * whichever is more. Among 16 ranks that differ by a normal deviation of 1 % none of 1e7 is above 1.1 (computed: 10 deviations, 1e-23).
 */
Siblings siblings_of(const double *values, unsigned n, double ratio);

/* ---- ties.c ---- */

/* Who must have made wrong what was wrong. */
void ensemble_blame(const Ensemble *ensemble, const Wrongs *wrongs, Blame *ret);
/* Whether MEMBER is to blame for what it sends or takes in. */
bool blame_spoils(const Blame *blame, Member member);
/*
 * Servers whose chips may show by more who it is: a bit for each; 0 where somebody is to blame and explains all that lies between two chips. SHOWN:
 * others whose own collectives show wrong data, which explains what came from there.
 */
unsigned ensemble_doubts(const Ensemble *ensemble, const Wrongs *wrongs, unsigned shown);
/* Finds what either of two chips made wrong, at both. Of chips of other servers it may be left to WRONGS.n_unplaced. */
int ensemble_find_ties(Ensemble *ensemble, Wrongs *wrongs, const Blame *blame);

/* ---- judges. 0, or a negative errno where nothing could be said. ---- */

/* After a run: 1 where all ranks came to their end, so that data and times can be judged. */
int recital_judge_hang(Recital *recital);
int recital_judge_speed(Recital *recital);
/* Bytes that come in at RANK over RING in so many steps. */
uint64_t recital_bytes(const Recital *recital, unsigned rank, unsigned ring, unsigned steps);
/* What a port is built for. */
double link_bytes_per_nsec(unsigned port);

/* Compares all outputs; adds to WRONGS. */
int recital_compare(Recital *recital, Wrongs *wrongs);
/* One addition, of which the sum is all that comes out; adds to WRONGS. */
void recital_compare_pair(Recital *recital, Wrongs *wrongs, unsigned rank, const uint8_t *expected);
/* Chips of the server under test that add wrongly, and those of which nobody can tell. */
int ensemble_judge_sums(Ensemble *ensemble, const Wrongs *wrongs, const Blame *blame);
/* Runs more where something was wrong, and says who it is. */
int ensemble_judge_data(Ensemble *ensemble, Wrongs *wrongs);
