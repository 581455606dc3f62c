/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/store/database.h"
#include "daemon/record/store/failures.h"
#include "daemon/record/store/store.h"

#include <stdio.h>
#include <string.h>

#define ENTRY_COLUMNS "e.idx, r.id, e.type, e.subject, e.result, e.plan, e.run, e.finished"
#define ENTRY_FROM    " FROM entry e JOIN record r ON r.idx = e.idx "
#define ENVELOPE_COLUMNS "id, envelope, keyid, signature, payload"

static const char *const texts[_STORE_STATEMENT_MAX] = {
        [STORE_BEGIN] = "BEGIN IMMEDIATE",
        [STORE_COMMIT] = "COMMIT",
        [STORE_ROLLBACK] = "ROLLBACK",
        [STORE_INSERT_RECORD] = "INSERT INTO record (idx, id, keyid, signature, payload) VALUES (?1, ?2, ?3, ?4, ?5)",
        [STORE_INSERT_ENTRY] = "INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        [STORE_UPDATE_ENTRY] = "UPDATE entry SET type = ?2, subject = ?3, result = ?4, plan = ?5, run = ?6, finished = ?7 WHERE idx = ?1",
        [STORE_INSERT_NEWEST] = "INSERT INTO newest VALUES (?1, ?2, ?3)"
                                " ON CONFLICT (subject, plan) DO UPDATE SET idx = excluded.idx",
        [STORE_INSERT_IDENTITY] = "INSERT INTO identity VALUES (?1, ?2) ON CONFLICT DO NOTHING",
        [STORE_INSERT_UNFINISHED] = "INSERT INTO unfinished VALUES (?1, ?2, ?3)",
        [STORE_DELETE_UNFINISHED] = "DELETE FROM unfinished WHERE run = ?1 AND subject = ?2",
        [STORE_DELETE_NEWEST] = "DELETE FROM newest WHERE subject = ?1 AND plan = ?2",
        [STORE_INSERT_CHECKPOINT] = "INSERT INTO checkpoint VALUES (?1, ?2, ?3, 0) ON CONFLICT DO NOTHING",
        [STORE_UPDATE_CHECKPOINT] = "UPDATE checkpoint SET note = ?2, witnesses = ?3 WHERE size = ?1",
        /* Looks at a few that just became old: what stays of them is pushed on by newer ones. */
        [STORE_DELETE_CHECKPOINTS] = "DELETE FROM checkpoint AS old WHERE size IN"
                                     " (SELECT size FROM checkpoint ORDER BY size DESC LIMIT 32 OFFSET 128) AND EXISTS"
                                     " (SELECT 1 FROM checkpoint AS newer WHERE newer.size > old.size AND newer.witnesses >= old.witnesses"
                                     " AND (old.witnesses = 0 OR newer.at / 3600000000 = old.at / 3600000000))",
        [STORE_NEWEST_CHECKPOINT] = "SELECT size, note, witnesses FROM checkpoint WHERE size <= ?1 ORDER BY size DESC LIMIT 1",
        [STORE_BEST_CHECKPOINT] = "SELECT size, note, witnesses FROM checkpoint WHERE witnesses = ?1 AND size BETWEEN ?2 AND ?3"
                                  " ORDER BY size DESC LIMIT 1",
        /* What follows a change of keys is how the change is known. */
        [STORE_DROPPABLE] = "SELECT idx FROM record WHERE idx >= ?1 AND idx < ?2 AND coalesce(envelope, payload) IS NOT NULL"
                            " AND EXISTS (SELECT 1 FROM entry AS e WHERE e.idx = record.idx AND e.finished < ?3 AND e.result != 'FAILED' AND e.type IN"
                            " ('" RECORD_TYPE_HEALTH "', '" RECORD_TYPE_HEALTH_V2 "', '" RECORD_TYPE_SUMMARY "', '" RECORD_TYPE_RUN_START "', '" RECORD_TYPE_HEARTBEAT "'))"
                            " AND idx NOT IN (SELECT idx FROM newest) AND idx NOT IN (SELECT idx FROM unfinished)"
                            " AND NOT EXISTS (SELECT 1 FROM entry AS e WHERE e.idx = record.idx - 1 AND e.type = '" RECORD_TYPE_ROTATION "')",
        [STORE_DROP] = "UPDATE record SET envelope = NULL, keyid = NULL, signature = NULL, payload = NULL WHERE idx = ?1",
        [STORE_NEXT_HOLE] = "SELECT idx FROM record INDEXED BY hole WHERE idx >= ?1 AND " STORE_IS_HOLE " ORDER BY idx LIMIT 1",
        [STORE_HEARTBEATS] = "SELECT e.idx, e.finished, r.payload" ENTRY_FROM "WHERE e.type = '" RECORD_TYPE_HEARTBEAT "' ORDER BY e.idx DESC",
        [STORE_ID] = "SELECT id FROM record WHERE idx = ?1",
        [STORE_LAST] = "SELECT idx, id FROM record ORDER BY idx DESC LIMIT 1",
        [STORE_NODES] = "SELECT nodes FROM entry WHERE idx = ?1",
        [STORE_ALL_NODES] = "SELECT idx, nodes FROM entry WHERE idx >= ?1 ORDER BY idx",
        [STORE_ENTRY] = "SELECT " ENTRY_COLUMNS ENTRY_FROM "WHERE e.idx = ?1",
        [STORE_ENVELOPE] = "SELECT " ENVELOPE_COLUMNS " FROM record WHERE idx = ?1",
        [STORE_EXPORT] = "SELECT " ENVELOPE_COLUMNS ", idx FROM record WHERE idx >= ?1 AND idx < ?2 ORDER BY idx",
        [STORE_NEWEST] = "SELECT max(idx) FROM newest WHERE subject = ?1",
        [STORE_NEWEST_OF_PLAN] = "SELECT max(idx) FROM newest WHERE subject = ?1 AND plan = ?2",
        [STORE_NEWEST_BEFORE] = "SELECT max(idx) FROM newest WHERE subject = ?1 AND idx < ?2 AND instr(plan, '/') = 0",
        [STORE_WHOLE_BEFORE] = "SELECT max(idx) FROM newest WHERE subject = ?1 AND idx < ?2 AND"
                               " CASE WHEN ?3 IS NULL THEN instr(plan, '/') = 0 OR substr(plan, instr(plan, '/')) = '" STORE_WHOLE "'"
                               " ELSE plan IN (?3, ?3 || '" STORE_WHOLE "') END",
        [STORE_FAILURES] = "SELECT idx, plan FROM newest WHERE subject = ?1 AND instr(plan, '/failed/') > 0 ORDER BY idx DESC",
        /* A row that somebody took away hides no run, and what may have ended it is read: record_log_unfinished(). */
        [STORE_UNFINISHED] = "SELECT min(idx) FROM (SELECT idx FROM unfinished WHERE idx >= ?1 UNION ALL SELECT idx FROM entry WHERE idx >= ?1 AND type = '" RECORD_TYPE_RUN_START "'"
                             " AND (run, subject) NOT IN (SELECT run, subject FROM entry WHERE idx > ?1 AND type = '" RECORD_TYPE_SUMMARY "'))",
        [STORE_NEXT_ROLLUP] = "SELECT idx FROM entry WHERE idx > ?1 AND type = '" RECORD_TYPE_SUMMARY "' AND run = ?2 AND subject = ?3 ORDER BY idx LIMIT 1",
        [STORE_NEXT_START] = "SELECT idx FROM entry WHERE idx >= ?1 AND type = '" RECORD_TYPE_RUN_START "' ORDER BY idx LIMIT 1",
        [STORE_NEXT_VERDICT] = "SELECT idx FROM entry WHERE idx >= ?1 AND type IN ('" RECORD_TYPE_HEALTH "', '" RECORD_TYPE_HEALTH_V2 "', '" RECORD_TYPE_SUMMARY "')"
                               " ORDER BY idx LIMIT 1",
        [STORE_ROTATION] = "SELECT min(idx) FROM entry WHERE type = '" RECORD_TYPE_ROTATION "' AND idx >= ?1",
        [STORE_ARCHIVE] = "SELECT min(idx) FROM entry WHERE type = '" RECORD_TYPE_ARCHIVE "' AND idx >= ?1",
        [STORE_DECISION] = "SELECT min(idx) FROM entry WHERE type = '" RECORD_TYPE_DECISION "' AND idx >= ?1",
        [STORE_ALL_NEWEST] = "SELECT subject, plan, idx FROM newest ORDER BY subject, plan",
        [STORE_ALL_UNFINISHED] = "SELECT subject, run, idx FROM unfinished ORDER BY subject, run, idx",
        [STORE_NEXT_CHECKPOINT] = "SELECT size, note, witnesses FROM checkpoint WHERE size > ?1 ORDER BY size LIMIT 1",
        [STORE_PRUNED_BEHIND] = "SELECT e.idx" ENTRY_FROM "WHERE e.subject = ?1 AND e.idx > ?2 AND coalesce(r.envelope, r.payload) IS NULL LIMIT 1",
        [STORE_IDENTITY] = "SELECT document FROM identity WHERE digest = ?1",
};

