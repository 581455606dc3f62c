/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Judge
 *
 * A verdict made again from the facts that are signed: limits from values, what diagnoses mean from the catalogue, steps from measurements and diagnoses,
 * coverage from what steps measured, the result from steps and coverage, a roll-up from its chips. Evidence is a lower bound: a step, or a server, may be
 * called worse than its numbers, never better; a chip's result must be exactly the fold.
 *
 * The signer judges by it what it is about to sign, and every reader what was signed.
 */

#include <stdbool.h>

#include "daemon/record/record.h"

typedef struct Judgement {
        char wrong[192]; /* "": nothing is */
} Judgement;

/* Says what is wrong, and returns false. */
bool judge_wrong(Judgement *judgement, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A clock that was set while a scan ran may make it end before it began: by no more than this. */
#define JUDGE_CLOCK_USEC (UINT64_C(86400) * 1000000)

bool judge_run(const RecordRun *run, Judgement *ret);
bool judge_chip(const RecordHealth *chip, Judgement *ret);
/* The roll-up of SCAN, of whose chips it tells where they sit and how they stand: see judge_chip() for the rest of them. */
bool judge_server(const RecordScan *scan, Judgement *ret);
/* One step, of a chip or a server's own, by its evidence. */
bool judge_step(const RecordStep *step, bool is_own, Judgement *ret);

/*
 * More, which records of version 2 and drafts of them must keep, and which earlier assayds did not: a step of a chip that passed or warned has all values that its
 * check says each time, of parts of CHIP, each of them once, and each against the limit of checks/vocabulary/measurements.h; and its memory has as many regions as it is cut
 * into, of which it tells nothing worse than it is called, and as many as it counted. A check or a value that is not known here is of a later assayd, and is taken as it is.
 */
bool judge_values(const RecordStep *step, const Location *chip, Judgement *ret);
bool judge_chip_values(const RecordHealth *chip, Judgement *ret);

/* The best that can be said of the server in the face of what it has that lies in none of its chips. */
Result judge_own(const RecordScan *scan);
/* How many chips the server has, of which STATED (0: none) are said: no roll-up clears it with fewer. 0: not known. */
size_t judge_chips_of(const RecordSubject *server, size_t stated);
