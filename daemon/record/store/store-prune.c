/* SPDX-License-Identifier: Apache-2.0 */

/* Envelopes leave a store in time, once an archive has them; nothing that proves that they were there does. */

#include <stdlib.h>
#include <string.h>

#include "daemon/record/store/store.h"

#define DAY_USEC (UINT64_C(86400) * 1000000)

int store_next_hole(Store *store, uint64_t first, uint64_t *ret) {
        return store_index(store, STORE_NEXT_HOLE, SQL(sql_number(first)), ret);
}

int store_droppable(Store *store, uint64_t first, uint64_t before_usec, RegionSet *ret) {
        uint64_t end = first + RECORD_ARCHIVE_RECORDS, hole = 0;
        RegionSet set = {};
        sqlite3_stmt *rows;
        int r;

        r = store_next_hole(store, first, &hole);
        if (r < 0 && r != -ENOENT)
                return r;
        if (r == 0 && hole < end) {
                *ret = set;
                return 0;
        }
        rows = store_ask(store, STORE_DROPPABLE, SQL(sql_number(first), sql_number(end), sql_number(before_usec)));
        while ((r = store_step(store, rows)) == 0)
                region_set_add(&set, (unsigned) ((uint64_t) sqlite3_column_int64(rows, 0) - first));
        (void) store_answered(store, rows, r);
        if (r != -ENOENT)
                return r;
        *ret = set;
        return 0;
}

int store_drop(Store *store, const Archive *archive) {
        int r = 0;

        for (unsigned i = 0; i < RECORD_ARCHIVE_RECORDS && r == 0; i++)
                if (region_set_has(&archive->dropped, i))
                        r = store_run(store, STORE_DROP, SQL(sql_number(archive->first + i)));
        return r;
}

/* A sign of life: when it was by the clock, and by what counts from when the machine was started and nobody can set. */
typedef struct Beat {
        uint64_t usec, uptime_usec;
        char boot[37]; /* "": it does not tell, as those do not that were pruned, or kept by an older assayd */
} Beat;

/* A text that our own printer wrote behind NAME, which no other text can hold with its quotes: to read all of it as JSON takes ten times as long. */
static void copy_text(const char *payload, size_t n, const char *name, char *ret, size_t size) {
        const char *at = memmem(payload, n, name, strlen(name)), *end = payload + n;
        size_t k = 0;

        for (at = at ? at + strlen(name) : end; at < end && *at != '"' && k + 1 < size; at++)
                ret[k++] = *at;
        ret[k] = '\0';
}

static Beat read_beat(sqlite3_stmt *statement) {
        Beat beat = { .usec = (uint64_t) sqlite3_column_int64(statement, 1) };
        const char *payload = sqlite3_column_blob(statement, 2);
        size_t n = (size_t) sqlite3_column_bytes(statement, 2);
        char uptime_nsec[24] = "";

        if (!payload)
                return beat;
        copy_text(payload, n, "\"bootId\":\"", beat.boot, sizeof(beat.boot));
        copy_text(payload, n, "\"monotonicNs\":\"", uptime_nsec, sizeof(uptime_nsec));
        beat.uptime_usec = strtoull(uptime_nsec, NULL, 10) / 1000;
        if (beat.uptime_usec == 0)
                beat.boot[0] = '\0';
        return beat;
}

static uint64_t since(uint64_t later, uint64_t earlier) {
        return later > earlier ? later - earlier : 0;
}

/* What surely has gone by between two of them, and a day at most. */
static uint64_t age_between(const Beat *earlier, const Beat *later) {
        uint64_t age = since(later->usec, earlier->usec), uptime = since(later->uptime_usec, earlier->uptime_usec);

        if (*later->boot && strcmp(later->boot, earlier->boot) == 0 && uptime < age)
                age = uptime;
        return age < DAY_USEC ? age : DAY_USEC;
}

int store_lived(Store *store, uint64_t usec, uint64_t *ret_end) {
        sqlite3_stmt *statement = store_ask(store, STORE_HEARTBEATS, SQL());
        Beat later = {}, beat;
        uint64_t age = 0;
        int r;

        *ret_end = 0;
        while (*ret_end == 0 && (r = store_step(store, statement)) == 0) {
                beat = read_beat(statement);
                age += age_between(&beat, &later);
                later = beat;
                if (age >= usec)
                        *ret_end = (uint64_t) sqlite3_column_int64(statement, 0) + 1;
        }
        return store_answered(store, statement, r == -ENOENT ? 0 : r);
}