int store_error(Store *store, int sqlite_error) {
        return database_error(store ? store->db : NULL, sqlite_error);
}

int store_execute(Store *store, const char *sql) {
        int r;

        (void) pthread_mutex_lock(&store->mutex);
        r = store_error(store, sqlite3_exec(store->db, sql, NULL, NULL, NULL));
        (void) pthread_mutex_unlock(&store->mutex);
        return r;
}

/* The first row of SQL, which nobody has prepared. As store_ask() and store_step(). */
static int ask_once(Store *store, const char *sql, sqlite3_stmt **ret) {
        int r;

        (void) pthread_mutex_lock(&store->mutex);
        r = sqlite3_prepare_v2(store->db, sql, -1, ret, NULL);
        return r == SQLITE_OK ? store_step(store, *ret) : store_error(store, r);
}

static int answered_once(Store *store, sqlite3_stmt *statement, int r) {
        (void) sqlite3_finalize(statement);
        (void) pthread_mutex_unlock(&store->mutex);
        return r;
}

int store_number(Store *store, const char *sql, int64_t *ret) {
        sqlite3_stmt *statement = NULL;
        int r;

        r = ask_once(store, sql, &statement);
        if (r == 0)
                *ret = sqlite3_column_int64(statement, 0);
        return answered_once(store, statement, r);
}

