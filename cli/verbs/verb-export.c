/* SPDX-License-Identifier: Apache-2.0 */

/*
 * export
 *
 * Records, or the whole log, in a form that others read. Nothing is signed here and nothing of it is trusted: who reads an export checks it
 * like any other copy.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/record-name.h"
#include "cli/terminal/options.h"
#include "cli/terminal/output.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "cli/verify/event.h"
#include "cli/verify/export-tiles.h"
#include "daemon/names.h"

typedef struct Export {
        sd_bus *bus;
        RecordKeyring *keyring;
        char *origin, *vkey;
        uint64_t first, count;
        Output output;
        uint64_t n_pruned; /* records left out, since the log has no envelopes of them */
        char *pruned;      /* of the first of them: which archive has it */
        uint64_t since_usec; /* when the oldest record ended that is left */
} Export;

#define ENOUGH (-1) /* beside exit statuses: no more lines are wanted */

static void export_done(Export *export) {
        (void) record_keyring_free(export->keyring);
        free(export->origin);
        free(export->pruned);
        free(export->vkey);
        output_done(&export->output);
        sd_bus_flush_close_unref(export->bus);
}

static int put(Export *export, const char *text, size_t n) {
        return fwrite(text, 1, n, export->output.file) == n && fputc('\n', export->output.file) != EOF ? 0 : complain(STATUS_CANNOT_TELL, "could not write: %m");
}

/* ---- records, one line each ---- */

static int judge(const Export *export, const char *line, size_t n, RecordVerified *ret) {
        RecordTrust trust;
        int r;

        r = record_verify(export->keyring, line, n, &trust, ret);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "%s", strerror(-r));
        if (trust != RECORD_VERIFIED)
                return complain(call_trust_status(trust), "a record does not verify: %s", ret->reason ?: "its key is not trusted here");
        return 0;
}

static int put_envelope(Export *export, const char *line, size_t n) {
        return put(export, line, n);
}

/* And counted. */
static bool is_pruned(Export *export, const char *line, size_t n) {
        bool is = call_is_pruned(line);

        if (is && export->n_pruned++ == 0)
                export->pruned = call_pruned_reason(line, n);
        return is;
}

static int put_event(Export *export, const char *line, size_t n) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        int r;

        if (is_pruned(export, line, n))
                return 0;
        r = judge(export, line, n, &verified);
        return r != 0 ? r : event_print(export->output.file, export->origin, &verified, line, n);
}

static int put_bundle(Export *export, const char *line, size_t n) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        _cleanup_free_ char *proof = NULL, *bundle = NULL;
        const char *wrong = NULL;
        int r;

        if (is_pruned(export, line, n))
                return 0;
        r = judge(export, line, n, &verified);
        if (r == 0)
                r = call_proof(export->bus, verified.entry.index, &proof);
        if (r != 0)
                return r;
        r = record_bundle(export->keyring, export->vkey, line, n, proof, strlen(proof), &bundle, &n, &wrong);
        if (r < 0)
                return complain(r == -EBADMSG ? STATUS_REFUSED : STATUS_CANNOT_TELL, "record %" PRIu64 ": %s", verified.entry.index,
                                wrong ?: strerror(-r));
        return put(export, bundle, n);
}

/* The lines of one answer, one for each record from FIRST, up to END. *ret is where the next one begins. */
static int put_some(Export *export, const char *lines, size_t n, uint64_t first, uint64_t end, int (*put_one)(Export *, const char *, size_t),
                    uint64_t *ret) {
        const char *line = lines;
        int r;

        for (const char *stop; (stop = memchr(line, '\n', n - (size_t) (line - lines))); line = stop + 1) {
                r = put_one(export, line, (size_t) (stop - line));
                if (r != 0)
                        return r;
                first++;
        }
        if (line == lines || first > end || line != lines + n)
                return complain(STATUS_CANNOT_TELL, "the daemon sent something else than record %" PRIu64, first);
        *ret = first;
        return 0;
}

/* One call gives only so much: goes on until COUNT records or the end of the log. */
static int put_records(Export *export, int (*put_one)(Export *, const char *, size_t)) {
        uint64_t first = export->first, end = export->count < UINT64_MAX - first ? first + export->count : UINT64_MAX;
        int r = 0;

        for (bool begun = false; r == 0 && first < end; begun = true) {
                _cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
                _cleanup_free_ char *lines = NULL;
                size_t n = 0;

                r = call_records(export->bus, first, end - first, &error, &lines, &n);
                if (begun && sd_bus_error_has_name(&error, ASSAY_ERROR_NO_SUCH_RECORD))
                        return 0;
                if (r < 0)
                        return complain_bus(&error, r, "could not read records");
                r = put_some(export, lines, n, first, end, put_one, &first);
        }
        return r;
}

static int write_envelopes(Export *export) {
        return put_records(export, put_envelope);
}

static int write_events(Export *export) {
        return put_records(export, put_event);
}

static int write_bundles(Export *export) {
        return put_records(export, put_bundle);
}

/* ---- one text ---- */

static int write_proof(Export *export) {
        _cleanup_free_ char *proof = NULL;
        int r;

        if (export->count != 1)
                return complain(STATUS_USAGE, "a proof is of one record: bundles have one each");
        r = call_proof(export->bus, export->first, &proof);
        if (r == 0 && fputs(proof, export->output.file) == EOF)
                r = complain(STATUS_CANNOT_TELL, "could not write: %m");
        return r;
}

