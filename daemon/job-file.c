/* SPDX-License-Identifier: Apache-2.0 */

/* JobFile: see job-file.h. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <openssl/crypto.h>
#include <stdio.h>
#include <string.h>
#include <sys/param.h>

#include "checks/text/whole-file.h"
#include "daemon/job-file.h"
#include "daemon/journal.h"
#include "daemon/manager.h"

#define FILE_BYTES_MAX (1u << 20)
#define SEAL_OPEN      "{\"seal\":\""
#define SEAL_CLOSE     "\","
#define SEAL_AT        (sizeof(SEAL_OPEN) - 1)
#define MARK_BYTES     (20 + 1 + EVIDENCE_DIGEST_HEX - 1) /* "00000000000000001024 <sha256>" */
#define SEAL_BYTES     (MARK_BYTES + 1 + RECORD_ID_HEX - 1)
#define SEAL_END       (SEAL_AT + SEAL_BYTES + sizeof(SEAL_CLOSE) - 1)

/* ---- the seal: MARK, and what only this log's assayd can say of it ---- */

static int seal_print(const RecordLog *log, const char *run, const JobSeal *seal, const EvidenceMark *mark, char ret[static SEAL_BYTES + 1]) {
        char text[MARK_BYTES + 1], mac[RECORD_ID_HEX], *said = NULL;
        int n, r;

        (void) snprintf(text, sizeof(text), "%020" PRIu64 " %s", mark->bytes, mark->sha256);
        n = asprintf(&said, "%s\n%s\n%s\n%s\n", run, seal->is_due ? "due" : "begun", seal->content, text);
        if (n < 0)
                return -ENOMEM;
        r = record_log_mac(log, said, (size_t) n, mac);
        free(said);
        if (r >= 0)
                (void) snprintf(ret, SEAL_BYTES + 1, "%s %s", text, mac);
        return r;
}

/* Of TEXT, which is that of the job file of RUN; whether the log had refused it, the seal alone says. */
static int seal_read(const RecordLog *log, const char *run, const char *text, size_t n, EvidenceMark *ret_mark, JobSeal *ret) {
        char expected[SEAL_BYTES + 1];
        int r;

        if (n <= SEAL_END || strncmp(text, SEAL_OPEN, SEAL_AT) != 0 ||
            sscanf(text + SEAL_AT, "%20" SCNu64 " %64[0-9a-f] ", &ret_mark->bytes, ret_mark->sha256) != 2)
                return -EBADMSG;
        r = record_digest(text + SEAL_END, n - SEAL_END, ret->content);
        for (int due = 0; due <= 1 && r >= 0; due++) {
                ret->is_due = due;
                r = seal_print(log, run, ret, ret_mark, expected);
                if (r >= 0 && CRYPTO_memcmp(expected, text + SEAL_AT, SEAL_BYTES) == 0)
                        return 0;
        }
        return r < 0 ? r : -EBADMSG;
}

static int file_path(const Job *job, const char *suffix, char ret[static PATH_MAX]) {
        int n = snprintf(ret, PATH_MAX, "%s/%s%s", job->scan->manager->config->evidence, job->servers[0].run, suffix);

        return n < PATH_MAX ? 0 : -ENAMETOOLONG;
}

static json_t *describe(const Job *job) {
        const Scan *scan = job->scan;
        json_t *servers = json_array();

        for (size_t i = 0; i < job->n_servers; i++)
                (void) json_array_append_new(servers, json_pack("{s:s, s:s, s:I}", "name",
                                                                job->servers[i].target->config->name, "run",
                                                                job->servers[i].run, "chips",
                                                                (json_int_t) job->servers[i].chips));

        return json_pack("{s:I, s:I, s:I, s:s, s:s, s:f, s:s, s:s%, s:o}",
                         "uid", (json_int_t) scan->uid,
                         "started_usec", (json_int_t) scan->started_usec,
                         "seed", (json_int_t) scan->options.seed,
                         "challenge", scan->options.challenge,
                         "note", scan->options.note,
                         "budget_sec", scan->options.budget_sec,
                         "plan", scan->plan->name,
                         "plan_text", scan->plan->text, scan->plan->n_text,
                         "servers", servers);
}

