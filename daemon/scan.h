/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Scan
 *
 * What somebody asked for: a plan on some servers or chips, done by one or more jobs. It is known on the bus
 * once the run-start records of all its servers are committed, and finished once their records are.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>
#include <sys/types.h>

#include <systemd/sd-bus.h>
#include <systemd/sd-event.h>

#include "checks/plan/plan.h"
#include "checks/vocabulary/particulars.h"
#include "daemon/evidence.h"
#include "daemon/job.h"

#define SCAN_PATH_MAX       64
#define SCAN_RING_MAX       4 /* servers of an UltraServer, as a worker takes them: TARGET_SERVERS_MAX of checks/step/target.h */
#define SCAN_CHALLENGE_MAX  128
#define SCAN_SEED_MAX       ((UINT64_C(1) << 53) - 1) /* what every reader of JSON gives back exactly */
#define SCAN_PROGRESS_USEC  UINT64_C(100000)

typedef struct Manager Manager;

typedef enum ScanState {
        SCAN_STARTING, /* not yet answered: nobody knows it */
        SCAN_QUEUED,
        SCAN_RUNNING,
        SCAN_SIGNING,
        SCAN_FINISHED,
        _SCAN_STATE_MAX,
        _SCAN_STATE_INVALID = -EINVAL,
} ScanState;

/* What the caller of StartScan may say. */
typedef struct ScanOptions {
        bool has_seed;
        uint64_t seed;
        char challenge[SCAN_CHALLENGE_MAX + 1]; /* "": none */
        char note[NOTE_TEXT_MAX];               /* "": none */
        double budget_sec;                      /* 0: the plan's */
        bool one_job;                           /* restored: the servers share a worker as they did before */
} ScanOptions;

struct Scan {
        TAILQ_ENTRY(Scan) entry;
        Manager *manager;
        uint64_t id;
        char path[SCAN_PATH_MAX];
        Plan *plan;
        char plan_sha256[EVIDENCE_DIGEST_HEX], limits_sha256[EVIDENCE_DIGEST_HEX];
        ScanOptions options;
        uid_t uid;
        char operator[PARTICULARS_TEXT_MAX]; /* its name; "": it has none here */
        ScanState state;
        Result result;
        uint64_t started_usec, finished_usec; /* CLOCK_REALTIME */
        uint64_t served; /* when a job of it was chosen last, in turns of the scheduler */

        size_t n_selected;
        Selected *selected;
        size_t n_jobs;
        Job **jobs;

        size_t n_records;
        uint64_t *records;

        unsigned progress;
        uint64_t progress_told_usec; /* CLOCK_MONOTONIC */
        sd_event_source *progress_timer;

        sd_bus_message *request; /* StartScan, until it is answered */
        size_t n_starting;       /* run-start records whose outcome is open */
        int start_error;
        bool is_hidden; /* it was refused: only what it began is brought to an end */
        bool is_cancelled;
        struct Past *past; /* of an earlier daemon, and has no plan and jobs any more; NULL: it is ours */
};

/* The name of its plan. */
const char *scan_plan_name(const Scan *scan);

const char *scan_state_to_string(ScanState state); /* of the bus; NULL for SCAN_STARTING */

/*
 * How many whole servers of SELECTED one worker would be given as an UltraServer by their names, where these are more than it has and PLAN tests what lies
 * between them; else 0.
 */
size_t scan_crowd(const Manager *manager, const Plan *plan, const Selected *selected, size_t n, const char **ret_ultraserver);

/* Takes over PLAN and SELECTED on success, and holds REQUEST (may be NULL) until the run-start records are
 * committed. */
int scan_new(Manager *manager, uid_t uid, Plan *plan, Selected *selected, size_t n_selected,
             const ScanOptions *options, sd_bus_message *request, Scan **ret);
/* Another job, of the N servers SELECTED, for a scan that is not resumed yet. -ENOMEM */
int scan_add_job(Scan *scan, const Selected *selected, size_t n);
Scan *scan_free(Scan *scan);
DEFINE_CLEANUP(Scan *, scan_free);

/* Asks the log for the run-start records; the scan belongs to the manager already. */
void scan_start(Scan *scan);
/* Queues what an earlier daemon began. */
void scan_resume(Scan *scan);
void scan_cancel(Scan *scan);
bool scan_is_finished(const Scan *scan);

/* ---- what its jobs tell it ---- */

/* The run-start record of a server is committed (0) or will never be. */
void scan_job_started(Scan *scan, Job *job, int error);
void scan_job_changed(Scan *scan, Job *job);
void scan_job_progressed(Scan *scan);
int scan_add_record(Scan *scan, const RecordEntry *entry);
/* The log has not taken the records of one of its servers. */
void scan_job_refused(Scan *scan);

/* ---- scan-bus.c ---- */

int scan_bus_attach(Manager *manager, sd_bus *bus);
void scan_bus_finding(Scan *scan, const Finding *finding);
void scan_bus_changed(Scan *scan, const char *property, ...) __attribute__((sentinel));
void scan_bus_answer(Scan *scan);
