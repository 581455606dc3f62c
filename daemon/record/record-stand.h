/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * How a server stands, by the records of its chips and of what lies in none of them: wrong cables, a sick plane of the fabric. Those who point at
 * records and those who verify them come to the same line by this. A part of record.h.
 */

#include "daemon/record/record.h"

/* A chip of a server, as its roll-up names it. */
typedef struct RecordNamed {
        Location where;
        uint64_t index; /* of its record in the same run */
        char id[RECORD_ID_HEX];
        Result result;
} RecordNamed;

#define RECORD_LEFT_OUT_MAX 8

/* How often the step STEP, by a roll-up, left something out of its chips or between them. */
typedef struct RecordLeftOut {
        char step[64];
        size_t n;
} RecordLeftOut;

/* The verdict of a record on its own subject. */
typedef struct RecordStand {
        bool in_part;  /* it was not asked to look at all that its plan promises, so what stood before it stands */
        bool is_lost;  /* its run was interrupted, and what it had found is not known: it tells of no step. Roll-ups that name no chip say no */
        bool is_away;  /* of a chip: nothing of it was tested, since nobody answers where its server is to be. Records of before the reason say no */
        Result result; /* of a roll-up: of what lies in none of the chips, PASSED, WARNED or FAILED */
        char *reason;  /* malloc'd: of a roll-up the same, else the record's */
        char failed_step[64]; /* of the first thing that it found, its step in the plan; "": nothing failed, or nobody says */
        size_t n_chips; /* how many its server has; 0: not known, or a chip's record */
        size_t n_left_out;
        RecordLeftOut left_out[RECORD_LEFT_OUT_MAX]; /* by a roll-up, of the first steps that did */
        size_t n_named;
        RecordNamed *named; /* by a roll-up, malloc'd */
} RecordStand;

/* Of a verdict with its payload, which was verified. One that was signed under older rules stands for nothing but a failure, of which the rest may be unreadable. -EBADMSG, -ENOMEM. */
int record_stand_of(const RecordVerified *verified, RecordStand *ret);
void record_stand_done(RecordStand *stand);
/*
 * Whether LATER, of the same subject, clears what FAILED: it is a pass of a plan whose stage looks at as much, or of the same plan, and where something failed it
 * had that step, which was not left out there and reached no less. Both were verified; what was signed under older rules clears nothing. -EBADMSG, -ENOMEM.
 */
int record_clears(const RecordVerified *later, const RecordVerified *failed);
/*
 * Whether LATER, of the same chip, has tested at once all of the memory that step STEP of REGIONS tests region by region: it has that step, which passed and
 * reached no less, in a plan whose stage looks at as much. Then nothing stands that scans region by region had found there before. Both were verified.
 * -EBADMSG, -ENOMEM.
 */
int record_tests_all_regions(const RecordVerified *later, const RecordVerified *regions, const char *step);
/*
 * Leaves in the line and the step of STAND, which is of FAILED, only what none of the records LATER has cleared, each newer, of the same subject and verified;
 * and says where they left that out: "us0-0/chip0 collective: collective-hang at link-z+, collective: left out since". Where they have cleared nothing, or one
 * of them this and another one that, STAND keeps the rest of what it said. -EBADMSG, -ENOMEM: STAND is unchanged.
 */
int record_stand_narrow(RecordStand *stand, const RecordVerified *failed, const RecordVerified *later, size_t n);
/*
 * Why a pass of the plan of VERIFIED, which looks at a part (stage_depth() 0), does not stand for its subject where no plan is asked for: "no whole scan:
 * 'repair' looks at a part alone. Next: assayctl scan us0-1".
 */
void record_lesser_line(const RecordVerified *verified, char *ret, size_t size);
/* The one at WHERE, or NULL. */
const RecordNamed *record_stand_find(const RecordStand *stand, const Location *where);

#define RECORD_PART_REASON_MAX 512

/* A chip; or a server, of which it is what lies in none of its chips. */
typedef struct RecordPart {
        Location where;
        Result result;
        uint64_t index;    /* of the record that says so; UINT64_MAX: there is none */
        uint64_t age_usec; /* UINT64_MAX: there is no record */
        char reason[RECORD_PART_REASON_MAX]; /* as records begin it, with the part's name, or without */
        size_t n_left_out;
        RecordLeftOut left_out[RECORD_LEFT_OUT_MAX]; /* of a server, as its roll-up tells */
} RecordPart;

/* Copies to PART the tests that were left out according to STAND, of the roll-up that PART follows from. */
void record_part_leaves_out(RecordPart *part, const RecordStand *stand);
/* The part that decides: the first of the worst. N is not 0. */
const RecordPart *record_parts_worst(const RecordPart *parts, size_t n);
/* Whether no record tells of any of them. */
bool record_parts_lack_records(const RecordPart *parts, size_t n);
/*
 * The line that they come down to, about TARGET, a server or UltraServer: "us0-1: chip3 systolic: systolic-pe at core5/pe17.93; 2 more failed, 1
 * unknown; between chips: 1 unknown", "us0-1: 16 chips passed, neuronlink: 32 left out". Chips are counted, and the places between those of a server apart.
 */
void record_parts_line(const char *target, const RecordPart *parts, size_t n, char *ret, size_t size);
