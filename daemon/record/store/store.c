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
        [STORE_NEWEST_CHECKPOINT] = "SELECT size, note FROM checkpoint WHERE size <= ?1 ORDER BY size DESC LIMIT 1",
        [STORE_BEST_CHECKPOINT] = "SELECT size, note FROM checkpoint WHERE witnesses = ?1 AND size BETWEEN ?2 AND ?3"
                                  " ORDER BY size DESC LIMIT 1",
        /* What follows a change of keys is how the change is known. */
        [STORE_DROPPABLE] = "SELECT idx FROM record WHERE idx >= ?1 AND idx < ?2 AND coalesce(envelope, payload) IS NOT NULL"
                            " AND EXISTS (SELECT 1 FROM entry AS e WHERE e.idx = record.idx AND e.finished < ?3 AND e.result != 'FAILED' AND e.type IN"
                            " ('" RECORD_TYPE_HEALTH "', '" RECORD_TYPE_HEALTH_V2 "', '" RECORD_TYPE_SUMMARY "', '" RECORD_TYPE_RUN_START "', '" RECORD_TYPE_HEARTBEAT "'))"
                            " AND idx NOT IN (SELECT idx FROM newest) AND idx NOT IN (SELECT idx FROM unfinished)"
                            " AND NOT EXISTS (SELECT 1 FROM entry AS e WHERE e.idx = record.idx - 1 AND e.type = '" RECORD_TYPE_ROTATION "')",
        [STORE_DROP] = "UPDATE record SET envelope = NULL, keyid = NULL, signature = NULL, payload = NULL WHERE idx = ?1",
        [STORE_HOLES] = "SELECT idx FROM record INDEXED BY hole WHERE idx >= ?1 AND " STORE_IS_HOLE " ORDER BY idx",
        [STORE_HOLE] = "SELECT count(*) FROM record NOT INDEXED WHERE idx = ?1 AND " STORE_IS_HOLE,
        [STORE_HEARTBEATS] = "SELECT e.idx, e.finished, r.payload" ENTRY_FROM "WHERE e.type = '" RECORD_TYPE_HEARTBEAT "' ORDER BY e.idx DESC",
        [STORE_SIZE] = "SELECT (SELECT coalesce(max(idx), -1) FROM record), (SELECT coalesce(max(idx), -1) FROM entry)",
        [STORE_LAST] = "SELECT id FROM record ORDER BY idx DESC LIMIT 1",
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
        [STORE_UNFINISHED] = "SELECT " ENTRY_COLUMNS ENTRY_FROM
                             "WHERE e.idx = (SELECT min(idx) FROM unfinished WHERE idx >= ?1)",
        [STORE_NEXT_START] = "SELECT " ENTRY_COLUMNS ENTRY_FROM "WHERE e.idx >= ?1 AND e.type = '" RECORD_TYPE_RUN_START "' ORDER BY e.idx LIMIT 1",
        [STORE_NEXT_VERDICT] = "SELECT " ENTRY_COLUMNS ENTRY_FROM "WHERE e.idx >= ?1 AND e.type IN ('" RECORD_TYPE_HEALTH "', '" RECORD_TYPE_HEALTH_V2 "', '" RECORD_TYPE_SUMMARY "')"
                               " ORDER BY e.idx LIMIT 1",
        [STORE_ROTATION] = "SELECT min(idx) FROM entry WHERE type = '" RECORD_TYPE_ROTATION "' AND idx >= ?1",
        [STORE_ARCHIVE] = "SELECT min(idx) FROM entry WHERE type = '" RECORD_TYPE_ARCHIVE "' AND idx >= ?1",
        [STORE_DECISION] = "SELECT min(idx) FROM entry WHERE type = '" RECORD_TYPE_DECISION "' AND idx >= ?1", /* without an index: asked once in a process, if at all */
        [STORE_ALL_NEWEST] = "SELECT subject, plan, idx FROM newest ORDER BY subject, plan",
        [STORE_ALL_UNFINISHED] = "SELECT subject, run, idx FROM unfinished ORDER BY subject, run, idx",
        [STORE_NEXT_CHECKPOINT] = "SELECT size, note, witnesses FROM checkpoint WHERE size > ?1 ORDER BY size LIMIT 1",
        [STORE_CHANGES] = "PRAGMA data_version",
        [STORE_IDENTITY] = "SELECT document FROM identity WHERE digest = ?1",
};