int store_text(Store *store, const char *sql, char **ret) {
        sqlite3_stmt *statement = NULL;
        int r;

        r = ask_once(store, sql, &statement);
        if (r == 0) {
                const char *text = (const char *) sqlite3_column_text(statement, 0);

                *ret = strdup(text ?: "missing");
                r = *ret ? 0 : -ENOMEM;
        }
        return answered_once(store, statement, r == -ENOENT ? -EBADMSG : r);
}

int store_prepare(Store *store) {
        int r;

        for (size_t i = 0; i < _STORE_STATEMENT_MAX && !store->statements[i]; i++) {
                r = sqlite3_prepare_v3(store->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT, &store->statements[i], NULL);
                if (r != SQLITE_OK)
                        return store_error(store, r);
        }
        return 0;
}

/*
 * SQLite takes the pages of each connection one by one. Twenty at once are more than is kept free (room.h): the kernel would clear them and map them anew
 * for each commit, before which all pages are given back (store_begin()). After the first connection of the process it stays as it is.
 */
Store *store_new(void) {
        Store *store = calloc(1, sizeof(*store));

        (void) sqlite3_config(SQLITE_CONFIG_PAGECACHE, NULL, 0, 0);
        if (store)
                *store = (Store) { .mutex = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP, .changes = -1 };
        return store;
}

Store *store_close(Store *store) {
        if (!store)
                return NULL;
        for (size_t i = 0; i < _STORE_STATEMENT_MAX; i++)
                (void) sqlite3_finalize(store->statements[i]);
        (void) sqlite3_close(store->db);
        (void) pthread_mutex_destroy(&store->mutex);
        free(store);
        return NULL;
}

sqlite3_stmt *store_ask(Store *store, StoreStatement which, const StoreValue *values, size_t n) {
        sqlite3_stmt *statement = store->statements[which];

        (void) pthread_mutex_lock(&store->mutex);
        for (size_t i = 0; i < n; i++)
                switch (values[i].type) {
                case STORE_NUMBER:
                        (void) sqlite3_bind_int64(statement, (int) i + 1, values[i].number);
                        break;
                case STORE_TEXT:
                        (void) sqlite3_bind_text(statement, (int) i + 1, values[i].bytes, -1, SQLITE_STATIC);
                        break;
                case STORE_BLOB:
                        (void) sqlite3_bind_blob(statement, (int) i + 1, values[i].bytes, (int) values[i].n, SQLITE_STATIC);
                        break;
                }
        return statement;
}

int store_step(Store *store, sqlite3_stmt *statement) {
        int r = sqlite3_step(statement);

        if (r == SQLITE_ROW)
                return 0;
        return r == SQLITE_DONE ? -ENOENT : store_error(store, r) ?: -EIO;
}

int store_answered(Store *store, sqlite3_stmt *statement, int r) {
        (void) sqlite3_reset(statement);
        (void) pthread_mutex_unlock(&store->mutex);
        return r;
}

int store_run(Store *store, StoreStatement which, const StoreValue *values, size_t n) {
        sqlite3_stmt *statement = store_ask(store, which, values, n);
        int r = store_step(store, statement);

        return store_answered(store, statement, r == -ENOENT ? 0 : r);
}

static int insert_record(Store *store, const StoreRow *row) {
        const Envelope *envelope = &row->record->envelope;
        size_t n;
        const char *payload = envelope_payload(envelope, &n);

        return store_run(store, STORE_INSERT_RECORD,
                         SQL(sql_number(row->entry->index), sql_blob(envelope->id, DIGEST_BYTES), sql_text(envelope->signatures[0].key_id),
                             sql_blob(envelope->signatures[0].bytes, envelope->signatures[0].n), sql_blob(payload, n)));
}

