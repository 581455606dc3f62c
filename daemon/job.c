/* SPDX-License-Identifier: Apache-2.0 */

/* Job: see job.h. Its beginning and its end; job-stream.c has what lies between. */

#include <stdio.h>
#include <string.h>
#include <sys/param.h>
#include <sys/random.h>

#include "daemon/clock.h"
#include "daemon/earlier.h"
#include "daemon/job-file.h"
#include "daemon/job.h"
#include "daemon/journal.h"
#include "daemon/manager.h"
#include "daemon/names.h"

#define SIGN_AGAIN_USEC 1000000

/* RFC 9562, section 5.7: 48 bits of milliseconds, version, variant, the rest random. */
static int run_id(uint64_t now_usec, char ret[static RUN_ID_BYTES]) {
        uint64_t milliseconds = now_usec / 1000;
        uint8_t bytes[16];

        if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t) sizeof(bytes))
                return -EIO;

        for (unsigned i = 0; i < 6; i++)
                bytes[i] = (uint8_t) (milliseconds >> (40 - 8 * i));
        bytes[6] = (uint8_t) (0x70 | (bytes[6] & 0x0f));
        bytes[8] = (uint8_t) (0x80 | (bytes[8] & 0x3f));

        for (unsigned i = 0, at = 0; i < sizeof(bytes); i++) {
                if (i == 4 || i == 6 || i == 8 || i == 10)
                        ret[at++] = '-';
                (void) snprintf(ret + at, 3, "%02x", bytes[i]);
                at += 2;
        }

        return 0;
}

int job_new(Scan *scan, const Selected *selected, size_t n_selected, Job **ret) {
        _cleanup_(job_freep) Job *job = NULL;
        int r;

        job = calloc(1, sizeof(*job));
        if (!job)
                return -ENOMEM;

        job->scan = scan;
        job->seed = scan->options.seed;
        job->started_usec = scan->started_usec;
        job->n_servers = n_selected;
        for (size_t i = 0; i < n_selected; i++) {
                job->servers[i].target = selected[i].target;
                job->servers[i].chips = selected[i].chips;
                job->servers[i].result = RESULT_INCONCLUSIVE;
                r = run_id(scan->started_usec, job->servers[i].run);
                if (r < 0)
                        return r;
        }

        r = tally_new(scan->plan, selected, n_selected, &job->tally);
        if (r < 0)
                return r;

        *ret = TAKE_PTR(job);
        return 0;
}

static void release(Target *target, const Job *job) {
        if (target->job == job)
                target->job = NULL;
}

Job *job_free(Job *job) {
        if (!job)
                return NULL;

        for (size_t i = 0; i < job->n_servers; i++) {
                release(job->servers[i].target, job);
                if (job->state == JOB_QUEUED)
                        job->servers[i].target->n_waiting--;
        }
        if (job->state == JOB_RUNNING)
                job->scan->manager->n_running--;

        sd_event_source_disable_unref(job->timer);
        worker_connection_free(job->worker);
        stream_reader_free(job->reader);
        evidence_free(job->evidence);
        tally_free(job->tally);
        free(job);
        return NULL;
}

/* The facts of all records of one server. digest: of the evidence, or "". */
static void job_record_run(const Job *job, const JobServer *server, const char *digest, RecordRun *ret) {
        Manager *manager = job->scan->manager;

        *ret = (RecordRun) {
                .id = server->run,
                .stage = job->scan->plan->stage,
                .challenge = job->scan->options.challenge[0] ? job->scan->options.challenge : NULL,
                .started_usec = job->started_usec,
                .finished_usec = MAX(clock_usec(CLOCK_REALTIME), job->started_usec), /* the clock may have been set back */
                .seed = job->seed,
                .plan = job->scan->plan->name,
                .plan_sha256 = job->scan->plan_sha256,
                .limits_sha256 = job->scan->limits_sha256,
                .worker_sha256 = program_sha256(&manager->worker_program, manager->worker.run_path),
                .note = job->scan->options.note[0] ? job->scan->options.note : NULL,
                .operator = job->scan->operator[0] ? job->scan->operator : NULL,
                .has_operator = true,
                .operator_uid = job->scan->uid,
        };
        for (size_t i = 0; i < job->n_servers && i < RECORD_RUN_SERVERS_MAX; i++)
                ret->servers[ret->n_servers++] = job->servers[i].target->config->name;
        if (digest[0] && job->evidence) {
                ret->evidence_name = evidence_name(job->evidence);
                ret->evidence_sha256 = digest;
                ret->evidence_bytes = evidence_size(job->evidence);
        }
}

