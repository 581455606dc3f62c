/* SPDX-License-Identifier: Apache-2.0 */

/*
 * export-records FOLDER [ALGORITHM [all]]: signs a server's scan and leaves there records.intoto.jsonl and record.key.pub. Of all types of records
 * those that a scan has not, a heartbeat and a rotation of the key, come last.
 */

#include <fcntl.h>
#include <stdio.h>

#include "tests/record/place.h"
#include "tests/record/server.h"

/* The last record names the key after this one. */
static int rotate(const Place *place, RecordLog *log) {
        _cleanup_(record_key_freep) RecordKey *next = NULL;
        char path[160];

        (void) snprintf(path, sizeof(path), "%.80s.next", place->key);
        if (record_key_generate(path, RECORD_ED25519) < 0 || record_key_load(path, &next) < 0)
                return -1;
        return record_log_rotate(log, record_key_public_pem(next), 4);
}

int main(int argc, char *argv[]) {
        RecordLog *log;
        Server server;
        Place place;
        char path[256];
        int fd, r;

        if (argc < 2 || argc > 4)
                return 64;
        (void) snprintf(place.key, sizeof(place.key), "%.80s/record.key", argv[1]);
        (void) snprintf(place.log, sizeof(place.log), "%.80s/records.db", argv[1]);
        server_init(&server);
        if (record_key_generate(place.key, argc > 2 ? record_algorithm_from_string(argv[2]) : RECORD_ED25519) < 0 || place_open(&place, &log, NULL) < 0)
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
        return r == SERVER_CHIPS + (argc > 3 ? 4 : 2) ? 0 : 1;
}
