/* SPDX-License-Identifier: Apache-2.0 */

/* Restore: see restore.h. */

#include <dirent.h>
#include <string.h>

#include "daemon/closing.h"
#include "daemon/history.h"
#include "daemon/job-file.h"
#include "daemon/journal.h"
#include "daemon/restore.h"
#include "daemon/unrecorded.h"

typedef struct Unfinished {
        RecordEntry entry;
        bool is_taken;
} Unfinished;

typedef struct Restoring {
        Manager *manager;
        History *history; /* NULL: it could not be read */
        size_t n;
        Unfinished *items;
} Restoring;

static int compare_unfinished(const void *a, const void *b) {
        return strcmp(((const Unfinished *) a)->entry.run, ((const Unfinished *) b)->entry.run);
}

/* All of them: a run that is not known to be unfinished is taken for one that has its records. */
static int read_unfinished(Restoring *restoring) {
        uint64_t cursor = 0;
        int r;

        do {
                size_t n = restoring->n;
                Unfinished *items = restoring->items;

                /* Room for a power of two. */
                if ((n & (n - 1)) == 0)
                        items = reallocarray(items, n > 0 ? 2 * n : 1, sizeof(*items));
                if (!items)
                        return -ENOMEM;
                restoring->items = items;
                items[n].is_taken = false;
                r = record_log_unfinished(restoring->manager->log, &cursor, &items[n].entry);
                restoring->n += r >= 0;
        } while (r >= 0);
        if (r == -ENOENT)
                qsort(restoring->items, restoring->n, sizeof(*restoring->items), compare_unfinished);
        return r == -ENOENT ? 0 : r;
}

static int compare_run(const void *run, const void *item) {
        return strcmp(run, ((const Unfinished *) item)->entry.run);
}

/* NULL also where another file goes on with it, of which this one is a copy: it is signed once. */
static Unfinished *find_run(Restoring *restoring, const char *run) {
        Unfinished *found = bsearch(run, restoring->items, restoring->n, sizeof(*restoring->items), compare_run);

        return found && !found->is_taken ? found : NULL;
}

/* The servers of FILE as the configuration knows them, or -ENOENT where it does not know one any more. */
static int select_servers(Restoring *restoring, const JobFile *file, Selected **ret) {
        _cleanup_free_ Selected *selected = calloc(file->n_servers, sizeof(*selected));

        if (!selected)
                return -ENOMEM;
        for (size_t i = 0; i < file->n_servers; i++) {
                selected[i] = (Selected) { targets_find(&restoring->manager->targets, file->servers[i].name),
                                           file->servers[i].chips };
                if (!selected[i].target ||
                    strcmp(selected[i].target->config->device, selected[0].target->config->device) != 0)
                        return -ENOENT;
        }

        *ret = TAKE_PTR(selected);
        return 0;
}

static bool ends_with(const char *name, const char *suffix) {
        size_t n = strlen(name), n_suffix = strlen(suffix);

        return n > n_suffix && strcmp(name + n - n_suffix, suffix) == 0;
}

/* How many of its servers still want a record. Those that never had a run-start, or have their records, want none. */
static size_t count_unfinished(Restoring *restoring, const JobFile *file) {
        size_t n = 0;

        for (size_t i = 0; i < file->n_servers; i++)
                n += find_run(restoring, file->servers[i].run) != NULL;
        return n;
}

/*
 * Whether it was begun before records that are lost. These may say how its parts were found since, and evidence that was put back with an old copy of the log
 * would pass them again, as if it were newer than what is lost.
 */
static bool is_before_loss(Restoring *restoring, const JobFile *file) {
        uint64_t cut;

        (void) record_log_cut(restoring->manager->log, &cut);
        for (size_t i = 0; i < file->n_servers; i++) {
                const Unfinished *unfinished = find_run(restoring, file->servers[i].run);

                if (unfinished && unfinished->entry.index < cut)
                        return true;
        }
        return false;
}