/* The digest that the record tells is signed; what the daemon keeps as the document is not. */
static int put_identity(Export *export, const char *line, size_t n) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        _cleanup_(json_decrefp) json_t *statement = NULL;
        _cleanup_free_ char *document = NULL;
        const char *sha256 = "";
        char hex[RECORD_ID_HEX];
        int r;

        if (is_pruned(export, line, n))
                return complain(STATUS_CANNOT_TELL, "record %" PRIu64 ": what it is about is not known any more: %s", export->first, export->pruned ?: "it was pruned");
        r = judge(export, line, n, &verified);
        if (r != 0)
                return r;
        if (verified.entry.index != export->first)
                return complain(STATUS_REFUSED, "the daemon sent something else than record %" PRIu64, export->first);
        if (verified.entry.subject.server[0] == '\0')
                return complain(STATUS_USAGE, "record %" PRIu64 " is about no part of a server", export->first);
        statement = json_loadb(verified.payload, verified.n_payload, JSON_REJECT_DUPLICATES, NULL);
        (void) json_unpack(statement, "{s:[{s:{s:s}}]}", "subject", "digest", "sha256", &sha256);
        r = call_identity(export->bus, sha256, &document);
        if (r != 0)
                return r;
        if (record_digest(document, strlen(document), hex) < 0)
                return complain(STATUS_CANNOT_TELL, "could not digest the identity document");
        if (strcmp(hex, sha256) != 0)
                return complain(STATUS_REFUSED, "what the daemon has as the identity document of record %" PRIu64 " is another one", export->first);
        return fputs(document, export->output.file) == EOF ? complain(STATUS_CANNOT_TELL, "could not write: %m") : 0;
}

static int write_identity(Export *export) {
        if (export->count != 1)
                return complain(STATUS_USAGE, "an identity document is of one record");
        return put_records(export, put_identity);
}

/* However many were pruned before it. */
static int take_oldest(Export *export, const char *line, size_t n) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        int r;

        if (is_pruned(export, line, n))
                return 0;
        r = judge(export, line, n, &verified);
        if (r == 0)
                export->since_usec = verified.entry.finished_usec;
        return r != 0 ? r : ENOUGH;
}

static int write_trusted_root(Export *export) {
        _cleanup_free_ char *root = NULL;
        size_t n = 0;
        int r;

        export->count = UINT64_MAX;
        r = put_records(export, take_oldest);
        if (r != ENOUGH)
                return r != 0 ? r : complain(STATUS_CANNOT_TELL, "no record is left that tells since when the log's key is good");
        r = record_trusted_root(export->vkey, export->since_usec, &root, &n);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "the log's key cannot be told: %s", strerror(-r));
        return fwrite(root, 1, n, export->output.file) == n ? 0 : complain(STATUS_CANNOT_TELL, "could not write: %m");
}

/* ---- where to ---- */

static int write_to(Export *export, const char *path, int (*write_all)(Export *)) {
        int r;

        r = output_open(&export->output, path);
        if (r == 0)
                r = write_all(export);
        return r == 0 ? output_finish(&export->output) : r;
}

static const struct {
        const char *name;
        int (*write)(Export *export); /* NULL: into a folder */
        bool of_log;                  /* whole, and with its key */
} formats[] = {
        { "jsonl",         write_envelopes,    false },
        { "cloudevents",   write_events,       false },
        { "proof",         write_proof,        false },
        { "bundle",        write_bundles,      false },
        { "identity",      write_identity,     false },
        { "trusted-root",  write_trusted_root, true  },
        { "tiles",         NULL,               true  },
};

static int run(int argc, char **argv) {
        _cleanup_(export_done) Export export = { .count = 1 };
        size_t format = 0;
        int r;

        if (options.format && strcmp(options.format, "test-result") == 0)
                return complain(STATUS_USAGE, "%s", ASSAY_NO_COMPANIONS);
        while (format < ELEMENTS(formats) && strcmp(options.format ?: "jsonl", formats[format].name) != 0)
                format++;
        if (format == ELEMENTS(formats))
                return complain(STATUS_USAGE, "--format is jsonl, cloudevents, proof, bundle, identity, trusted-root or tiles");
        if (formats[format].of_log != (argc == 0))
                return complain(STATUS_USAGE, formats[format].of_log ? "--format %s is of the whole log, and takes no FIRST" : "--format %s wants to know which record: FIRST [COUNT]",
                                formats[format].name);
        if (argc > 0 && (!record_name_is(argv[0]) || (argc > 1 && (parse_u64(argv[1], &export.count) < 0 || export.count == 0))))
                return complain(STATUS_USAGE, "FIRST is the number or ID of a record, and COUNT a number");
        if (!formats[format].write && !options.output)
                return complain(STATUS_USAGE, "tiles go into a folder: --output FOLDER");

        r = call_connect(&export.bus);
        if (r == 0 && argc > 0)
                r = record_name_find(export.bus, argv[0], &export.first);
        if (r == 0)
                r = call_keyring(export.bus, &export.keyring);
        if (r == 0)
                r = call_log(export.bus, &export.origin, &export.vkey);
        if (r != 0)
                return r;
        if (!formats[format].write)
                return export_tiles(export.bus, export.keyring, export.vkey, options.output);
        r = write_to(&export, options.output, formats[format].write);
        if (export.n_pruned > 0 && !formats[format].of_log)
                (void) complain(0, "%" PRIu64 " %s pruned and left out%s: %s", export.n_pruned, export.n_pruned == 1 ? "record is" : "records are",
                                export.n_pruned == 1 ? "" : "; of the first", export.pruned ?: "");
        return r;
}

const Verb verb_export = {
        .name = "export",
        .min = 0,
        .max = 2,
        .arguments = "[FIRST [COUNT]]",
        .summary = "Write records, or the log, in forms that others read",
        .options = "format key output",
        .run = run,
};
