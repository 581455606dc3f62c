/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Whether the tables that lead to records follow from them. The newest heartbeat signs what they came to; from what was held then they are worked out
 * again with the records since, each of which is read and verified. So who edits them is found, and so is who puts older ones back: these are not
 * what the newest heartbeat signed, and heartbeats cannot be taken out of the log.
 */

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/log/log.h"
#include "daemon/record/statement/health-read.h"

__attribute__((format(printf, 2, 3))) static int refuse(char **ret_wrong, const char *format, ...) {
        va_list arguments;
        int n;

        free(*ret_wrong);
        va_start(arguments, format);
        n = vasprintf(ret_wrong, format, arguments);
        va_end(arguments);
        if (n < 0)
                *ret_wrong = NULL;
        return n < 0 ? -ENOMEM : -EBADMSG;
}

/* Where to begin, and with what. */
typedef struct Start {
        uint64_t from;    /* the first record that came after */
        bool has_tables;  /* a heartbeat signed what they were before it */
        bool is_unknown;  /* a heartbeat was signed, by an older assayd, that says nothing of them */
        uint8_t digest[DIGEST_BYTES];
} Start;

static int read_tables(const RecordVerified *heartbeat, Start *ret) {
        _cleanup_json_ json_t *statement = NULL;
        const json_t *tables;
        const char *wrong;
        int r;

        r = json_read(heartbeat->payload, heartbeat->n_payload, &statement, &wrong);
        if (r < 0)
                return r;
        tables = json_object_get(json_object_get(statement, "predicate"), "tables");
        if (!tables) {
                *ret = (Start) { .from = heartbeat->entry.index, .is_unknown = true };
                return 0;
        }
        ret->has_tables = true;
        ret->from = (uint64_t) json_integer_value(json_object_get(tables, "size"));
        return ret->from > heartbeat->entry.index || digest_from_hex(text_of(tables, "sha256"), ret->digest) < 0 ? -EBADMSG : 0;
}

/*
 * Where `entry` has the newest heartbeat. It may lie: then more records are read, of which one is not what `entry` says. Without any, all are: a daemon
 * begins with one, so there are few.
 */
static int find_start(RecordLog *log, Start *ret, char **ret_wrong) {
        _cleanup_(record_verified_done) RecordVerified heartbeat = {};
        char *wrong = NULL;
        uint64_t index;
        int r;

        *ret = (Start) {};
        r = store_newest_heartbeat(log->store, &index);
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = log_check_record(log, index, &heartbeat, &wrong);
        if (r == 0 && strcmp(heartbeat.entry.type, RECORD_TYPE_HEARTBEAT) != 0)
                r = -EBADMSG;
        if (r == 0)
                r = read_tables(&heartbeat, ret);
        if (r == -EBADMSG)
                r = refuse(ret_wrong, "record %llu is no heartbeat as its tables say%s%s. Put the newest backup back", (unsigned long long) index,
                           wrong ? ": " : "", wrong ?: "");
        free(wrong);
        return r;
}

/* Times are signed in milliseconds. */
static bool is_entry_of(const RecordEntry *entry, const RecordEntry *record) {
        return strcmp(entry->type, record->type) == 0 && location_equal(&entry->subject, &record->subject) && entry->result == record->result &&
               strcmp(entry->plan, record->plan) == 0 && strcmp(entry->run, record->run) == 0 &&
               entry->finished_usec / 1000 == record->finished_usec / 1000;
}

static bool has_regions(const Health *health) {
        for (size_t i = 0; i < health->chip.n_steps; i++)
                if (health->chip.steps[i].regions)
                        return true;
        return false;
}

/* What RECORD changed when it was written, once more. */
static int derive(RecordLog *log, const RecordVerified *record) {
        _cleanup_health_ Health health = {};
        Places places = {};
        int r;

        if (!record_is_verdict(&record->entry))
                return store_derive(log->store, &record->entry, NULL, false);
        r = places_of_verified(record, &health, &places);
        if (r == 0)
                r = store_derive(log->store, &record->entry, &places, has_regions(&health));
        places_done(&places);
        return r;
}

/* Record INDEX, which must be what is said of it. In a trial it changes the tables. */
static int take_record(RecordLog *log, uint64_t index, bool is_trial, char **ret_wrong) {
        _cleanup_(record_verified_done) RecordVerified record = {};
        RecordEntry entry;
        int r;

        r = log_check_record(log, index, &record, ret_wrong);
        if (r < 0)
                return r;
        r = reader_entry(&log->reader, index, &entry);
        if (r == -EBADMSG || r == -ENOENT || (r == 0 && !is_entry_of(&entry, &record.entry)))
                return refuse(ret_wrong, "what its tables say of record %llu is not what that says: they were changed. Put the newest backup back",
                              (unsigned long long) index);
        if (r < 0)
                return r;
        return is_trial ? derive(log, &record) : 0;
}

