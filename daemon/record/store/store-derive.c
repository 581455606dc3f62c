/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The tables follow from the records and are signed by none: what `entry` says of each, which is the newest of each part and plan, where a failure stands, and
 * which runs have not ended. It is written with the record that changes it, derived anew by the scrub, which compares, and written anew where an
 * older assayd, by other rules, was the last to write: each time by store_derive().
 */

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/health-read.h"
#include "daemon/record/store/store.h"
#include "daemon/record/verify/verify.h"

static bool has_regions(const Health *health) {
        for (size_t i = 0; i < health->chip.n_steps; i++)
                if (health->chip.steps[i].regions)
                        return true;
        return false;
}

int store_derive_signed(Store *store, const RecordEntry *entry, json_t *statement) {
        _cleanup_health_ Health health = {};
        Places places = {};
        int r;

        if (!statement || !record_is_verdict(entry))
                return store_derive(store, entry, NULL, false);
        r = health_read(statement, entry->type, &health);
        if (r == 0)
                r = places_of(&health, &places);
        if (r == 0)
                r = store_derive(store, entry, &places, has_regions(&health));
        else if (r == -EBADMSG) {
                r = store_derive(store, entry, NULL, false);
                return r < 0 ? r : 1;
        }
        places_done(&places);
        return r;
}

int store_note_unread(Store *derived, const RecordEntry *entry) {
        char subject[LOCATION_STRING_MAX];

        return store_run(derived, STORE_INSERT_NEWEST, SQL(sql_text(location_format(&entry->subject, subject)), sql_text(STORE_UNREAD), sql_number(entry->index)));
}

/* ---- comparing ---- */

typedef struct Row {
        sqlite3_stmt *statement;
        bool is_there;
        const char *subject, *key;
        int64_t index;
} Row;

static int next_row(Store *store, Row *row) {
        int r = store_step(store, row->statement);

        row->is_there = r == 0;
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        for (int i = 0; i < 3; i++) /* what is no text is equal to none, also where it has the same bytes */
                if (sqlite3_column_type(row->statement, i) != (i < 2 ? SQLITE_TEXT : SQLITE_INTEGER))
                        return -EBADMSG;
        row->subject = (const char *) sqlite3_column_text(row->statement, 0);
        row->key = (const char *) sqlite3_column_text(row->statement, 1);
        row->index = sqlite3_column_int64(row->statement, 2);
        return row->subject && row->key ? 0 : -ENOMEM;
}

/* Negative: A stands before B, or there is no B. */
static int order(const Row *a, const Row *b) {
        int r;

        if (!a->is_there || !b->is_there)
                return b->is_there - a->is_there;
        r = strcmp(a->subject, b->subject);
        if (r == 0)
                r = strcmp(a->key, b->key);
        return r != 0 ? r : (a->index > b->index) - (a->index < b->index);
}

/* 1: ROW is a failure, and behind it is a record of its part without an envelope, which may have cleared it. */
static int may_be_cleared(Store *store, const Row *row) {
        uint64_t index;
        int r;

        if (!strstr(row->key, "/failed/"))
                return 0;
        r = store_index(store, STORE_PRUNED_BEHIND, SQL(sql_text(row->subject), sql_number((uint64_t) row->index)), &index);
        return r == -ENOENT ? 0 : r < 0 ? r : 1;
}

/* Of UNREAD, a part with a record that nobody can read, no more is known than which record of a plan is the newest. */
static bool is_open(const Row *row, const char *unread) {
        return strcmp(row->subject, unread) == 0 && strchr(row->key, '/');
}

/* Whether DUE, which is derived, may be missing. What tells of UNREAD stands before all else of its part. */
static int may_be_missing(Store *store, const Row *due, char unread[static LOCATION_STRING_MAX]) {
        if (strcmp(due->key, STORE_UNREAD) != 0)
                return is_open(due, unread) ? 1 : may_be_cleared(store, due);
        (void) snprintf(unread, LOCATION_STRING_MAX, "%s", due->subject);
        return 1;
}

static int differ(const Row *row, char **ret_wrong) {
        return asprintf(ret_wrong, "what its tables say of %s (%s, record %lld) is not what the records come to: they were changed", row->subject, row->key,
                        (long long) row->index) < 0 ? -ENOMEM : -EBADMSG;
}

