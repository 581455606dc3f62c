/* SPDX-License-Identifier: Apache-2.0 */

/* What of a store goes away in time: envelopes, and nothing that proves that they were there. */

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

int store_lived(Store *store, uint64_t usec, uint64_t *ret_end) {
        sqlite3_stmt *statement = store->statements[STORE_HEARTBEATS];
        uint64_t later = 0, age = 0;
        int r;

        *ret_end = 0;
        while ((r = sqlite3_step(statement)) == SQLITE_ROW) {
                uint64_t at = (uint64_t) sqlite3_column_int64(statement, 1), gap = later > at ? later - at : 0;

                age += gap < DAY_USEC ? gap : DAY_USEC;
                later = at;
                if (age >= usec) {
                        *ret_end = (uint64_t) sqlite3_column_int64(statement, 0) + 1;
                        break;
                }
        }
        r = store_error(store, r);
        (void) sqlite3_reset(statement);
        return r;
}
