/* SPDX-License-Identifier: Apache-2.0 */

/*
 * audit
 *
 * A whole log: the daemon's, or one in files. Nothing of it is believed, and it is read piece by piece. A log that holds may still show
 * something to look at; like a warning that is 0, and 1 with --strict.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "checks/whole-file.h"
#include "cli/assayctl.h"
#include "cli/audit-report.h"
#include "cli/call.h"
#include "cli/file-kind.h"
#include "cli/log-files.h"
#include "daemon/names.h"

#define LEAVES_AT_ONCE 1024

/* What an audit is given up for. */
static const char *why_given_up(int r) {
        return r == -E2BIG ? "what no checkpoint speaks of and no key has signed goes on and on: given up" : strerror(-r);
}

/* ---- of the daemon ---- */

typedef struct BusLog {
        sd_bus *bus;
        uint64_t first; /* of the leaves that are kept here */
        char *leaves;
        size_t n_leaves;
} BusLog;

static int bus_leaf(void *userdata, uint64_t index, uint8_t ret[static LOG_LEAF_BYTES]) {
        BusLog *log = userdata;

        if (!log->leaves || index < log->first || index - log->first >= LEAVES_AT_ONCE) {
                size_t n;

                free(log->leaves);
                log->leaves = NULL;
                if (call_leaves(log->bus, index, LEAVES_AT_ONCE, &log->leaves, &n) < 0)
                        return -ENOENT;
                log->first = index;
                log->n_leaves = n / LOG_LEAF_BYTES;
        }
        if (index - log->first >= log->n_leaves)
                return -ENOENT;
        memcpy(ret, log->leaves + (index - log->first) * LOG_LEAF_BYTES, LOG_LEAF_BYTES);
        return 0;
}

static int take_lines(RecordAudit *audit, const char *text, size_t n) {
        int r = 0;

        for (const char *end; n > 0 && r == 0; n -= (size_t) (end + 1 - text), text = end + 1) {
                end = memchr(text, '\n', n);
                if (!end)
                        return record_audit_take(audit, text, n);
                r = record_audit_take(audit, text, (size_t) (end - text));
        }
        return r;
}

/* One call gives only so much. Those that were pruned are not among it. */
static int take_bus(RecordAudit *audit, BusLog *log) {
        for (;;) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                uint64_t first = record_audit_size(audit);
                _cleanup_free_ char *lines = NULL;
                size_t n = 0;
                int r;

                r = call_records(log->bus, first, 0, &error, &lines, &n);
                if (sd_bus_error_has_name(&error, ASSAY_ERROR_NO_SUCH_RECORD) || (r >= 0 && n == 0))
                        return 0;
                if (r < 0)
                        return complain_bus(&error, r, "could not read records");
                r = take_lines(audit, lines, n);
                if (r < 0)
                        return complain(STATUS_CANNOT_TELL, "%s", why_given_up(r));
                if (record_audit_size(audit) == first)
                        return complain(STATUS_CANNOT_TELL, "the daemon sent something else than record %" PRIu64, first);
        }
}

/* ---- in files ---- */

static int files_leaf(void *userdata, uint64_t index, uint8_t ret[static LOG_LEAF_BYTES]) {
        return log_files_leaf(userdata, index, ret);
}

static int complain_files(int status, const LogFiles *files, const char *path, int r) {
        const char *why = r == -ENOMSG                      ? "no log: it has neither records.intoto.jsonl nor checkpoint nor tile" :
                          files->failed[0] && r == -EBADMSG ? "a pipe, device or folder stands there in the place of a file" :
                                                              why_given_up(r);

        return complain(status, "%s%s%s: %s", path, files->failed[0] ? "/" : "", files->failed, why);
}

static int take_files(RecordAudit *audit, LogFiles *files, const char *path) {
        const char *line;
        size_t n;
        int r;

        while ((r = log_files_next(files, &line, &n)) > 0) {
                r = record_audit_take(audit, line, n);
                if (r < 0)
                        break;
        }
        return r < 0 ? complain_files(STATUS_CANNOT_TELL, files, path, r) : 0;
}