/* IS_UNRECORDED: the log had refused what was found. */
static void mark_servers(Restoring *restoring, Job *job, const JobFile *file, bool is_unrecorded) {
        for (size_t i = 0; i < job->n_servers; i++) {
                Unfinished *unfinished = find_run(restoring, file->servers[i].run);
                Location where = {};
                RecordEntry newest;

                memcpy(job->servers[i].run, file->servers[i].run, RUN_ID_BYTES);
                memcpy(where.server, file->servers[i].name, sizeof(where.server));
                if (unfinished) {
                        unfinished->is_taken = true;
                        job->servers[i].is_started = true;
                        job->servers[i].is_unrecorded = is_unrecorded;
                } else {
                        job->servers[i].is_settled = true;
                        if (record_log_newest(restoring->manager->log, &where, NULL, &newest) >= 0 &&
                            strcmp(newest.run, file->servers[i].run) == 0)
                                job->servers[i].result = newest.result;
                }
        }
}

/* The scan that goes on as NUMBER by another job's file already, or NULL. */
static Scan *find_scan(const Manager *manager, uint64_t number, const JobFile *file) {
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                if (number > 0 && scan->id == number && !scan->past && strcmp(scan->plan->text, file->plan->text) == 0)
                        return scan;
        return NULL;
}

/* A scan of the one job of FILE, with the number that it had; the jobs of others join it. Takes over the plan and SELECTED. */
static int add_scan(Manager *manager, JobFile *file, Selected **selected, uint64_t number, Scan **ret) {
        int r;

        file->options.one_job = true;
        r = scan_new(manager, file->uid, file->plan, *selected, file->n_servers, &file->options, NULL, ret);
        if (r < 0)
                return r;
        file->plan = NULL;
        *selected = NULL;
        (*ret)->started_usec = file->started_usec;
        if (number > 0)
                manager_add_scan_as(manager, *ret, number);
        else
                manager_add_scan(manager, *ret);
        return 0;
}

/*
 * Whether FILE holds results that nobody can sign, since the log has lost the beginnings of their runs. Then it stays, for it alone tells the next start of
 * them; its other runs are closed.
 */
static int keep_lost(Restoring *restoring, const JobFile *file, const char *name) {
        bool any = false;

        for (size_t i = 0; file->seal.is_due && i < file->n_servers; i++) {
                int r = find_run(restoring, file->servers[i].run) ? 0 : unrecorded_keep(restoring->manager, file, i);

                if (r < 0)
                        return r;
                if (r > 0)
                        log_error("The log has lost the beginning of the scan of %s whose result waits in %s: scan it again", file->servers[i].name, name);
                any = any || r > 0;
        }
        return any;
}

static int restore_file(Restoring *restoring, JobFile *file, const char *name) {
        _cleanup_free_ Selected *selected = NULL;
        Manager *manager = restoring->manager;
        uint64_t number;
        Scan *scan;
        Job *job;
        int r;

        r = keep_lost(restoring, file, name);
        if (r != 0)
                return r < 0 ? r : 0;
        if (count_unfinished(restoring, file) == 0) {
                job_file_forget(manager->config->evidence, name);
                return 0;
        }
        if (is_before_loss(restoring, file)) {
                log_warning("The scan of %s was begun before records that are lost, closing it", file->servers[0].name);
                job_file_forget(manager->config->evidence, name);
                return 0;
        }
        r = select_servers(restoring, file, &selected);
        if (r >= 0)
                r = evidence_check(manager->config->evidence, file->servers[0].run, &file->found);
        if (r < 0)
                return r;

        number = history_number(restoring->history, file->servers[0].run);
        scan = find_scan(manager, number, file);
        r = scan ? scan_add_job(scan, selected, file->n_servers) : add_scan(manager, file, &selected, number, &scan);
        if (r < 0)
                return r;
        job = scan->jobs[scan->n_jobs - 1];
        job->started_usec = file->started_usec;
        job->found = file->found;
        job->seal = file->seal;
        mark_servers(restoring, job, file, file->seal.is_due);
        log_info("Going on with the scan of %s that was interrupted", file->servers[0].name);
        return 0;
}

