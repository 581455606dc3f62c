/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/log/log.h"
#include "daemon/record/log/holes.h"

#include <assert.h>
#include <fcntl.h>
#include <openssl/crypto.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>

#define QUEUE_DEFAULT 256

/*
 * One writer at a time. A lock of this process, not of the open file (flock): that one a worker being started
 * would hold until it has become another program, and a daemon killed at that moment could not start again.
 * It is not on the database itself, whose own locks closing a descriptor would drop.
 */
static int lock_log(RecordLog *log) {
        const struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
        _cleanup_free_ char *path = NULL;

        if (asprintf(&path, "%s.lock", log->path) < 0)
                return -ENOMEM;
        log->lock_fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
        if (log->lock_fd < 0)
                return -errno;
        if (fcntl(log->lock_fd, F_SETLK, &whole) < 0)
                return errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
        return 0;
}

/* Adds a remark of the opening, TEXT (malloc'd), which it takes over, to those that are there. */
static int log_remark(char **remarks, char *text) {
        char *all = NULL;

        if (text && asprintf(&all, "%s%s%s", *remarks ?: "", *remarks ? "; " : "", text) < 0)
                all = NULL;
        free(text);
        if (!all)
                return -ENOMEM;
        free(*remarks);
        *remarks = all;
        return 0;
}

/* The finding of an earlier process must have been mended: then all of it is whole. */
static int mend_finding(RecordLog *log, char **ret_wrong) {
        _cleanup_free_ char *found = NULL, *wrong = NULL;
        int r;

        r = scrub_read_finding(log, &found);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = scrub_pass(log, false, &wrong);
        if (r == -EBADMSG) {
                free(*ret_wrong);
                *ret_wrong = NULL;
                return asprintf(ret_wrong, "%s. Put the newest backup back, or begin a new log with another `origin` and store", wrong ?: "it is damaged") < 0 ? -ENOMEM : r;
        }
        if (r == 0)
                r = scrub_forget(log);
        return r < 0 ? r : log_remark(ret_wrong, strdup("what was damaged has been mended: all records were read again, and are whole"));
}

static int open_stores(RecordLog *log, char **ret_wrong) {
        _cleanup_free_ char *remark = NULL; /* of an opening that succeeds in spite of it */
        uint64_t published = 0;
        bool has_changed;
        Head head;
        int r;

        r = store_open(log->path, log->station.origin, &log->store, &remark);
        if (r < 0) {
                *ret_wrong = TAKE_PTR(remark);
                return r;
        }
        r = store_head(log->store, &head);
        if (r < 0) {
                if (r == -EBADMSG)
                        *ret_wrong = strdup("the log has a gap");
                return r;
        }
        log_take_end(log, &head);
        r = store_check_tree(log->store, &(Frontier) {}, log->head.tree.size);
        if (r < 0) {
                if (r == -EBADMSG)
                        *ret_wrong = strdup("its tree does not follow from its leaves: hashes were changed. Put the newest backup back");
                return r;
        }
        r = store_open(log->path, log->station.origin, &log->reader, ret_wrong);
        if (r == 0)
                r = log_read_keys(log, ret_wrong);
        if (r == 0)
                r = log_check_last(log, ret_wrong);
        if (r == 0)
                r = log_check_holes(log, log->reader, ret_wrong);
        if (r == 0)
                r = log_read_cut(log, ret_wrong);
        if (r == 0)
                r = publisher_resume(&log->publisher, log->store, log->head.tree.size, &published, ret_wrong);
        if (r == 0)
                r = store_has_changed(log->store, &has_changed); /* since now */
        if (r == 0)
                atomic_store(&log->published, published);
        if (r == 0 && remark)
                r = log_remark(ret_wrong, TAKE_PTR(remark));
        return r < 0 ? r : mend_finding(log, ret_wrong);
}

/* Signals belong to the event loop's thread. */
int log_start_thread(RecordLog *log, pthread_t *thread, void *(*run)(void *log), const char *name) {
        sigset_t all, before;
        int r;

        (void) sigfillset(&all);
        (void) pthread_sigmask(SIG_SETMASK, &all, &before);
        r = pthread_create(thread, NULL, run, log);
        (void) pthread_sigmask(SIG_SETMASK, &before, NULL);
        if (r == 0)
                (void) pthread_setname_np(*thread, name);
        return -r;
}

/* Threads wait for moments of the clock that nobody sets. */
static void init_wake(pthread_cond_t *wake) {
        pthread_condattr_t attributes;

        (void) pthread_condattr_init(&attributes);
        (void) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
        (void) pthread_cond_init(wake, &attributes);
        (void) pthread_condattr_destroy(&attributes);
}

bool log_is_closing(RecordLog *log) {
        bool is_closing;

        (void) pthread_mutex_lock(&log->mutex);
        is_closing = log->is_closing;
        (void) pthread_mutex_unlock(&log->mutex);
        return is_closing;
}

void log_append(DraftGroup **list, DraftGroup *groups) {
        while (*list)
                list = &(*list)->next;
        *list = groups;
}

