/* SPDX-License-Identifier: Apache-2.0 */

/* Errands: see errand.h. Which there are, and how they are put into the queue. */

#include <assert.h>
#include <string.h>

#include "daemon/record/log/log-archive.h"
#include "daemon/record/log/log.h"

/* After a commit in doubt what is really there is looked up before anything else is written. */
static void close_if(RecordLog *log, bool unknown) {
        if (unknown)
                log->store = store_close(log->store);
}

static int run_cosign(RecordLog *log, Errand *errand) {
        bool unknown;
        int r;

        r = publisher_cosign(&log->publisher, log->store, &log->head, errand->text, errand->n, &unknown, &errand->wrong);
        close_if(log, unknown);
        if (r == -ENOTUNIQ)
                log_fail(log, errand->wrong);
        return r;
}

/* Never the last record, which is checked when the log is opened. */
static int find_end(RecordLog *log, const Errand *errand, uint64_t *ret) {
        uint64_t last = log->head.tree.size > 0 ? log->head.tree.size - 1 : 0, end = last;
        int r = errand->lived_usec > 0 ? store_lived(log->store, errand->lived_usec, &end) : 0;

        if (r == 0)
                *ret = end < last ? end : last;
        return r;
}

/* An archive at a time: new records wait for no more. */
static int run_prune(RecordLog *log, Errand *errand) {
        int r = errand->end == 0 ? find_end(log, errand, &errand->end) : 0;

        if (r < 0 || errand->first + RECORD_ARCHIVE_RECORDS > errand->end || log_is_closing(log))
                return r;
        r = log_archive(log, errand->text, errand->first, errand->before_usec, &errand->n_pruned);
        errand->first += RECORD_ARCHIVE_RECORDS;
        return r < 0 ? r : 1;
}

static int queue_errand(RecordLog *log, const Errand *errand, const char *text, uint64_t ticket) {
        _cleanup_(draft_group_freep) DraftGroup *group = NULL;
        int r;

        r = draft_nothing(&group);
        if (r < 0)
                return r;
        group->errand = malloc(sizeof(*errand) + errand->n);
        if (!group->errand)
                return -ENOMEM;
        *group->errand = *errand;
        memcpy(group->errand->text, text, errand->n);
        return queue_put(log, TAKE_PTR(group), ticket);
}

int record_log_cosign(RecordLog *log, const char *note, size_t n, uint64_t ticket) {
        const Errand errand = { .run = run_cosign, .n = n };

        assert(log && note);
        return n > NOTE_MAX ? -E2BIG : queue_errand(log, &errand, note, ticket);
}

int record_log_prune(RecordLog *log, const char *folder, uint64_t before_usec, uint64_t lived_usec, uint64_t ticket) {
        const Errand errand = { .run = run_prune, .before_usec = before_usec, .lived_usec = lived_usec, .n = strlen(folder) + 1 };

        assert(log && folder);
        return queue_errand(log, &errand, folder, ticket);
}
