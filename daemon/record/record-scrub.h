/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A part of record.h: the whole log, read again. */

#include "daemon/record/record.h"

/*
 * Begins to read the whole log again, at once and then each day, in a thread of its own and behind all other work: every signature, ID, leaf, hash, identity
 * document and checkpoint, and what the tables say against what follows from the records. What is found makes the log fail, now and after a restart. Once. -EAGAIN …
 */
int record_log_scrub(RecordLog *log);
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
