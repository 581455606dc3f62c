/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Log
 *
 * The one writer's state, the queue into it and the outcomes out of it. The thread (writer.c) owns store and
 * key; what the two sides share is under the mutex, so that no fsync is ever waited for on the event loop.
 */

#include <pthread.h>
#include <stdatomic.h>

#include "daemon/record/keys/keyring.h"
#include "daemon/record/log/errand.h"
#include "daemon/record/log/publisher.h"
#include "daemon/record/log/scrub.h"
#include "daemon/record/statement/statement.h"
#include "daemon/record/store/store.h"

/* The last record that was committed. */
typedef struct LogEnd {
        uint64_t size; /* with it; 0: there is none */
        uint8_t id[DIGEST_BYTES];
} LogEnd;

struct RecordLog {
        /* set at opening */
        char *path;
        RecordKey *key;
        RecordKeyring *keyring; /* of that key, and of those that signed before it, each up to where it named the next */
        Station station;
        size_t queue_max;
        int lock_fd, event_fd;
        uint8_t secret[DIGEST_BYTES]; /* of record_log_mac() */
        int secret_error;             /* why there is none, -errno */
        Store *reader; /* asked by any thread */
        Holes holes;   /* that somebody answers for */
        uint64_t cut;  /* as record_log_cut() */
        char cut_reason[RECORD_CUT_REASON_MAX];
        pthread_t writer;
        bool is_running;

        /* the writer's own */
        Store *store; /* NULL after an error that left it open what is on disk */
        Head head;    /* as far as is committed */
        Publisher publisher;
        DraftGroup *kept; /* what could not be committed and is tried again, the oldest first */
        uint64_t kept_due_usec; /* CLOCK_MONOTONIC */
        Head doubt;   /* where the log ends if the commit in doubt took place after all; no record: none is */

        /* for everyone */
        atomic_uint_least64_t size;      /* of the tree */
        atomic_uint_least64_t published; /* of the newest checkpoint that was told */
        atomic_int publishing;           /* what the last attempt came to */
        atomic_bool has_failed;          /* what is on disk is not what was committed: nothing is signed any more */
        Scrubber scrubber;

        /* under the mutex */
        pthread_mutex_t mutex;
        pthread_cond_t wake;
        DraftGroup *queued, *done;
        LogEnd end;      /* what is committed, as whoever asks must find it */
        size_t n_groups; /* in the queue, in work, or with an outcome not yet taken */
        bool is_closing;
        char *wrong; /* why it has failed; set once */
};

/* A record as its own bytes vouch for it. */
typedef struct LogRecord {
        RecordVerified verified;
        json_t *statement;
        uint8_t id[DIGEST_BYTES];
} LogRecord;

void log_record_done(LogRecord *record);
/* Whether its `previous` is ID. */
bool log_record_follows(const LogRecord *record, const uint8_t id[static DIGEST_BYTES]);

/* log-keys.c: the keyring, from what keys said of their successors. -EBADMSG and *ret_wrong (malloc'd): our key is not the last of them. */
int log_read_keys(RecordLog *log, char **ret_wrong);

/* log-check.c: record INDEX. -EBADMSG and *ret_wrong (malloc'd): it is not ours, or does not stand where it says; -ENODATA: its envelope was pruned. */
int log_check_record(RecordLog *log, Store *store, uint64_t index, LogRecord *ret, char **ret_wrong);
/* The same of the last one, behind which more is to be signed. */
int log_check_last(RecordLog *log, char **ret_wrong);

/* record_log_open(); DECIDES: of publisher_resume(). */
int log_open_as(const RecordLogOptions *options, bool decides, RecordLog **ret, char **ret_error);

/* log-decide.c: tells EACH decision to go on, as far as EACH returns 0; else that is returned. -EBADMSG and *ret_wrong (malloc'd): one is not ours. */
int log_each_decision(RecordLog *log, Store *store, int (*each)(void *userdata, uint64_t index, const json_t *predicate), void *userdata, char **ret_wrong);
/* Reads from the decisions and the holes what record_log_cut() tells. Errors likewise. */
int log_read_cut(RecordLog *log, char **ret_wrong);
/* Whether somebody decided to leave the history that CHECKPOINT, which the key of this log (USERDATA) has signed, is of. 1, 0, -errno. */
int log_has_left(void *userdata, const Checkpoint *checkpoint);

/* Takes over GROUP. -EIO, -EAGAIN: there is no room for it. */
int queue_put(RecordLog *log, DraftGroup *group, uint64_t ticket);

/* ---- writer.c for writer-kept.c ---- */

/* After a commit in doubt: what is really there. 0, -errno: not yet to be told; -EBADMSG: nothing that this log has written. */
int writer_reopen(RecordLog *log);
/* Signs and commits GROUPS, of N_RECORDS together. Each has its error then. */
void writer_write(RecordLog *log, DraftGroup *groups, size_t n_records);
/* Hands what became of GROUPS to the event loop. */
void writer_deliver(RecordLog *log, DraftGroup *groups);

/* ---- writer-kept.c: what is kept until it is committed ---- */

/* Keeps those of GROUPS that are to be kept and were not committed, and tells why. Returns the others. */
DraftGroup *writer_keep(RecordLog *log, DraftGroup *groups);
/* What the commit in doubt came to, for those that are kept. */
void writer_settle_kept(RecordLog *log, bool is_committed);
/* Tries again what is due, or all. */
void writer_try_kept(RecordLog *log, bool is_last);
/* When that is due, CLOCK_MONOTONIC; UINT64_MAX: nothing is kept. */
uint64_t writer_kept_due(const RecordLog *log);

/* The log ends with HEAD, and whoever asks finds it. */
void log_take_end(RecordLog *log, const Head *head);
/* Starts a thread of the log. Its end is waited for when the log closes. */
int log_start_thread(RecordLog *log, pthread_t *thread, void *(*run)(void *log), const char *name);
/* In any thread. */
bool log_is_closing(RecordLog *log);
/* Puts GROUPS behind those of LIST. */
void log_append(DraftGroup **list, DraftGroup *groups);
/* From here on nothing is signed, and WHY (NULL: somebody wrote behind our back) is told. In any thread. */
void log_fail(RecordLog *log, const char *why);
/* Has the event loop look at what the log tells. */
void log_tell(RecordLog *log);
/* The writer thread: signs and commits what is queued until the log closes. */
void *writer_main(void *log);