int job_start(Job *job) {
        Manager *manager = job->scan->manager;
        int r;

        r = job_file_write(job);
        if (r < 0)
                return r;

        for (size_t i = 0; i < job->n_servers; i++) {
                JobServer *server = &job->servers[i];
                RecordSubject subject;
                RecordRun run;

                tally_subject(job->tally, i, &subject);
                job_record_run(job, server, "", &run);
                run.chips = server->chips == TARGET_CHIPS_ALL ? 0 : server->chips;
                server->ticket = manager_next_ticket(manager);
                r = record_log_start(manager->log, &run, &subject, server->ticket);
                if (r < 0) {
                        server->ticket = 0;
                        return r;
                }
        }

        return 0;
}

/* What is signed needs no second try. Else both files stay as they are, for the next daemon. */
static void conclude_files(Job *job) {
        job_file_remove(job);
        if (job->evidence &&
            evidence_packer_add(job->scan->manager->packer, evidence_name(job->evidence)) < 0)
                log_debug("No memory to pack evidence %s, ignoring", evidence_name(job->evidence));
}

/* Whether the log has not taken the records of a server. */
static bool job_is_unrecorded(const Job *job) {
        for (size_t i = 0; i < job->n_servers; i++)
                if (job->servers[i].is_unrecorded)
                        return true;
        return false;
}

/* ERROR: the log's. What is known of its server from before is no answer any more; and of a restart, the next daemon's neither. */
static void refuse(Job *job, JobServer *server, int error) {
        log_error_errno(error, "Failed to commit the records of %s: %m", server->target->config->name);
        server->is_unrecorded = true;
        server->refusal = error;
        job_file_mark(job);
        scan_job_refused(job->scan);
}

/* Nothing more will be written about SERVER. */
static void settle(Job *job, JobServer *server, Result result) {
        server->is_settled = true;
        server->result = result;
        release(server->target, job);

        for (size_t i = 0; i < job->n_servers; i++)
                if (!job->servers[i].is_settled)
                        return;

        /* Those too that an earlier daemon had settled: the ring was driven through them. */
        for (size_t i = 0; i < job->n_servers; i++)
                release(job->servers[i].target, job);

        job->state = JOB_FINISHED;
        if (!job_is_unrecorded(job))
                conclude_files(job);
        job->evidence = evidence_free(job->evidence);
        job->tally = tally_free(job->tally);
        scan_job_changed(job->scan, job);
}

/* *ret_why (malloc'd): of what contradicts itself, how. */
static int sign_tally(Job *job, JobServer *server, const Tally *tally, size_t index, const char *digest, char **ret_why) {
        Manager *manager = job->scan->manager;
        RecordScan scan;
        RecordRun run;
        int r;

        job_record_run(job, server, digest, &run);
        r = tally_record(tally, index, &run, &scan);
        if (r < 0)
                return r;
        for (size_t c = 0; c < scan.n_chips; c++)
                earlier_read(manager->log, (RecordHealth *) &scan.chips[c]); /* memory of tally_record() */

        server->ticket = manager_next_ticket(manager);
        server->result = tally_asked(&scan);
        r = record_log_scan_kept(manager->log, &scan, server->ticket);
        if (r < 0)
                server->ticket = 0;
        if (r == -EINVAL)
                (void) record_scan_check(&scan, ret_why);

        tally_record_done(&scan);
        return r;
}

/* What the worker said fits no record. That it said so is evidence; the record says that nothing was judged.
 */
static int sign_nothing(Job *job, JobServer *server, const char *digest, int error, const char *why) {
        const Selected selected = { server->target, server->chips };
        _cleanup_(tally_freep) Tally *tally = NULL;
        _cleanup_free_ char *again = NULL;
        int r;

        log_error("What was found on %s fits no record: %s", server->target->config->name, why ?: strerror(-error));
        r = tally_new(job->scan->plan, &selected, 1, &tally);
        if (r < 0)
                return r;

        tally_close(tally, error == -E2BIG ? REASON_RESOURCE : REASON_PROTOCOL,
                    "what was found fits no record");
        return sign_tally(job, server, tally, 0, digest, &again);
}

