/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Job: see job.h. Its worker: what it is told, what it says, and what happens when it is lost.
 *
 * Everything a worker sends is bounded: its lines by the reader, its bytes in total, its silence and its
 * time by one timer. The bytes of whole lines that were understood go into the evidence and nothing else
 * does; the steps that a lost worker had open are ended there by us, and a fresh worker goes on after them.
 */

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "daemon/clock.h"
#include "daemon/job-file.h"
#include "daemon/job.h"
#include "daemon/journal.h"
#include "daemon/manager.h"

#define LOST_MESSAGE_MAX 256

static void job_connect(Job *job);

/* ---- what a worker is told ---- */

static void name_done(const char *step_id, void *userdata) {
        (void) json_array_append_new(userdata, json_string(step_id));
}

/* "sim:SOCKET#us0-0,us0-1" or "sim:SOCKET#us0-1/chip3,us0-1/chip5". */
static char *describe_device(const Job *job) {
        char *text = NULL;
        size_t n = 0;
        FILE *stream = open_memstream(&text, &n);
        char before = '#';

        if (!stream)
                return NULL;

        fputs(job->servers[0].target->config->device, stream);
        for (size_t i = 0; i < job->n_servers; i++) {
                const char *name = job->servers[i].target->config->name;
                uint32_t chips = job->servers[i].chips;

                for (unsigned c = 0; c < TARGET_CHIPS && chips != TARGET_CHIPS_ALL; c++)
                        if ((chips >> c) & 1) {
                                fprintf(stream, "%c%s/chip%u", before, name, c);
                                before = ',';
                        }
                if (chips == TARGET_CHIPS_ALL) {
                        fprintf(stream, "%c%s", before, name);
                        before = ',';
                }
        }

        if (fclose(stream) != 0) {
                free(text);
                return NULL;
        }
        return text;
}

/* What the topology file says of the job's servers; NULL: there is no file, or no memory. */
static char *describe_topology(const Job *job) {
        const Topology *topology = job->scan->manager->config->topology;
        const char *names[JOB_SERVERS_MAX];

        for (size_t i = 0; i < job->n_servers; i++)
                names[i] = job->servers[i].target->config->name;
        return topology ? topology_text(topology, names, job->n_servers) : NULL;
}

/* One line of JSON and the bytes of the plan. */
static int make_header(const Job *job, char **ret, size_t *ret_n) {
        _cleanup_free_ char *device = describe_device(job), *topology = describe_topology(job), *line = NULL;
        const Scan *scan = job->scan;
        json_t *done = json_array(), *rotations = tally_rotations(job->tally, clock_usec(CLOCK_REALTIME)), *header;
        char *whole;
        size_t n;

        tally_done_steps(job->tally, name_done, done);
        header = json_pack("{s:s?, s:s*, s:s+, s:I, s:I, s:f, s:f, s:I, s:o, s:o}",
                           "device", device,
                           "topology", topology,
                           "plan_file", scan->plan->name, ".yaml",
                           "plan_bytes", (json_int_t) scan->plan->n_text,
                           "seed", (json_int_t) job->seed,
                           "deadline_scale", scan->manager->config->limits.deadline_scale,
                           "budget_sec", scan->options.budget_sec, /* 0: the plan's */
                           "first_sequence", (json_int_t) job->sequence,
                           "rotations", rotations,
                           "done", done);
        line = header ? json_dumps(header, JSON_COMPACT) : NULL;
        json_decref(header);
        if (!line || !device || (scan->manager->config->topology && !topology))
                return -ENOMEM;

        n = strlen(line);
        whole = malloc(n + 1 + scan->plan->n_text);
        if (!whole)
                return -ENOMEM;

        memcpy(whole, line, n);
        whole[n] = '\n';
        memcpy(whole + n + 1, scan->plan->text, scan->plan->n_text);
        *ret = whole;
        *ret_n = n + 1 + scan->plan->n_text;
        return 0;
}

/* ---- what we say in its place ---- */

/* Numbers LINES (freed) and puts them into the evidence. What cannot be written is missing there and nowhere
 * else. */