/* CONTENT and, before it, the seal of a job that has found nothing yet. Without a secret nobody will believe it, which costs a scan that is interrupted. */
static int print_file(Job *job, json_t *content, char **ret) {
        _cleanup_free_ char *text = json_dumps(content, JSON_COMPACT), *all = NULL;
        char sealed[SEAL_BYTES + 1];
        int r;

        if (!text)
                return -ENOMEM;
        r = record_digest(text + 1, strlen(text + 1), job->seal.content);
        if (r >= 0)
                r = record_digest("", 0, job->found.sha256);
        if (r < 0)
                return r;
        if (seal_print(job->scan->manager->log, job->servers[0].run, &job->seal, &job->found, sealed) < 0)
                (void) snprintf(sealed, sizeof(sealed), "%0*d", (int) SEAL_BYTES, 0);
        if (asprintf(&all, SEAL_OPEN "%s" SEAL_CLOSE "%s", sealed, text + 1) < 0)
                return -ENOMEM;
        *ret = TAKE_PTR(all);
        return 0;
}

int job_file_write(Job *job) {
        _cleanup_free_ char *text = NULL;
        char path[PATH_MAX];
        json_t *content;
        int r;

        r = file_path(job, JOB_FILE_SUFFIX, path);
        if (r < 0)
                return r;
        content = describe(job);
        r = print_file(job, content, &text);
        json_decref(content);
        return r < 0 ? r : whole_file_replace(AT_FDCWD, path, 0640, text, strlen(text));
}

static int write_seal(const Job *job, const char *path) {
        _cleanup_close_ int fd = -EBADF;
        char sealed[SEAL_BYTES + 1];
        EvidenceMark mark = job->found;
        int r = 0;

        if (job->evidence)
                r = evidence_mark(job->evidence, &mark);
        if (r >= 0)
                r = seal_print(job->scan->manager->log, job->servers[0].run, &job->seal, &mark, sealed);
        if (r < 0)
                return r;
        fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        return pwrite(fd, sealed, SEAL_BYTES, SEAL_AT) == (ssize_t) SEAL_BYTES ? 0 : -EIO;
}

void job_file_seal(const Job *job) {
        char path[PATH_MAX];
        int r;

        r = file_path(job, job->seal.is_due ? JOB_FILE_UNRECORDED : JOB_FILE_SUFFIX, path);
        if (r >= 0)
                r = write_seal(job, path);
        if (r < 0)
                log_debug("Failed to seal what was found on %s, so after a restart it is tested again: %s", job->servers[0].target->config->name, strerror(-r));
}

void job_file_mark(Job *job) {
        char path[PATH_MAX], marked[PATH_MAX];

        if (job->seal.is_due)
                return;
        job->seal.is_due = true;
        if (file_path(job, JOB_FILE_SUFFIX, path) >= 0 && file_path(job, JOB_FILE_UNRECORDED, marked) >= 0 && rename(path, marked) < 0)
                log_warning("Failed to rename %s, so after a restart what passed before may count until these records are made again: %s", path, strerror(errno));
        job_file_seal(job);
}

void job_file_remove(const Job *job) {
        static const char *const suffixes[] = { JOB_FILE_SUFFIX, JOB_FILE_UNRECORDED };
        char path[PATH_MAX];

        for (size_t i = 0; i < ELEMENTS(suffixes); i++)
                if (file_path(job, suffixes[i], path) >= 0)
                        (void) unlink(path);
}

