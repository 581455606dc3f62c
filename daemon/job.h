/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Job
 *
 * What one worker does of a scan: a server or, where the plan tests what lies between the servers of an UltraServer, those of them
 * that were asked for as a whole. It begins with a run-start record per server and ends with their
 * records:
 *
 *     starting → queued → running → signing → finished
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <systemd/sd-event.h>

#include "checks/stream/stream.h"
#include "daemon/evidence.h"
#include "daemon/record/record.h"
#include "daemon/tally.h"
#include "daemon/target.h"
#include "daemon/worker-connection.h"

#define JOB_SERVERS_MAX 8
#define RUN_ID_BYTES    37 /* with the final zero */

typedef struct Scan Scan;

typedef enum JobState {
        JOB_STARTING,
        JOB_QUEUED,
        JOB_RUNNING,
        JOB_SIGNING,
        JOB_FINISHED,
        _JOB_STATE_MAX,
        _JOB_STATE_INVALID = -EINVAL,
} JobState;

typedef struct JobServer {
        Target *target;
        uint32_t chips;
        char run[RUN_ID_BYTES];
        uint64_t ticket; /* of what the log was asked for last; 0: nothing */
        bool is_started; /* the run-start record is committed */
        bool is_settled; /* its records are committed, or never will be */
        bool is_unrecorded; /* the log has not taken its records, which were offered to it by us or an earlier daemon */
        int refusal;        /* why, -errno; 0: nobody knows any more */
        Result result;
} JobServer;

/* The file of a job says this beside what was asked for, see job-file.h. */
typedef struct JobSeal {
        char content[EVIDENCE_DIGEST_HEX]; /* SHA-256 of what was asked for, as it stands there; "": no file was written */
        bool is_due;                       /* the log has refused its records */
} JobSeal;

struct Job {
        Scan *scan;
        JobState state;
        size_t n_servers;
        JobServer servers[JOB_SERVERS_MAX];
        uint64_t seed;
        uint64_t started_usec; /* CLOCK_REALTIME */
        bool is_announced;  /* its stream has a testRunStart */

        Tally *tally;
        EvidenceFile *evidence;
        EvidenceMark found; /* how far the evidence of an earlier daemon goes */
        JobSeal seal;
        bool is_cut; /* the evidence has not all that was said: nothing may follow */
        StreamReader *reader;
        const char *wrong; /* what the tally did not like */
        WorkerConnection *worker;
        sd_event_source *timer;
        uint64_t deadline_usec; /* CLOCK_MONOTONIC */
        uint64_t heard_usec;
        uint64_t sequence; /* of the next line */
        uint64_t n_bytes;  /* of all its workers */
        unsigned n_lost;   /* workers */
};

int job_new(Scan *scan, const Selected *selected, size_t n_selected, Job **ret);
Job *job_free(Job *job);
DEFINE_CLEANUP(Job *, job_free);

/* Queues the run-start records; the outcomes come through job_take_outcome(). */
int job_start(Job *job);
/* Takes what the evidence of an earlier daemon says; where that is all, the job is signed, else it stays
 * queued. */
void job_resume(Job *job);
/* What became of what was asked of the log under TICKET. False: not ours. */
bool job_take_outcome(Job *job, const RecordOutcome *outcome);
/* The scan was refused: ends what was begun with records that say so. */
void job_abandon(Job *job);
/* From queued to running; what goes wrong is the result. */
void job_run(Job *job);
/* Ends it early; what was not tested is `cancelled`. */
void job_cancel(Job *job);
/* From queued or running to signing. */
void job_sign(Job *job);
/* Offers the log again what it, or we, had no room for. */
void job_sign_again(Job *job);
