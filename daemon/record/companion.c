/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/companion.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/json.h"
#include "daemon/record/statement.h"

/* ---- writing ---- */

/* It has no word for what nobody knows: what cannot be told has not passed. */
static const char *word_of(Result result) {
        return result_to_string(result == RESULT_INCONCLUSIVE ? RESULT_FAILED : result);
}

static json_t *name_record(const json_t *predicate, const RecordVerified *record) {
        const json_t *run = json_object_get(predicate, "run");

        return json_pack("{s:s, s:{s:s}, s:{s:s, s:I, s:s, s:O, s:O*}}", "name", record->entry.type, "digest", "sha256", record->entry.id,
                         "annotations", "origin", record->origin, "index", (json_int_t) record->entry.index, "result",
                         result_to_string(record->entry.result), "finishedOn", json_object_get(run, "finishedOn"), "challenge",
                         json_object_get(run, "challenge"));
}

/* What the verdict was made by, and the record. */
static json_t *configuration_of(const json_t *predicate, const RecordVerified *record) {
        json_t *ret = json_copy(json_object_get(predicate, "configuration"));

        if (ret && json_array_append_new(ret, name_record(predicate, record)) < 0) {
                json_decref(ret);
                return NULL;
        }
        return ret;
}

static json_t *predicate_of(const json_t *predicate, const RecordVerified *record) {
        return json_pack("{s:s, s:o, s:O*, s:O*, s:O*}", "result", word_of(record->entry.result), "configuration",
                         configuration_of(predicate, record), "passedTests", json_object_get(predicate, "passedTests"), "warnedTests",
                         json_object_get(predicate, "warnedTests"), "failedTests", json_object_get(predicate, "failedTests"));
}

int companion_print(const RecordVerified *record, char **ret) {
        _cleanup_json_ json_t *statement = NULL, *companion = NULL;
        const char *wrong;
        int r;

        assert(record && record->payload && record_is_verdict(&record->entry) && ret);

        r = json_read(record->payload, record->n_payload, &statement, &wrong);
        if (r < 0)
                return r;
        companion = json_pack("{s:s, s:O, s:s, s:o}", "_type", STATEMENT_TYPE, "subject", json_object_get(statement, "subject"), "predicateType",
                              COMPANION_TYPE, "predicate", predicate_of(json_object_get(statement, "predicate"), record));
        *ret = companion ? json_dumps(companion, JSON_COMPACT) : NULL;
        return *ret ? 0 : -ENOMEM;
}

/* ---- reading ---- */

static int take_record(const json_t *statement, RecordVerified *record) {
        const json_t *configuration = json_object_get(json_object_get(statement, "predicate"), "configuration");
        const json_t *named = json_array_get(configuration, json_array_size(configuration) - 1), *annotations = json_object_get(named, "annotations");
        const char *id = text_of(json_object_get(named, "digest"), "sha256"), *origin = text_of(annotations, "origin"), *type = text_of(named, "name");
        json_int_t index = json_integer_value(json_object_get(annotations, "index"));
        uint8_t digest[DIGEST_BYTES];

        if ((strcmp(type, RECORD_TYPE_HEALTH) != 0 && strcmp(type, RECORD_TYPE_SUMMARY) != 0) || digest_from_hex(id, digest) < 0 || !*origin ||
            strlen(origin) >= sizeof(record->origin) || !json_is_integer(json_object_get(annotations, "index")) || index < 0)
                return -EBADMSG;
        record->entry.result = RESULT_INCONCLUSIVE;
        record->entry.index = (uint64_t) index;
        (void) digest_to_hex(digest, record->entry.id);
        (void) strcpy(record->origin, origin);
        return 0;
}

/* A key speaks of records of its log, and of none after its last one. Of earlier ones it may: other keys have signed them. */
static int check_key(const KeyringKey *key, const RecordVerified *record, Refusal *refusal) {
        if (key->origin[0] && strcmp(key->origin, record->origin) != 0)
                return refuse(refusal, "the key may not sign for log ", record->origin);
        if (record->entry.index > key->until_index)
                return refuse(refusal, "it is of a record after the last one of its key", "");
        return 0;
}

int companion_read(const json_t *statement, const KeyringKey *key, RecordVerified *record, Refusal *refusal) {
        char text[RECORD_ORIGIN_MAX + RECORD_ID_HEX + 64];
        int r;

        r = take_record(statement, record) < 0 ? refuse(refusal, "it is a test result, and of no record", "") : check_key(key, record, refusal);
        if (r < 0)
                return r;
        (void) snprintf(text, sizeof(text), "verify record %" PRIu64 " of %s, %s", record->entry.index, record->origin, record->entry.id);
        return doubt(refusal, "it is no record but the companion of one: ", text);
}
