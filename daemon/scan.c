/* SPDX-License-Identifier: Apache-2.0 */

/* Scan: see scan.h. */

#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "daemon/clock.h"
#include "daemon/history.h"
#include "daemon/journal.h"
#include "daemon/manager.h"
#include "daemon/names.h"
#include "daemon/scan.h"

static const char *const state_words[_SCAN_STATE_MAX] = {
        [SCAN_QUEUED]   = ASSAY_STATE_QUEUED,
        [SCAN_RUNNING]  = ASSAY_STATE_RUNNING,
        [SCAN_SIGNING]  = ASSAY_STATE_SIGNING,
        [SCAN_FINISHED] = ASSAY_STATE_FINISHED,
};

/* Checks that drive the links between the servers of an UltraServer: for these its servers share one worker. */
static const char *const ring_checks[] = { "neuronlink", "collective", "efa" };

const char *scan_state_to_string(ScanState state) {
        return state >= 0 && state < _SCAN_STATE_MAX ? state_words[state] : NULL;
}

static bool plan_tests_ring(const Plan *plan) {
        for (size_t i = 0; i < plan->n_steps; i++)
                for (size_t c = 0; c < ELEMENTS(ring_checks); c++)
                        if (strcmp(plan->steps[i].check->name, ring_checks[c]) == 0)
                                return true;

        return false;
}

static bool same_ring(const Scan *scan, const Target *a, const Target *b) {
        const Topology *topology = scan->manager->config->topology;
        TopologyRing ring;

        if (!topology)
                return *a->ultraserver && strcmp(a->ultraserver, b->ultraserver) == 0;
        if (topology_ring(topology, a->config->name, &ring) < 0)
                return false;
        for (size_t s = 0; s < ring.n; s++)
                if (strcmp(ring.servers[s], b->config->name) == 0)
                        return true;
        return false;
}

size_t scan_crowd(const Manager *manager, const Plan *plan, const Selected *selected, size_t n, const char **ret_ultraserver) {
        for (size_t i = 0; i < n && plan_tests_ring(plan) && !manager->config->topology; i++) {
                const Target *first = selected[i].target;
                size_t n_alike = 0;

                for (size_t k = 0; k < n; k++)
                        n_alike += *first->ultraserver && strcmp(selected[k].target->ultraserver, first->ultraserver) == 0 &&
                                   selected[k].chips == TARGET_CHIPS_ALL &&
                                   strcmp(selected[k].target->config->device, first->config->device) == 0;
                if (n_alike > SCAN_RING_MAX) {
                        *ret_ultraserver = first->ultraserver;
                        return n_alike;
                }
        }
        return 0;
}

/* Whether a worker that has FIRST takes OTHER, too, so that what lies between them is tested. */
static bool shares_worker(const Scan *scan, const Selected *first, const Selected *other) {
        if (first == other || scan->options.one_job)
                return true;
        return plan_tests_ring(scan->plan) && first->chips == TARGET_CHIPS_ALL && other->chips == TARGET_CHIPS_ALL &&
               same_ring(scan, first->target, other->target) && strcmp(first->target->config->device, other->target->config->device) == 0;
}

/* One worker for all of an UltraServer's servers that were asked for as a whole, wherever they stand in the configuration; and for each other server one. */
static int make_jobs(Scan *scan) {
        _cleanup_free_ bool *is_taken = calloc(scan->n_selected, sizeof(*is_taken));

        scan->jobs = calloc(scan->n_selected, sizeof(Job *));
        if (!scan->jobs || !is_taken)
                return -ENOMEM;

        for (size_t i = 0; i < scan->n_selected; i++) {
                Selected together[JOB_SERVERS_MAX];
                size_t n = 0;
                int r;

                for (size_t k = i; k < scan->n_selected && !is_taken[i] && n < JOB_SERVERS_MAX; k++)
                        if (!is_taken[k] && shares_worker(scan, &scan->selected[i], &scan->selected[k])) {
                                together[n++] = scan->selected[k];
                                is_taken[k] = k > i;
                        }
                if (n == 0)
                        continue;
                r = job_new(scan, together, n, &scan->jobs[scan->n_jobs]);
                if (r < 0)
                        return r;
                scan->n_jobs++;
        }

        return 0;
}

static int draw_seed(uint64_t *ret) {
        uint64_t seed;

        if (getrandom(&seed, sizeof(seed), 0) != (ssize_t) sizeof(seed))
                return -EIO;

        *ret = seed & SCAN_SEED_MAX;
        return 0;
}

static int hash_limits(Scan *scan) {
        _cleanup_free_ char *limits = NULL;
        int r;

        r = plan_limits(scan->plan, &limits);
        return r < 0 ? r : record_digest(limits, strlen(limits), scan->limits_sha256);
}