static int sign_server(Job *job, size_t index, const char *digest) {
        JobServer *server = &job->servers[index];
        _cleanup_free_ char *why = NULL;
        int r;

        r = sign_tally(job, server, job->tally, index, digest, &why);
        if (r == -EINVAL || r == -E2BIG)
                r = sign_nothing(job, server, digest, r, why);

        return r;
}

static int on_sign_again(sd_event_source *source, uint64_t usec, void *userdata) {
        job_sign_again(userdata);
        return 0;
}

/* Where there is not even memory for that, whatever else the log is asked for brings it about. */
static void sign_later(Job *job) {
        if (!job->timer)
                (void) sd_event_add_time_relative(job->scan->manager->event, &job->timer, CLOCK_MONOTONIC, SIGN_AGAIN_USEC, 0, on_sign_again, job);
        else if (sd_event_source_set_time_relative(job->timer, SIGN_AGAIN_USEC) >= 0)
                (void) sd_event_source_set_enabled(job->timer, SD_EVENT_ONESHOT);
}

void job_sign_again(Job *job) {
        char digest[EVIDENCE_DIGEST_HEX] = "";
        int r;

        if (job->evidence && evidence_digest(job->evidence, digest) < 0)
                digest[0] = '\0';

        for (size_t i = 0; i < job->n_servers && job->state == JOB_SIGNING; i++) {
                JobServer *server = &job->servers[i];

                if (server->ticket != 0 || server->is_settled)
                        continue;
                r = sign_server(job, i, digest);
                if (r == -EAGAIN)
                        return; /* when the log has room again */
                if (r < 0 && server->refusal != r)
                        refuse(job, server, r);
                if (r == -ENOMEM) {
                        sign_later(job);
                        return;
                }
                if (r < 0)
                        settle(job, server, RESULT_INCONCLUSIVE);
        }
}

void job_sign(Job *job) {
        /* A server that nobody scans is taken until its records are committed, so that they come before those of a scan that waits. */
        for (size_t i = 0; i < job->n_servers && job->state == JOB_QUEUED; i++) {
                job->servers[i].target->n_waiting--;
                if (!job->servers[i].target->job && !job->servers[i].is_settled)
                        job->servers[i].target->job = job;
        }
        if (job->state == JOB_RUNNING)
                job->scan->manager->n_running--;

        job->timer = sd_event_source_disable_unref(job->timer);
        job->worker = worker_connection_free(job->worker);
        job->reader = stream_reader_free(job->reader);
        job->state = JOB_SIGNING;
        scan_job_changed(job->scan, job);
        job_sign_again(job);
        manager_schedule(job->scan->manager);
}

void job_abandon(Job *job) {
        for (size_t i = 0; i < job->n_servers; i++)
                if (!job->servers[i].is_started)
                        settle(job, &job->servers[i], RESULT_INCONCLUSIVE);
        if (job->state == JOB_FINISHED)
                return;

        tally_close(job->tally, REASON_RESOURCE,
                    "the run-start record of another server could not be written");
        job_sign(job);
}

static void take_start(Job *job, JobServer *server, int error) {
        server->is_started = error == 0;
        scan_job_started(job->scan, job, error);
}

static void take_end(Job *job, JobServer *server, const RecordOutcome *outcome) {
        if (outcome->error < 0)
                refuse(job, server, outcome->error);
        else if (server->is_unrecorded) {
                log_info("The records of %s are committed now", server->target->config->name);
                server->is_unrecorded = false;
        }

        if (!outcome->is_kept)
                settle(job, server, outcome->error < 0 ? RESULT_INCONCLUSIVE : server->result);
}

bool job_take_outcome(Job *job, const RecordOutcome *outcome) {
        for (size_t i = 0; i < job->n_servers; i++) {
                JobServer *server = &job->servers[i];

                if (server->ticket != outcome->ticket)
                        continue;

                if (!outcome->is_kept)
                        server->ticket = 0;
                for (size_t e = 0; e < outcome->n_entries; e++)
                        if (scan_add_record(job->scan, &outcome->entries[e]) < 0)
                                log_debug("No memory for the list of records of a scan, ignoring");

                if (job->state == JOB_STARTING)
                        take_start(job, server, outcome->error);
                else
                        take_end(job, server, outcome);
                return true;
        }

        return false;
}