static RecordLog *log_new(const RecordLogOptions *options) {
        RecordLog *log;

        log = calloc(1, sizeof(*log));
        if (!log)
                return NULL;
        log->key = options->key;
        log->queue_max = options->queue_max ?: QUEUE_DEFAULT;
        log->lock_fd = log->event_fd = -EBADF;
        (void) pthread_mutex_init(&log->mutex, NULL);
        init_wake(&log->wake);
        init_wake(&log->scrubber.wake);
        return log;
}

/* What stands in every record must not be what a reader refuses. */
static bool options_are_valid(const RecordLogOptions *options) {
        const char *origin = options->origin;
        uint8_t digest[DIGEST_BYTES];

        return *origin && strlen(origin) < RECORD_ORIGIN_MAX &&
               !strpbrk(origin, " +\n") && *options->producer &&
               (!options->scanner_sha256 || digest_from_hex(options->scanner_sha256, digest) == 0);
}

int log_open_as(const RecordLogOptions *options, bool decides, RecordLog **ret, char **ret_error) {
        _cleanup_(record_log_freep) RecordLog *log = NULL;
        _cleanup_free_ char *wrong = NULL;
        int r;

        assert(options && options->path && options->origin && options->producer && options->version &&
               options->key);
        assert(ret);

        log = log_new(options);
        if (!log) {
                (void) record_key_free(options->key);
                (void) record_key_free(options->log_key);
                return -ENOMEM;
        }
        r = publisher_init(&log->publisher, options, &wrong);
        if (r == 0 && !options_are_valid(options))
                r = -EINVAL;
        if (r < 0) {
                if (ret_error)
                        *ret_error = TAKE_PTR(wrong);
                return r;
        }
        log->publisher.decides = decides;
        log->publisher.has_left = log_has_left;
        log->publisher.userdata = log;
        log->path = strdup(options->path);
        log->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        if (!log->path || log->event_fd < 0)
                return log->path ? -errno : -ENOMEM;

        r = station_init(&log->station, options);
        if (r == 0)
                r = lock_log(log);
        if (r == 0)
                r = open_stores(log, &wrong);
        /* The secret is of the log's own key where there is one: that lasts as long as the log, and the record key may be changed. */
        log->secret_error = key_secret(log->publisher.key ?: log->key, "waiting", log->secret);
        if (r == 0)
                r = log_start_thread(log, &log->writer, writer_main, "records");
        log->is_running = r == 0;
        if (ret_error)
                *ret_error = TAKE_PTR(wrong);
        if (r < 0)
                return r;
        *ret = TAKE_PTR(log);
        return 0;
}

int record_log_open(const RecordLogOptions *options, RecordLog **ret, char **ret_error) {
        return log_open_as(options, false, ret, ret_error);
}

static void drop_groups(DraftGroup *group) {
        while (group) {
                DraftGroup *next = group->next;

                (void) draft_group_free(group);
                group = next;
        }
}

RecordLog *record_log_free(RecordLog *log) {
        if (!log)
                return NULL;
        (void) pthread_mutex_lock(&log->mutex);
        log->is_closing = true;
        (void) pthread_cond_signal(&log->wake);
        (void) pthread_cond_signal(&log->scrubber.wake);
        (void) pthread_mutex_unlock(&log->mutex);
        if (log->scrubber.is_running)
                (void) pthread_join(log->scrubber.thread, NULL);
        if (log->is_running)
                (void) pthread_join(log->writer, NULL);
        drop_groups(log->queued);
        drop_groups(log->kept);
        drop_groups(log->done);
        (void) store_close(log->reader);
        (void) store_close(log->store);
        station_done(&log->station);
        publisher_done(&log->publisher);
        (void) record_keyring_free(log->keyring);
        (void) record_key_free(log->key);
        (void) close_fd(log->event_fd);
        (void) close_fd(log->lock_fd);
        (void) pthread_cond_destroy(&log->wake);
        (void) pthread_cond_destroy(&log->scrubber.wake);
        (void) pthread_mutex_destroy(&log->mutex);
        free(log->path);
        free(log->wrong);
        OPENSSL_cleanse(log->secret, sizeof(log->secret));
        free(log);
        return NULL;
}

void log_take_end(RecordLog *log, const Head *head) {
        log->head = *head;
        (void) pthread_mutex_lock(&log->mutex);
        log->end.size = head->tree.size;
        memcpy(log->end.id, head->id, DIGEST_BYTES);
        (void) pthread_mutex_unlock(&log->mutex);
        atomic_store(&log->size, head->tree.size);
}

/* ---- the event loop's side ---- */

int queue_put(RecordLog *log, DraftGroup *group, uint64_t ticket) {
        int r = 0;

        (void) pthread_mutex_lock(&log->mutex);
        if (log->has_failed)
                r = -EIO;
        else if (log->n_groups >= log->queue_max)
                r = -EAGAIN;
        else {
                log->n_groups++;
                group->ticket = ticket;
                log_append(&log->queued, group);
                (void) pthread_cond_signal(&log->wake);
        }
        (void) pthread_mutex_unlock(&log->mutex);
        if (r < 0)
                (void) draft_group_free(group);
        return r;
}

