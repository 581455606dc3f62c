/* SPDX-License-Identifier: Apache-2.0 */

/* Manager: see manager.h. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>

#include "daemon/authorize.h"
#include "daemon/clock.h"
#include "daemon/closing.h"
#include "daemon/heartbeat.h"
#include "daemon/journal.h"
#include "daemon/keys-bus.h"
#include "daemon/log-bus.h"
#include "daemon/log-control.h"
#include "daemon/manager.h"
#include "daemon/names.h"
#include "daemon/pruning.h"
#include "daemon/turns.h"
#include "daemon/unrecorded.h"

/* ---- the log ---- */

/* What a verdict says beyond its entry is read back from the log: so the journal tells what was signed. */
static void tell_journal(Manager *manager, uint64_t scan, const RecordEntry *entry) {
        _cleanup_(record_told_done) RecordTold told = {};
        int r = record_is_verdict(entry) ? record_log_told(manager->log, entry, &told) : -ENODATA;

        journal_record(scan, entry, r < 0 ? NULL : &told);
}

/* Everything that is committed is told, in index order, before the scan that it belongs to goes on. */
static void tell_entries(Manager *manager, uint64_t scan, const RecordOutcome *outcome) {
        for (size_t i = 0; i < outcome->n_entries; i++) {
                const RecordEntry *entry = &outcome->entries[i];
                Target *target = targets_find(&manager->targets, entry->subject.server);

                if (target && record_is_verdict(entry))
                        target_take(target, &entry->subject, entry->result);
                manager_bus_record_signed(manager, entry);
                tell_journal(manager, scan, entry);
        }
}

static Job *find_job(Manager *manager, uint64_t ticket) {
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                for (size_t i = 0; i < scan->n_jobs; i++)
                        for (size_t s = 0; s < scan->jobs[i]->n_servers; s++)
                                if (scan->jobs[i]->servers[s].ticket == ticket)
                                        return scan->jobs[i];

        return NULL;
}

static void take_outcome(Manager *manager, const RecordOutcome *outcome) {
        Job *job = find_job(manager, outcome->ticket);

        tell_entries(manager, job ? job->scan->id : 0, outcome);
        if (job)
                (void) job_take_outcome(job, outcome);
        else if (!heartbeat_take_outcome(manager->heartbeat, outcome) && !keys_take_outcome(manager->keys, outcome) &&
                 !pruning_take_outcome(manager->pruning, outcome) && !log_bus_take_outcome(manager, outcome) &&
                 !closing_take_outcome(manager->closing, outcome) && outcome->error < 0)
                log_error_errno(outcome->error, "Failed to commit a record that no scan waits for: %m");
}

/* What the log had no room for before. */
static void sign_waiting(Manager *manager) {
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                for (size_t i = 0; i < scan->n_jobs; i++)
                        if (scan->jobs[i]->state == JOB_SIGNING)
                                job_sign_again(scan->jobs[i]);
}

static int on_outcomes(sd_event_source *source, int fd, uint32_t events, void *userdata) {
        Manager *manager = userdata;
        RecordOutcome outcome = {};
        int r;

        while ((r = record_log_next(manager->log, &outcome)) >= 0) {
                take_outcome(manager, &outcome);
                record_outcome_done(&outcome);
                outcome = (RecordOutcome) {};
        }
        if (r != -EAGAIN)
                log_error_errno(r, "Failed to read what became of records: %m");

        log_bus_tell(manager);
        sign_waiting(manager);
        closing_go_on(manager->closing);
        manager_schedule(manager);
        manager_evict(manager);
        return 0;
}

/* ---- scans ---- */

uint64_t manager_next_start(Manager *manager) {
        uint64_t now = clock_usec(CLOCK_REALTIME);

        if (now / 1000 == manager->last_start_usec / 1000)
                now = (now / 1000 + 1) * 1000;
        manager->last_start_usec = now;
        return now;
}

void manager_add_scan(Manager *manager, Scan *scan) {
        manager_add_scan_as(manager, scan, ++manager->last_scan);
}

void manager_add_scan_as(Manager *manager, Scan *scan, uint64_t id) {
        scan->id = id;
        (void) snprintf(scan->path, sizeof(scan->path), ASSAY_SCAN_PATH_PREFIX "/_%" PRIu64, scan->id);
        TAILQ_INSERT_TAIL(&manager->scans, scan, entry);
}

Scan *manager_find_scan(Manager *manager, uint64_t id) {
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                if (scan->id == id && !scan->is_hidden && scan->state != SCAN_STARTING)
                        return scan;

        return NULL;
}

