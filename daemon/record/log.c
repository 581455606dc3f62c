/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>

#include "daemon/record/keyring.h"
#include "daemon/record/reader.h"
#include "daemon/record/statement.h"

#define QUEUE_DEFAULT     256
#define BATCH_RECORDS_MAX 1024 /* in one transaction */

/* The end of the log: where the next record goes and what it follows. */
typedef struct Head {
        uint64_t size;
        uint8_t id[DIGEST_BYTES]; /* of record size - 1 */
} Head;

struct RecordLog {
        /* set at opening */
        char *path;
        RecordKey *key;
        RecordKeyring *keyring; /* of that key alone */
        Station station;
        size_t queue_max;
        int lock_fd, event_fd;
        Reader reader;
        pthread_t writer;
        bool is_running;

        /* the writer's own */
        Store *store; /* NULL after an error that left it open what is on disk */
        Head head;    /* as far as is committed */
        Head doubt;   /* where the log ends if the commit in doubt took place after all; size 0: none is */

        atomic_uint_least64_t size; /* head.size for everyone */

        /* under the mutex */
        pthread_mutex_t mutex;
        pthread_cond_t wake;
        DraftGroup *queued, **queued_end;
        DraftGroup *done, **done_end;
        size_t n_groups; /* in the queue, in work, or with an outcome not yet taken */
        bool is_closing;
        bool has_failed; /* what is on disk is not what was committed: nothing is signed any more */
};

/* ---- the writer thread ---- */

/* Every group of the batch that is still good gets the records it asks for; one that cannot be signed drops out. */
static size_t sign_batch(RecordLog *log, DraftGroup *batch, Signed *records, StoreRow *rows) {
        Head head = log->head;
        size_t n = 0;

        for (DraftGroup *group = batch; group; group = group->next) {
                Head before = head;

                for (size_t k = 0; k < group->n_drafts && group->error == 0; k++) {
                        _cleanup_printer_ Printer payload = {};
                        RecordEntry *entry = &group->entries[k];

                        statement_print(&payload, group, k, head.size, head.id, &records[n]);
                        group->error = payload.error ?: envelope_sign(log->key, payload.text, payload.n, &records[n + k]);
                        if (group->error < 0)
                                break;
                        *entry = group->drafts[k].entry;
                        entry->index = head.size++;
                        memcpy(head.id, records[n + k].id, DIGEST_BYTES);
                        (void) digest_to_hex(head.id, entry->id);
                        rows[n + k] = (StoreRow) { entry, &records[n + k], &group->drafts[k].identity };
                }
                if (group->error == 0) {
                        n += group->n_drafts;
                        continue;
                }
                for (size_t k = 0; k < group->n_drafts; k++)
                        signed_done(&records[n + k]);
                head = before;
        }
        return n;
}

/*
 * After an error in doubt: what is really there? The log ends where it did, or where the commit in doubt would have put
 * it; anything else is not our doing, and then nothing must be signed on top of it.
 */
static int writer_reopen(RecordLog *log) {
        _cleanup_(store_closep) Store *store = NULL;
        _cleanup_free_ char *wrong = NULL;
        Head found;
        int r;

        r = store_open(log->path, log->station.origin, &store, &wrong);
        if (r < 0)
                return r;
        r = store_head(store, &found.size, found.id);
        if (r < 0)
                return r;

        if (log->doubt.size > 0 && found.size == log->doubt.size && memcmp(found.id, log->doubt.id, DIGEST_BYTES) == 0) {
                r = store_settle(store);
                if (r < 0)
                        return r;
                log->head = found;
                atomic_store(&log->size, found.size);
        } else if (found.size != log->head.size || memcmp(found.id, log->head.id, DIGEST_BYTES) != 0)
                return -EBADMSG;

        log->doubt = (Head) {};
        log->store = TAKE_PTR(store);
        return 0;
}

/* Commits the rows. After a commit in doubt the disk is asked what became of them. */
static int commit_rows(RecordLog *log, const StoreRow *rows, size_t n) {
        Head head = { .size = log->head.size + n };
        bool unknown;
        int error, r;

        memcpy(head.id, rows[n - 1].record->id, DIGEST_BYTES);
        error = store_append(log->store, rows, n, &unknown);
        if (error == 0) {
                log->head = head;
                atomic_store(&log->size, head.size);
                return 0;
        }
        if (!unknown)
                return error;

        log->store = store_close(log->store);
        log->doubt = head;
        r = writer_reopen(log);
        if (r < 0)
                return r == -EBADMSG ? r : error;
        return log->head.size == head.size ? 0 : error;
}