static int take_records(RecordLog *log, const Start *start, char **ret_wrong) {
        int r = 0;

        for (uint64_t i = start->from; i < log->head.tree.size && r == 0; i++) {
                char *wrong = NULL;

                r = take_record(log, i, !start->is_unknown, &wrong);
                if (r == -EBADMSG)
                        r = refuse(ret_wrong, "%s", wrong ?: "a record cannot be read as it was signed");
                free(wrong);
        }
        return r;
}

/* The digest of the tables, in each form. */
typedef struct Found {
        uint8_t digests[_STORE_FORM_MAX][DIGEST_BYTES];
} Found;

static int read_found(RecordLog *log, Found *ret) {
        int r = 0;

        for (StoreForm form = 0; form < _STORE_FORM_MAX && r == 0; form++)
                r = store_tables_digest(log->store, form, ret->digests[form]);
        return r;
}

/*
 * The form, NEWEST or an older one, in which what was held is what was signed. In the oldest one records have written no rows of the newer since, so these
 * do not count; what a heartbeat says from now on has them. Without any heartbeat nothing tells who wrote.
 */
static int find_form(RecordLog *log, const Start *start, StoreForm newest, StoreForm *ret) {
        Found held;
        int r;

        *ret = STORE_FORM_WITHOUT_WHOLE;
        log->form = log->store->form = newest;
        if (!start->has_tables)
                return 0;
        r = read_found(log, &held);
        if (r < 0)
                return r;
        for (StoreForm form = 0; form <= newest; form++)
                if (memcmp(held.digests[form], start->digest, DIGEST_BYTES) == 0) {
                        *ret = log->form = log->store->form = form;
                        r = 1;
                }
        return r > 0 ? 0 : -EBADMSG;
}

/* FOUND: as they stand. 0: so the records come to it; 1: they do not. */
static int work_out(RecordLog *log, const Start *start, const Found *found, StoreForm newest, char **ret_wrong) {
        StoreForm form;
        Found derived;
        int r;

        r = find_form(log, start, newest, &form);
        if (r == -EBADMSG)
                return refuse(ret_wrong, "what it held of the newest records is not what was signed at record %llu: it was changed. Put the newest "
                                         "backup back",
                              (unsigned long long) start->from);
        if (r == 0)
                r = take_records(log, start, ret_wrong);
        if (r == 0)
                r = read_found(log, &derived);
        return r < 0 ? r : memcmp(derived.digests[form], found->digests[form], DIGEST_BYTES) != 0;
}

static int try_form(RecordLog *log, const Start *start, const Found *found, StoreForm newest, char **ret_wrong) {
        int r, end;

        r = store_begin_trial(log->store, start->has_tables);
        if (r == 0)
                r = work_out(log, start, found, newest, ret_wrong);
        end = store_end_trial(log->store);
        return r < 0 || end == 0 ? r : end;
}

/* Where they do not come to it by the newest rules, it may have been by those before, which no digest tells from them. */
static int try_out(RecordLog *log, const Start *start, char **ret_wrong) {
        Found found;
        int r;

        r = read_found(log, &found);
        if (r < 0)
                return r;
        r = try_form(log, start, &found, STORE_FORM_REACHED, ret_wrong);
        if (r > 0 && log->form == STORE_FORM_REACHED)
                r = try_form(log, start, &found, STORE_FORM_EVERY_COUNT, ret_wrong);
        if (r > 0)
                return refuse(ret_wrong, "which records are the newest, where failures stand and which runs are open is not what the records come to: "
                                         "its tables were changed. Put the newest backup back");
        return r;
}

int log_check_tables(RecordLog *log, char **ret_wrong) {
        Start start;
        int r;

        r = store_note_changes(log->store); /* what comes in between is found the next time */
        if (r == 0)
                r = find_start(log, &start, ret_wrong);
        if (r == 0)
                r = start.is_unknown ? take_records(log, &start, ret_wrong) : try_out(log, &start, ret_wrong);
        if (r < 0) {
                log->store->changes = -1;
                return r;
        }
        log->held = start.from;
        if (start.is_unknown && !*ret_wrong)
                *ret_wrong = strdup("an older assayd wrote it last, so which records are the newest is believed once as it stands");
        return 0;
}

int log_check_changes(RecordLog *log) {
        _cleanup_free_ char *wrong = NULL;
        bool has_changed;
        int r;

        r = store_has_changed(log->store, &has_changed);
        return r < 0 || !has_changed ? r : log_check_tables(log, &wrong);
}