size_t manager_count_scans(const Manager *manager, uid_t uid, size_t *ret_total) {
        size_t n = 0, total = 0;
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                if (!scan_is_finished(scan)) {
                        total++;
                        if (scan->uid == uid)
                                n++;
                }

        *ret_total = total;
        return n;
}

/* Of those that are finished the oldest, where it is one too many. One that is not recorded still says that nothing is known. */
static Scan *find_evictable(Manager *manager) {
        Scan *scan, *oldest = NULL;
        size_t n = 0;

        TAILQ_FOREACH(scan, &manager->scans, entry) {
                if (!scan_is_finished(scan) || unrecorded_has(scan))
                        continue;
                if (scan->is_hidden)
                        return scan;
                n++;
                if (!oldest || scan->finished_usec < oldest->finished_usec)
                        oldest = scan;
        }

        return n > ASSAY_SCANS_KEPT ? oldest : NULL;
}

/* Only from the event loop's own handler: nothing on the stack may still hold the scan. */
void manager_evict(Manager *manager) {
        Scan *scan;

        while ((scan = find_evictable(manager))) {
                TAILQ_REMOVE(&manager->scans, scan, entry);
                if (!scan->is_hidden)
                        manager_bus_scan_removed(manager, scan);
                scan_free(scan);
        }
}

uint64_t manager_next_ticket(Manager *manager) {
        return ++manager->last_ticket;
}

/* ---- life ---- */

static size_t count_cores(void) {
        long n = sysconf(_SC_NPROCESSORS_ONLN);

        return n > 0 ? (size_t) n : 1;
}

static int manager_fill(Manager *manager) {
        int r;

        r = targets_init(&manager->targets, manager->config);
        if (r < 0)
                return r;
        r = evidence_packer_new(manager->event, manager->config->evidence, &manager->packer);
        if (r < 0)
                return log_error_errno(r, "Failed to open the evidence folder %s: %m",
                                       manager->config->evidence);
        r = loans_new(manager->event, &manager->loans);
        if (r < 0)
                return r;

        return sd_event_add_io(manager->event, &manager->log_source, record_log_fd(manager->log), EPOLLIN,
                               on_outcomes, manager);
}

int manager_new(sd_event *event, Config *config, const WorkerPlace *worker, RecordLog *log, char *public_key,
                Manager **ret) {
        Manager *manager;
        int r;

        manager = calloc(1, sizeof(*manager));
        if (!manager)
                return -ENOMEM;

        TAILQ_INIT(&manager->scans);
        manager->event = sd_event_ref(event);
        manager->config = config;
        manager->worker = *worker;
        manager->log = log;
        manager->public_key = public_key;
        manager->n_workers = config->limits.workers > 0 ? config->limits.workers : count_cores();

        r = manager_fill(manager);
        if (r < 0) {
                manager->config = NULL; /* the caller keeps all three */
                manager->log = NULL;
                manager->public_key = NULL;
                manager_free(manager);
                return r;
        }

        *ret = manager;
        return 0;
}

Manager *manager_free(Manager *manager) {
        Scan *scan;

        if (!manager)
                return NULL;

        while ((scan = TAILQ_FIRST(&manager->scans))) {
                TAILQ_REMOVE(&manager->scans, scan, entry);
                scan_free(scan);
        }

        sd_event_source_disable_unref(manager->log_source);
        heartbeat_free(manager->heartbeat);
        keys_free(manager->keys);
        pruning_free(manager->pruning);
        closing_free(manager->closing);
        unrecorded_forget_all(manager);
        log_bus_done(manager);
        turns_free(manager->turns);
        authority_free(manager->authority);
        evidence_packer_free(manager->packer);
        loans_free(manager->loans);
        record_log_free(manager->log);
        targets_done(&manager->targets);
        config_free(manager->config);
        free(manager->public_key);
        sd_bus_unref(manager->bus);
        sd_event_unref(manager->event);
        free(manager);
        return NULL;
}

int manager_attach(Manager *manager, sd_bus *bus) {
        int r;

        manager->bus = sd_bus_ref(bus);
        r = authority_new(bus, &manager->authority);
        if (r < 0)
                return r;
        r = turns_new(bus, manager->authority, &manager->turns);
        if (r < 0)
                return r;
        r = manager_bus_attach(manager, bus);
        if (r < 0)
                return r;
        r = keys_bus_attach(manager, bus);
        if (r < 0)
                return r;
        r = scan_bus_attach(manager, bus);
        if (r < 0)
                return r;

        return log_control_attach(manager->authority, bus);
}
