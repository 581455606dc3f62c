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

#include "checks/text/cleanup.h"
#include "checks/text/whole-file.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/files/archive-folder.h"
#include "cli/files/file-kind.h"
#include "cli/files/log-files.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "cli/verify/audit-report.h"
#include "daemon/names.h"

#define LEAVES_AT_ONCE 1024

/* Records that a call told, and leaves that are kept of those that one did. */
typedef struct BusLog {
        sd_bus *bus;
        uint64_t size;  /* records that it had when the audit began */
        uint64_t first; /* of the leaves that are kept here */
        char *leaves;
        size_t n_leaves;
} BusLog;

/* A log: that of the daemon, or one in files; and archives of what it has no more. */
typedef struct Source {
        const char *path; /* of files; NULL: the daemon has it */
        BusLog bus;
        LogFiles files; /* no more than a checkpoint, where the daemon has it */
        ArchiveFolder archives;
        bool archive_failed;
} Source;

static void source_done(Source *source) {
        free(source->bus.leaves);
        log_files_done(&source->files);
        archive_folder_done(&source->archives);
}

/* An audit is given up for this, at this file. */
static int give_up(int status, const Source *source, int r) {
        const char *path = source->archive_failed ? options.archive : source->path, *part = source->archive_failed ? source->archives.name : source->files.failed;
        const char *why = r == -E2BIG            ? "what no checkpoint speaks of and no key has signed goes on and on: given up" :
                          r == -ENOMSG           ? "no log: it has neither records.intoto.jsonl nor checkpoint nor tile" :
                          *part && r == -EBADMSG ? "a pipe, device or folder stands there in the place of a file" :
                                                   strerror(-r);

        return path ? complain(status, "%s%s%s: %s", path, *part ? "/" : "", part, why) : complain(status, "%s", why);
}

/* ---- of the daemon ---- */

static int bus_leaf(BusLog *log, uint64_t index, uint8_t ret[static LOG_HASH_BYTES]) {
        if (!log->leaves || index < log->first || index - log->first >= LEAVES_AT_ONCE) {
                size_t n;

                free(log->leaves);
                log->leaves = NULL;
                if (call_leaves(log->bus, index, LEAVES_AT_ONCE, &log->leaves, &n) < 0)
                        return -ENOENT;
                log->first = index;
                log->n_leaves = n / LOG_HASH_BYTES;
        }
        if (index - log->first >= log->n_leaves)
                return -ENOENT;
        memcpy(ret, log->leaves + (index - log->first) * LOG_HASH_BYTES, LOG_HASH_BYTES);
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

/* One call gives only so much. Those that were pruned are not among it. A log goes on meanwhile: what the checkpoint does not cover is left to the next audit. */
static int take_bus(RecordAudit *audit, Source *source) {
        uint64_t covered = record_audit_covered(audit);

        while (record_audit_size(audit) < covered) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                uint64_t first = record_audit_size(audit);
                _cleanup_free_ char *lines = NULL;
                size_t n = 0;
                int r;

                r = call_records(source->bus.bus, first, covered - first, &error, &lines, &n);
                if (sd_bus_error_has_name(&error, ASSAY_ERROR_NO_SUCH_RECORD) || (r >= 0 && n == 0))
                        return 0;
                if (r < 0)
                        return complain_bus(&error, r, "could not read records");
                r = take_lines(audit, lines, n);
                if (r < 0)
                        return give_up(STATUS_CANNOT_TELL, source, r);
                if (record_audit_size(audit) == first)
                        return complain(STATUS_CANNOT_TELL, "the daemon sent something else than record %" PRIu64, first);
        }
        if (source->bus.size > covered)
                (void) complain(STATUS_PASSED, "%" PRIu64 " %s newer than the checkpoint, and not audited: audit later", source->bus.size - covered,
                                source->bus.size - covered == 1 ? "record is" : "records are");
        return 0;
}

/* ---- in files ---- */

static int open_files(Source *source) {
        FileKind kind = file_kind_of(source->path);
        int r;

        if (kind >= 0 && kind != FILE_RECORD)
                return complain(STATUS_USAGE, "%s: no log, as lines of records or a folder of tiles; this is %s", source->path, file_kind_to_string(kind));
        if (file_has_no_record(source->path))
                return complain(STATUS_USAGE, "%s: no log, as lines of records or a folder of tiles: nothing in it looks like a record", source->path);
        r = log_files_open(&source->files, source->path);
        return r < 0 ? give_up(STATUS_USAGE, source, r) : 0;
}