#define SQL_ENTRY(entry, subject)                                                                            \
        sql_number((entry)->index), sql_text((entry)->type), sql_text(subject), sql_text(result_to_string((entry)->result)), \
                sql_text((entry)->plan), sql_text((entry)->run), sql_number((entry)->finished_usec)

int store_update_entry(Store *store, const RecordEntry *entry) {
        char subject[LOCATION_STRING_MAX];
        int r;

        r = store_run(store, STORE_UPDATE_ENTRY, SQL(SQL_ENTRY(entry, location_format(&entry->subject, subject))));
        return r == 0 && sqlite3_changes(store->db) != 1 ? -EBADMSG : r;
}

static int insert_entry(Store *store, const StoreRow *row) {
        char subject[LOCATION_STRING_MAX];

        return store_run(store, STORE_INSERT_ENTRY,
                         SQL(SQL_ENTRY(row->entry, location_format(&row->entry->subject, subject)), sql_blob(row->nodes, row->n_nodes * sizeof(TreeHash))));
}

/* ROW: what stands behind the plan. */
static int insert_newest(Store *store, const RecordEntry *entry, const char *subject, const char *row) {
        char key[STORE_PLAN_MAX];

        (void) snprintf(key, sizeof(key), "%s%s", entry->plan, row);
        return store_run(store, STORE_INSERT_NEWEST, SQL(sql_text(subject), sql_text(key), sql_number(entry->index)));
}

int store_derive(Store *store, const RecordEntry *entry, const Places *places, bool has_regions) {
        char subject[LOCATION_STRING_MAX];
        int r;

        (void) location_format(&entry->subject, subject);
        if (strcmp(entry->type, RECORD_TYPE_RUN_START) == 0)
                return store_run(store, STORE_INSERT_UNFINISHED, SQL(sql_number(entry->index), sql_text(entry->run), sql_text(subject)));
        if (!record_is_verdict(entry))
                return 0;
        r = insert_newest(store, entry, subject, "");
        if (r == 0 && has_regions)
                r = insert_newest(store, entry, subject, STORE_REGIONS);
        if (r == 0 && places && !places->in_part)
                r = insert_newest(store, entry, subject, STORE_WHOLE);
        if (r == 0 && places)
                r = failures_update(store, entry, subject, places);
        if (r == 0 && strcmp(entry->type, RECORD_TYPE_SUMMARY) == 0)
                r = store_run(store, STORE_DELETE_UNFINISHED, SQL(sql_text(entry->run), sql_text(subject)));
        return r;
}

static int append_row(Store *store, const StoreRow *row) {
        int r;

        r = insert_record(store, row);
        if (r == 0)
                r = insert_entry(store, row);
        if (r == 0 && row->identity)
                r = store_run(store, STORE_INSERT_IDENTITY, SQL(sql_blob(row->identity->digest, DIGEST_BYTES), sql_text(row->identity->document)));
        if (r == 0 && row->archive)
                r = store_drop(store, row->archive);
        return r < 0 ? r : store_derive(store, row->entry, row->places, row->has_regions);
}

int store_end(Store *store, int r, bool *ret_unknown) {
        *ret_unknown = false;
        if (r == 0) {
                r = store_run(store, STORE_COMMIT, SQL());
                *ret_unknown = r < 0 && r != -ENOSPC && r != -EBUSY;
                /* One into files that are no more, or behind a hole, is none. */
                if (r == 0 && !store_has_its_files(store))
                        return -EBADMSG;
        }
        /* Some errors end the transaction by themselves. */
        if (r < 0 && !sqlite3_get_autocommit(store->db))
                (void) store_run(store, STORE_ROLLBACK, SQL());
        if (!sqlite3_get_autocommit(store->db))
                *ret_unknown = true;
        return r;
}

/*
 * A commit behind a hole makes the write-ahead log as long as it was: whoever looks next finds nothing. An old copy that is written over the database
 * leaves the file the one that is open: what it ends with is looked up where nobody can change it any more, and on the disk, for SQLite keeps the
 * pages that it has read until another connection has written.
 */
int store_begin(Store *store, const Head *head, bool *ret_unknown) {
        int r;

        *ret_unknown = false;
        if (!store_has_its_wal(store))
                return -EBADMSG;
        (void) sqlite3_db_release_memory(store->db);
        r = store_run(store, STORE_BEGIN, SQL());
        if (r < 0)
                return r;
        r = store_check_head(store, head);
        return r < 0 ? store_end(store, r, ret_unknown) : 0;
}

int store_append(Store *store, const Head *head, const StoreRow *rows, size_t n, bool *ret_unknown) {
        int r;

        r = store_begin(store, head, ret_unknown);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n && r == 0; i++)
                r = append_row(store, &rows[i]);
        return store_end(store, r, ret_unknown);
}

int store_settle(Store *store) {
        return store_error(store, sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
}
