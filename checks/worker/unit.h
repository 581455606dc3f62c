/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Unit
 *
 * A chip or a server on its way through the steps of a plan, and the child process that runs them. The child
 * is not trusted: its lines are bounded and judged one by one, and its death, silence or garbage costs the
 * step it had open; a fresh child with a fresh connection goes on after that.
 */

#include <sys/types.h>

#include "checks/step/step.h"
#include "checks/worker/outcome.h"
#include "checks/worker/scan.h"

#define UNIT_STEP_BYTES_MAX (2u << 20) /* of one run: more than all findings and measurements it may have */

/*
 * A run that its child ends as RUN_TAKEN never took place: a job began on chips that it was testing, and what it met there may be the job's. It
 * is run anew, without the chips that are taken then, or skipped; so often at most.
 */
#define UNIT_WITHDRAWN_MAX  4u

/*
 * Nor did a run that its child ends as RUN_SILENT: a chip owed it an answer and gives them again, and what others met may be its doing. Another child
 * makes it anew, so often at most that chips were silent for the first time; one that is silent in two runs hangs.
 */
#define UNIT_SILENCES_MAX   3u

#define UNIT_STEP_ID_MAX    (LOCATION_STRING_MAX + PLAN_NAME_MAX)

typedef enum UnitNext {
        UNIT_GO_ON,
        UNIT_RETEST, /* the child runs the step again */
        UNIT_RETEST_FRESH, /* another child does */
        UNIT_FRESH, /* this child is of no more use, another goes on */
        UNIT_GIVE_UP, /* the device is of no more use */
} UnitNext;

struct Unit {
        Scan *scan;
        size_t server;
        int chip; /* -1: the server */
        Location where;
        char name[LOCATION_STRING_MAX];
        bool done[PLAN_STEPS_MAX]; /* ended, or none of this unit's */
        size_t current;            /* the step that is open or comes next; n_steps at the end */
        uint64_t used_nsec;        /* device time so far */

        /* the current step */
        bool begun; /* the stream says so */
        bool open;  /* a run of it is under way */
        unsigned runs; /* that ended and were accepted */
        unsigned withdrawn;      /* runs that were not */
        uint64_t withdrawn_nsec; /* device time that they took */
        unsigned silences;       /* of these, for chips that were silent */
        uint16_t silent[TARGET_SERVERS_MAX]; /* these chips, bit per chip, by the server's place in the scan */
        StepEnd first; /* of the first run, where there is a retest */
        Findings findings; /* of the runs that were accepted */
        Outcome outcome;   /* of the run that is under way */
        size_t n_bytes;
        UnitNext next;
        char message[STREAM_MESSAGE_MAX];

        /* the child */
        pid_t pid; /* 0: none */
        int fd;
        bool progressed; /* it began a step */
        bool expired;
        uint64_t deadline_usec;
        StreamReader *reader;
        char *buffer; /* STREAM_LINE_MAX and one */
        size_t n_buffer;
        char *line; /* that is being read */
        size_t n_line;
        StepServer servers[TARGET_SERVERS_MAX];
        Location twin; /* see step_twin(); no server: there is none */
        unsigned n_twin_servers;
};

/* ---- unit.c ---- */

void unit_init(Unit *unit, Scan *scan, size_t server, int chip);
void unit_done(Unit *unit);

/* Begins: writes what will not run and why, and starts a child where something is left. */
void unit_start(Unit *unit);
/* Reads what its child has written. */
void unit_read(Unit *unit);
/* Kills the child if its time is up. */
void unit_expire(Unit *unit, uint64_t now_usec);
static inline bool unit_is_running(const Unit *unit) {
        return unit->pid > 0;
}

const PlanStep *unit_step(const Unit *unit);
const Check *unit_check(const Unit *unit);
/* "UNIT:STEP" of the current step, in ID. */
const char *unit_step_id(const Unit *unit, char id[static UNIT_STEP_ID_MAX]);

/* The next step begins: what became of runs of this one is of no more use. */
static inline void unit_forget_runs(Unit *unit) {
        unit->runs = unit->withdrawn = unit->silences = 0;
        for (size_t i = 0; i < TARGET_SERVERS_MAX; i++)
                unit->silent[i] = 0;
}

/* ---- unit-steps.c: what becomes of steps ---- */

/* A StreamHandler for the lines of the child; userdata is the unit. */
int unit_on_event(const Event *event, void *userdata);
/* Ends all steps that cannot or must not run, and moves to the first that is left. */
void unit_skip(Unit *unit);
/* Opens and ends the current step without a child: ERROR is why. */
void unit_refuse(Unit *unit, int error, const char *message);
/* Ends all steps that are left as skipped. */
void unit_give_up(Unit *unit, const char *message);
/* The child is lost with the step it had open. */
void unit_lose(Unit *unit, Reason reason, const char *message);

/* ---- unit-control.c: what the worker asks the devices itself ---- */

/*
 * Whether a job has begun on what the run under way was testing: 1, 0, or the error of a device that does not tell. 0 without a question where the run
 * blames nothing that a job could have caused.
 */
int unit_is_taken(const Unit *unit);

/* Whether it is the chip's own fault that it made no sense: others answer as they should. */
bool unit_is_garbled(Unit *unit);

/* ---- unit-silence.c: chips that owed a step on a server an answer ---- */

/*
 * In the child, behind a run of STEP: asks chips that were silent again and says what they are. Returns 0, or -ETIMEDOUT where the worker is to decide
 * what becomes of the run, for one of them hangs, or END says RUN_SILENT.
 */
int unit_judge_silence(const Unit *unit, Step *step, StepEnd *end);

/*
 * In the worker, at the END of a run: whether it does not stand for chips that hang, which are lost to all further steps, or that were silent, and is to
 * be made once more. Where that was tried often enough nothing of the run is told, and END becomes an error.
 */
bool unit_meets_silence(Unit *unit, StepEnd *end);
