/* SPDX-License-Identifier: Apache-2.0 */

/* Status: see status.h. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <systemd/sd-daemon.h>
#include <time.h>

#include "daemon/keys-bus.h"
#include "daemon/status.h"
#include "daemon/unrecorded.h"

/* Of scans that have not finished. */
typedef struct Work {
        size_t n_scans, n_servers, n_at_work;
} Work;

static void add_scan(Work *work, const Scan *scan) {
        if (scan->is_hidden || scan->state == SCAN_STARTING || scan_is_finished(scan))
                return;
        work->n_scans++;
        for (size_t i = 0; i < scan->n_jobs; i++) {
                const Job *job = scan->jobs[i];

                if (job->state != JOB_FINISHED)
                        work->n_servers += job->n_servers;
                if (job->state == JOB_RUNNING || job->state == JOB_SIGNING)
                        work->n_at_work += job->n_servers;
        }
}

/* How far the log was read again, which nobody asks for before something is wrong. */
static void append_scrub(Manager *manager, char *text, size_t size) {
        size_t n = strlen(text);
        RecordScrub scrub;
        struct tm tm;
        time_t sec;

        record_log_scrubbed(manager->log, &scrub);
        sec = (time_t) (scrub.whole_usec / 1000000);
        if (scrub.error < 0)
                (void) snprintf(text + n, size - n, "; the log could not be read again: %s", strerror(-scrub.error));
        else if (sec > 0 && gmtime_r(&sec, &tm))
                (void) strftime(text + n, size - n, "; all read again at %Y-%m-%dT%H:%MZ", &tm);
        else
                (void) snprintf(text + n, size - n, "; %" PRIu64 " read again", scrub.n_checked);
}

void status_text(Manager *manager, char *ret, size_t size) {
        const char *next = keys_successor(manager->keys);
        char unrecorded[UNRECORDED_REASON_MAX];
        Work work = {};
        Scan *scan;

        unrecorded_status(manager, unrecorded);
        TAILQ_FOREACH(scan, &manager->scans, entry)
                add_scan(&work, scan);
        if (record_log_has_failed(manager->log))
                (void) snprintf(ret, size, "The log is not sound, nothing is signed any more: %s", record_log_wrong(manager->log));
        else if (next)
                (void) snprintf(ret, size, "The key was changed: restart with %s", next);
        else if (*unrecorded)
                (void) snprintf(ret, size, "%s", unrecorded);
        else if (work.n_scans > 0)
                (void) snprintf(ret, size, "Scanning %zu of %zu servers (%zu scan%s)", work.n_at_work, work.n_servers, work.n_scans,
                                work.n_scans > 1 ? "s" : "");
        else {
                (void) snprintf(ret, size, "Idle: %zu servers, %" PRIu64 " records", manager->targets.n_items, record_log_size(manager->log));
                append_scrub(manager, ret, size);
        }
}

void status_tell(Manager *manager) {
        char text[sizeof(manager->status)];

        status_text(manager, text, sizeof(text));
        if (strcmp(text, manager->status) == 0)
                return;
        (void) strcpy(manager->status, text);
        (void) sd_notifyf(false, "STATUS=%s", text);
}
