/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The writer's: see log.h. What must not be lost to a full disk is kept until it is committed, as checkpoints are tried again. Each group is tried by
 * itself, so that one that never fits holds up no other; after a failure the next one waits, for nothing is gained by asking a full disk again and again.
 */

#include "daemon/record/log/log.h"

/* Each reason once. Where there is no memory for it, the next reason is told. */
static void tell_kept(RecordLog *log, DraftGroup *group) {
        DraftGroup *remark;

        if (group->told == group->error || draft_nothing(&remark) < 0)
                return;
        group->told = group->error;
        remark->ticket = group->ticket;
        remark->error = group->error;
        remark->is_remark = true;
        (void) pthread_mutex_lock(&log->mutex);
        log->n_groups++;
        (void) pthread_mutex_unlock(&log->mutex);
        writer_deliver(log, remark);
}

DraftGroup *writer_keep(RecordLog *log, DraftGroup *groups) {
        DraftGroup **at = &groups;

        while (*at) {
                DraftGroup *group = *at;

                if (group->error == 0 || !group->is_kept || log->has_failed) {
                        at = &group->next;
                        continue;
                }
                *at = group->next;
                tell_kept(log, group);
                if (!log->kept)
                        log->kept_due_usec = monotonic_usec() + log->publisher.interval_usec;
                group->next = NULL;
                log_append(&log->kept, group);
        }
        return groups;
}

/* Its entries are those that it was signed with. */
void writer_settle_kept(RecordLog *log, bool is_committed) {
        DraftGroup **at = &log->kept;

        while (*at) {
                DraftGroup *group = *at;

                if (group->is_doubted && is_committed) {
                        *at = group->next;
                        group->next = NULL;
                        group->error = 0;
                        writer_deliver(log, group);
                } else {
                        group->is_doubted = false;
                        at = &group->next;
                }
        }
}

/* Whether it was committed. Nothing is written before a commit in doubt is settled, which may settle this one. */
static bool try_first(RecordLog *log) {
        DraftGroup *group;
        int error, r;

        r = log->store ? 0 : writer_reopen(log);
        if (r == -EBADMSG)
                log_fail(log, NULL);
        group = log->kept;
        if (r < 0 || !group)
                return r == 0;
        log->kept = group->next;
        group->next = NULL;
        group->error = 0;
        writer_write(log, group, group->n_drafts);
        error = group->error;
        writer_deliver(log, writer_keep(log, group));
        return error == 0;
}

/* Nothing is signed any more, by this process. */
static void give_up(RecordLog *log) {
        DraftGroup *groups = log->kept;

        log->kept = NULL;
        for (DraftGroup *group = groups; group; group = group->next)
                group->error = -EIO;
        if (groups)
                writer_deliver(log, groups);
}

void writer_try_kept(RecordLog *log, bool is_last) {
        bool is_due = is_last || writer_kept_due(log) <= monotonic_usec();

        while (is_due && log->kept && !log->has_failed && try_first(log))
                continue;
        if (is_due)
                log->kept_due_usec = monotonic_usec() + log->publisher.interval_usec;
        if (log->has_failed)
                give_up(log);
}

uint64_t writer_kept_due(const RecordLog *log) {
        return log->kept ? log->kept_due_usec : UINT64_MAX;
}
