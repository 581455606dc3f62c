/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/store/failures.h"

#include <stdio.h>
#include <string.h>

#define FAILED  "failed"
#define KEY_MAX (REACH_TEXT_MAX + STORE_PLAN_MAX + LOCATION_STRING_MAX + 32)

typedef struct Failure {
        char plan[STORE_PLAN_MAX];
        Stage stage;
        Reach reach; /* what must be reached; of older rows no more than the step's name */
        bool told;   /* it says more than that */
        Location where;
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
        char word[16] = "", stage[16] = "", reach[REACH_TEXT_MAX] = "";
        const char *rest;

        rest = take_part(key, ret->plan, sizeof(ret->plan));
        rest = take_part(rest, word, sizeof(word));
        rest = take_part(rest, stage, sizeof(stage));
        rest = take_part(rest, reach, sizeof(reach));
        ret->stage = stage_from_string(stage);
        ret->told = strchr(reach, ',');
        if (!rest || strcmp(word, FAILED) != 0 || ret->stage < 0 || reach_parse(reach, &ret->reach) < 0)
                return -EBADMSG;
        return location_parse(rest, &ret->where, NULL, NULL) < 0 ? -EBADMSG : 0;
}

static bool has_looked(const RecordEntry *entry, const Places *places, const Failure *failure) {
        return places_may_clear(places, entry, failure->plan, failure->stage) &&
               !places_leave_out(places, failure->reach.step, &failure->where, failure->reach.is_together) &&
               places_have_reached(places, &failure->reach, &failure->where, strcmp(entry->plan, failure->plan) == 0, failure->told);
}

/* The rows were sorted before the first is told, so that none is lost by taking others away. */
static int forget(Store *store, const RecordEntry *entry, const char *subject, const Places *places) {
        sqlite3_stmt *rows = store_ask(store, STORE_FAILURES, SQL(sql_text(subject)));
        int r;

        while ((r = store_step(store, rows)) == 0) {
                const char *key = (const char *) sqlite3_column_text(rows, 1);
                Failure failure;

                r = key ? failure_parse(key, &failure) : -ENOMEM;
                if (r == 0 && has_looked(entry, places, &failure))
                        r = store_run(store, STORE_DELETE_NEWEST, SQL(sql_text(subject), sql_text(key)));
                if (r < 0)
                        break;
        }
        return store_answered(store, rows, r == -ENOENT ? 0 : r);
}

static void write_key(const RecordEntry *entry, const Places *places, const RecordPlace *place, char key[static KEY_MAX]) {
        const Reach *reach = places_reach(places, place->step);
        char where[LOCATION_STRING_MAX], text[REACH_TEXT_MAX];

        (void) snprintf(key, KEY_MAX, "%s/" FAILED "/%s/%s/%s", entry->plan, stage_to_string(places->stage),
                        reach ? reach_format(reach, text) : place->step, location_format(&place->where, where));
}

/* The failure that ENTRY itself found. */
static int keep(Store *store, const RecordEntry *entry, const char *subject, const Places *places) {
        for (size_t i = 0; i < places->n_failed; i++) {
                const RecordPlace *place = &places->failed[i];
                char key[KEY_MAX];
                int r;

                if (!places_keep(places, place))
                        continue;
                write_key(entry, places, place, key);
                r = store_run(store, STORE_INSERT_NEWEST, SQL(sql_text(subject), sql_text(key), sql_number(entry->index)));
                if (r < 0)
                        return r;
        }
        return 0;
}

int failures_update(Store *store, const RecordEntry *entry, const char *subject, const Places *places) {
        int r = forget(store, entry, subject, places);

        return r < 0 ? r : keep(store, entry, subject, places);
}