static int compare_table(Store *store, Store *derived, StoreStatement which, char **ret_wrong) {
        Row row = { store_ask(store, which, SQL()) }, due = { store_ask(derived, which, SQL()) };
        char unread[LOCATION_STRING_MAX] = "/"; /* no part is called so */
        int r, at;

        r = next_row(store, &row);
        if (r == 0)
                r = next_row(derived, &due);
        while (r == 0 && (row.is_there || due.is_there)) {
                at = order(&row, &due);
                if (at != 0)
                        r = at < 0 ? is_open(&row, unread) : may_be_missing(store, &due, unread);
                if (at != 0 && r == 0)
                        r = differ(at < 0 ? &row : &due, ret_wrong);
                if (r >= 0 && at <= 0)
                        r = next_row(store, &row);
                if (r >= 0 && at >= 0)
                        r = next_row(derived, &due);
        }
        (void) store_answered(derived, due.statement, 0);
        return store_answered(store, row.statement, r);
}

/* No envelope goes that a table leads to. */
static int check_kept(Store *store, char **ret_wrong) {
        int64_t index;
        int r;

        r = store_number(store, "SELECT r.idx FROM (SELECT idx FROM newest UNION SELECT idx FROM unfinished) AS t JOIN record AS r ON r.idx = t.idx"
                                " WHERE coalesce(r.envelope, r.payload) IS NULL LIMIT 1", &index);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        return asprintf(ret_wrong, "record %lld: its envelope is gone, and its tables lead to it", (long long) index) < 0 ? -ENOMEM : -EBADMSG;
}

int store_compare_derived(Store *store, Store *derived, char **ret_wrong) {
        int r;

        r = compare_table(store, derived, STORE_ALL_NEWEST, ret_wrong);
        if (r == 0)
                r = compare_table(store, derived, STORE_ALL_UNFINISHED, ret_wrong);
        return r < 0 ? r : check_kept(store, ret_wrong);
}

/* ---- writing anew ---- */

/* Times are signed in milliseconds. */
bool store_entry_is_of(const RecordEntry *entry, const RecordEntry *record) {
        return strcmp(entry->type, record->type) == 0 && location_equal(&entry->subject, &record->subject) && entry->result == record->result &&
               strcmp(entry->plan, record->plan) == 0 && strcmp(entry->run, record->run) == 0 &&
               entry->finished_usec / 1000 == record->finished_usec / 1000;
}

/* The statement of record INDEX. *RET_STATEMENT is NULL where that was pruned: then ENTRY is all that there is. */
static int read_signed(Store *store, uint64_t index, RecordVerified *verified, json_t **ret_statement) {
        _cleanup_(envelope_done) Envelope envelope = {};
        uint8_t id[DIGEST_BYTES];
        const char *wrong;
        int r;

        r = store_parsed(store, index, &envelope, id);
        if (r == -ENODATA)
                return store_entry(store, index, &verified->entry);
        if (r == 0)
                r = envelope_read_payload(&envelope, ret_statement, &wrong);
        if (r == 0)
                r = verify_read_entry(*ret_statement, verified);
        return r == 0 && verified->entry.index != index ? -EBADMSG : r;
}

static int rebuild_one(Store *store, uint64_t index) {
        _cleanup_(record_verified_done) RecordVerified verified = {};
        _cleanup_json_ json_t *statement = NULL;
        RecordEntry entry;
        int r;

        r = read_signed(store, index, &verified, &statement);
        if (r == -ENOENT)
                return -EBADMSG;
        if (r == 0 && statement && (store_entry(store, index, &entry) < 0 || !store_entry_is_of(&entry, &verified.entry)))
                r = store_update_entry(store, &verified.entry);
        if (r == 0)
                r = store_derive_signed(store, &verified.entry, statement);
        return r < 0 ? r : 0;
}

int store_rebuild(Store *store) {
        uint64_t size;
        int r;

        r = store_size(store, &size);
        if (r == 0)
                r = store_execute(store, "DELETE FROM newest; DELETE FROM unfinished");
        for (uint64_t i = 0; i < size && r == 0; i++)
                r = rebuild_one(store, i);
        return r;
}

/* ---- whether somebody else wrote ---- */

/* A number of which SQLite says no more than that it is another one then. */
int store_has_changed(Store *store, bool *ret) {
        int64_t changes;
        int r;

        r = store_number(store, "PRAGMA data_version", &changes);
        if (r < 0)
                return r;
        *ret = changes != store->changes;
        store->changes = changes;
        return 0;
}