static int scan_fill(Scan *scan) {
        int r;

        if (!scan->options.has_seed) {
                r = draw_seed(&scan->options.seed);
                if (r < 0)
                        return r;
        }
        r = record_digest(scan->plan->text, scan->plan->n_text, scan->plan_sha256);
        if (r >= 0)
                r = hash_limits(scan);
        if (r < 0)
                return r;

        return make_jobs(scan);
}

/* From the local accounts alone: a directory on the network may let whoever asks it wait. */
static void find_operator(uid_t uid, char ret[static PARTICULARS_TEXT_MAX]) {
        FILE *file = fopen("/etc/passwd", "re");
        struct passwd *account;

        while (file && (account = fgetpwent(file)) && account->pw_uid != uid)
                ;
        if (file && account)
                particulars_take_text(ret, account->pw_name);
        if (file)
                (void) fclose(file);
}

int scan_new(Manager *manager, uid_t uid, Plan *plan, Selected *selected, size_t n_selected,
             const ScanOptions *options, sd_bus_message *request, Scan **ret) {
        Scan *scan;
        int r;

        scan = calloc(1, sizeof(*scan));
        if (!scan)
                return -ENOMEM;

        *scan = (Scan) {
                .manager = manager,
                .uid = uid,
                .plan = plan,
                .selected = selected,
                .n_selected = n_selected,
                .options = *options,
                .result = _RESULT_INVALID,
                .started_usec = manager_next_start(manager),
        };
        find_operator(uid, scan->operator);
        r = scan_fill(scan);
        if (r < 0) {
                scan->plan = NULL; /* the caller keeps both */
                scan->selected = NULL;
                scan_free(scan);
                return r;
        }

        scan->request = sd_bus_message_ref(request);
        *ret = scan;
        return 0;
}

int scan_add_job(Scan *scan, const Selected *selected, size_t n) {
        Selected *all;
        Job **jobs;
        int r;

        jobs = reallocarray(scan->jobs, scan->n_jobs + 1, sizeof(*jobs));
        if (!jobs)
                return -ENOMEM;
        scan->jobs = jobs;
        all = reallocarray(scan->selected, scan->n_selected + n, sizeof(*all));
        if (!all)
                return -ENOMEM;
        scan->selected = all;
        r = job_new(scan, selected, n, &jobs[scan->n_jobs]);
        if (r < 0)
                return r;
        scan->n_jobs++;
        for (size_t i = 0; i < n; i++) {
                size_t at = scan->n_selected++;

                for (; at > 0 && all[at - 1].target > selected[i].target; at--) /* they stand as in the configuration */
                        all[at] = all[at - 1];
                all[at] = selected[i];
        }
        return 0;
}

Scan *scan_free(Scan *scan) {
        if (!scan)
                return NULL;

        for (size_t i = 0; i < scan->n_jobs; i++)
                job_free(scan->jobs[i]);
        free(scan->jobs);
        sd_bus_message_unref(scan->request);
        sd_event_source_disable_unref(scan->progress_timer);
        plan_free(scan->plan);
        past_free(scan->past);
        free(scan->selected);
        free(scan->records);
        free(scan);
        return NULL;
}

const char *scan_plan_name(const Scan *scan) {
        return scan->past ? scan->past->plan : scan->plan->name;
}

bool scan_is_finished(const Scan *scan) {
        return scan->state == SCAN_FINISHED;
}

static void queue_job(Job *job) {
        job->state = JOB_QUEUED;
        for (size_t s = 0; s < job->n_servers; s++)
                job->servers[s].target->n_waiting++;
}

void scan_resume(Scan *scan) {
        scan->state = SCAN_QUEUED;
        for (size_t i = 0; i < scan->n_jobs; i++) {
                queue_job(scan->jobs[i]);
                job_resume(scan->jobs[i]);
        }
}

/* All run-starts are committed: the jobs queue. Or not all: then what was begun is ended, and nothing was
 * scanned. */
static void scan_answer(Scan *scan) {
        scan->is_hidden = scan->start_error < 0;
        if (scan->is_hidden && scan->n_records == 0 && scan->id == scan->manager->last_scan)
                scan->manager->last_scan--; /* nobody was told the number, and the log knows of no such scan */
        scan->state = SCAN_QUEUED;
        scan_bus_answer(scan);

        for (size_t i = 0; i < scan->n_jobs; i++) {
                Job *job = scan->jobs[i];

                if (scan->is_hidden) {
                        job_abandon(job);
                        continue;
                }
                queue_job(job);
                if (scan->is_cancelled)
                        job_cancel(job);
        }

        manager_schedule(scan->manager);
}

void scan_start(Scan *scan) {
        for (size_t i = 0; i < scan->n_jobs; i++) {
                Job *job = scan->jobs[i];
                int r;

                r = job_start(job);
                for (size_t s = 0; s < job->n_servers; s++)
                        if (job->servers[s].ticket != 0)
                                scan->n_starting++;
                if (r < 0) {
                        scan->start_error = r;
                        break;
                }
        }

        if (scan->n_starting == 0)
                scan_answer(scan);
}

