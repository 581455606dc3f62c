/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "daemon/record/log.h"

#define BATCH_RECORDS_MAX 1024 /* in one transaction */

/* Every group of the batch that is still good gets the records it asks for; one that cannot be signed drops
 * out. */
static size_t sign_batch(RecordLog *log, DraftGroup *batch, Signed *records, StoreRow *rows) {
        Head head = log->head;
        size_t n = 0;

        for (DraftGroup *group = batch; group; group = group->next) {
                Head before = head;

                for (size_t k = 0; k < group->n_drafts && group->error == 0; k++) {
                        _cleanup_printer_ Printer payload = {};
                        RecordEntry *entry = &group->entries[k];

                        statement_print(&payload, group, k, head.size, head.id, &records[n]);
                        group->error = payload.error
                                                       ?: envelope_sign(log->key, payload.text, payload.n,
                                                                        &records[n + k]);
                        if (group->error < 0)
                                break;
                        *entry = group->drafts[k].entry;
                        entry->index = head.size++;
                        memcpy(head.id, records[n + k].id, DIGEST_BYTES);
                        (void) digest_to_hex(head.id, entry->id);
                        rows[n + k] = (StoreRow) { entry, &records[n + k], &group->drafts[k].identity,
                                                  group->drafts[k].has_places ? &group->drafts[k].places : NULL,
                                                  group->drafts[k].has_regions };
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
 * After an error in doubt: what is really there? The log ends where it did, or where the commit in doubt
 * would have put it; anything else is not our doing, and then nothing must be signed on top of it.
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

        if (log->doubt.size > 0 && found.size == log->doubt.size &&
            memcmp(found.id, log->doubt.id, DIGEST_BYTES) == 0) {
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

/* Waits for work; takes what is there up to the size of a transaction. NULL: the log closes and nothing is
 * left. */
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

void *writer_main(void *argument) {
        RecordLog *log = argument;
        DraftGroup *batch;
        size_t n;

        while ((batch = take_batch(log, &n))) {
                write_batch(log, batch, n);
                deliver(log, batch);
        }
        return NULL;
}
