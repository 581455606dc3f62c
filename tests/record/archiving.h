/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* A log of old scans, whose envelopes go into archives in a folder beside it. Needs cmocka.h before it. */

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "tests/record/published.h"

#define ARCHIVING_RECORDS (SERVER_CHIPS + 1) /* of a scan: chips and their server, of which one chip and so the server fail */
#define ARCHIVING_SCANS   16                 /* so that a first archive is full, and the newest scan is not whole in it */
#define ARCHIVING_OLD     UINT64_C(1000000000000000)
#define ARCHIVING_NEW     UINT64_C(1700000000000000)
#define ARCHIVING_DROPPED (15u * (ARCHIVING_RECORDS - 2)) /* of 15 scans that are not the newest of anything what passed */

_Static_assert(ARCHIVING_SCANS * ARCHIVING_RECORDS == RECORD_ARCHIVE_RECORDS + 16, "record 255 is the first of the newest scan");

typedef struct Archiving {
        Published published;
        RecordLog *log;
        char folder[96];
} Archiving;

/* What came before a heartbeat is not needed to work the tables out. */
static inline void archiving_beat(Archiving *a) {
        if (record_log_heartbeat(a->log, RECORD_HEARTBEAT_INTERVAL, 1) < 0)
                abort();
        (void) place_take(a->log);
}

static inline void archiving_scan(Archiving *a, uint64_t finished_usec) {
        RecordRun *run = &a->published.server.scan.run;

        run->finished_usec = finished_usec;
        run->started_usec = finished_usec - 1000000;
        (void) server_scan(&a->published.server, a->log);
}

static inline void archiving_fill(Archiving *a) {
        for (unsigned i = 0; i < ARCHIVING_SCANS; i++)
                archiving_scan(a, ARCHIVING_OLD);
}

static inline void archiving_init(Archiving *a) {
        *a = (Archiving) {};
        published_init(&a->published);
        (void) snprintf(a->folder, sizeof(a->folder), "%s/archive", a->published.place.folder);
        if (mkdir(a->folder, 0700) < 0 || published_open(&a->published, &a->log, NULL) < 0)
                abort();
}

static inline void archiving_done(Archiving *a) {
        a->log = record_log_free(a->log);
        published_done(&a->published);
}

/* What came of it, and how many went. */
static inline int archiving_prune(Archiving *a, uint64_t before_usec, uint64_t lived_usec, uint64_t *ret_n) {
        RecordOutcome outcome;
        int r;

        assert_int_equal(record_log_prune(a->log, a->folder, before_usec, lived_usec, 5), 0);
        place_wait(a->log, &outcome);
        assert_int_equal(outcome.ticket, 5);
        assert_int_equal(outcome.n_entries, 0);
        *ret_n = outcome.n_pruned;
        r = outcome.error;
        record_outcome_done(&outcome);
        return r;
}

static inline void archiving_close(Archiving *a) {
        a->log = record_log_free(a->log);
}

static inline int archiving_open(Archiving *a, char **ret_error) {
        return published_open(&a->published, &a->log, ret_error);
}

/* Somebody else writes into the database of a log that is closed. */
static inline void archiving_execute(const Archiving *a, const char *sql) {
        char *error = NULL;
        sqlite3 *db;

        assert_int_equal(sqlite3_open(a->published.place.log, &db), SQLITE_OK);
        if (sqlite3_exec(db, sql, NULL, NULL, &error) != SQLITE_OK)
                fail_msg("%s: %s", sql, error);
        assert_int_equal(sqlite3_close(db), SQLITE_OK);
}

static inline bool archiving_is_dropped(const Archiving *a, uint64_t index) {
        _cleanup_free_ char *line = place_envelope(a->log, index);

        return strncmp(line, RECORD_PRUNED, strlen(RECORD_PRUNED)) == 0;
}

static inline unsigned archiving_count(const Archiving *a) {
        unsigned n = 0;

        for (uint64_t i = 0; i < record_log_size(a->log); i++)
                n += archiving_is_dropped(a, i);
        return n;
}
