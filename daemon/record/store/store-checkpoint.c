/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The checkpoints that a store keeps: the newest ones, which witnesses may still bring their signatures for, and of those that witnesses have
 * signed one for each hour and number of witnesses. They tell later what was in the log by when.
 */

#include "daemon/record/store/store.h"

#include <string.h>
#include <time.h>

static uint64_t realtime_usec(void) {
        struct timespec now;

        (void) clock_gettime(CLOCK_REALTIME, &now);
        return (uint64_t) now.tv_sec * 1000000 + (uint64_t) now.tv_nsec / 1000;
}

static int insert(Store *store, uint64_t size, const char *note, size_t n) {
        sqlite3_stmt *statement = store->statements[STORE_INSERT_CHECKPOINT];

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) size);
        (void) sqlite3_bind_blob(statement, 2, note, (int) n, SQLITE_STATIC);
        (void) sqlite3_bind_int64(statement, 3, (sqlite3_int64) realtime_usec());
        return store_run(store, STORE_INSERT_CHECKPOINT);
}

int store_insert_checkpoint(Store *store, uint64_t size, const char *note, size_t n, bool *ret_unknown) {
        int r;

        *ret_unknown = false;
        r = store_begin(store);
        if (r < 0)
                return r;
        r = insert(store, size, note, n);
        if (r == 0)
                r = store_run(store, STORE_DELETE_CHECKPOINTS);
        return store_end(store, r, ret_unknown);
}

int store_update_checkpoint(Store *store, uint64_t size, const char *note, size_t n, unsigned n_witnesses, bool *ret_unknown) {
        sqlite3_stmt *statement = store->statements[STORE_UPDATE_CHECKPOINT];
        int r;

        *ret_unknown = false;
        r = store_begin(store);
        if (r < 0)
                return r;
        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) size);
        (void) sqlite3_bind_blob(statement, 2, note, (int) n, SQLITE_STATIC);
        (void) sqlite3_bind_int(statement, 3, (int) n_witnesses);
        r = store_run(store, STORE_UPDATE_CHECKPOINT);
        return store_end(store, r, ret_unknown);
}

/* Columns size and note of the row that STATEMENT comes to. */
static int take_checkpoint(Store *store, sqlite3_stmt *statement, uint64_t *ret_size, char **ret, size_t *ret_n) {
        size_t n;
        char *note;
        int r;

        r = sqlite3_step(statement);
        if (r != SQLITE_ROW)
                return r == SQLITE_DONE ? -ENOENT : store_error(store, r) ?: -EIO;
        n = (size_t) sqlite3_column_bytes(statement, 1);
        note = malloc(n + 1);
        if (!note)
                return -ENOMEM;
        if (n > 0)
                memcpy(note, sqlite3_column_blob(statement, 1), n);
        note[n] = '\0';
        *ret_size = (uint64_t) sqlite3_column_int64(statement, 0);
        *ret = note;
        *ret_n = n;
        return 0;
}

int store_check_witnessed(Store *store) {
        int64_t is_whole = 0;
        int r;

        r = store_number(store, "SELECT integrity_check = 'ok' FROM pragma_integrity_check('checkpoint')", &is_whole);
        return r == 0 && !is_whole ? -EBADMSG : r;
}

int store_next_checkpoint(Store *store, uint64_t size, uint64_t *ret_size, char **ret, size_t *ret_n, unsigned *ret_witnesses) {
        sqlite3_stmt *statement = store->statements[STORE_NEXT_CHECKPOINT];
        int r;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) size);
        r = take_checkpoint(store, statement, ret_size, ret, ret_n);
        if (r == 0)
                *ret_witnesses = (unsigned) sqlite3_column_int(statement, 2);
        (void) sqlite3_reset(statement);
        return r;
}

int store_newest_checkpoint(Store *store, uint64_t last, uint64_t *ret_size, char **ret, size_t *ret_n) {
        sqlite3_stmt *statement = store->statements[STORE_NEWEST_CHECKPOINT];
        int r;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) last);
        r = take_checkpoint(store, statement, ret_size, ret, ret_n);
        (void) sqlite3_reset(statement);
        return r;
}

int store_best_checkpoint(Store *store, uint64_t first, uint64_t last, uint64_t *ret_size, char **ret, size_t *ret_n) {
        sqlite3_stmt *statement = store->statements[STORE_BEST_CHECKPOINT];
        int r = -ENOENT;

        /* One number of witnesses after the other: each is one step into an index, however many checkpoints there are. */
        for (int witnesses = RECORD_WITNESSES_MAX; witnesses >= 0 && r == -ENOENT; witnesses--) {
                (void) sqlite3_bind_int(statement, 1, witnesses);
                (void) sqlite3_bind_int64(statement, 2, (sqlite3_int64) first);
                (void) sqlite3_bind_int64(statement, 3, (sqlite3_int64) last);
                r = take_checkpoint(store, statement, ret_size, ret, ret_n);
                (void) sqlite3_reset(statement);
        }
        return r;
}