int store_error(Store *store, int sqlite_error) {
        return database_error(store ? store->db : NULL, sqlite_error);
}

int store_execute(Store *store, const char *sql) {
        return store_error(store, sqlite3_exec(store->db, sql, NULL, NULL, NULL));
}

int store_number(Store *store, const char *sql, int64_t *ret) {
        sqlite3_stmt *statement = NULL;
        int r;

        r = sqlite3_prepare_v2(store->db, sql, -1, &statement, NULL);
        if (r == SQLITE_OK)
                r = sqlite3_step(statement);
        if (r == SQLITE_ROW)
                *ret = sqlite3_column_int64(statement, 0);
        (void) sqlite3_finalize(statement);
        if (r == SQLITE_DONE)
                return -ENOENT;
        return r == SQLITE_ROW ? 0 : store_error(store, r);
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

Store *store_close(Store *store) {
        if (!store)
                return NULL;
        for (size_t i = 0; i < _STORE_STATEMENT_MAX; i++)
                (void) sqlite3_finalize(store->statements[i]);
        (void) sqlite3_close(store->db);
        free(store);
        return NULL;
}

/* And makes it ready for its next use. */
int store_run(Store *store, StoreStatement which) {
        sqlite3_stmt *statement = store->statements[which];
        int r;

        r = store_error(store, sqlite3_step(statement));
        (void) sqlite3_reset(statement);
        return r;
}

static void bind_text(sqlite3_stmt *statement, int column, const char *text) {
        (void) sqlite3_bind_text(statement, column, text, -1, SQLITE_STATIC);
}

static int insert_record(Store *store, const StoreRow *row) {
        sqlite3_stmt *statement = store->statements[STORE_INSERT_RECORD];
        const Envelope *envelope = &row->record->envelope;
        size_t n;
        const char *payload = envelope_payload(envelope, &n);

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) row->entry->index);
        (void) sqlite3_bind_blob(statement, 2, row->record->id, DIGEST_BYTES, SQLITE_STATIC);
        bind_text(statement, 3, envelope->key_id);
        (void) sqlite3_bind_blob(statement, 4, envelope->signature, (int) envelope->n_signature, SQLITE_STATIC);
        (void) sqlite3_bind_blob(statement, 5, payload, (int) n, SQLITE_STATIC);
        return store_run(store, STORE_INSERT_RECORD);
}

static void bind_entry(sqlite3_stmt *statement, const RecordEntry *entry, const char *subject) {
        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) entry->index);
        bind_text(statement, 2, entry->type);
        bind_text(statement, 3, subject);
        bind_text(statement, 4, result_to_string(entry->result));
        bind_text(statement, 5, entry->plan);
        bind_text(statement, 6, entry->run);
        (void) sqlite3_bind_int64(statement, 7, (sqlite3_int64) entry->finished_usec);
}

int store_update_entry(Store *store, const RecordEntry *entry) {
        char subject[LOCATION_STRING_MAX];

        int r;

        bind_entry(store->statements[STORE_UPDATE_ENTRY], entry, location_format(&entry->subject, subject));
        r = store_run(store, STORE_UPDATE_ENTRY);
        return r == 0 && sqlite3_changes(store->db) != 1 ? -EBADMSG : r;
}

static int insert_entry(Store *store, const StoreRow *row, const char *subject) {
        sqlite3_stmt *statement = store->statements[STORE_INSERT_ENTRY];

        bind_entry(statement, row->entry, subject);
        (void) sqlite3_bind_blob(statement, 8, row->nodes, (int) (row->n_nodes * sizeof(TreeHash)), SQLITE_STATIC);
        return store_run(store, STORE_INSERT_ENTRY);
}