static int take_files(RecordAudit *audit, Source *source) {
        const char *line;
        size_t n;
        int r;

        while ((r = log_files_next(&source->files, &line, &n)) > 0) {
                r = record_audit_take(audit, line, n);
                if (r < 0)
                        break;
        }
        return r < 0 ? give_up(STATUS_CANNOT_TELL, source, r) : 0;
}

/* ---- either ---- */

static int tell_hash(void *userdata, unsigned level, uint64_t index, uint8_t ret[static LOG_HASH_BYTES]) {
        Source *source = userdata;

        if (source->path)
                return log_files_hash(&source->files, level, index, ret);
        return level == 0 ? bus_leaf(&source->bus, index, ret) : -ENOENT;
}

static int tell_entry(void *userdata, uint64_t index, const void **ret, size_t *ret_n) {
        return log_files_entry(&((Source *) userdata)->files, index, ret, ret_n);
}

static int tell_line(void *userdata, uint64_t index, const char **ret, size_t *ret_n) {
        Source *source = userdata;
        int r = archive_folder_line(&source->archives, index, ret, ret_n);

        source->archive_failed = r < 0 && r != -ENOENT;
        return r;
}

static int tell_archive(void *userdata, uint64_t index, char ret_digest[static RECORD_ID_HEX], uint64_t *ret_size) {
        Source *source = userdata;
        int r = archive_folder_digest(&source->archives, index, ret_digest, ret_size);

        source->archive_failed = r < 0 && r != -ENOENT;
        return r;
}

/* A given checkpoint counts, then the one beside the records; the daemon's is read before these. */
static int read_checkpoint(Source *source) {
        char **text = &source->files.checkpoint;
        int r = source->path ? 0 : call_checkpoint_soon(source->bus.bus, &source->bus.size, text, &source->files.n_checkpoint);

        if (r != 0 || !options.checkpoint)
                return r;
        free(*text);
        *text = NULL;
        r = whole_file_drain(options.checkpoint, FILE_BYTES_MAX, text, &source->files.n_checkpoint);
        return r < 0 ? complain(STATUS_USAGE, "%s: %s", options.checkpoint, strerror(-r)) : 0;
}

static int audit_source(Source *source, const RecordKeyring *keyring, RecordState *state) {
        _cleanup_(record_audit_freep) RecordAudit *audit = NULL;
        const RecordAuditReport *report;
        RecordAuditOptions with;
        int r;

        r = options.archive ? archive_folder_open(&source->archives, options.archive) : 0;
        if (r < 0)
                return complain(STATUS_USAGE, "%s: %s", options.archive, strerror(-r));
        r = source->path ? open_files(source) : 0;
        if (r == 0)
                r = read_checkpoint(source);
        if (r != 0)
                return r;
        with = (RecordAuditOptions) {
                .keyring = keyring,
                .checkpoint = source->files.checkpoint,
                .n_checkpoint = source->files.n_checkpoint,
                .hash = tell_hash,
                .entry = source->files.has_tiles ? tell_entry : NULL,
                .line = tell_line,
                .archive = tell_archive,
                .userdata = source,
                .state = state,
        };
        r = record_audit_new(&with, &audit);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "%s", strerror(-r));
        r = source->path ? take_files(audit, source) : take_bus(audit, source);
        if (r != 0)
                return r;
        r = record_audit_end(audit, &report);
        if (r < 0)
                return give_up(STATUS_CANNOT_TELL, source, r);
        if (options.archive && report->n_pruned > 0)
                (void) complain(STATUS_PASSED, "%s: archives of %" PRIu64 " pruned records are not there, or not those that the log tells of", options.archive, report->n_pruned);
        return audit_report_print(report);
}

static int run(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_(record_state_freep) RecordState *state = NULL;
        _cleanup_(source_done) Source source = { .path = argc > 0 ? argv[0] : NULL, .files = LOG_FILES_INIT, .archives = ARCHIVE_FOLDER_INIT };
        int r;

        if (argc == 0 || !options.key) {
                r = call_connect(&bus);
                if (r != 0)
                        return r == STATUS_UNREACHABLE && argc > 0 ?
                                        complain(r, "to audit files without the daemon, give a keyring with --keyring") : r;
        }
        r = call_state(&state);
        if (r == 0)
                r = call_keyring_of(bus, state, true, &keyring);
        if (r != 0)
                return r;
        source.bus.bus = bus;
        if (!source.path)
                call_tell_unsound(bus);
        return audit_source(&source, keyring, state);
}

const Verb verb_audit = {
        .name = "audit",
        .min = 0,
        .max = 1,
        .arguments = "[FILE|FOLDER]",
        .summary = "Check a whole log: the daemon's, or one in files",
        .options = "key keyring root state checkpoint archive chips",
        .run = run,
};
