/* SPDX-License-Identifier: Apache-2.0 */

/*
 * verify
 *
 * Numbers are records of the daemon's log; everything else is a file, judged offline with --key: an envelope, a bundle, or JSON lines of them
 * as `export` writes them. Nothing verified is never 0, and a record that says nothing of health, a run-start or a heartbeat, makes nothing
 * healthy: it verifies, and beside others it does not count.
 */

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
#include "checks/text/whole-file.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/bus/record-name.h"
#include "cli/files/file-kind.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"
#include "cli/terminal/verb.h"
#include "cli/verify/equivocation.h"
#include "cli/verify/verify-policy.h"

#define NO_VERDICT (-1) /* verified, and says nothing of health */

/* The worst of several: refused over cannot tell over failed over passed. What is no verdict is worse than nothing and better than all. */
static int worse(int a, int b) {
        static const int order[] = { STATUS_REFUSED, STATUS_CANNOT_TELL, STATUS_FAILED, STATUS_PASSED, NO_VERDICT };

        for (size_t i = 0; i < ELEMENTS(order); i++)
                if (a == order[i] || b == order[i])
                        return order[i];
        return STATUS_CANNOT_TELL;
}

static const char *trust_word(RecordTrust trust) {
        static const char *const words[_RECORD_TRUST_MAX] = {
                [RECORD_VERIFIED] = "verified",
                [RECORD_UNKNOWN_KEY] = "unknown key",
                [RECORD_REFUSED] = "refused",
                [RECORD_CANNOT_TELL] = "cannot tell",
        };

        return words[trust];
}

