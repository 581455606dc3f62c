/* SPDX-License-Identifier: Apache-2.0 */

/*
 * What follows from the records and is signed by none: which is the newest of each part and plan, where a failure stands, and which runs have not
 * ended. A heartbeat signs a digest of it, and what it was then is held beside it, so that it can be worked out again from there with no more
 * records than came since.
 */

#include <openssl/evp.h>
#include <string.h>

#include "daemon/record/store/store.h"

#define NOTHING UINT32_MAX /* the length of what is not there */

static int add_column(EVP_MD_CTX *digest, sqlite3_stmt *statement, int column) {
        bool is_there = sqlite3_column_type(statement, column) != SQLITE_NULL;
        const void *text = sqlite3_column_text(statement, column);
        uint32_t n = is_there ? (uint32_t) sqlite3_column_bytes(statement, column) : NOTHING;
        const uint8_t length[] = { (uint8_t) (n >> 24), (uint8_t) (n >> 16), (uint8_t) (n >> 8), (uint8_t) n };

        if (is_there && !text)
                return -ENOMEM;
        if (EVP_DigestUpdate(digest, length, sizeof(length)) != 1 || (is_there && EVP_DigestUpdate(digest, text, n) != 1))
                return -EIO;
        return 0;
}

static int add_table(EVP_MD_CTX *digest, Store *store, StoreStatement which, StoreForm form) {
        sqlite3_stmt *statement = store->statements[which];
        int step = SQLITE_OK, r = 0;

        if (sqlite3_bind_parameter_count(statement) > 0)
                (void) sqlite3_bind_int(statement, 1, form >= STORE_FORM_ALL);
        while (r == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW)
                for (int i = 0; i < sqlite3_column_count(statement) && r == 0; i++)
                        r = add_column(digest, statement, i);
        (void) sqlite3_reset(statement);
        if (r == 0)
                r = store_error(store, step);
        return r < 0 || EVP_DigestUpdate(digest, "\n", 1) == 1 ? r : -EIO;
}

/* Digests of one form are none of another also where no row tells the two apart: so a digest says by which rules the tables were written, but for the last two. */
int store_tables_digest(Store *store, StoreForm form, uint8_t ret[static DIGEST_BYTES]) {
        static const char *const names[_STORE_FORM_MAX] = { "", STORE_WHOLE, "/reached", "/reached" };
        EVP_MD_CTX *digest = EVP_MD_CTX_new();
        int r;

        if (!digest)
                return -ENOMEM;
        r = EVP_DigestInit_ex(digest, EVP_sha256(), NULL) == 1 ? 0 : -EIO;
        if (r == 0)
                r = add_table(digest, store, STORE_TABLE_NEWEST, form);
        if (r == 0)
                r = add_table(digest, store, STORE_TABLE_UNFINISHED, form);
        if (r == 0 && EVP_DigestUpdate(digest, names[form], strlen(names[form])) != 1)
                r = -EIO;
        if (r == 0 && EVP_DigestFinal_ex(digest, ret, NULL) != 1)
                r = -EIO;
        EVP_MD_CTX_free(digest);
        return r;
}

static int run_all(Store *store, const StoreStatement *all, size_t n) {
        int r = 0;

        for (size_t i = 0; i < n && r == 0; i++)
                r = store_run(store, all[i]);
        return r;
}

int store_hold_tables(Store *store) {
        static const StoreStatement all[] = { STORE_CLEAR_HELD_NEWEST, STORE_CLEAR_HELD_UNFINISHED, STORE_HOLD_NEWEST, STORE_HOLD_UNFINISHED };

        return run_all(store, all, ELEMENTS(all));
}

/* Nothing of it is written, not even where it does not fit into the cache: a full disk must not keep a log shut. */
int store_begin_trial(Store *store, bool with_held) {
        static const StoreStatement all[] = { STORE_BEGIN, STORE_CLEAR_NEWEST, STORE_CLEAR_UNFINISHED, STORE_BRING_NEWEST, STORE_BRING_UNFINISHED };

        store->sound = (Known) {};
        (void) sqlite3_exec(store->db, "PRAGMA cache_spill=OFF", NULL, NULL, NULL);
        return run_all(store, all, ELEMENTS(all) - (with_held ? 0 : 2));
}

int store_end_trial(Store *store) {
        int r = sqlite3_get_autocommit(store->db) ? 0 : store_run(store, STORE_ROLLBACK);

        store->sound = (Known) {};
        (void) sqlite3_exec(store->db, "PRAGMA cache_spill=ON", NULL, NULL, NULL);
        return r;
}

/* A number of which SQLite says no more than that it is another one then. */
static int read_changes(Store *store, int64_t *ret) {
        sqlite3_stmt *statement = store->statements[STORE_CHANGES];
        int r;

        r = sqlite3_step(statement);
        if (r == SQLITE_ROW) {
                *ret = sqlite3_column_int64(statement, 0);
                r = 0;
        } else
                r = store_error(store, r) ?: -EIO;
        (void) sqlite3_reset(statement);
        return r;
}

int store_has_changed(Store *store, bool *ret) {
        int64_t changes = 0;
        int r;

        r = read_changes(store, &changes);
        if (r == 0)
                *ret = changes != store->changes;
        return r;
}

int store_note_changes(Store *store) {
        return read_changes(store, &store->changes);
}

int store_newest_heartbeat(Store *store, uint64_t *ret) {
        sqlite3_stmt *statement = store->statements[STORE_HEARTBEATS];
        int r;

        r = sqlite3_step(statement);
        if (r == SQLITE_ROW) {
                *ret = (uint64_t) sqlite3_column_int64(statement, 0);
                r = 0;
        } else
                r = r == SQLITE_DONE ? -ENOENT : store_error(store, r) ?: -EIO;
        (void) sqlite3_reset(statement);
        return r;
}
