/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scrub
 *
 * Reads the whole log again, record by record, and derives its tables from what is signed: what rots, or is changed behind the daemon's back, is found
 * before anybody goes by it for long. One pass follows the start, and one each day; a thread of its own does it, on a connection of its own and behind
 * all other work, so that no record waits for it. What it finds stops the log, and is remembered in a file beside the database: a log that has one
 * is read whole before it is opened again.
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct RecordLog RecordLog;

typedef struct Scrubber {
        pthread_t thread;
        bool is_running;

        /* for everyone */
        atomic_uint_least64_t n_checked;  /* records, of the pass under way; 0: there is none */
        atomic_uint_least64_t whole_usec; /* when the last whole pass ended, CLOCK_REALTIME; 0: none has since the opening */
        atomic_uint_least64_t n_pruned, n_unruled; /* in it: without an envelope; that the judge of this version refuses */
        atomic_int error;                 /* why the last pass could not be finished */

        /* under the log's mutex */
        pthread_cond_t wake;
        bool is_asked; /* for another pass, at once */
} Scrubber;

/*
 * One pass over all that is committed, in this thread. RESTS: it takes a tenth of the time that there is. -EBADMSG and *ret_wrong (malloc'd): what is there
 * is not what was signed, or does not follow from it; -ECANCELED: the log ends.
 */
int scrub_pass(RecordLog *log, bool rests, char **ret_wrong);
/* Asks for a pass, in any thread. */
void scrub_ask(RecordLog *log);

/* The finding of an earlier pass, malloc'd; -ENOENT: there is none. */
int scrub_read_finding(const RecordLog *log, char **ret);
/* It was mended: a whole pass has found nothing. */
int scrub_forget(const RecordLog *log);
