/* SPDX-License-Identifier: Apache-2.0 */

/* JobFile: see job-file.h. */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "checks/whole-file.h"
#include "daemon/job-file.h"
#include "daemon/journal.h"
#include "daemon/manager.h"

#define FILE_BYTES_MAX (1u << 20)

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

int job_file_write(const Job *job) {
        _cleanup_free_ char *text = NULL;
        char path[PATH_MAX];
        json_t *content;
        int r;

        r = file_path(job, JOB_FILE_SUFFIX, path);
        if (r < 0)
                return r;
        content = describe(job);
        text = json_dumps(content, JSON_COMPACT);
        json_decref(content);
        return text ? whole_file_replace(AT_FDCWD, path, 0640, text, strlen(text)) : -ENOMEM;
}

void job_file_mark(const Job *job) {
        char path[PATH_MAX], marked[PATH_MAX];

        if (file_path(job, JOB_FILE_SUFFIX, path) >= 0 && file_path(job, JOB_FILE_UNRECORDED, marked) >= 0 && rename(path, marked) < 0 && errno != ENOENT)
                log_warning("Failed to rename %s, so after a restart what passed before may count until these records are made again: %s", path, strerror(errno));
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

int job_file_read(const char *folder, const char *name, JobFile *ret) {
        _cleanup_free_ char *text = NULL;
        char path[PATH_MAX];
        json_t *content;
        size_t n;
        int r;

        *ret = (JobFile) {};
        if (snprintf(path, sizeof(path), "%s/%s", folder, name) >= (int) sizeof(path))
                return -ENAMETOOLONG;
        r = whole_file_read(AT_FDCWD, path, FILE_BYTES_MAX, &text, &n);
        if (r < 0)
                return r == -EFBIG ? -EBADMSG : r;

        content = json_loadb(text, n, JSON_REJECT_DUPLICATES, NULL);
        r = content ? read_content(content, ret) : -EBADMSG;
        json_decref(content);
        if (r < 0)
                job_file_done(ret);
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
