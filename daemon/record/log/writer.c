/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "daemon/record/log/log.h"

#define BATCH_RECORDS_MAX 1024 /* in one transaction */

/* What is committed together, and where the log ends then. */
typedef struct Batch {
        Signed *records;
        StoreRow *rows;
        TreeHash *nodes; /* of all rows, one after the other */
        size_t n, n_nodes;
        Head end;
        bool is_doubted; /* whether it was committed is not known yet */
} Batch;

static void batch_done(Batch *batch) {
        for (size_t i = 0; i < batch->n; i++)
                signed_done(&batch->records[i]);
        free(batch->records);
        free(batch->rows);
        free(batch->nodes);
}

/* Each leaf makes itself whole, and all of them no more nodes than twice as many and one for each level above. */
static int batch_init(Batch *batch, const Head *head, size_t n_records) {
        *batch = (Batch) {
                .records = calloc(n_records, sizeof(Signed)),
                .rows = calloc(n_records, sizeof(StoreRow)),
                .nodes = calloc(2 * n_records + TREE_LEVELS, sizeof(TreeHash)),
                .end = *head,
        };
        return batch->records && batch->rows && batch->nodes ? 0 : -ENOMEM;
}

/* The next record, which follows the end and becomes it. */
static int sign_draft(RecordLog *log, Batch *batch, DraftGroup *group, size_t k) {
        _cleanup_printer_ Printer payload = {};
        Signed *record = &batch->records[batch->n];
        TreeHash *nodes = &batch->nodes[batch->n_nodes], whole[TREE_LEVELS];
        RecordEntry *entry = &group->entries[k];
        uint64_t index = batch->end.tree.size;
        int r, n;

        if (batch->end.is_handed_over)
                return -EKEYEXPIRED;
        statement_print(&payload, group, k, index, batch->end.id, record - k);
        if (payload.error < 0)
                return payload.error;
        r = envelope_sign(log->key, payload.text, payload.n, record);
        if (r < 0)
                return r;
        n = frontier_append(&batch->end.tree, &record->leaf, whole);
        if (n < 0) {
                signed_done(record);
                return n;
        }
        memcpy(nodes, whole, (size_t) n * sizeof(TreeHash));
        memcpy(batch->end.id, record->envelope.id, DIGEST_BYTES);
        batch->end.is_handed_over = strcmp(group->drafts[k].entry.type, RECORD_TYPE_ROTATION) == 0;
        *entry = group->drafts[k].entry;
        entry->index = index;
        (void) digest_to_hex(record->envelope.id, entry->id);
        batch->rows[batch->n++] = (StoreRow) { entry, record,
                                                *group->drafts[k].identity.document ? &group->drafts[k].identity : NULL,
                                                group->drafts[k].has_places ? &group->drafts[k].places : NULL,
                                                nodes, (unsigned) n, group->drafts[k].has_regions,
                                                group->drafts[k].has_archive ? &group->drafts[k].archive : NULL };
        batch->n_nodes += (size_t) n;
        return 0;
}

/* Every group that is still good gets the records it asks for; one that cannot be signed drops out. */
static void sign_groups(RecordLog *log, Batch *batch, DraftGroup *groups) {
        for (DraftGroup *group = groups; group; group = group->next) {
                size_t n = batch->n, n_nodes = batch->n_nodes;
                Head end = batch->end;

                for (size_t k = 0; k < group->n_drafts && group->error == 0; k++)
                        group->error = sign_draft(log, batch, group, k);
                if (group->error == 0)
                        continue;
                while (batch->n > n)
                        signed_done(&batch->records[--batch->n]);
                batch->n_nodes = n_nodes;
                batch->end = end;
        }
}

/*
 * After an error in doubt: what is really there? The log ends where it did, or where the commit in doubt
 * would have put it; anything else is not our doing, and then nothing must be signed on top of it.
 */
int writer_reopen(RecordLog *log) {
        _cleanup_(store_closep) Store *store = NULL;
        _cleanup_free_ char *wrong = NULL;
        Head found;
        int r;

        r = store_open(log->path, log->station.origin, &store, &wrong);
        if (r < 0)
                return r;
        r = store_head(store, &found);
        if (r < 0)
                return r;

        if (log->doubt.tree.size > 0 && found.tree.size == log->doubt.tree.size &&
            memcmp(found.id, log->doubt.id, DIGEST_BYTES) == 0) {
                r = store_settle(store);
                if (r < 0)
                        return r;
                found.is_handed_over = log->doubt.is_handed_over;
                log_take_end(log, &found);
                writer_settle_kept(log, true);
        } else if (found.tree.size != log->head.tree.size || memcmp(found.id, log->head.id, DIGEST_BYTES) != 0)
                return -EBADMSG;
        else
                (void) store_settle(store); /* what is in the WAL would come back with the next start, though it was told as failed */

        writer_settle_kept(log, false);
        log->doubt = (Head) {};
        log->store = TAKE_PTR(store);
        return 0;
}

/* After a commit in doubt the disk is asked what became of it. */
static int commit(RecordLog *log, Batch *batch) {
        bool unknown;
        int error, r;

        error = store_append(log->store, &log->head, batch->rows, batch->n, &unknown);
        if (error == 0) {
                log_take_end(log, &batch->end);
                return 0;
        }
        if (!unknown)
                return error;

        log->store = store_close(log->store);
        log->doubt = batch->end;
        r = writer_reopen(log);
        if (r == -EBADMSG)
                return r;
        batch->is_doubted = r < 0;
        if (r < 0)
                return error;
        if (log->head.tree.size != batch->end.tree.size)
                return error;
        log_take_end(log, &batch->end);
        return 0;
}

