/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Qualify
 *
 * The measure of a plan: random faults of every kind are injected, one to a chip and sometimes two (of kinds that are felt on other
 * chips, one to a server), each server is scanned by a worker as it would be in service, and what was found is held against what is there.
 *
 *     prepare  draws all faults and puts them into runs, servers to be scanned; nothing after it is random
 *     drive    plays the runs, several side by side
 *     score    judges each run as it ends
 *     report   as a table or as JSON
 */

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "checks/wire/wire.h"
#include "sim/fleet/observation.h"
#include "sim/qualify/sample.h"

#define QUALIFY_KINDS_MAX   256u
#define QUALIFY_SAMPLES_MAX 100000u
#define QUALIFY_HEALTHY_MAX 1000000u
#define QUALIFY_JOBS_MAX    256u
#define QUALIFY_FLEET       400000u /* chips, that false alarms are scaled to */
#define QUALIFY_CONFIDENCE  0.95

typedef struct QualifyOrder {
        const char *plan;
        size_t n_kinds; /* 0: all of the family */
        const FaultKind *const *kinds;
        int family;     /* FaultFamily; -1: all */
        unsigned samples, healthy, jobs, timeout_sec;
        uint64_t seed;
        double probability;         /* of all faults that can come and go; 0: half of these do, with one that is drawn */
        const char *worker;         /* path of assay-run */
        const char *deadline_scale; /* NULL: generous where no fault hangs */
        const char *keep;           /* a folder for runs that are not as they should be; NULL: none */
        bool stalls;                /* something stands still for a while in every scan */
} QualifyOrder;

typedef enum Outcome {
        OUTCOME_UNJUDGED,   /* the run came to nothing, or the fault was never drawn */
        OUTCOME_MISSED,     /* no finding there, and the chip was judged */
        OUTCOME_INCONCLUSIVE, /* no finding there, but the chip did not pass either: missed */
        OUTCOME_MISPLACED,  /* a finding around it or within it */
        OUTCOME_WRONG_CODE, /* at the right place, under a wrong name */
        OUTCOME_LOCATED,
        _OUTCOME_MAX,
} Outcome;

typedef struct Injected {
        DrawnFault fault;
        size_t run;
        size_t partner; /* the other fault of its chip; SIZE_MAX: it is alone there */
        Outcome outcome;
        const char *code; /* what it was called, of the catalogue; NULL: nothing was found */
        Location found;   /* where, if so */
        unsigned strays;  /* findings on its chip that have nothing to do with any fault there: innocent parts */
} Injected;

/* A server (or an UltraServer) and one scan of it. */
typedef struct Run {
        size_t first, n; /* of the faults; none: healthy */
        bool ring, shared;
        uint64_t seed, worker_seed;
} Run;

/* What a plan says of itself: how many sound chips its statistical tests will call broken. */
typedef struct Budget {
        char name[64]; /* of the measurement */
        double sum;    /* over budget_chips */
} Budget;

typedef struct Qualification {
        const QualifyOrder *order;
        size_t n_faults, n_runs;
        Injected *faults; /* by kind, then by index */
        Run *runs;
        size_t *packed;   /* the faults in the order of the runs */
        uint64_t innocents; /* parts without a fault that were named on chips with one */
        uint64_t healthy_chips, false_alarms, healthy_unjudged;
        uint64_t budget_chips; /* of servers that were healthy altogether */
        double device_sec;     /* that the steps of these chips took, together */
        size_t n_budgets;
        Budget *budgets;
        size_t n_escapes;
        ObservedEscape *escapes; /* what the plan states of them, as the first scan that was judged tells it */
        size_t n_notes;   /* sentences: false alarms, and what could not be judged */
        char **notes;
        unsigned n_unjudged_runs;
        bool refused;     /* the worker took none of it: the plan is not there or not valid */
} Qualification;

int qualify_prepare(const QualifyOrder *order, Qualification *ret);
int qualify_drive(Qualification *qualification); /* -EINTR: told to stop */
void qualify_done(Qualification *qualification);

/* The text of the scenario of a run; malloc'd. */
char *qualify_scenario(const Qualification *qualification, const Run *run);
static inline Injected *qualify_fault(const Qualification *qualification, const Run *run, size_t i) {
        return &qualification->faults[qualification->packed[run->first + i]];
}

/* Judges RUN by what its worker said; OBSERVATION NULL: nothing that can be relied on, and WHY. */
int qualify_score(Qualification *qualification, const Run *run, const Observation *observation, const char *why);
int qualify_note(Qualification *qualification, const char *format, ...) __attribute__((format(printf, 2, 3)));

const char *outcome_to_string(Outcome outcome);

/* All that is counted of one kind. */
typedef struct KindScore {
        const FaultKind *kind;
        unsigned injected, undetectable, undetectable_found, unjudged;
        unsigned detected, located, wrong_code, misplaced, missed, inconclusive, strays;
} KindScore;

KindScore qualify_kind_score(const Injected *faults, size_t n);

/* Whether how often it escapes is counted: it comes and goes, can be found, was judged, and is alone in its chip, for a second fault
 * may hide it or stand in for it. */
bool qualify_is_trial(const Injected *injected);

/* Chips with two faults. */
typedef struct PairScore {
        unsigned pairs, both, one, none, unjudged; /* detected; unjudged: a run came to nothing, or one of them cannot be found */
} PairScore;

PairScore qualify_pair_score(const Qualification *qualification);
/* Device time that the steps of one chip take, and how many particles are expected to hit the fleet while it is scanned once. */
double qualify_scan_sec(const Qualification *qualification);
double qualify_upsets(const Qualification *qualification);

/* The exit status that all of it comes to. A fault that was missed where the plan states nothing fails a plan, else only more of them than it
 * states, beyond chance (statement.h). */
int qualify_status(const Qualification *qualification);

void qualify_print(const Qualification *qualification, FILE *out);
/* Prints intermittent faults by kind and probability, faults that wait for a trigger, and pairs of faults in one chip. */
void qualify_print_escapes(const Qualification *qualification, FILE *out);
void qualify_print_triggers(const Qualification *qualification, FILE *out);
void qualify_print_pairs(const Qualification *qualification, FILE *out);
int qualify_print_json(const Qualification *qualification, FILE *out);