static void say(Job *job, char *lines) {
        char *rest = lines, *line;

        while (job->evidence && !job->is_cut && rest && (line = strsep(&rest, "\n")) && line[0]) {
                _cleanup_free_ char *ended = NULL, *numbered = NULL;

                if (asprintf(&ended, "%s\n", line) < 0)
                        break;
                numbered = stream_number(ended, job->sequence);
                job->is_cut = !numbered || evidence_append(job->evidence, numbered, strlen(numbered)) < 0;
                if (job->is_cut)
                        break;
                job->sequence++;
        }
        job_file_seal(job);

        free(lines);
}

typedef struct Closing {
        Job *job;
        StepEnd end;
} Closing;

static void close_step(const char *step_id, bool required, void *userdata) {
        Closing *closing = userdata;

        closing->end.required = required;
        say(closing->job, stream_step_end(step_id, &closing->end));
}

/* ---- how it ends ---- */

static void job_conclude(Job *job, Reason reason, const char *message) {
        tally_close(job->tally, reason, message);
        if (!tally_has_ended(job->tally) && job->sequence > 0)
                say(job, stream_run_end(RESULT_INCONCLUSIVE));

        job_sign(job);
}

/* A worker that was lost before it named what it tests has left nothing to go on from. */
static void begin_again(Job *job) {
        job->sequence = 0;
        if (!job->evidence)
                return;
        if (evidence_clear(job->evidence) < 0)
                log_debug("Failed to clear evidence %s, ignoring", evidence_name(job->evidence));
        job_file_seal(job);
}

/* No more comes from this reader. A finding may still wait for its evidence: here it is taken. */
static void end_stream(Job *job) {
        if (!job->reader)
                return;

        (void) stream_reader_end(job->reader);
        job->sequence = stream_reader_sequence(job->reader);
        job->reader = stream_reader_free(job->reader);
}

/* The steps that are open end here, and in the evidence too. */
static void lose_steps(Job *job, Reason reason, const char *message) {
        Closing closing = {
                .job = job,
                .end = {
                        .verdict = VERDICT_ERROR,
                        .reason = reason,
                        .message = message,
                        .seed = job->seed,
                        .runs = 1,
                },
        };

        tally_lose(job->tally, reason, message, close_step, &closing);
}

/* Whether another worker is worth it. */
static bool may_go_on(Job *job, Reason reason) {
        return reason != REASON_CANCELLED && reason != REASON_RESOURCE &&
               clock_usec(CLOCK_MONOTONIC) < job->deadline_usec && job->n_bytes < STREAM_BYTES_MAX &&
               job->n_lost++ < job->scan->manager->config->limits.reconnects;
}

/* The worker is gone or given up. Its open steps are lost; a fresh one goes on after them, a few times. */
static void job_lose(Job *job, Reason reason, const char *message) {
        job->worker = worker_connection_free(job->worker);
        end_stream(job);
        if (!job->is_announced)
                begin_again(job);
        if (tally_has_ended(job->tally)) {
                job_conclude(job, REASON_PROTOCOL, "the worker ended without a word on this step");
                return;
        }

        if (reason != REASON_CANCELLED)
                log_warning("Worker of scan %" PRIu64 " on %s is lost: %s", job->scan->id,
                            job->servers[0].target->config->name, message);
        lose_steps(job, reason, message);
        if (may_go_on(job, reason))
                job_connect(job);
        else
                job_conclude(job, reason, message);
}

void job_cancel(Job *job) {
        switch (job->state) {
        case JOB_QUEUED:
                tally_close(job->tally, REASON_CANCELLED, "cancelled before it began");
                job_sign(job);
                return;
        case JOB_RUNNING:
                job_lose(job, REASON_CANCELLED, "cancelled");
                return;
        case JOB_STARTING:
        case JOB_SIGNING:
        case JOB_FINISHED:
        case _JOB_STATE_MAX:
        case _JOB_STATE_INVALID:
                return;
        }
}

/* ---- what it says ---- */

static int on_event(const Event *event, void *userdata) {
        const char *wrong = NULL;
        Job *job = userdata;
        int r;

        r = tally_event(job->tally, event, &wrong);
        if (r < 0) {
                job->wrong = wrong;
                return r;
        }

        if (event->type == EVENT_RUN_START)
                job->is_announced = true;
        if (event->type == EVENT_FINDING)
                scan_bus_finding(job->scan, &event->finding);
        if (event->type == EVENT_STEP_END || event->type == EVENT_PART_DONE)
                scan_job_progressed(job->scan);
        return 0;
}

