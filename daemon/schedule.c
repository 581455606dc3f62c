/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Schedule
 *
 * Which job is next. Among those whose servers are free: one of the requester with the fewest workers; among
 * equals of the one who has waited longest for a turn; then the oldest. A job that waits for a server keeps
 * younger ones off all of its servers, so that an UltraServer has its turn too.
 */

#include "daemon/manager.h"
#include "daemon/status.h"

static size_t count_workers(const Manager *manager, uid_t uid) {
        Scan *scan;
        size_t n = 0;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                for (size_t i = 0; scan->uid == uid && i < scan->n_jobs; i++)
                        if (scan->jobs[i]->state == JOB_RUNNING)
                                n++;

        return n;
}

static uint64_t last_turn(const Manager *manager, uid_t uid) {
        uint64_t turn = 0;
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                if (scan->uid == uid && scan->served > turn)
                        turn = scan->served;

        return turn;
}

/* Whether all servers are free; where not, they are promised to JOB. */
static bool claim(Job *job, bool *promised, const Targets *targets) {
        bool is_free = true;

        for (size_t i = 0; i < job->n_servers; i++) {
                const Target *target = job->servers[i].target;

                if (target->job || promised[target - targets->items])
                        is_free = false;
        }
        for (size_t i = 0; !is_free && i < job->n_servers; i++)
                promised[job->servers[i].target - targets->items] = true;

        return is_free;
}

typedef struct Candidate {
        Job *job;
        size_t n_workers;
        uint64_t turn;
} Candidate;

static bool is_better(const Candidate *candidate, const Candidate *best) {
        if (!best->job)
                return true;
        if (candidate->n_workers != best->n_workers)
                return candidate->n_workers < best->n_workers;

        return candidate->turn < best->turn;
}

static Job *choose(Manager *manager) {
        _cleanup_free_ bool *promised = calloc(manager->targets.n_items, sizeof(bool));
        Candidate best = {};
        Scan *scan;

        if (!promised)
                return NULL; /* at the next occasion */

        TAILQ_FOREACH(scan, &manager->scans, entry) {
                Candidate candidate = {};

                if (scan->state != SCAN_QUEUED && scan->state != SCAN_RUNNING)
                        continue;

                candidate.n_workers = count_workers(manager, scan->uid);
                candidate.turn = last_turn(manager, scan->uid);
                for (size_t i = 0; i < scan->n_jobs; i++) {
                        candidate.job = scan->jobs[i];
                        if (candidate.job->state == JOB_QUEUED &&
                            claim(candidate.job, promised, &manager->targets) &&
                            is_better(&candidate, &best))
                                best = candidate;
                }
        }

        return best.job;
}

void manager_schedule(Manager *manager) {
        /* A job that ends at once asks for the next one from within. */
        if (manager->is_scheduling)
                return;

        manager->is_scheduling = true;
        while (manager->n_running < manager->n_workers) {
                Job *job = choose(manager);

                if (!job)
                        break;

                job->scan->served = ++manager->turn;
                job_run(job);
        }
        manager->is_scheduling = false;
        status_tell(manager);
}