/* Whether R says that a scan is not to be gone on with at any time, and not that an accident keeps it from that now. */
static bool is_for_good(int r) {
        return r == -EBADMSG || r == -ENOENT || r == -EOPNOTSUPP;
}

/* Nobody builds on a file that no assayd of this log has left there, or that cannot be read for good: the log knows that its runs were begun, and they are closed. */
static void restore_one(Restoring *restoring, const char *name) {
        Manager *manager = restoring->manager;
        JobFile file;
        int r;

        r = job_file_read(manager->log, manager->config->evidence, name, &file);
        if (r < 0)
                log_warning_errno(r, "Failed to read %s, %s: %m", name, is_for_good(r) ? "closing its scan" : "leaving it to the next start");
        else {
                r = restore_file(restoring, &file, name);
                if (r < 0)
                        log_warning_errno(r, "Failed to go on with the scan of %s, %s: %m", file.servers[0].name,
                                          is_for_good(r) ? "closing it" : "leaving it to the next start");
        }
        if (r < 0 && !is_for_good(r))
                manager->runs_unknown = true;
        else if (r < 0)
                job_file_forget(manager->config->evidence, name);
        job_file_done(&file);
}

/* Runs that nobody goes on with. */
static void close_others(Restoring *restoring) {
        RecordEntry *entries = calloc(restoring->n + 1, sizeof(*entries));
        size_t n = 0;

        if (!entries) {
                log_error("No memory to close the runs that were interrupted, leaving them to the next start");
                restoring->manager->runs_unknown = true;
                return;
        }
        for (size_t i = 0; i < restoring->n; i++)
                if (!restoring->items[i].is_taken)
                        entries[n++] = restoring->items[i].entry;
        manager_close_runs(restoring->manager, entries, n);
}

static bool is_in_use(const Manager *manager, const char *name) {
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                for (size_t i = 0; i < scan->n_jobs; i++)
                        if (strncmp(name, scan->jobs[i]->servers[0].run, RUN_ID_BYTES - 1) == 0)
                                return true;

        return false;
}

static void each_file(Restoring *restoring, const char *suffix,
                      void (*each)(Restoring *restoring, const char *name)) {
        DIR *folder = opendir(restoring->manager->config->evidence);
        const struct dirent *found;

        while (folder && (found = readdir(folder)))
                if (ends_with(found->d_name, suffix))
                        each(restoring, found->d_name);
        if (folder)
                (void) closedir(folder);
}

/* Once all their jobs are there: one that has nothing left to test would end the scan before. */
static void resume_scans(Manager *manager) {
        Scan *scan;

        TAILQ_FOREACH(scan, &manager->scans, entry)
                if (!scan->past)
                        scan_resume(scan);
}

static void pack_one(Restoring *restoring, const char *name) {
        if (!is_in_use(restoring->manager, name) && evidence_packer_add(restoring->manager->packer, name) < 0)
                log_debug("No memory to pack evidence %s, ignoring", name);
}

void manager_restore(Manager *manager) {
        _cleanup_(history_freep) History *history = NULL;
        Restoring restoring = { .manager = manager };
        int r;

        r = history_read(manager, &history);
        if (r < 0)
                log_error_errno(r, "Failed to read the scans of before, forgetting them: %m");
        restoring.history = history;
        r = read_unfinished(&restoring);
        if (r < 0) {
                log_error_errno(r, "Failed to look for interrupted scans, leaving them to the next start: %m");
                manager->runs_unknown = true;
                free(restoring.items);
                return;
        }

        /* What the log has refused comes first: an older copy of the same run tells less. */
        each_file(&restoring, JOB_FILE_UNRECORDED, restore_one);
        each_file(&restoring, JOB_FILE_SUFFIX, restore_one);
        resume_scans(manager);
        if (!manager->runs_unknown) { /* which files and runs those are that the next start goes on with */
                close_others(&restoring);
                each_file(&restoring, EVIDENCE_SUFFIX, pack_one);
        }
        free(restoring.items);
}