/* Feeds whole lines. Returns how many bytes were good; *ret_error says what stopped it. */
static size_t feed_lines(Job *job, const char *bytes, size_t n, int *ret_error) {
        size_t start = 0;

        for (;;) {
                const char *end = memchr(bytes + start, '\n', n - start);
                size_t n_line;

                *ret_error = 0;
                if (!end) {
                        if (n - start >= STREAM_LINE_MAX)
                                *ret_error = -EMSGSIZE;
                        return start;
                }

                n_line = (size_t) (end - bytes) + 1 - start;
                *ret_error = stream_reader_feed(job->reader, bytes + start, n_line);
                if (*ret_error < 0)
                        return start;
                start += n_line;
        }
}

static ssize_t on_bytes(const char *bytes, size_t n, void *userdata) {
        Job *job = userdata;
        size_t good;
        int r, error;

        job->heard_usec = clock_usec(CLOCK_MONOTONIC);
        good = feed_lines(job, bytes, n, &error);
        r = evidence_append(job->evidence, bytes, good);
        if (good > 0)
                job_file_seal(job);
        job->n_bytes += good;
        job->is_cut = job->is_cut || r < 0;
        if (r < 0)
                return r;
        if (error < 0)
                return error;
        if (job->n_bytes >= STREAM_BYTES_MAX)
                return -EFBIG;

        return (ssize_t) good;
}

static void on_gone(int error, void *userdata) {
        Job *job = userdata;
        char message[LOST_MESSAGE_MAX];

        switch (-error) {
        case 0:
                job_lose(job, REASON_WORKER_CRASHED, "the worker ended before its stream did");
                break;
        case EPROTO:
                (void) snprintf(message, sizeof(message), "the worker broke the protocol: %s",
                                job->wrong ? job->wrong : stream_reader_error(job->reader));
                job->wrong = NULL;
                job_lose(job, REASON_PROTOCOL, message);
                break;
        case EMSGSIZE:
                job_lose(job, REASON_PROTOCOL, "the worker sent a line that does not end");
                break;
        case EFBIG:
                job_lose(job, REASON_PROTOCOL, "the worker sent more than a stream may have");
                break;
        default:
                (void) snprintf(message, sizeof(message), "what the worker said could not be kept: %s",
                                strerror(-error));
                job_lose(job, REASON_RESOURCE, message);
        }
}

/* ---- its life ---- */

static uint64_t scaled_usec(const Job *job, double sec) {
        return (uint64_t) (sec * 1e6 * job->scan->manager->config->limits.deadline_scale);
}

static uint64_t silence_until(const Job *job) {
        return job->heard_usec + scaled_usec(job, job->scan->manager->config->limits.silence_sec);
}

static uint64_t earlier(uint64_t a, uint64_t b) {
        return a < b ? a : b;
}