/* Whatever somebody else wrote, the scrub looks at all of the log: as often as a heartbeat is signed. */
static void look_for_others(RecordLog *log, const DraftGroup *groups) {
        bool has_changed;

        for (; groups; groups = groups->next)
                if (groups->n_drafts > 0 && strcmp(groups->drafts[0].entry.type, RECORD_TYPE_HEARTBEAT) == 0) {
                        if (store_has_changed(log->store, &has_changed) == 0 && has_changed)
                                scrub_ask(log);
                        return;
                }
}

void writer_write(RecordLog *log, DraftGroup *groups, size_t n_records) {
        _cleanup_(batch_done) Batch batch = {};
        int r;

        r = log->has_failed ? -EIO : log->store ? 0 : writer_reopen(log);
        if (r == 0)
                r = batch_init(&batch, &log->head, n_records);
        if (r == 0)
                look_for_others(log, groups);
        if (r == 0)
                sign_groups(log, &batch, groups);
        if (r == 0 && batch.n > 0)
                r = commit(log, &batch);
        if (r == -EBADMSG) {
                log_fail(log, NULL);
                r = -EIO;
        }
        /* Nor did the key change that some came too late for. */
        for (DraftGroup *group = groups; group && r < 0; group = group->next)
                if (group->error == 0 || group->error == -EKEYEXPIRED) {
                        group->is_doubted = group->error == 0 && batch.is_doubted;
                        group->error = r;
                }
}

/* -EBADMSG without a sentence is the store's. */
static int run_errand(RecordLog *log, Errand *errand) {
        int r = log->store ? errand->run(log, errand) : -EIO;

        if (r == -EBADMSG && !errand->wrong) {
                errand->wrong = "what is in the log is not what was written: somebody else wrote. Nothing is signed any more";
                r = -EUCLEAN;
        }
        if (r == -EUCLEAN)
                log_fail(log, errand->wrong);
        return r;
}

/* Done, or put back behind what waits. Returns what is done. */
static DraftGroup *run_errands(RecordLog *log, DraftGroup *groups) {
        DraftGroup **at = &groups;

        while (*at) {
                DraftGroup *group = *at;

                if (group->errand && group->error == 0)
                        group->error = run_errand(log, group->errand);
                if (group->error != 1) {
                        at = &group->next;
                        continue;
                }
                group->error = 0;
                *at = TAKE_PTR(group->next);
                (void) pthread_mutex_lock(&log->mutex);
                log_append(&log->queued, group);
                (void) pthread_mutex_unlock(&log->mutex);
        }
        return groups;
}

/* ---- checkpoints ---- */

/* After a commit in doubt what is really there is looked up before anything else is written. */
static int sign_checkpoint(RecordLog *log) {
        bool unknown = false;
        int r;

        r = log->store ? 0 : writer_reopen(log);
        if (r == 0)
                r = publisher_sign(&log->publisher, log->store, &log->head, &unknown);
        if (unknown)
                log->store = store_close(log->store);
        return r;
}

/* Where one is due, or in any case: then the log closes. */
static void publish(RecordLog *log, bool is_last) {
        uint64_t due = publisher_due(&log->publisher, log->head.tree.size);
        int r, before;

        if (log->has_failed || due == UINT64_MAX || (!is_last && due > monotonic_usec()))
                return;
        r = sign_checkpoint(log);
        if (r == -EBADMSG)
                log_fail(log, NULL);
        if (r == 0)
                atomic_store(&log->published, log->head.tree.size);
        before = atomic_exchange(&log->publishing, r);
        if (r == 0 || r != before)
                log_tell(log);
}

/* ---- the thread ---- */

/* Until there is work, the log closes, or a checkpoint or what is kept is due. With the mutex held. */
static void await(RecordLog *log) {
        uint64_t due = log->has_failed ? UINT64_MAX : MIN(publisher_due(&log->publisher, log->head.tree.size), writer_kept_due(log));
        const struct timespec until = { (time_t) (due / 1000000), (long) (due % 1000000 * 1000) };
        int r = 0;

        while (!log->queued && !log->is_closing && r == 0)
                r = due == UINT64_MAX ? pthread_cond_wait(&log->wake, &log->mutex)
                                      : pthread_cond_timedwait(&log->wake, &log->mutex, &until);
}

/* Takes what is there up to the size of a transaction. False: the log closes and nothing is left. */
static bool take_groups(RecordLog *log, DraftGroup **ret, size_t *ret_n_records) {
        DraftGroup *groups, **end = &groups;
        bool goes_on;
        size_t n = 0;

        (void) pthread_mutex_lock(&log->mutex);
        await(log);
        goes_on = log->queued || !log->is_closing;
        groups = log->queued;
        while (*end && (n == 0 || n + (*end)->n_drafts <= BATCH_RECORDS_MAX)) {
                n += (*end)->n_drafts;
                end = &(*end)->next;
        }
        log->queued = *end;
        *end = NULL;
        (void) pthread_mutex_unlock(&log->mutex);

        *ret_n_records = n;
        *ret = groups;
        return goes_on;
}

void writer_deliver(RecordLog *log, DraftGroup *groups) {
        (void) pthread_mutex_lock(&log->mutex);
        log_append(&log->done, groups);
        (void) pthread_mutex_unlock(&log->mutex);
        log_tell(log);
}

void *writer_main(void *argument) {
        RecordLog *log = argument;
        DraftGroup *groups;
        size_t n;

        while (take_groups(log, &groups, &n)) {
                if (groups) {
                        writer_write(log, groups, n);
                        groups = run_errands(log, groups);
                        writer_deliver(log, writer_keep(log, groups));
                }
                writer_try_kept(log, false);
                publish(log, false);
        }
        writer_try_kept(log, true);
        publish(log, true);
        return NULL;
}
