/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/failures.h"

#include <stdio.h>
#include <string.h>

#define FAILED  "failed"
#define KEY_MAX (PLACE_STEP_MAX + STORE_PLAN_MAX + LOCATION_STRING_MAX + 32)

typedef struct Failure {
        char plan[STORE_PLAN_MAX];
        Stage stage;
        RecordPlace place;
} Failure;

/* Up to the next slash. */
static const char *take_part(const char *text, char *part, size_t size) {
        const char *end = text ? strchr(text, '/') : NULL;

        if (!end || (size_t) (end - text) >= size)
                return NULL;
        memcpy(part, text, (size_t) (end - text));
        part[end - text] = '\0';
        return end + 1;
}

/* -EBADMSG: somebody else wrote it. */
static int failure_parse(const char *key, Failure *ret) {
        char word[16] = "", stage[16] = "";
        const char *rest;

        rest = take_part(key, ret->plan, sizeof(ret->plan));
        rest = take_part(rest, word, sizeof(word));
        rest = take_part(rest, stage, sizeof(stage));
        rest = take_part(rest, ret->place.step, sizeof(ret->place.step));
        ret->stage = stage_from_string(stage);
        return !rest || strcmp(word, FAILED) != 0 || ret->stage < 0 || location_parse(rest, &ret->place.where, NULL, NULL) < 0 ? -EBADMSG : 0;
}

static bool has_looked(const RecordEntry *entry, const Places *places, const Failure *failure) {
        bool passed = entry->result == RESULT_PASSED || entry->result == RESULT_WARNED;

        if (strcmp(entry->plan, failure->plan) != 0 && !(passed && stage_clears(places->stage, failure->stage)))
                return false;
        return !places_leave_out(places, failure->place.step, &failure->place.where);
}

/* The rows were sorted before the first is told, so that none is lost by taking others away. Returns how many stay. */
static int forget(Store *store, const RecordEntry *entry, const char *subject, const Places *places) {
        sqlite3_stmt *rows = store->statements[STORE_FAILURES];
        int r, step = SQLITE_OK, n = 0;

        (void) sqlite3_bind_text(rows, 1, subject, -1, SQLITE_STATIC);
        for (r = 0; r == 0 && (step = sqlite3_step(rows)) == SQLITE_ROW;) {
                const char *key = (const char *) sqlite3_column_text(rows, 1);
                Failure failure;

                r = key ? failure_parse(key, &failure) : -ENOMEM;
                if (r == 0 && has_looked(entry, places, &failure))
                        r = store_delete_newest(store, subject, key);
                else
                        n++;
        }
        (void) sqlite3_reset(rows);
        return r < 0 ? r : store_error(store, step) ?: n;
}

/* What was found of a server although that was left out (its fabric, from itself alone), whoever leaves out the same can clear. */
static bool is_kept(const Places *places, const RecordPlace *failed) {
        return location_kind(&failed->where) != LOCATION_SERVER || !places_leave_out(places, failed->step, &failed->where);
}

/* What ENTRY itself found. Returns how many. */
static int keep(Store *store, const RecordEntry *entry, const char *subject, const Places *places) {
        int n = 0;

        for (size_t i = 0; i < places->n_failed; i++) {
                const RecordPlace *place = &places->failed[i];
                char key[KEY_MAX], where[LOCATION_STRING_MAX];
                int r;

                if (!is_kept(places, place))
                        continue;
                (void) snprintf(key, sizeof(key), "%s/" FAILED "/%s/%s/%s", entry->plan, stage_to_string(places->stage), place->step,
                                location_format(&place->where, where));
                r = store_insert_newest(store, entry->index, subject, key);
                if (r < 0)
                        return r;
                n++;
        }
        return n;
}

int failures_update(Store *store, const RecordEntry *entry, const char *subject, const Places *places) {
        uint8_t key[DIGEST_BYTES];
        bool has_key = known_key(subject, key);
        int n_left = 0, n_own;

        if (!has_key || !known_has(&store->sound, key))
                n_left = forget(store, entry, subject, places);
        if (n_left < 0)
                return n_left;
        n_own = keep(store, entry, subject, places);
        if (n_own < 0)
                return n_own;
        if (has_key && n_left + n_own == 0)
                known_add(&store->sound, key);
        else if (has_key)
                known_remove(&store->sound, key);
        return 0;
}