static int on_timer(sd_event_source *source, uint64_t usec, void *userdata) {
        Job *job = userdata;
        uint64_t now = clock_usec(CLOCK_MONOTONIC);

        if (now >= job->deadline_usec)
                job_lose(job, REASON_WORKER_TIMEOUT, "the worker took longer than the plan's deadline");
        else if (now >= silence_until(job))
                job_lose(job, REASON_WORKER_TIMEOUT, "the worker fell silent");

        if (job->state != JOB_RUNNING)
                return 0;

        (void) sd_event_source_set_time(source, earlier(job->deadline_usec, silence_until(job)));
        return sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

static int connect_worker(Job *job) {
        _cleanup_free_ char *header = NULL;
        Manager *manager = job->scan->manager;
        size_t n;
        int r;

        r = make_header(job, &header, &n);
        if (r < 0)
                return r;
        r = stream_reader_new(true, job->sequence, on_event, job, &job->reader);
        if (r < 0)
                return r;

        job->heard_usec = clock_usec(CLOCK_MONOTONIC);
        return worker_connection_new(manager->event, &manager->worker, header, n, on_bytes, on_gone, job,
                                     &job->worker);
}

static void job_connect(Job *job) {
        char message[LOST_MESSAGE_MAX];
        int r;

        r = connect_worker(job);
        if (r >= 0)
                return;

        (void) snprintf(message, sizeof(message), "the worker could not be started: %s", strerror(-r));
        log_error("Scan %" PRIu64 " on %s: %s", job->scan->id, job->servers[0].target->config->name,
                  message);
        job->reader = stream_reader_free(job->reader);
        job_conclude(job, REASON_RESOURCE, message);
}

static int on_old_bytes(const char *bytes, size_t n, void *userdata) {
        Job *job = userdata;

        job->n_bytes += n;
        return stream_reader_feed(job->reader, bytes, n);
}

static int new_tally(const Job *job, Tally **ret) {
        Selected selected[JOB_SERVERS_MAX];

        for (size_t i = 0; i < job->n_servers; i++)
                selected[i] = (Selected) { job->servers[i].target, job->servers[i].chips };
        return tally_new(job->scan->plan, selected, job->n_servers, ret);
}

/* An earlier daemon understood its evidence line by line; where these lines are understood no more, or are others, nothing is built on them. */
static int read_evidence(Job *job) {
        _cleanup_(tally_freep) Tally *unread = NULL;
        int r;

        r = new_tally(job, &unread);
        if (r >= 0)
                r = stream_reader_new(true, 0, on_event, job, &job->reader);
        if (r < 0)
                return r;

        tally_read_rotations(unread, job->scan->manager->log);
        r = evidence_reopen(job->scan->manager->config->evidence, job->servers[0].run, &job->found, on_old_bytes, job,
                            &job->evidence);
        if (r < 0) {
                tally_free(job->tally);
                job->tally = TAKE_PTR(unread);
        }
        return r;
}

/* It had ended, and what it found was not recorded before the daemon did. */
static void conclude_late(Job *job, const char *message) {
        for (size_t i = 0; i < job->n_servers; i++)
                job->servers[i].is_unrecorded = !job->servers[i].is_settled;
        job_conclude(job, REASON_PROTOCOL, message);
}

void job_resume(Job *job) {
        static const char message[] = "the daemon ended while the step was open";
        int r;

        tally_read_rotations(job->tally, job->scan->manager->log);
        r = read_evidence(job);
        if (r == -ENOENT) {
                job->reader = stream_reader_free(job->reader);
                return; /* its worker had not begun */
        }
        if (r < 0) {
                log_warning_errno(r, "Failed to read what was found on %s so far: %m",
                                  job->servers[0].target->config->name);
                conclude_late(job, "what was found before the daemon ended cannot be read");
                return;
        }

        end_stream(job);
        if (!job->is_announced)
                begin_again(job);
        else if (tally_has_ended(job->tally))
                conclude_late(job, "the worker ended without a word on this step");
        else
                lose_steps(job, REASON_WORKER_CRASHED, message);
}

static int prepare(Job *job) {
        Manager *manager = job->scan->manager;
        uint64_t steps_usec = scaled_usec(job, manager->config->limits.step_sec);
        int r;

        job->heard_usec = clock_usec(CLOCK_MONOTONIC);
        job->deadline_usec = job->heard_usec + steps_usec * (job->scan->plan->n_steps + 1);
        if (!job->evidence) {
                r = evidence_create(manager->config->evidence, job->servers[0].run, &job->evidence);
                if (r < 0)
                        return r;
        }

        return sd_event_add_time(manager->event, &job->timer, CLOCK_MONOTONIC,
                                 earlier(job->deadline_usec, silence_until(job)), 0, on_timer, job);
}

void job_run(Job *job) {
        char message[LOST_MESSAGE_MAX];
        int r;

        for (size_t i = 0; i < job->n_servers; i++) {
                job->servers[i].target->job = job;
                job->servers[i].target->n_waiting--;
        }
        job->state = JOB_RUNNING;
        job->scan->manager->n_running++;
        scan_job_changed(job->scan, job);

        tally_read_rotations(job->tally, job->scan->manager->log);
        r = prepare(job);
        if (r < 0) {
                (void) snprintf(message, sizeof(message), "the scan could not be prepared: %s",
                                strerror(-r));
                log_error("Scan %" PRIu64 " on %s: %s", job->scan->id, job->servers[0].target->config->name,
                          message);
                job_conclude(job, REASON_RESOURCE, message);
                return;
        }

        job_connect(job);
}