static const char *time_text(uint64_t usec, char text[static 32]) {
        time_t sec = (time_t) (usec / 1000000);
        struct tm tm;

        if (!gmtime_r(&sec, &tm) || strftime(text, 32, "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
                text[0] = '\0';
        return text;
}

/* A name is whatever the file was called by who sent it, and a producer what it calls itself. */
static void print_text(const char *key, const char *value) {
        json_t *text = json_string(value) ?: json_string("");

        printf("%s\"%s\": ", strcmp(key, "record") == 0 ? "{" : ", ", key);
        (void) json_dumpf(text, stdout, JSON_ENCODE_ANY | JSON_ENSURE_ASCII);
        json_decref(text);
}

/* Spelled out, as whoever reads records has it from every version; --payload prints the signed bytes. */
static void print_statement(const RecordVerified *verified) {
        json_t *statement = NULL;

        if (record_statement_read(verified->payload, verified->n_payload, &statement) == 0) {
                fputs(", \"statement\": ", stdout);
                (void) json_dumpf(statement, stdout, JSON_COMPACT);
        }
        json_decref(statement);
}

static void print_json(const char *name, RecordTrust trust, const RecordVerified *verified) {
        char when[32];

        print_text("record", name);
        print_text("status", trust_word(trust));
        if (trust == RECORD_VERIFIED) {
                printf(", \"index\": %" PRIu64, verified->entry.index);
                print_text("id", verified->entry.id);
                print_text("key", verified->key_id);
                print_text("producer", verified->producer);
                print_text("origin", verified->origin);
                if (verified->log_size > 0) {
                        printf(", \"logSize\": %" PRIu64 ", \"proofHashes\": %zu", verified->log_size, verified->n_hashes);
                        print_text("witnesses", verified->witnesses);
                }
                if (verified->witnessed_usec > 0)
                        print_text("witnessedOn", time_text(verified->witnessed_usec, when));
                print_statement(verified);
        } else
                print_text("reason", verified->reason);
        puts("}");
}

static void print_text_of(const char *name, const RecordVerified *verified) {
        const RecordEntry *entry = &verified->entry;
        char subject[LOCATION_STRING_MAX], when[32];

        location_format(&entry->subject, subject);
        say(stdout, "%s: verified  %s  %s  %s\n  record  %" PRIu64 " %s\n  key     %s\n  of      %s\n  log     %s", name, subject, record_word(entry),
               verified->reason ?: "", entry->index, entry->id, verified->key_id, verified->producer, verified->origin);
        if (verified->log_size == 0)
                puts(", not proven to be in it");
        else if (verified->witnessed_usec == 0)
                say(stdout, ", proven by %zu hashes to be among its %" PRIu64 " records\n", verified->n_hashes, verified->log_size);
        else
                say(stdout, ", proven by %zu hashes to be among its %" PRIu64 " records\n  seen    by %s, first at %s\n", verified->n_hashes,
                       verified->log_size, verified->witnesses, time_text(verified->witnessed_usec, when));
        say(stdout, "  ended   %s by its own clock\n  type    %s\n", time_text(entry->finished_usec, when), entry->type);
}

static size_t n_told[_RECORD_TRUST_MAX];
static bool lacks_proof; /* some record does, which an export with proofs would not */

/* Of several: who reads the last one alone must not take it for all of them. */
static void print_counts(void) {
        const char *before = ":";
        size_t n = 0;

        for (RecordTrust trust = 0; trust < _RECORD_TRUST_MAX; trust++)
                n += n_told[trust];
        if (n < 2 || options.quiet || options.json || options.payload)
                return;
        printf("%zu in all", n);
        for (RecordTrust trust = 0; trust < _RECORD_TRUST_MAX; trust++)
                if (n_told[trust] > 0) {
                        printf("%s %zu %s", before, n_told[trust], trust_word(trust));
                        before = ",";
                }
        putchar('\n');
}

static Equivocation seen;

/* What holds by itself is refused beside another that its log has signed for the same place: no verdict of such a log counts. */
static int hold_against_others(RecordTrust *trust, RecordVerified *verified) {
        const char *other;
        char *reason;
        int r;

        if (*trust != RECORD_VERIFIED && *trust != RECORD_CANNOT_TELL)
                return 0;
        r = equivocation_add(&seen, verified, &other);
        if (r <= 0)
                return r;
        if (asprintf(&reason, "%s has signed two records as its %" PRIu64 ": %s, and %s", verified->origin, verified->entry.index, verified->entry.id,
                     other) < 0)
                return -ENOMEM;
        free(verified->reason);
        verified->reason = reason;
        *trust = RECORD_REFUSED;
        return 0;
}

static int report(const char *name, RecordTrust trust, RecordVerified *verified) {
        if (hold_against_others(&trust, verified) < 0)
                return complain(STATUS_CANNOT_TELL, "out of memory");
        n_told[trust]++;
        if (options.json)
                print_json(name, trust, verified);
        else if (trust == RECORD_REFUSED)
                say(stderr, "%s: REFUSED: %s\n", name, verified->reason ?: "it is another record than the one asked for");
        else if (trust != RECORD_VERIFIED)
                say(stderr, "%s: cannot tell: %s\n", name, verified->reason ?: "it was pruned");
        else if (options.payload)
                printf("%.*s\n", (int) verified->n_payload, verified->payload);
        else if (!options.quiet)
                print_text_of(name, verified);

        if (trust != RECORD_VERIFIED)
                return call_trust_status(trust);
        return record_is_verdict(&verified->entry) ? result_to_status(verified->entry.result, options.strict) : NO_VERDICT;
}

/* Somebody took one file for another; that one says so helps more than what of it is no record. */
static void tell_kind(RecordVerified *verified, const char *text, size_t n) {
        FileKind kind = file_kind(text, n);
        char *reason;

        if (kind < 0 || kind == FILE_RECORD || kind == FILE_BUNDLE || asprintf(&reason, "this is no record, but %s", file_kind_to_string(kind)) < 0)
                return;
        free(verified->reason);
        verified->reason = reason;
}

static int judge(const RecordPolicy *policy, const char *name, const char *envelope, size_t n) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        RecordTrust trust;
        int r;

        if (call_is_pruned(envelope)) {
                verified.reason = call_pruned_reason(envelope, n);
                verified.lack = RECORD_LACKS_ENVELOPE;
                return report(name, RECORD_CANNOT_TELL, &verified);
        }
        r = record_verify_with_policy(policy, envelope, n, &trust, &verified);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "%s: %s", name, strerror(-r));
        lacks_proof = lacks_proof || verified.lack == RECORD_LACKS_PROOF || verified.lack == RECORD_LACKS_WITNESSES;
        if (trust == RECORD_REFUSED)
                tell_kind(&verified, envelope, n);
        return report(name, trust, &verified);
}