static void write_batch(RecordLog *log, DraftGroup *batch, size_t n_records) {
        _cleanup_free_ Signed *records = calloc(n_records, sizeof(Signed));
        _cleanup_free_ StoreRow *rows = calloc(n_records, sizeof(StoreRow));
        size_t n;
        int r = 0;

        if (!records || !rows)
                r = -ENOMEM;
        else if (!log->store)
                r = writer_reopen(log);
        if (r == 0) {
                n = sign_batch(log, batch, records, rows);
                if (n > 0)
                        r = commit_rows(log, rows, n);
                for (size_t i = 0; i < n; i++)
                        signed_done(&records[i]);
        }
        if (r == -EBADMSG) {
                (void) pthread_mutex_lock(&log->mutex);
                log->has_failed = true;
                (void) pthread_mutex_unlock(&log->mutex);
                r = -EIO;
        }
        for (DraftGroup *group = batch; group && r < 0; group = group->next)
                if (group->error == 0)
                        group->error = r;
}

/* Waits for work; takes what is there up to the size of a transaction. NULL: the log closes and nothing is left. */
static DraftGroup *take_batch(RecordLog *log, size_t *ret_n_records) {
        DraftGroup *batch, **end = &batch;
        size_t n = 0;

        (void) pthread_mutex_lock(&log->mutex);
        while (!log->queued && !log->is_closing)
                (void) pthread_cond_wait(&log->wake, &log->mutex);
        batch = log->queued;
        while (*end && (n == 0 || n + (*end)->n_drafts <= BATCH_RECORDS_MAX)) {
                n += (*end)->n_drafts;
                end = &(*end)->next;
        }
        log->queued = *end;
        if (!log->queued)
                log->queued_end = &log->queued;
        *end = NULL;
        (void) pthread_mutex_unlock(&log->mutex);

        *ret_n_records = n;
        return batch;
}

static void deliver(RecordLog *log, DraftGroup *batch) {
        uint64_t one = 1;

        (void) pthread_mutex_lock(&log->mutex);
        *log->done_end = batch;
        while (*log->done_end)
                log->done_end = &(*log->done_end)->next;
        (void) pthread_mutex_unlock(&log->mutex);
        /* Cannot fail: the counter is set back to 0 whenever the last outcome is taken. */
        (void) !write(log->event_fd, &one, sizeof(one));
}

static void *writer_main(void *argument) {
        RecordLog *log = argument;
        DraftGroup *batch;
        size_t n;

        while ((batch = take_batch(log, &n))) {
                write_batch(log, batch, n);
                deliver(log, batch);
        }
        return NULL;
}

/* ---- opening ---- */

/* The last record must be ours and stand where it says: then what is signed next follows it. */
static int check_last(RecordLog *log, char **ret_wrong) {
        _cleanup_(record_verified_done) RecordVerified last = {};
        _cleanup_free_ char *envelope = NULL;
        uint8_t id[DIGEST_BYTES];
        const char *wrong = NULL;
        RecordTrust trust;
        char hex[DIGEST_HEX];
        size_t n;
        int r;

        if (log->head.size == 0)
                return 0;
        r = reader_envelope(&log->reader, log->head.size - 1, &envelope, &n, id);
        if (r < 0)
                return r;
        r = record_verify(log->keyring, envelope, n, &trust, &last);
        if (r < 0)
                return r;

        if (trust == RECORD_UNKNOWN_KEY)
                wrong = "is signed with another key";
        else if (trust != RECORD_VERIFIED)
                wrong = last.reason;
        else if (last.entry.index != log->head.size - 1)
                wrong = "has another index";
        else if (strcmp(last.origin, log->station.origin) != 0)
                wrong = "is of another log";
        else if (strcmp(last.entry.id, digest_to_hex(id, hex)) != 0)
                wrong = "is stored under another ID";
        if (!wrong)
                return 0;
        if (asprintf(ret_wrong, "the last record, %llu: %s", (unsigned long long) log->head.size - 1, wrong) < 0)
                return -ENOMEM;
        return -EBADMSG;
}

/* One writer at a time. The lock is not on the database itself, whose own locks closing a descriptor would drop. */
static int lock_log(RecordLog *log) {
        _cleanup_free_ char *path = NULL;

        if (asprintf(&path, "%s.lock", log->path) < 0)
                return -ENOMEM;
        log->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
        if (log->lock_fd < 0)
                return -errno;
        if (flock(log->lock_fd, LOCK_EX | LOCK_NB) < 0)
                return errno == EWOULDBLOCK ? -EBUSY : -errno;
        return 0;
}