/* ---- either ---- */

/* What is given counts, then what lies beside the records. */
static int read_checkpoint(char **ret, size_t *ret_n) {
        int r;

        if (!options.checkpoint)
                return 0;
        free(*ret);
        *ret = NULL;
        r = whole_file_drain(options.checkpoint, FILE_BYTES_MAX, ret, ret_n);
        return r < 0 ? complain(STATUS_USAGE, "%s: %s", options.checkpoint, strerror(-r)) : 0;
}

/* FILES are NULL where the log is the daemon's. */
static int conclude(RecordAudit *audit, const LogFiles *files, const char *path) {
        const RecordAuditReport *report;
        int r;

        r = record_audit_end(audit, &report);
        if (r >= 0)
                return audit_report_print(report);
        return files ? complain_files(STATUS_CANNOT_TELL, files, path, r) : complain(STATUS_CANNOT_TELL, "%s", why_given_up(r));
}

static int audit_files(const char *path, const RecordKeyring *keyring, RecordState *state) {
        _cleanup_(record_audit_freep) RecordAudit *audit = NULL;
        _cleanup_(log_files_done) LogFiles files = LOG_FILES_INIT;
        RecordAuditOptions with = { .keyring = keyring, .state = state, .leaf = files_leaf, .userdata = &files };
        FileKind kind = file_kind_of(path);
        int r;

        if (kind >= 0 && kind != FILE_RECORD)
                return complain(STATUS_USAGE, "%s: no log, as lines of records or a folder of tiles; this is %s", path, file_kind_to_string(kind));
        if (file_has_no_record(path))
                return complain(STATUS_USAGE, "%s: no log, as lines of records or a folder of tiles: nothing in it looks like a record", path);
        r = log_files_open(&files, path);
        if (r < 0)
                return complain_files(STATUS_USAGE, &files, path, r);
        r = read_checkpoint(&files.checkpoint, &files.n_checkpoint);
        if (r != 0)
                return r;
        with.checkpoint = files.checkpoint;
        with.n_checkpoint = files.n_checkpoint;
        r = record_audit_new(&with, &audit);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "%s", strerror(-r));
        r = take_files(audit, &files, path);
        return r != 0 ? r : conclude(audit, &files, path);
}

static int audit_daemon(sd_bus *bus, const RecordKeyring *keyring, RecordState *state) {
        _cleanup_(record_audit_freep) RecordAudit *audit = NULL;
        _cleanup_free_ char *checkpoint = NULL;
        BusLog log = { .bus = bus };
        RecordAuditOptions with = { .keyring = keyring, .state = state, .leaf = bus_leaf, .userdata = &log };
        int r;

        /* Before the records: they may be more by then, and must not be fewer. */
        r = call_checkpoint(bus, &checkpoint, &with.n_checkpoint);
        if (r == 0)
                r = read_checkpoint(&checkpoint, &with.n_checkpoint);
        if (r != 0)
                return r;
        with.checkpoint = checkpoint;
        r = record_audit_new(&with, &audit);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "%s", strerror(-r));
        r = take_bus(audit, &log);
        if (r == 0)
                r = conclude(audit, NULL, NULL);
        free(log.leaves);
        return r;
}

int verb_audit(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_(record_state_freep) RecordState *state = NULL;
        int r;

        if (argc == 0 || !options.key) {
                r = call_connect(&bus);
                if (r != 0)
                        return r == STATUS_UNREACHABLE && argc > 0 ?
                                        complain(r, "to audit files without the daemon, give a keyring with --keyring") : r;
        }
        r = call_state(&state);
        if (r == 0)
                r = call_keyring_of(bus, state, &keyring);
        if (r != 0)
                return r;
        return argc > 0 ? audit_files(argv[0], keyring, state) : audit_daemon(bus, keyring, state);
}
