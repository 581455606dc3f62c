/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/verify/companion.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/statement.h"

static int take_record(const json_t *statement, RecordVerified *record) {
        const json_t *configuration = json_object_get(json_object_get(statement, "predicate"), "configuration");
        const json_t *named = json_array_get(configuration, json_array_size(configuration) - 1), *annotations = json_object_get(named, "annotations");
        const char *id = text_of(json_object_get(named, "digest"), "sha256"), *origin = text_of(annotations, "origin"), *type = text_of(named, "name");
        json_int_t index = json_integer_value(json_object_get(annotations, "index"));
        uint8_t digest[DIGEST_BYTES];

        if ((!record_type_is_health(type) && strcmp(type, RECORD_TYPE_SUMMARY) != 0) || digest_from_hex(id, digest) < 0 || !*origin ||
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