static int open_stores(RecordLog *log, char **ret_wrong) {
        Store *store;
        int r;

        r = store_open(log->path, log->station.origin, &log->store, ret_wrong);
        if (r < 0)
                return r;
        r = store_head(log->store, &log->head.size, log->head.id);
        if (r < 0) {
                if (r == -EBADMSG && !*ret_wrong)
                        *ret_wrong = strdup("the log has a gap");
                return r;
        }
        atomic_store(&log->size, log->head.size);
        r = store_open(log->path, log->station.origin, &store, ret_wrong);
        if (r < 0)
                return r;
        reader_init(&log->reader, store);
        return check_last(log, ret_wrong);
}

/* Signals belong to the event loop's thread. */
static int start_writer(RecordLog *log) {
        sigset_t all, before;
        int r;

        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(&log->writer, NULL, writer_main, log);
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r != 0)
                return -r;
        (void) pthread_setname_np(log->writer, "records");
        log->is_running = true;
        return 0;
}

static RecordLog *log_new(const RecordLogOptions *options) {
        RecordLog *log;

        log = calloc(1, sizeof(*log));
        if (!log)
                return NULL;
        log->key = options->key;
        log->queue_max = options->queue_max ?: QUEUE_DEFAULT;
        log->lock_fd = log->event_fd = -EBADF;
        log->queued_end = &log->queued;
        log->done_end = &log->done;
        (void) pthread_mutex_init(&log->mutex, NULL);
        (void) pthread_cond_init(&log->wake, NULL);
        return log;
}

static bool is_origin(const char *origin) {
        return *origin && strlen(origin) < sizeof(((RecordVerified *) NULL)->origin) && !strpbrk(origin, " +\n");
}

int record_log_open(const RecordLogOptions *options, RecordLog **ret, char **ret_error) {
        _cleanup_(record_log_freep) RecordLog *log = NULL;
        _cleanup_free_ char *wrong = NULL;
        int r;

        assert(options && options->path && options->origin && options->producer && options->version && options->key);
        assert(ret);

        log = log_new(options);
        if (!log) {
                (void) record_key_free(options->key);
                return -ENOMEM;
        }
        if (!is_origin(options->origin))
                return -EINVAL;
        log->path = strdup(options->path);
        log->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (!log->path || log->event_fd < 0)
                return log->path ? -errno : -ENOMEM;

        r = station_init(&log->station, options);
        if (r == 0)
                r = record_keyring_parse(record_key_public_pem(log->key), strlen(record_key_public_pem(log->key)), &log->keyring);
        if (r == 0)
                r = lock_log(log);
        if (r == 0)
                r = open_stores(log, &wrong);
        if (r == 0)
                r = start_writer(log);
        if (r < 0) {
                if (ret_error)
                        *ret_error = TAKE_PTR(wrong);
                return r;
        }
        *ret = TAKE_PTR(log);
        return 0;
}

static void drop_groups(DraftGroup *group) {
        while (group) {
                DraftGroup *next = group->next;

                (void) draft_group_free(group);
                group = next;
        }
}

RecordLog *record_log_free(RecordLog *log) {
        if (!log)
                return NULL;
        if (log->is_running) {
                (void) pthread_mutex_lock(&log->mutex);
                log->is_closing = true;
                (void) pthread_cond_signal(&log->wake);
                (void) pthread_mutex_unlock(&log->mutex);
                (void) pthread_join(log->writer, NULL);
        }
        drop_groups(log->queued);
        drop_groups(log->done);
        if (log->reader.store)
                reader_done(&log->reader);
        (void) store_close(log->store);
        station_done(&log->station);
        (void) record_keyring_free(log->keyring);
        (void) record_key_free(log->key);
        (void) close_fd(log->event_fd);
        (void) close_fd(log->lock_fd);
        (void) pthread_cond_destroy(&log->wake);
        (void) pthread_mutex_destroy(&log->mutex);
        free(log->path);
        free(log);
        return NULL;
}

/* ---- the event loop's side ---- */

static int queue_room(RecordLog *log) {
        int r = 0;

        (void) pthread_mutex_lock(&log->mutex);
        if (log->has_failed)
                r = -EIO;
        else if (log->n_groups >= log->queue_max)
                r = -EAGAIN;
        else
                log->n_groups++;
        (void) pthread_mutex_unlock(&log->mutex);
        return r;
}

