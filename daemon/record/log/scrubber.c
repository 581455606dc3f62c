/* SPDX-License-Identifier: Apache-2.0 */

/* The thread that scrubs, and what it remembers: see scrub.h. */

#include <assert.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "checks/text/whole-file.h"
#include "daemon/record/log/log.h"

#define EVERY_USEC  (UINT64_C(86400) * 1000000)
#define RETRY_USEC  (UINT64_C(600) * 1000000) /* where the log could not be read */
#define FINDING_MAX 4096
#define NICE        19

void scrub_ask(RecordLog *log) {
        (void) pthread_mutex_lock(&log->mutex);
        log->scrubber.is_asked = true;
        (void) pthread_cond_signal(&log->scrubber.wake);
        (void) pthread_mutex_unlock(&log->mutex);
}

/* ---- what was found ---- */

static int finding_path(const RecordLog *log, char **ret) {
        return asprintf(ret, "%s.finding", log->path) < 0 ? -ENOMEM : 0;
}

int scrub_read_finding(const RecordLog *log, char **ret) {
        _cleanup_free_ char *path = NULL;
        size_t n;
        int r;

        r = finding_path(log, &path);
        return r < 0 ? r : whole_file_read(AT_FDCWD, path, FINDING_MAX, ret, &n);
}

/*
 * WHAT is found is told, remembered, and nothing is signed any more. In any thread. It may name rows that somebody made up, who also chose how long and of
 * which bytes: it becomes one line of ASCII that the next start can read and a terminal can show.
 */
static void scrub_find(RecordLog *log, const char *what) {
        _cleanup_free_ char *path = NULL;
        char line[FINDING_MAX];

        (void) snprintf(line, sizeof(line), "%s", what);
        for (char *c = line; *c; c++)
                if (*c < ' ' || *c > '~')
                        *c = '?';
        if (finding_path(log, &path) == 0)
                (void) whole_file_replace(AT_FDCWD, path, 0640, line, strlen(line)); /* else the next start finds it again */
        log_fail(log, line);
}

int scrub_forget(const RecordLog *log) {
        _cleanup_free_ char *path = NULL;
        int r;

        r = finding_path(log, &path);
        if (r < 0)
                return r;
        return unlink(path) < 0 ? -errno : whole_file_settle(AT_FDCWD, path);
}

/* ---- the thread ---- */

/* Until a pass is due, asked for, or the log closes: then it is false. */
static bool await(RecordLog *log, uint64_t due_usec) {
        const struct timespec until = { (time_t) (due_usec / 1000000), (long) (due_usec % 1000000 * 1000) };
        bool goes_on;
        int r = 0;

        (void) pthread_mutex_lock(&log->mutex);
        while (!log->scrubber.is_asked && !log->is_closing && r == 0)
                r = pthread_cond_timedwait(&log->scrubber.wake, &log->mutex, &until);
        log->scrubber.is_asked = false;
        goes_on = !log->is_closing && !atomic_load(&log->has_failed);
        (void) pthread_mutex_unlock(&log->mutex);
        return goes_on;
}

static void *scrub_main(void *userdata) {
        RecordLog *log = userdata;
        uint64_t due = 0;
        bool rests = false;

        (void) setpriority(PRIO_PROCESS, (id_t) gettid(), NICE); /* behind whatever has something to do */
        while (await(log, due)) {
                _cleanup_free_ char *wrong = NULL;
                int r = scrub_pass(log, rests, &wrong);

                atomic_store(&log->scrubber.error, r == -ECANCELED || r == -EBADMSG ? 0 : r); /* what is found is no error */
                due = monotonic_usec() + (r < 0 ? RETRY_USEC : EVERY_USEC);
                rests = rests || r == 0;
                if (r == -EBADMSG)
                        scrub_find(log, wrong ?: "its database is damaged");
                log_tell(log);
                (void) malloc_trim(0); /* a day will go by */
        }
        return NULL;
}

int record_log_scrub(RecordLog *log) {
        int r;

        assert(log && !log->scrubber.is_running);

        r = log_start_thread(log, &log->scrubber.thread, scrub_main, "scrub");
        log->scrubber.is_running = r == 0;
        return r;
}

int record_log_check(RecordLog *log, char **ret_wrong) {
        assert(log && ret_wrong);
        return scrub_pass(log, false, ret_wrong);
}

void record_log_scrubbed(RecordLog *log, RecordScrub *ret) {
        assert(log && ret);

        *ret = (RecordScrub) {
                .n_checked = atomic_load(&log->scrubber.n_checked),
                .whole_usec = atomic_load(&log->scrubber.whole_usec),
                .n_pruned = atomic_load(&log->scrubber.n_pruned),
                .n_unruled = atomic_load(&log->scrubber.n_unruled),
                .error = atomic_load(&log->scrubber.error),
        };
}
