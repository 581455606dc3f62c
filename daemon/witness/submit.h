/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Submit
 *
 * A log's side of c2sp.org/tlog-witness: shows the newest checkpoint to each witness of a keyring that has a URL, with the proof that the
 * log has grown out of what that witness holds, and takes the cosignatures that verify. What a witness says is not believed
 * further: it can keep a cosignature back, and raise a false alarm.
 */

#include "daemon/record/record.h"

#define SUBMIT_WITNESSES_MAX 32 /* as many as a keyring holds; a log keeps fewer */

typedef enum SubmitOutcome {
        SUBMIT_COSIGNED,
        SUBMIT_UNREACHABLE, /* no answer */
        SUBMIT_UNABLE,      /* it says that it cannot now */
        SUBMIT_UNKNOWN,     /* it does not know this log, or another key of it */
        SUBMIT_ODD,         /* what it answers is not of the protocol, or does not verify */
        SUBMIT_ROLLED_BACK, /* alarm: it holds more records than the log has */
        SUBMIT_REWRITTEN,   /* alarm: the log has not grown out of what it holds */
        _SUBMIT_OUTCOME_MAX,
        _SUBMIT_OUTCOME_INVALID = -EINVAL,
} SubmitOutcome;

const char *submit_outcome_to_string(SubmitOutcome outcome); /* "cosigned" … */

typedef struct SubmitResult {
        char name[RECORD_ORIGIN_MAX]; /* in the keyring */
        SubmitOutcome outcome;
        uint64_t held; /* what it said last that it held */
        uint64_t usec; /* when it cosigned, by its clock */
        char reason[192]; /* printable; "" where it cosigned */
        char *proof;      /* of an alarm: the checkpoint that it holds, as it came (malloc'd), signed by the log's key; NULL: it hands out none */
        uint64_t proven;  /* of how many records that is */
} SubmitResult;

typedef struct SubmitReport {
        char origin[RECORD_ORIGIN_MAX];
        uint64_t size;
        char *note; /* the checkpoint as it was shown, and all new cosignatures; malloc'd */
        bool has_quorum; /* of the keyring, with the new cosignatures alone; never without one */
        size_t n_results;
        SubmitResult results[SUBMIT_WITNESSES_MAX];
} SubmitReport;

typedef struct SubmitLog {
        const char *vkey; /* of the log */
        const char *note; /* the newest checkpoint, a signed note */
        size_t n_note;
        /* The consistency proof, a line of base64 for each hash, malloc'd. What it returns below 0 ends it all. */
        int (*prove)(void *userdata, uint64_t old, uint64_t size, char **ret);
        void *userdata;
} SubmitLog;

/* Asks the N_NAMES witnesses with those names or URLs, or all (none). -EBADMSG: NOTE is no checkpoint, or VKEY none of a log; -ENOENT: there is no such witness, or none with a URL. */
int submit(const RecordKeyring *keyring, const SubmitLog *log, const char *const *names, size_t n_names, SubmitReport *ret);
void submit_report_done(SubmitReport *report);