/* An envelope over several lines is one; else each line is one. */
static int verify_file(const RecordPolicy *policy, const char *path) {
        _cleanup_free_ char *text = NULL;
        char *end, name[4200];
        int r, status = NO_VERDICT;
        unsigned number = 0;
        size_t n = 0;

        r = whole_file_drain(path, RECORDS_BYTES_MAX, &text, &n);
        if (r < 0)
                return complain(STATUS_USAGE, "%s: %s", path, strerror(-r));

        end = memchr(text, '\n', n);
        if (!end || end == text + n - 1 || (end > text && end[-1] != '}'))
                return n == 0 ? complain(STATUS_CANNOT_TELL, "%s: empty, nothing to verify", path) : judge(policy, path, text, n);

        for (char *line = text; line < text + n; line = end + 1) {
                end = memchr(line, '\n', n - (size_t) (line - text)) ?: text + n;
                snprintf(name, sizeof(name), "%s:%u", path, ++number);
                r = judge(policy, name, line, (size_t) (end - line));
                status = worse(status, r);
        }
        return status;
}

static int verify_index(const VerifyPolicy *policy, uint64_t index) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        RecordTrust trust;
        char name[32];
        int r;

        r = verify_policy_fetch(policy, index, &trust, &verified);
        if (r != 0)
                return r;
        snprintf(name, sizeof(name), "%" PRIu64, index);
        return report(name, trust, &verified);
}

/* A file may be called as IDs are; then it is meant. */
static bool is_record(const char *text) {
        return record_name_is(text) && !(record_name_is_id(text) && access(text, F_OK) == 0);
}

static int verify_all(const VerifyPolicy *policy, int argc, char **argv) {
        int r, status = NO_VERDICT;

        for (int i = 0; i < argc; i++) {
                uint64_t index = 0;

                if (is_record(argv[i]))
                        r = record_name_find(policy->bus, argv[i], &index) ?: verify_index(policy, index);
                else
                        r = verify_file(&policy->policy, argv[i]);
                if (r > STATUS_REFUSED)
                        return r;
                status = worse(status, r);
        }
        return status;
}

/* A daemon is asked for records by number and for keys that nobody gave; and, where one was named, how its log grew. */
static bool is_online(int argc, char **argv) {
        bool online = !options.key || (options.state && (options.host || strcmp(options.bus, "system") != 0));

        for (int i = 0; i < argc; i++)
                online = online || is_record(argv[i]);
        return online;
}

static int run(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(verify_policy_done) VerifyPolicy policy = {};
        int r, status;

        if (is_online(argc, argv) && (r = call_connect(&bus)) != 0)
                return r == STATUS_UNREACHABLE && !options.key ?
                                complain(r, "to verify a file without the daemon, give a keyring with --keyring") : r;
        r = verify_policy_init(&policy, bus, true);
        if (r != 0)
                return r;

        status = verify_all(&policy, argc, argv);
        equivocation_done(&seen);
        print_counts();
        if (!bus && policy.policy.needs_proof && !options.proof && lacks_proof)
                (void) complain(0, "assayctl export --format bundle, where the log is, writes records with the proofs that this keyring asks for; of one that was pruned export N --format proof"
                                   " writes the proof alone, for --proof");
        if (status == NO_VERDICT)
                return complain(STATUS_CANNOT_TELL, "cannot tell: nothing of this says how a server or a chip is");
        /* What was not acted on may be shown again. */
        r = policy.state && status <= STATUS_FAILED ? record_state_accept(policy.state) : 0;
        return r < 0 ? complain(STATUS_CANNOT_TELL, "%s: %s", options.state, strerror(-r)) : status;
}

const Verb verb_verify = {
        .name = "verify",
        .min = 1,
        .max = -1,
        .arguments = "INDEX|ID|FILE...",
        .summary = "Verify records, from the daemon or offline from files",
        .options = "key keyring root state subject proof challenge plan max-age payload",
        .run = run,
};
