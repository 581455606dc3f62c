/* SPDX-License-Identifier: Apache-2.0 */

/*
 * export-records FOLDER [ALGORITHM [all]]: signs a server's scan and leaves there records.intoto.jsonl and record.key.pub. Of all types of records
 * those that a scan has not come with `all`: a decision first, for the log key has signed another log, and last a heartbeat and a rotation of the key. What
 * tells of an archive, which a log as short as this one has not, is a file of its own, archive.intoto.jsonl.
 */

#include <fcntl.h>
#include <stdio.h>

#include "daemon/record/statement/statement.h"
#include "tests/record/place.h"
#include "tests/record/server.h"
#include "tests/record/sign-line.h"

/* The last record names the key after this one. */
static int rotate(const Place *place, RecordLog *log) {
        _cleanup_(record_key_freep) RecordKey *next = NULL;
        char path[160];

        (void) snprintf(path, sizeof(path), "%.80s.next", place->key);
        if (record_key_generate(path, RECORD_ED25519) < 0 || record_key_load(path, &next) < 0)
                return -1;
        return record_log_rotate(log, record_key_public_pem(next), 4);
}

/* A log that has begun and is gone; the one that follows it begins with the decision that it may. */
static int decide(const Place *place) {
        const RecordDecision decision = { "the disk was replaced", 1007, "ann" };
        _cleanup_free_ char *text = NULL;
        char log_key[160], anchor[160];
        RecordLogOptions options;
        Server server;
        RecordLog *log;
        uint64_t size;
        int r;

        (void) snprintf(log_key, sizeof(log_key), "%.90s.log", place->key);
        (void) snprintf(anchor, sizeof(anchor), "%.90s.anchor", place->log);
        if (record_key_generate(log_key, RECORD_ED25519) < 0)
                return -1;
        for (unsigned i = 0; i < 2; i++) {
                options = place_options(place, place->key);
                options.anchor = anchor;
                if (record_key_load(log_key, &options.log_key) < 0)
                        return -1;
                if (i > 0)
                        return record_log_decide(&options, &decision, &text);
                r = record_log_open(&options, &log, NULL);
                if (r < 0)
                        return r;
                server_init(&server);
                (void) server_start(&server, log);
                while (record_log_checkpointed(log, &size) == 0 && size == 0)
                        (void) poll(NULL, 0, 1);
                (void) record_log_free(log);
                if (unlink(place->log) < 0)
                        return -1;
        }
        return -1;
}

static int reopen(const Place *place, RecordLog **ret) {
        RecordLogOptions options = place_options(place, place->key);
        char log_key[160];

        (void) snprintf(log_key, sizeof(log_key), "%.90s.log", place->key);
        return record_key_load(log_key, &options.log_key) < 0 ? -1 : record_log_open(&options, ret, NULL);
}

/* As of a log of 300 records. */
static int write_archive(const Place *place, const char *path) {
        const RecordLogOptions options = { .origin = PLACE_ORIGIN, .producer = PLACE_PRODUCER, .version = "0.1.0", .key = place_key(place, "record.key", RECORD_ED25519) };
        const Archive archive = { .size = 1234567, .dropped = region_set_range(7, 200) };
        const uint8_t digest[DIGEST_BYTES] = { 1, 2, 3 };
        _cleanup_(draft_group_freep) DraftGroup *group = NULL;
        _cleanup_printer_ Printer payload = {}, line = {};
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        Signed record = {};
        Station station;

        if (station_init(&station, &options) < 0 || draft_archive(&station, &archive, digest, &group) < 0)
                return -1;
        statement_print(&payload, group, 0, 300, digest, NULL);
        if (payload.error < 0 || envelope_sign(options.key, payload.text, payload.n, &record) < 0)
                return -1;
        signed_print(&line, &record);
        printer_text(&line, "\n");
        signed_done(&record);
        station_done(&station);
        (void) record_key_free(options.key);
        return line.error < 0 || write(fd, line.text, line.n) != (ssize_t) line.n ? -1 : 0;
}

int main(int argc, char *argv[]) {
        RecordLog *log;
        Server server;
        Place place;
        char path[256];
        int fd, r;

        if (argc < 2 || argc > 4)
                return 64;
        (void) snprintf(place.folder, sizeof(place.folder), "%.60s", argv[1]);
        (void) snprintf(place.key, sizeof(place.key), "%.80s/record.key", argv[1]);
        (void) snprintf(place.log, sizeof(place.log), "%.80s/records.db", argv[1]);
        server_init(&server);
        if (record_key_generate(place.key, argc > 2 ? record_algorithm_from_string(argv[2]) : RECORD_ED25519) < 0 || (argc > 3 && decide(&place) < 0))
                return 1;
        if (argc > 3 ? reopen(&place, &log) < 0 : place_open(&place, &log, NULL) < 0)
                return 1;
        (void) server_start(&server, log);
        (void) server_scan(&server, log);
        if (argc > 3 && (record_log_heartbeat(log, RECORD_HEARTBEAT_INTERVAL, 3) < 0 || rotate(&place, log) < 0))
                return 1;
        for (unsigned i = 0; i < (argc > 3 ? 2 : 0); i++)
                (void) place_take(log);
        (void) snprintf(path, sizeof(path), "%.80s/records.intoto.jsonl", argv[1]);
        fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
        r = fd < 0 ? -errno : record_log_export(log, 0, UINT64_MAX, fd);
        (void) record_log_free(log);
        (void) snprintf(path, sizeof(path), "%.80s/archive.intoto.jsonl", argv[1]);
        if (argc > 3 && write_archive(&place, path) < 0)
                return 1;
        return r == SERVER_CHIPS + (argc > 3 ? 5 : 2) ? 0 : 1;
}