static void queue_group(RecordLog *log, DraftGroup *group, int error, uint64_t ticket) {
        (void) pthread_mutex_lock(&log->mutex);
        if (error < 0)
                log->n_groups--;
        else {
                group->ticket = ticket;
                *log->queued_end = group;
                log->queued_end = &group->next;
                (void) pthread_cond_signal(&log->wake);
        }
        (void) pthread_mutex_unlock(&log->mutex);
}

int record_log_start(RecordLog *log, const RecordRun *run, const RecordSubject *server, uint64_t ticket) {
        DraftGroup *group = NULL;
        int r;

        assert(log && run && server);

        r = queue_room(log);
        if (r < 0)
                return r;
        r = draft_start(&log->station, run, server, &group);
        queue_group(log, group, r, ticket);
        return r;
}

int record_log_scan(RecordLog *log, const RecordScan *scan, uint64_t ticket) {
        DraftGroup *group = NULL;
        int r;

        assert(log && scan);

        r = queue_room(log);
        if (r < 0)
                return r;
        r = draft_scan(&log->station, scan, &group);
        queue_group(log, group, r, ticket);
        return r;
}

int record_log_fd(const RecordLog *log) {
        assert(log);
        return log->event_fd;
}

int record_log_next(RecordLog *log, RecordOutcome *ret) {
        DraftGroup *group;
        uint64_t counter;

        assert(log && ret);

        (void) pthread_mutex_lock(&log->mutex);
        group = log->done;
        if (group) {
                log->done = group->next;
                log->n_groups--;
        }
        if (!log->done) {
                log->done_end = &log->done;
                (void) !read(log->event_fd, &counter, sizeof(counter));
        }
        (void) pthread_mutex_unlock(&log->mutex);
        if (!group)
                return -EAGAIN;

        *ret = (RecordOutcome) {
                .ticket = group->ticket,
                .error = group->error,
                .n_entries = group->error == 0 ? group->n_drafts : 0,
                .entries = group->error == 0 ? TAKE_PTR(group->entries) : NULL,
        };
        (void) draft_group_free(group);
        return 0;
}

void record_outcome_done(RecordOutcome *outcome) {
        free(outcome->entries);
        *outcome = (RecordOutcome) {};
}

/* ---- reading ---- */

uint64_t record_log_size(RecordLog *log) {
        assert(log);
        return atomic_load(&log->size);
}

const char *record_log_key_id(const RecordLog *log) {
        assert(log);
        return record_key_id(log->key);
}

const char *record_log_origin(const RecordLog *log) {
        assert(log);
        return log->station.origin;
}

int record_log_newest(RecordLog *log, const Location *subject, const char *plan, RecordEntry *ret) {
        assert(log && subject && ret);
        return reader_newest(&log->reader, subject, plan, ret);
}

int record_log_newest_verified(RecordLog *log, const Location *subject, const char *plan, RecordVerified *ret) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        _cleanup_free_ char *envelope = NULL;
        uint8_t id[DIGEST_BYTES];
        RecordTrust trust;
        RecordEntry entry;
        size_t n;
        int r;

        assert(log && subject && ret);

        r = reader_newest(&log->reader, subject, plan, &entry);
        if (r < 0)
                return r;
        r = reader_envelope(&log->reader, entry.index, &envelope, &n, id);
        if (r < 0)
                return r == -ENOENT ? -EBADMSG : r;
        r = record_verify(log->keyring, envelope, n, &trust, &verified);
        if (r < 0)
                return r;
        /* The table that led here proves nothing; the record must be the one that was asked for. */
        if (trust != RECORD_VERIFIED || verified.entry.index != entry.index ||
            strcmp(verified.origin, log->station.origin) != 0 || !location_equal(&verified.entry.subject, subject) ||
            (plan && strcmp(verified.entry.plan, plan) != 0) || strcmp(verified.entry.type, RECORD_TYPE_RUN_START) == 0)
                return -EBADMSG;
        *ret = verified;
        verified = (RecordVerified) {};
        return 0;
}

int record_log_export(RecordLog *log, uint64_t first, uint64_t count, int fd) {
        uint64_t size;

        assert(log);

        size = record_log_size(log);
        if (first >= size)
                return -ERANGE;
        return reader_export(&log->reader, first, count < size - first ? first + count : size, fd);
}

int record_log_unfinished(RecordLog *log, uint64_t *cursor, RecordEntry *ret) {
        int r;

        assert(log && cursor && ret);

        r = reader_unfinished(&log->reader, *cursor, ret);
        if (r == 0)
                *cursor = ret->index + 1;
        return r;
}
