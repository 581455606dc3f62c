/* SPDX-License-Identifier: Apache-2.0 */

/* What of a store goes away in time: envelopes, and nothing that proves that they were there. */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/json.h"
#include "daemon/record/store.h"

#define DAY_USEC (UINT64_C(86400) * 1000000)

int store_prune(Store *store, uint64_t first, uint64_t last, uint64_t before_usec, uint64_t *ret_n, bool *ret_unknown) {
        sqlite3_stmt *statement = store->statements[STORE_PRUNE];
        int r;

        *ret_unknown = false;
        r = store_run(store, STORE_BEGIN);
        if (r < 0)
                return r;
        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) first);
        (void) sqlite3_bind_int64(statement, 2, (sqlite3_int64) last);
        (void) sqlite3_bind_int64(statement, 3, (sqlite3_int64) before_usec);
        r = store_run(store, STORE_PRUNE);
        *ret_n = (uint64_t) sqlite3_changes64(store->db);
        return store_end(store, r, ret_unknown);
}

/* A sign of life: when it was by the clock, and by what counts from when the machine was started and nobody can set. */
typedef struct Beat {
        uint64_t usec, uptime_usec;
        char boot[37]; /* "": it does not tell, as those do not that were pruned, or kept by an older assayd */
} Beat;

static int read_beat(sqlite3_stmt *statement, Beat *ret) {
        const char *payload = sqlite3_column_blob(statement, 2), *wrong;
        size_t n = (size_t) sqlite3_column_bytes(statement, 2);
        _cleanup_json_ json_t *object = NULL;
        const json_t *predicate;
        int r;

        *ret = (Beat) { .usec = (uint64_t) sqlite3_column_int64(statement, 1) };
        r = payload ? json_read(payload, n, &object, &wrong) : -EBADMSG;
        if (r < 0)
                return r == -EBADMSG ? 0 : r;
        predicate = json_object_get(object, "predicate");
        ret->uptime_usec = strtoull(text_of(json_object_get(predicate, "clock"), "monotonicNs"), NULL, 10) / 1000;
        (void) snprintf(ret->boot, sizeof(ret->boot), "%s", ret->uptime_usec > 0 ? text_of(json_object_get(predicate, "producer"), "bootId") : "");
        return 0;
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
        sqlite3_stmt *statement = store->statements[STORE_HEARTBEATS];
        Beat later = {}, beat;
        uint64_t age = 0;
        int r;

        *ret_end = 0;
        while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
                r = read_beat(statement, &beat);
                if (r < 0)
                        break;
                age += age_between(&beat, &later);
                later = beat;
                if (age >= usec) {
                        *ret_end = (uint64_t) sqlite3_column_int64(statement, 0) + 1;
                        break;
                }
        }
        r = r < 0 ? r : store_error(store, r);
        (void) sqlite3_reset(statement);
        return r;
}
