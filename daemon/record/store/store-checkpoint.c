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

int store_insert_checkpoint(Store *store, const Head *head, const char *note, size_t n, bool *ret_unknown) {
        int r;

        r = store_begin(store, head, ret_unknown);
        if (r < 0)
                return r;
        r = store_run(store, STORE_INSERT_CHECKPOINT, SQL(sql_number(head->tree.size), sql_blob(note, n), sql_number(realtime_usec())));
        if (r == 0)
                r = store_run(store, STORE_DELETE_CHECKPOINTS, SQL());
        return store_end(store, r, ret_unknown);
}

int store_update_checkpoint(Store *store, const Head *head, uint64_t size, const char *note, size_t n, unsigned n_witnesses, bool *ret_unknown) {
        int r;

        r = store_begin(store, head, ret_unknown);
        if (r < 0)
                return r;
        r = store_run(store, STORE_UPDATE_CHECKPOINT, SQL(sql_number(size), sql_blob(note, n), sql_number(n_witnesses)));
        return store_end(store, r, ret_unknown);
}

/* Columns size, note and witnesses of the row that WHICH gives. */
static int find_checkpoint(Store *store, StoreStatement which, const StoreValue *values, size_t n_values, uint64_t *ret_size, char **ret, size_t *ret_n,
                           unsigned *ret_witnesses) {
        sqlite3_stmt *statement = store_ask(store, which, values, n_values);
        char *note = NULL;
        size_t n = 0;
        int r;

        r = store_step(store, statement);
        if (r == 0) {
                n = (size_t) sqlite3_column_bytes(statement, 1);
                note = malloc(n + 1);
                r = note ? 0 : -ENOMEM;
        }
        if (r == 0) {
                if (n > 0)
                        memcpy(note, sqlite3_column_blob(statement, 1), n);
                note[n] = '\0';
                *ret_size = (uint64_t) sqlite3_column_int64(statement, 0);
                *ret_witnesses = (unsigned) sqlite3_column_int(statement, 2);
                *ret = note;
                *ret_n = n;
        }
        return store_answered(store, statement, r);
}

int store_next_checkpoint(Store *store, uint64_t size, uint64_t *ret_size, char **ret, size_t *ret_n, unsigned *ret_witnesses) {
        return find_checkpoint(store, STORE_NEXT_CHECKPOINT, SQL(sql_number(size)), ret_size, ret, ret_n, ret_witnesses);
}

int store_newest_checkpoint(Store *store, uint64_t last, uint64_t *ret_size, char **ret, size_t *ret_n) {
        unsigned n_witnesses;

        return find_checkpoint(store, STORE_NEWEST_CHECKPOINT, SQL(sql_number(last)), ret_size, ret, ret_n, &n_witnesses);
}

int store_best_checkpoint(Store *store, uint64_t first, uint64_t last, uint64_t *ret_size, char **ret, size_t *ret_n) {
        unsigned n_witnesses;
        int r = -ENOENT;

        /* One number of witnesses after the other: each is one step into an index, however many checkpoints there are. */
        for (int witnesses = RECORD_WITNESSES_MAX; witnesses >= 0 && r == -ENOENT; witnesses--)
                r = find_checkpoint(store, STORE_BEST_CHECKPOINT, SQL(sql_number((uint64_t) witnesses), sql_number(first), sql_number(last)), ret_size, ret,
                                    ret_n, &n_witnesses);
        return r;
}