void scan_job_started(Scan *scan, Job *job, int error) {
        if (error < 0)
                scan->start_error = error;
        if (--scan->n_starting == 0)
                scan_answer(scan);
}

/* What waits goes first: else the place of each worker that ends is given to the next job, to be cancelled
 * too. */
void scan_cancel(Scan *scan) {
        scan->is_cancelled = true; /* where the run-starts are not committed yet, the jobs end as soon as they are */
        for (size_t i = 0; i < scan->n_jobs; i++)
                if (scan->jobs[i]->state == JOB_QUEUED)
                        job_cancel(scan->jobs[i]);
        for (size_t i = 0; i < scan->n_jobs; i++)
                job_cancel(scan->jobs[i]);
}

int scan_add_record(Scan *scan, const RecordEntry *entry) {
        uint64_t *grown;

        grown = realloc(scan->records, (scan->n_records + 1) * sizeof(*grown));
        if (!grown)
                return -ENOMEM;

        scan->records = grown;
        grown[scan->n_records++] = entry->index;
        return 0;
}

/* The scan is where its jobs are: queued while all wait, signing when none waits or runs any more. */
static ScanState fold_state(const Scan *scan) {
        bool begun = false, busy = false, signing = false;

        for (size_t i = 0; i < scan->n_jobs; i++) {
                JobState state = scan->jobs[i]->state;

                begun = begun || state > JOB_QUEUED;
                busy = busy || state <= JOB_RUNNING;
                signing = signing || state == JOB_SIGNING;
        }

        return !begun ? SCAN_QUEUED : busy ? SCAN_RUNNING : signing ? SCAN_SIGNING : SCAN_FINISHED;
}

void scan_job_refused(Scan *scan) {
        if (scan->state == SCAN_SIGNING)
                scan_bus_changed(scan, "Message", NULL);
}

static void scan_finish(Scan *scan) {
        scan->result = RESULT_PASSED;
        for (size_t i = 0; i < scan->n_jobs; i++)
                for (size_t s = 0; s < scan->jobs[i]->n_servers; s++)
                        scan->result = result_worst(scan->result, scan->jobs[i]->servers[s].result);

        scan->finished_usec = clock_usec(CLOCK_REALTIME);
        scan->progress_timer = sd_event_source_disable_unref(scan->progress_timer);
        scan->progress = 100;
}

void scan_job_changed(Scan *scan, Job *job) {
        ScanState state = fold_state(scan);

        if (state == scan->state)
                return;

        scan->state = state;
        if (state == SCAN_FINISHED) {
                scan_finish(scan);
                scan_bus_changed(scan, "State", "Progress", "Result", "Message", "Records", "FinishedUSec",
                                 NULL);
        } else
                scan_bus_changed(scan, "State", NULL);
}

static unsigned measure_progress(const Scan *scan) {
        uint64_t settled = 0, total = 0;

        for (size_t i = 0; i < scan->n_jobs; i++) {
                const Job *job = scan->jobs[i];
                unsigned chips = 0, n;

                for (size_t s = 0; s < job->n_servers; s++)
                        chips += (unsigned) __builtin_popcount(job->servers[s].chips);
                total += (uint64_t) chips * scan->plan->n_steps;
                settled += job->tally ? tally_progress(job->tally, &n)
                                      : (uint64_t) chips * scan->plan->n_steps;
        }

        return total > 0 ? (unsigned) (settled * 100 / total) : 0;
}

static void tell_progress(Scan *scan) {
        unsigned progress = measure_progress(scan);

        if (progress == scan->progress || scan_is_finished(scan))
                return;

        scan->progress = progress;
        scan->progress_told_usec = clock_usec(CLOCK_MONOTONIC);
        scan_bus_changed(scan, "Progress", NULL);
}

static int on_progress_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        tell_progress(userdata);
        return 0;
}

/* At most ten times a second: at once after a pause, else when a tenth of a second is over. */
void scan_job_progressed(Scan *scan) {
        uint64_t now = clock_usec(CLOCK_MONOTONIC), next = scan->progress_told_usec + SCAN_PROGRESS_USEC;
        int enabled = SD_EVENT_OFF;

        if (scan->progress_timer)
                (void) sd_event_source_get_enabled(scan->progress_timer, &enabled);
        if (enabled != SD_EVENT_OFF)
                return;
        if (now >= next) {
                tell_progress(scan);
                return;
        }

        if (!scan->progress_timer)
                (void) sd_event_add_time(scan->manager->event, &scan->progress_timer, CLOCK_MONOTONIC, next,
                                         0, on_progress_timer, scan);
        else if (sd_event_source_set_time(scan->progress_timer, next) >= 0)
                (void) sd_event_source_set_enabled(scan->progress_timer, SD_EVENT_ONESHOT);
}