static int read_servers(const json_t *servers, JobFile *ret) {
        size_t n = json_array_size(servers);

        if (n == 0 || n > JOB_SERVERS_MAX)
                return -EBADMSG;

        for (size_t i = 0; i < n; i++) {
                const char *name, *run;
                json_int_t chips;

                if (json_unpack(json_array_get(servers, i), "{s:s, s:s, s:I}", "name", &name, "run", &run,
                                "chips", &chips) < 0 ||
                    !location_server_name_is_valid(name) || strlen(run) != RUN_ID_BYTES - 1 || chips <= 0 ||
                    chips > (json_int_t) TARGET_CHIPS_ALL)
                        return -EBADMSG;

                (void) snprintf(ret->servers[i].name, sizeof(ret->servers[i].name), "%s", name);
                (void) snprintf(ret->servers[i].run, sizeof(ret->servers[i].run), "%s", run);
                ret->servers[i].chips = (uint32_t) chips;
        }

        ret->n_servers = n;
        return 0;
}

static int read_content(json_t *content, JobFile *ret) {
        _cleanup_free_ char *error = NULL, *name = NULL;
        json_int_t uid, started, seed;
        const char *challenge, *note = "", *plan, *text;
        size_t n_text;
        json_t *servers;
        int r;

        if (json_unpack(content, "{s:I, s:I, s:I, s:s, s?s, s:F, s:s, s:s%, s:o}", "uid", &uid, "started_usec",
                        &started, "seed", &seed, "challenge", &challenge, "note", &note, "budget_sec",
                        &ret->options.budget_sec, "plan", &plan, "plan_text", &text, &n_text, "servers",
                        &servers) < 0 ||
            uid < 0 || uid > UINT32_MAX || started < 0 || seed < 0 || strlen(challenge) > SCAN_CHALLENGE_MAX ||
            (note[0] && !note_text_is_valid(note)))
                return -EBADMSG;

        ret->uid = (uid_t) uid;
        ret->started_usec = (uint64_t) started;
        ret->options.has_seed = true;
        ret->options.seed = (uint64_t) seed;
        (void) snprintf(ret->options.challenge, sizeof(ret->options.challenge), "%s", challenge);
        (void) snprintf(ret->options.note, sizeof(ret->options.note), "%s", note);

        if (asprintf(&name, "%s.yaml", plan) < 0)
                return -ENOMEM;
        r = plan_parse(name, text, n_text, &ret->plan, &error);
        if (r < 0)
                return r == -ENOMEM ? r : -EBADMSG;

        return read_servers(servers, ret);
}

int job_file_read(RecordLog *log, const char *folder, const char *name, JobFile *ret) {
        _cleanup_free_ char *text = NULL;
        char path[PATH_MAX], run[RUN_ID_BYTES];
        json_t *content;
        size_t n;
        int r;

        *ret = (JobFile) {};
        if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int) sizeof(path))
                return -ENAMETOOLONG;
        r = whole_file_read(AT_FDCWD, path, FILE_BYTES_MAX, &text, &n);
        if (r < 0)
                return r == -EFBIG ? -EBADMSG : r;

        (void) snprintf(run, sizeof(run), "%s", name);
        r = seal_read(log, run, text, n, &ret->found, &ret->seal);
        if (r < 0)
                return r;
        content = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
        r = content ? read_content(content, ret) : -EBADMSG;
        json_decref(content);
        if (r < 0)
                job_file_done(ret);
        else if (strcmp(name + MIN(strlen(name), sizeof(run) - 1), JOB_FILE_UNRECORDED) == 0)
                ret->seal.is_due = true; /* the rename comes before the seal that tells it */
        return r;
}

void job_file_forget(const char *folder, const char *name) {
        char path[PATH_MAX];

        if (snprintf(path, sizeof(path), "%s/%s", folder, name) < (int) sizeof(path))
                (void) unlink(path);
}

void job_file_done(JobFile *file) {
        plan_free(file->plan);
        *file = (JobFile) {};
}