static int insert_identity(Store *store, const Identity *identity) {
        sqlite3_stmt *statement = store->statements[STORE_INSERT_IDENTITY];

        (void) sqlite3_bind_blob(statement, 1, identity->digest, DIGEST_BYTES, SQLITE_STATIC);
        bind_text(statement, 2, identity->document);
        return store_run(store, STORE_INSERT_IDENTITY);
}

int store_insert_newest(Store *store, uint64_t index, const char *subject, const char *key) {
        sqlite3_stmt *statement = store->statements[STORE_INSERT_NEWEST];

        bind_text(statement, 1, subject);
        bind_text(statement, 2, key);
        (void) sqlite3_bind_int64(statement, 3, (sqlite3_int64) index);
        return store_run(store, STORE_INSERT_NEWEST);
}

int store_delete_newest(Store *store, const char *subject, const char *key) {
        sqlite3_stmt *statement = store->statements[STORE_DELETE_NEWEST];

        bind_text(statement, 1, subject);
        bind_text(statement, 2, key);
        return store_run(store, STORE_DELETE_NEWEST);
}

static int insert_unfinished(Store *store, const RecordEntry *entry, const char *subject) {
        sqlite3_stmt *statement = store->statements[STORE_INSERT_UNFINISHED];

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) entry->index);
        bind_text(statement, 2, entry->run);
        bind_text(statement, 3, subject);
        return store_run(store, STORE_INSERT_UNFINISHED);
}

static int delete_unfinished(Store *store, const RecordEntry *entry, const char *subject) {
        sqlite3_stmt *statement = store->statements[STORE_DELETE_UNFINISHED];

        bind_text(statement, 1, entry->run);
        bind_text(statement, 2, subject);
        return store_run(store, STORE_DELETE_UNFINISHED);
}

/* ROW: what stands behind the plan. */
static int insert_newest_of(Store *store, const RecordEntry *entry, const char *subject, const char *row) {
        char key[STORE_PLAN_MAX];

        (void) snprintf(key, sizeof(key), "%s%s", entry->plan, row);
        return store_insert_newest(store, entry->index, subject, key);
}

static int derive(Store *store, const RecordEntry *entry, const char *subject, const Places *places, bool has_regions) {
        int r;

        if (strcmp(entry->type, RECORD_TYPE_RUN_START) == 0)
                return insert_unfinished(store, entry, subject);
        if (!record_is_verdict(entry))
                return 0;
        r = insert_newest_of(store, entry, subject, "");
        if (r == 0 && has_regions)
                r = insert_newest_of(store, entry, subject, STORE_REGIONS);
        if (r == 0 && places && !places->in_part)
                r = insert_newest_of(store, entry, subject, STORE_WHOLE);
        if (r == 0 && places)
                r = failures_update(store, entry, subject, places);
        if (r == 0 && strcmp(entry->type, RECORD_TYPE_SUMMARY) == 0)
                r = delete_unfinished(store, entry, subject);
        return r;
}

int store_derive(Store *store, const RecordEntry *entry, const Places *places, bool has_regions) {
        char subject[LOCATION_STRING_MAX];

        return derive(store, entry, location_format(&entry->subject, subject), places, has_regions);
}

static int append_row(Store *store, const StoreRow *row) {
        char subject[LOCATION_STRING_MAX];
        int r;

        (void) location_format(&row->entry->subject, subject);
        r = insert_record(store, row);
        if (r == 0)
                r = insert_entry(store, row, subject);
        if (r == 0 && row->identity)
                r = insert_identity(store, row->identity);
        if (r == 0 && row->archive)
                r = store_drop(store, row->archive);
        return r < 0 ? r : derive(store, row->entry, subject, row->places, row->has_regions);
}

/* What is written behind a hole makes the write-ahead log as long as it was: whoever looks next finds nothing. */
int store_begin(Store *store) {
        return store_has_its_wal(store) ? store_run(store, STORE_BEGIN) : -EBADMSG;
}

