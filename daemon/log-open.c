/* SPDX-License-Identifier: Apache-2.0 */

/* Log open: see log-open.h. */

#include "daemon/log-open.h"

#include <grp.h>
#include <libgen.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "daemon/journal.h"
#include "daemon/program.h"

static int load_key(const char *source, const char *what, RecordKey **ret) {
        int r;

        r = record_key_load(source, ret);
        if (r == 0)
                return 0;
        log_error("Failed to load %s %.*s: %s", what, (int) record_key_source_length(source), source, record_key_strerror(source, r));
        return r == -EACCES ? -EBADMSG : r; /* systemd must not try a PIN again and again */
}

static int load_keys(const Config *config, RecordKey **ret_key, RecordKey **ret_log_key) {
        _cleanup_(record_key_freep) RecordKey *key = NULL, *log_key = NULL;
        int r;

        if (!config->key) {
                log_error("No key: give --key FILE, `key:` in the configuration, or the credential record-key");
                return -ENOKEY;
        }
        r = load_key(config->key, "the key", &key);
        if (r == 0 && config->log_key)
                r = load_key(config->log_key, "the log key", &log_key);
        if (r < 0)
                return r;
        if (!log_key)
                log_warning("No log key: there are no checkpoints, and nothing proves that a record is in the log");

        *ret_key = TAKE_PTR(key);
        *ret_log_key = TAKE_PTR(log_key);
        return 0;
}

static RecordLogOptions options_of(const Config *config, Program *self, RecordKey *key, RecordKey *log_key) {
        return (RecordLogOptions) {
                .path = config->store,
                .origin = config->origin,
                .producer = config->producer,
                .version = ASSAY_VERSION,
                .scanner_commit = assayd_commit,
                .scanner_sha256 = program_sha256(self, "/proc/self/exe"),
                .clock_source = config_clock_sources[config->clock_source],
                .key = key,
                .log_key = log_key,
                .anchor = config->anchor,
                .signed_in = config->signed_in,
                .checkpoint_sec = config->checkpoint_sec,
                .n_witnesses = config->n_witnesses,
                .witnesses = (const char *const *) config->witnesses,
                .queue_max = CONFIG_SERVERS_MAX * 2,
        };
}

static int open_with(const Config *config, RecordKey *key, RecordKey *log_key, RecordLog **ret) {
        _cleanup_free_ char *text = NULL;
        RecordLogOptions options;
        Program self = {};
        int r;

        if (log_key && access(config->signed_in, W_OK) < 0)
                log_warning("%s cannot be written (%m): if the state folder is emptied, nothing but witnesses tells that the log key has signed before",
                            config->signed_in);
        options = options_of(config, &self, key, log_key);
        r = record_log_open(&options, ret, &text);
        if (r == -EBADMSG || r == -ENOTRECOVERABLE)
                journal_alarm(config->store, "The log %s is not sound, nothing is signed: %s%s", config->store, text ?: "damaged",
                              r == -EBADMSG ? ". See THE LOG in assayd(8)" : "");
        else if (r < 0)
                log_error("Failed to open the log %s: %s", config->store, text ?: strerror(-r));
        else if (text)
                log_warning("The log %s: %s", config->store, text);
        if (r < 0)
                return r == -ENOTRECOVERABLE ? -EBADMSG : r;
        return record_log_scrub(*ret);
}

/* Root's files in the state folder assayd could not read: whoever owns the folder is who works in it. */
static int log_become_owner(const char *store) {
        _cleanup_free_ char *folder = strdup(store);
        struct stat st;

        if (!folder)
                return -ENOMEM;
        if (stat(dirname(folder), &st) < 0)
                return -errno;
        if (geteuid() != 0 || st.st_uid == 0)
                return 0;
        return setgroups(0, NULL) < 0 || setresgid(st.st_gid, st.st_gid, st.st_gid) < 0 || setresuid(st.st_uid, st.st_uid, st.st_uid) < 0 ? -errno : 0;
}

int log_open(const Config *config, RecordLog **ret, char **ret_public_key) {
        _cleanup_free_ char *public_key = NULL;
        RecordKey *key = NULL, *log_key = NULL;
        int r;

        r = load_keys(config, &key, &log_key);
        if (r < 0)
                return r;
        public_key = strdup(record_key_public_pem(key));
        r = open_with(config, key, log_key, ret); /* which has the keys, or has released them */
        if (r < 0)
                return r;
        if (!public_key) {
                *ret = record_log_free(*ret);
                return -ENOMEM;
        }
        *ret_public_key = TAKE_PTR(public_key);
        return 0;
}

int log_decide(const Config *config, const RecordDecision *decision) {
        RecordKey *key = NULL, *log_key = NULL;
        _cleanup_free_ char *text = NULL;
        RecordLogOptions options;
        Program self = {};
        int r;

        if (!decision->note[strspn(decision->note, " ")]) {
                log_error("The log %s was not continued: the note is blank. Say why it goes on, in one line of at most 256 characters", config->store);
                return -EINVAL;
        }
        r = load_keys(config, &key, &log_key);
        if (r < 0)
                return r;
        r = log_become_owner(config->store);
        if (r < 0) {
                (void) record_key_free(key);
                (void) record_key_free(log_key);
                return log_error_errno(r, "Failed to become the user of %s: %m", config->store);
        }
        options = options_of(config, &self, key, log_key);
        r = record_log_decide(&options, decision, &text);
        if (r == -EALREADY)
                log_info("The log %s needs no decision, and nothing was signed: start assayd", config->store);
        else if (r < 0)
                log_error("The log %s was not continued: %s", config->store, text ?: r == -EBUSY ? "assayd is running: stop it" : strerror(-r));
        else
                log_info("The log %s goes on, and says so in a record: %s", config->store, text);
        return r == -EALREADY ? 0 : r; /* who decides twice wants no more */
}
