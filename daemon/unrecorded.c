/* SPDX-License-Identifier: Apache-2.0 */

/* Unrecorded: see unrecorded.h. */

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/closing.h"
#include "daemon/unrecorded.h"

/* A result without a beginning in the log. */
struct LostStart {
        LostStart *next;
        char server[LOCATION_SERVER_NAME_MAX];
        char plan[64];
        uint32_t chips;
        uint64_t started_usec;
};

static const JobServer *find_refused(const Scan *scan) {
        for (size_t i = 0; i < scan->n_jobs; i++)
                for (size_t s = 0; s < scan->jobs[i]->n_servers; s++)
                        if (scan->jobs[i]->servers[s].is_unrecorded)
                                return &scan->jobs[i]->servers[s];
        return NULL;
}

/* What is settled is not offered again by this process; and once a key has named the next one, only that signs. */
static void tell_why(const JobServer *server, const char *what, char ret[static UNRECORDED_REASON_MAX]) {
        (void) snprintf(ret, UNRECORDED_REASON_MAX, "%s could not be recorded: %s. %s", what, strerror(-server->refusal),
                        server->is_settled || server->refusal == -EKEYEXPIRED ? "The next start of assayd tries again" : "It is tried again");
}

/* What is not judged yet is not known to have passed: its result is INCONCLUSIVE. While a commit is under way, which takes milliseconds but where somebody
 * keeps the disk or the key from it, a failure is waited for alone: else each scan in service would make its chips unknown for that long. */
static bool waits_for_log(const Job *job, const JobServer *server) {
        if (server->is_unrecorded)
                return server->result != RESULT_PASSED;
        return job->state == JOB_SIGNING && !server->is_settled && server->result == RESULT_FAILED;
}

/* A scan of chips tells of their server, too. */
static bool is_of(const JobServer *server, const Location *subject) {
        int chip = location_index(subject, LOCATION_CHIP);

        return strcmp(server->target->config->name, subject->server) == 0 && (chip < 0 || (chip < (int) TARGET_CHIPS && (server->chips >> chip) & 1));
}

static const JobServer *find_touching(const Manager *manager, const Location *subject) {
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                for (size_t i = 0; i < scan->n_jobs; i++)
                        for (size_t s = 0; s < scan->jobs[i]->n_servers; s++) {
                                const JobServer *server = &scan->jobs[i]->servers[s];

                                if (waits_for_log(scan->jobs[i], server) && is_of(server, subject))
                                        return server;
                        }
        return NULL;
}

/* Until its plan has looked there again, or its own records are found there. What cannot be read is none. */
static bool lost_touches(RecordLog *log, const LostStart *lost, const Location *subject) {
        int chip = location_index(subject, LOCATION_CHIP);
        RecordEntry newest;

        return strcmp(lost->server, subject->server) == 0 && (chip < 0 || (chip < (int) TARGET_CHIPS && (lost->chips >> chip) & 1)) &&
               (record_log_newest(log, subject, lost->plan, &newest) < 0 || newest.finished_usec < lost->started_usec);
}

/* Its server, or one of its chips. */
static bool lost_counts(RecordLog *log, const LostStart *lost) {
        Location where = {};

        memcpy(where.server, lost->server, sizeof(where.server));
        if (lost_touches(log, lost, &where))
                return true;
        for (unsigned chip = 0; chip < TARGET_CHIPS; chip++) {
                Location at = where;

                if (location_append(&at, LOCATION_CHIP, chip) >= 0 && lost_touches(log, lost, &at))
                        return true;
        }
        return false;
}

static void tell_lost(const LostStart *lost, char ret[static UNRECORDED_REASON_MAX]) {
        (void) snprintf(ret, UNRECORDED_REASON_MAX, "the log has lost the beginning of a scan that it had not recorded. Next: assayctl scan %s --plan %s",
                        lost->server, lost->plan);
}

int unrecorded_keep(Manager *manager, const JobFile *file, size_t i) {
        LostStart *lost = calloc(1, sizeof(*lost));

        if (!lost)
                return -ENOMEM;
        *lost = (LostStart) { .next = manager->lost_starts, .chips = file->servers[i].chips, .started_usec = file->started_usec };
        (void) snprintf(lost->server, sizeof(lost->server), "%s", file->servers[i].name);
        (void) snprintf(lost->plan, sizeof(lost->plan), "%s", file->plan->name);
        if (!lost_counts(manager->log, lost)) {
                free(lost);
                return 0;
        }
        manager->lost_starts = lost;
        return 1;
}

void unrecorded_forget_all(Manager *manager) {
        for (LostStart *lost; (lost = manager->lost_starts);) {
                manager->lost_starts = lost->next;
                free(lost);
        }
}

static bool hides_lost(const Manager *manager, const Location *subject, char ret_reason[static UNRECORDED_REASON_MAX]) {
        for (const LostStart *lost = manager->lost_starts; lost; lost = lost->next)
                if (lost_touches(manager->log, lost, subject)) {
                        tell_lost(lost, ret_reason);
                        return true;
                }
        return false;
}

bool unrecorded_hides(const Manager *manager, const Location *subject, char ret_reason[static UNRECORDED_REASON_MAX]) {
        const JobServer *server = find_touching(manager, subject);

        if (server && server->refusal < 0)
                tell_why(server, "the newest scan", ret_reason);
        else if (server)
                (void) snprintf(ret_reason, UNRECORDED_REASON_MAX, "the newest scan is not recorded yet: %s",
                                server->is_unrecorded ? "assayd ended before" : "it is being signed");
        else if (closing_has(manager->closing, subject))
                (void) snprintf(ret_reason, UNRECORDED_REASON_MAX, "the newest scan was interrupted, which is not recorded yet");
        else if (manager->runs_unknown)
                (void) snprintf(ret_reason, UNRECORDED_REASON_MAX, "whether a scan was interrupted could not be found out. The next start of assayd tries again");
        else
                return hides_lost(manager, subject, ret_reason);
        return true;
}

void unrecorded_scan(const Scan *scan, char ret_reason[static UNRECORDED_REASON_MAX]) {
        const JobServer *server = find_refused(scan);

        *ret_reason = '\0';
        if (server && server->refusal < 0)
                (void) snprintf(ret_reason, UNRECORDED_REASON_MAX, "the records of %s could not be committed: %s", server->target->config->name,
                                strerror(-server->refusal));
}

bool unrecorded_has(const Scan *scan) {
        return find_refused(scan);
}

void unrecorded_status(const Manager *manager, char ret[static UNRECORDED_REASON_MAX]) {
        const JobServer *first = NULL;
        char what[64];
        size_t n = 0;
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry) {
                const JobServer *server = find_refused(scan);

                n += server != NULL;
                first = first ?: server;
        }
        *ret = '\0';
        (void) snprintf(what, sizeof(what), "%zu scan%s", n, n > 1 ? "s" : "");
        if (first && first->refusal < 0)
                tell_why(first, what, ret);
        else if (first)
                (void) snprintf(ret, UNRECORDED_REASON_MAX, "%s not recorded yet: assayd ended before", what);
        for (const LostStart *lost = manager->lost_starts; lost && !*ret; lost = lost->next)
                if (lost_counts(manager->log, lost))
                        tell_lost(lost, ret);
}
