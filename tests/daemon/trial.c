/* SPDX-License-Identifier: Apache-2.0 */

/* Trial: see trial.h. */

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "daemon/record/log/log.h"
#include "daemon/restore.h"
#include "tests/daemon/trial.h"

static const char plan[] = "plan: quick\n"
                           "summary: for tests\n"
                           "stage: PREFLIGHT\n"
                           "budget: 30\n"
                           "steps:\n"
                           "  - check: rounding\n"
                           "  - {check: rounding, name: again}\n";

static int write_file(const char *path, const char *text) {
        FILE *file = fopen(path, "we");

        if (!file)
                return -errno;
        fputs(text, file);
        return fclose(file) == 0 ? 0 : -errno;
}

static int open_manager(Trial *trial, const char *targets, const char *limits) {
        char text[4096], key_path[128], error_text[256];
        WorkerPlace place = { .run_path = getenv("ASSAY_FAKE_WORKER") };
        char *error = NULL;
        Config *config;
        RecordKey *key;
        RecordLog *log;
        int r;

        (void) snprintf(text, sizeof(text),
                        "origin: test/assayd\nproducer: urn:test\nstore: %s/records.db\nevidence: %s/evidence\n"
                        "plans: %s\nlimits: %s\ntargets: %s\n",
                        trial->folder, trial->folder, trial->folder, limits, targets);
        r = config_parse("test", text, strlen(text), &config, &error);
        if (r < 0) {
                fprintf(stderr, "%s\n", error);
                return r;
        }

        (void) snprintf(key_path, sizeof(key_path), "%s/key", trial->folder);
        r = record_key_load(key_path, &key);
        if (r < 0)
                return r;
        char *public_key = strdup(record_key_public_pem(key));
        RecordLogOptions options = { .path = config->store, .origin = config->origin, .producer = config->producer,
                                     .version = "0", .key = key, .queue_max = 64 };
        r = record_log_open(&options, &log, &error);
        if (r < 0) {
                fprintf(stderr, "%s\n", error ? error : strerror_r(-r, error_text, sizeof(error_text)));
                (void) config_free(config);
                free(public_key);
                free(error);
                return r;
        }

        if (trial->cut > 0) {
                log->cut = trial->cut;
                (void) strcpy(log->cut_reason, "records are lost");
        }
        return manager_new(trial->event, config, &place, log, public_key, &trial->manager);
}

int trial_new(const char *targets, const char *limits, Trial *ret) {
        char path[128];
        sigset_t mask;
        int r;

        (void) signal(SIGPIPE, SIG_IGN);
        (void) sigemptyset(&mask);
        (void) sigaddset(&mask, SIGCHLD);
        (void) sigprocmask(SIG_BLOCK, &mask, NULL);

        *ret = (Trial) { .folder = "/tmp/assay-trial-XXXXXX" };
        if (!getenv("ASSAY_FAKE_WORKER")) {
                fprintf(stderr, "ASSAY_FAKE_WORKER names no worker: `meson test` does\n");
                return -ENOENT;
        }
        if (!mkdtemp(ret->folder))
                return -errno;
        (void) snprintf(path, sizeof(path), "%s/evidence", ret->folder);
        (void) mkdir(path, 0700);
        (void) snprintf(path, sizeof(path), "%s/key", ret->folder);
        r = record_key_generate(path, RECORD_ED25519);
        if (r < 0)
                return r;
        (void) snprintf(path, sizeof(path), "%s/quick.yaml", ret->folder);
        r = write_file(path, plan);
        if (r < 0)
                return r;
        r = sd_event_new(&ret->event);
        if (r < 0)
                return r;

        return open_manager(ret, targets, limits);
}

int trial_restart(Trial *trial, const char *targets, const char *limits) {
        int r;

        trial->manager = manager_free(trial->manager);
        r = open_manager(trial, targets, limits);
        if (r < 0)
                return r;

        manager_restore(trial->manager);
        manager_schedule(trial->manager);
        return 0;
}

void trial_done(Trial *trial) {
        char command[128];

        trial->manager = manager_free(trial->manager);
        trial->event = sd_event_unref(trial->event);
        (void) snprintf(command, sizeof(command), "rm -rf '%s'", trial->folder);
        if (system(command) != 0)
                fprintf(stderr, "%s stays\n", trial->folder);
}

Scan *trial_scan(Trial *trial, uid_t uid, const char *target) {
        return trial_scan_by(trial, uid, target, "quick");
}

Scan *trial_scan_by(Trial *trial, uid_t uid, const char *target, const char *plan_name) {
        char *names[] = { (char *) target, NULL }, *error = NULL;
        ScanOptions options = { .has_seed = true, .seed = 7, .challenge = "bm9uY2U=", .note = "WO-4711" };
        Selected *selected = NULL;
        SelectError wrong;
        Plan *loaded;
        Scan *scan;
        size_t n, at;

        if (plan_find(trial->folder, plan_name, &loaded, &error) < 0 ||
            targets_select(&trial->manager->targets, names, &selected, &n, &wrong, &at) < 0 || wrong != SELECT_OK ||
            scan_new(trial->manager, uid, loaded, selected, n, &options, NULL, &scan) < 0)
                return NULL;

        manager_add_scan(trial->manager, scan);
        scan_start(scan);
        return scan;
}

bool trial_run(Trial *trial, bool (*done)(void *userdata), void *userdata, unsigned sec) {
        time_t end = time(NULL) + (time_t) sec;

        while (!done(userdata)) {
                if (time(NULL) > end || sd_event_run(trial->event, 100000) < 0)
                        return false;
        }

        return true;
}

static bool scan_done(void *userdata) {
        return scan_is_finished(userdata);
}

bool trial_wait(Trial *trial, const Scan *scan, unsigned sec) {
        return trial_run(trial, scan_done, (void *) scan, sec);
}

uint64_t trial_rss_kib(void) {
        FILE *file = fopen("/proc/self/statm", "re");
        unsigned long pages = 0, resident = 0;

        if (file && fscanf(file, "%lu %lu", &pages, &resident) != 2)
                resident = 0;
        if (file)
                fclose(file);
        return (uint64_t) resident * (uint64_t) sysconf(_SC_PAGESIZE) / 1024;
}