int store_end(Store *store, int r, bool *ret_unknown) {
        *ret_unknown = false;
        if (r == 0) {
                r = store_run(store, STORE_COMMIT);
                *ret_unknown = r < 0 && r != -ENOSPC && r != -EBUSY;
                /* One into files that are no more, or behind a hole, is none. */
                if (r == 0 && !store_has_its_files(store))
                        return -EBADMSG;
        }
        /* Some errors end the transaction by themselves. */
        if (r < 0 && !sqlite3_get_autocommit(store->db))
                (void) store_run(store, STORE_ROLLBACK);
        if (!sqlite3_get_autocommit(store->db))
                *ret_unknown = true;
        return r;
}

int store_append(Store *store, const StoreRow *rows, size_t n, bool *ret_unknown) {
        int r;

        *ret_unknown = false;
        r = store_begin(store);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n && r == 0; i++)
                r = append_row(store, &rows[i]);
        return store_end(store, r, ret_unknown);
}

/* Both tables end at the same record. That none is missing before it the tree tells of entries, and the scrub of records. */
int store_size(Store *store, uint64_t *ret) {
        sqlite3_stmt *statement = store->statements[STORE_SIZE];
        int r;

        r = sqlite3_step(statement);
        if (r != SQLITE_ROW)
                r = store_error(store, r) ?: -EIO;
        else {
                *ret = (uint64_t) sqlite3_column_int64(statement, 0) + 1;
                r = (uint64_t) sqlite3_column_int64(statement, 1) + 1 == *ret ? 0 : -EBADMSG;
        }
        (void) sqlite3_reset(statement);
        return r;
}

static int head_id(Store *store, uint8_t ret[static DIGEST_BYTES]) {
        sqlite3_stmt *statement = store->statements[STORE_LAST];
        int r;

        r = sqlite3_step(statement);
        if (r != SQLITE_ROW)
                r = store_error(store, r) ?: -EIO;
        else if (sqlite3_column_bytes(statement, 0) != DIGEST_BYTES)
                r = -EBADMSG;
        else {
                memcpy(ret, sqlite3_column_blob(statement, 0), DIGEST_BYTES);
                r = 0;
        }
        (void) sqlite3_reset(statement);
        return r;
}

int store_take_node(sqlite3_stmt *statement, int column, uint64_t leaf, unsigned level, TreeHash *ret) {
        const uint8_t *nodes = sqlite3_column_blob(statement, column);

        if ((unsigned) sqlite3_column_bytes(statement, column) != tree_made_whole(leaf) * sizeof(TreeHash))
                return -EBADMSG;
        memcpy(ret->bytes, nodes + level * sizeof(TreeHash), sizeof(TreeHash));
        return 0;
}

int store_hash(void *userdata, uint64_t position, TreeHash *ret) {
        Store *store = userdata;
        sqlite3_stmt *statement = store->statements[STORE_NODES];
        unsigned level;
        uint64_t leaf = tree_leaf_of(position, &level);
        int r;

        (void) sqlite3_bind_int64(statement, 1, (sqlite3_int64) leaf);
        r = sqlite3_step(statement);
        if (r != SQLITE_ROW)
                r = r == SQLITE_DONE ? -EBADMSG : store_error(store, r) ?: -EIO;
        else
                r = store_take_node(statement, 0, leaf, level, ret);
        (void) sqlite3_reset(statement);
        return r;
}

int store_head(Store *store, Head *ret) {
        TreeSource source = { store_hash, store };
        Head head = {};
        uint64_t size;
        int r;

        r = store_size(store, &size);
        if (r == 0 && size > 0)
                r = head_id(store, head.id);
        if (r == 0)
                r = tree_frontier(&source, size, &head.tree);
        if (r < 0)
                return r;
        *ret = head;
        return 0;
}

int store_settle(Store *store) {
        return store_error(store, sqlite3_wal_checkpoint_v2(store->db, NULL, SQLITE_CHECKPOINT_TRUNCATE,
                                                            NULL, NULL));
}
