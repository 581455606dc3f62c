/* SPDX-License-Identifier: Apache-2.0 */

/*
 * verify
 *
 * Numbers are records of the daemon's log; everything else is a file, judged offline with --key: one envelope, or JSON
 * lines as `export` writes them. Nothing verified is never 0.
 */

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/assayctl.h"
#include "cli/call.h"

#define FILE_BYTES_MAX ((size_t) 1 << 30)

/* The worst of several: refused over cannot tell over failed over passed. */
static int worse(int a, int b) {
        static const int order[] = { STATUS_REFUSED, STATUS_CANNOT_TELL, STATUS_FAILED, STATUS_PASSED };

        for (size_t i = 0; i < ELEMENTS(order); i++)
                if (a == order[i] || b == order[i])
                        return order[i];
        return STATUS_CANNOT_TELL;
}

/* A name is whatever the file was called by who sent it. */
static void print_json(const char *name, const char *status, const RecordVerified *verified) {
        json_t *text = json_string(name) ?: json_string("");

        fputs("{\"record\": ", stdout);
        (void) json_dumpf(text, stdout, JSON_ENCODE_ANY);
        json_decref(text);
        printf(", \"status\": \"%s\"", status);
        if (verified)
                printf(", \"index\": %" PRIu64 ", \"id\": \"%s\", \"key\": \"%s\", \"statement\": %s", verified->entry.index,
                       verified->entry.id, verified->key_id, verified->payload);
        puts("}");
}

static int report(const char *name, RecordTrust trust, const RecordVerified *verified) {
        const RecordEntry *entry = &verified->entry;
        char subject[LOCATION_STRING_MAX];

        if (trust != RECORD_VERIFIED) {
                const char *status = trust == RECORD_UNKNOWN_KEY ? "unknown key" : "refused";

                if (options.json)
                        print_json(name, status, NULL);
                else
                        fprintf(stderr, "%s: %s\n", name, trust == RECORD_UNKNOWN_KEY ? "cannot tell: signed with a key that is not trusted here" :
                                                                                     "REFUSED: the signature or the record does not hold");
                return trust == RECORD_UNKNOWN_KEY ? STATUS_CANNOT_TELL : STATUS_REFUSED;
        }

        location_format(&entry->subject, subject);
        if (options.json)
                print_json(name, "verified", verified);
        else if (options.payload)
                printf("%.*s\n", (int) verified->n_payload, verified->payload);
        else if (!options.quiet)
                printf("%s: verified  %s%s%s  %s\n  record  %" PRIu64 " %s\n  key     %s\n  type    %s\n", name, subject,
                       *subject ? "  " : "", record_word(entry), verified->reason ?: "", entry->index, entry->id, verified->key_id, entry->type);

        /* What says nothing about health verifies, and that is all. */
        return record_is_verdict(entry) ? result_to_status(entry->result, options.strict) : STATUS_PASSED;
}

static int judge(const RecordKeyring *keyring, const char *name, const char *envelope, size_t n) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        RecordTrust trust;
        int r;

        r = record_verify(keyring, envelope, n, &trust, &verified);
        if (r < 0)
                return complain(STATUS_CANNOT_TELL, "%s: %s", name, strerror(-r));
        return report(name, trust, &verified);
}

static int read_file(const char *path, char **ret, size_t *ret_n) {
        _cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
        _cleanup_free_ char *text = NULL;
        size_t n = 0, room = 0;

        if (fd < 0)
                return -errno;

        for (;;) {
                ssize_t k;

                if (n == room) {
                        char *more = room >= FILE_BYTES_MAX ? NULL : realloc(text, room = room ? room * 2 : 16384);

                        if (!more)
                                return -EFBIG;
                        text = more;
                }
                k = read(fd, text + n, room - n);
                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0)
                        break;
                n += (size_t) k;
        }

        *ret = TAKE_PTR(text);
        *ret_n = n;
        return 0;
}

/* An envelope over several lines is one; else each line is one. */
static int verify_file(const RecordKeyring *keyring, const char *path) {
        _cleanup_free_ char *text = NULL;
        char *end, name[4200];
        int r, status = -1;
        unsigned number = 0;
        size_t n = 0;

        r = read_file(path, &text, &n);
        if (r < 0)
                return complain(STATUS_USAGE, "%s: %s", path, strerror(-r));

        end = memchr(text, '\n', n);
        if (!end || end == text + n - 1 || (end > text && end[-1] != '}'))
                return n == 0 ? complain(STATUS_CANNOT_TELL, "%s: empty, nothing to verify", path) : judge(keyring, path, text, n);

        for (char *line = text; line < text + n; line = end + 1) {
                end = memchr(line, '\n', n - (size_t) (line - text)) ?: text + n;
                snprintf(name, sizeof(name), "%s:%u", path, ++number);
                r = judge(keyring, name, line, (size_t) (end - line));
                status = status < 0 ? r : worse(status, r);
        }
        return status;
}

static int verify_index(sd_bus *bus, const RecordKeyring *keyring, uint64_t index) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        RecordTrust trust;
        char name[32];
        int r;

        r = call_verified(bus, keyring, index, &trust, &verified);
        if (r != 0)
                return r;

        snprintf(name, sizeof(name), "%" PRIu64, index);
        return report(name, trust, &verified);
}

static bool is_index(const char *text) {
        uint64_t index;

        return parse_u64(text, &index) >= 0;
}

int verb_verify(int argc, char **argv) {
        _cleanup_(sd_bus_flush_close_unrefp) sd_bus *bus = NULL;
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        int r, status = STATUS_PASSED;
        bool online = !options.key;

        for (int i = 0; i < argc; i++)
                online = online || is_index(argv[i]);

        if (online && (r = call_connect(&bus)) != 0)
                return r == STATUS_UNREACHABLE && !options.key ?
                                complain(r, "to verify a file without the daemon, give its public key with --key") : r;
        r = call_keyring(bus, &keyring);
        if (r != 0)
                return r;

        for (int i = 0; i < argc; i++) {
                uint64_t index;

                r = parse_u64(argv[i], &index) >= 0 ? verify_index(bus, keyring, index) : verify_file(keyring, argv[i]);
                if (r > STATUS_REFUSED)
                        return r;
                status = worse(status, r);
        }
        return status;
}