int record_log_start(RecordLog *log, const RecordRun *run, const RecordSubject *server, uint64_t ticket) {
        DraftGroup *group;
        int r;

        assert(log && run && server);

        r = draft_start(&log->station, run, server, &group);
        return r < 0 ? r : queue_put(log, group, ticket);
}

static int queue_scan(RecordLog *log, const RecordScan *scan, bool is_kept, uint64_t ticket) {
        DraftGroup *group;
        int r;

        assert(log && scan);

        r = draft_scan(&log->station, scan, &group);
        if (r < 0)
                return r;
        group->is_kept = is_kept;
        return queue_put(log, group, ticket);
}

int record_log_scan(RecordLog *log, const RecordScan *scan, uint64_t ticket) {
        return queue_scan(log, scan, false, ticket);
}

int record_log_scan_kept(RecordLog *log, const RecordScan *scan, uint64_t ticket) {
        return queue_scan(log, scan, true, ticket);
}

int record_log_heartbeat(RecordLog *log, RecordHeartbeat cause, uint64_t ticket) {
        DraftGroup *group;
        int r;

        assert(log);

        r = draft_heartbeat(&log->station, cause, &group);
        return r < 0 ? r : queue_put(log, group, ticket);
}

int record_log_rotate(RecordLog *log, const char *public_pem, uint64_t ticket) {
        _cleanup_(public_key_done) PublicKey key = {};
        DraftGroup *group;
        int r;

        assert(log && public_pem);

        r = public_key_from_pem(&key, public_pem, strlen(public_pem));
        if (r < 0)
                return r == -EBADMSG ? -EINVAL : r;
        if (keyring_find(log->keyring, key.id))
                return -EEXIST;
        /* With that the log could never be opened again. */
        if (log->publisher.key && strcmp(record_key_id(log->publisher.key), key.id) == 0)
                return -EEXIST;
        r = draft_rotation(&log->station, key_public(log->key), &key, &group);
        return r < 0 ? r : queue_put(log, group, ticket);
}

int record_log_fd(const RecordLog *log) {
        assert(log);
        return log->event_fd;
}

int record_log_next(RecordLog *log, RecordOutcome *ret) {
        DraftGroup *group;
        uint64_t counter;

        assert(log && ret);

        (void) pthread_mutex_lock(&log->mutex);
        group = log->done;
        if (group) {
                log->done = group->next;
                log->n_groups--;
        }
        if (!log->done)
                (void) !read(log->event_fd, &counter, sizeof(counter));
        (void) pthread_mutex_unlock(&log->mutex);
        if (!group)
                return -EAGAIN;

        *ret = (RecordOutcome) {
                .ticket = group->ticket,
                .error = group->error,
                .is_kept = group->is_remark,
                .n_entries = group->error == 0 ? group->n_drafts : 0,
                .entries = group->error == 0 ? TAKE_PTR(group->entries) : NULL,
                .wrong = group->errand ? group->errand->wrong : NULL,
                .n_pruned = group->errand ? group->errand->n_pruned : 0,
        };
        (void) draft_group_free(group);
        return 0;
}

void record_outcome_done(RecordOutcome *outcome) {
        free(outcome->entries);
        *outcome = (RecordOutcome) {};
}

uint64_t record_log_size(RecordLog *log) {
        assert(log);
        return atomic_load(&log->size);
}

void log_tell(RecordLog *log) {
        uint64_t one = 1;

        /* Cannot fail: the counter is set back to 0 whenever the last outcome is taken. */
        (void) !write(log->event_fd, &one, sizeof(one));
}

void log_fail(RecordLog *log, const char *why) {
        (void) pthread_mutex_lock(&log->mutex);
        if (!log->wrong)
                log->wrong = strdup(why ?: "it is not what was written, or where it was: somebody else did that. Files that were deleted are in /proc/PID/fd "
                                           "of assayd until it ends. Put them back, then restart assayd, which looks at it");
        atomic_store(&log->has_failed, true);
        (void) pthread_mutex_unlock(&log->mutex);
}

bool record_log_has_failed(RecordLog *log) {
        assert(log);
        return atomic_load(&log->has_failed);
}

const char *record_log_wrong(RecordLog *log) {
        assert(log);
        return !atomic_load(&log->has_failed) ? NULL : log->wrong ?: "it is damaged";
}

int record_log_mac(const RecordLog *log, const void *data, size_t n, char ret[static RECORD_ID_HEX]) {
        uint8_t mac[DIGEST_BYTES];
        int r;

        assert(log && data && ret);

        r = log->secret_error;
        if (r == 0)
                r = digest_hmac(log->secret, data, n, mac);
        if (r == 0)
                (void) digest_to_hex(mac, ret);
        return r;
}

const char *record_log_key_id(const RecordLog *log) {
        assert(log);
        return record_key_id(log->key);
}
