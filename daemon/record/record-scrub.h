/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A part of record.h: the whole log, read again; and what an administrator decides where it cannot go on by itself. */

#include "daemon/record/record.h"

#define RECORD_TYPE_DECISION "urn:assay:attestation:log-decision:v1"

/*
 * Begins to read the whole log again, at once and then each day, in a thread of its own and behind all other work: every signature, ID, leaf, hash, identity
 * document and checkpoint, and what the tables say against what follows from the records. What is found makes the log fail, now and after a restart. Once. -EAGAIN …
 */
int record_log_scrub(RecordLog *log);
/* Why record_log_has_failed(), as long as LOG is there; NULL: it has not. */
const char *record_log_wrong(RecordLog *log);
/* One such pass now, in this thread. -EBADMSG and *ret_wrong (malloc'd): what is wrong, which nobody is told but the caller. */
int record_log_check(RecordLog *log, char **ret_wrong);

typedef struct RecordScrub {
        uint64_t n_checked;  /* records, in the pass under way; 0: there is none */
        uint64_t whole_usec; /* when the last whole pass ended, CLOCK_REALTIME; 0: none has since the log was opened. Of that one: */
        uint64_t n_pruned;   /* records without an envelope, of which no more than their leaves was checked */
        uint64_t n_unruled;  /* records that are whole, and that the rules of this version refuse */
        int error;           /* the last one could not be finished; 0: it was */
} RecordScrub;

void record_log_scrubbed(RecordLog *log, RecordScrub *ret);

/* The person who decides, and the reason. */
typedef struct RecordDecision {
        const char *note; /* as note_text_is_valid() */
        uint32_t uid;
        const char *name; /* of that user; NULL: he has none */
} RecordDecision;

/*
 * Opens the log as record_log_open(), where that refuses since its key has signed a history that is not there (any more): all checkpoints of it are gone, one
 * that it has signed elsewhere is of more records, of others, or damaged, or envelopes are gone that are in no archive. Signs that somebody decided to go on with what is there, and a checkpoint of that where it has a log key, and closes
 * it. *RET (malloc'd) says what was accepted. -EALREADY: there is nothing to decide. Nothing is signed where the anchor, or
 * the checkpoint that is remembered elsewhere, cannot be written: -ENOSPC, -EROFS …, and *RET names the file. Else as record_log_open(): no decision makes a damaged record a sound one.
 */
int record_log_decide(const RecordLogOptions *options, const RecordDecision *decision, char **ret);

#define RECORD_CUT_REASON_MAX 96

/*
 * Where somebody has decided to go on without records that are gone, why no pass before record *RET counts: "records 3-4 are lost". What is gone may take each of
 * these back, and no failure. NULL, and *RET is 0: nothing is known to be gone. As of when LOG was opened, which is when decisions are read.
 */
const char *record_log_cut(const RecordLog *log, uint64_t *ret);
