/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Answer
 *
 * How a chip, a server or an UltraServer stands, for `gate` and `verdict`: by the newest records, to which the daemon points and which are verified
 * here. What the daemon says of them beside that can make it worse and never better.
 */

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "cli/verify/verify-policy.h"
#include "daemon/record/record.h"

typedef struct Answer {
        int status;
        Result result;            /* of the record; RESULT_INCONCLUSIVE where none was verified, or it does not count */
        bool counts;              /* REASON is what the record says, else why there is no answer */
        char reason[512];
        uint64_t record;          /* UINT64_MAX: there is none */
        char id[RECORD_ID_HEX];   /* of what was verified, as the next two */
        char plan[64];
        char step[64];            /* of the first thing that failed, its step in the plan; "": nothing did, or nobody says */
        bool wants_scan;          /* there is no answer for want of a scan */
        uint64_t age_usec;
        size_t n_parts[_RESULT_MAX]; /* of a server or UltraServer: how many are so; all 0 of a chip */
        size_t n_chips[_RESULT_MAX]; /* of these the chips; the others are what lies in none of them, one of each server */
} Answer;

/* What a daemon points at, and what it calls that. */
typedef struct Hint {
        uint64_t record; /* UINT64_MAX: nothing */
        Result said;
        const char *reason;
} Hint;

/* By --plan, --max-age, --keyring and --root. Returns 0, or an exit status where nobody could be asked, having complained. */
int answer_ask(sd_bus *bus, const char *target, Answer *ret);

/* ". Next: assayctl scan us0-1" where there is no answer about TARGET and that helps, or where to read why; else "". */
#define ANSWER_NEXT_MAX 256
const char *answer_next(const char *target, const Answer *answer, char ret[static ANSWER_NEXT_MAX]);

/* For programs; json_decref() it. TEXT: the line, or the reason alone. NULL: no memory. */
struct json_t;
struct json_t *answer_json(const char *target, const Answer *answer, const char *text);

/* ---- between answer.c and answer-parts.c ---- */

__attribute__((format(printf, 3, 4))) void answer_refuse(Answer *answer, int status, const char *format, ...);

/*
 * The part at WHERE by the record that HINT points at, with what that says of it; free with record_stand_done(). Of a server it is what lies in none of
 * its chips. Returns 0, or an exit status, having complained.
 */
int answer_part(const VerifyPolicy *policy, const Location *where, const Hint *hint, RecordStand *ret_stand, Answer *ret);
/* A server or UltraServer. Returns 0, or an exit status likewise. */
int answer_parts(sd_bus *bus, const VerifyPolicy *policy, const char *target, Answer *ret);
