/* SPDX-License-Identifier: Apache-2.0 */

/* What a verified record says in the words of in-toto's test-result predicate: see record.h. */

#include <assert.h>
#include <string.h>

#include "daemon/record/json.h"
#include "daemon/record/statement.h"

#define TYPE_TEST_RESULT "https://in-toto.io/attestation/test-result/v0.1"

/* It has no word for what nobody knows: what cannot be told has not passed. */
static const char *word_of(Result result) {
        return result_to_string(result == RESULT_INCONCLUSIVE ? RESULT_FAILED : result);
}

static json_t *predicate_of(const json_t *predicate, const RecordVerified *verified) {
        static const char *const copied[] = { "passedTests", "warnedTests", "failedTests" };
        json_t *ret = json_pack("{s:s, s:O, s:{s:{s:s}}}", "result", word_of(verified->entry.result), "configuration",
                                json_object_get(predicate, "configuration"), "record", "digest", "sha256", verified->entry.id);

        for (size_t i = 0; ret && i < ELEMENTS(copied); i++) {
                json_t *list = json_object_get(predicate, copied[i]);

                if (list && json_object_set(ret, copied[i], list) < 0) {
                        json_decref(ret);
                        return NULL;
                }
        }
        return ret;
}

int record_companion(const RecordVerified *verified, char **ret) {
        _cleanup_json_ json_t *statement = NULL, *companion = NULL;
        const char *wrong;
        int r;

        assert(verified && verified->payload && ret);

        if (!record_is_verdict(&verified->entry))
                return -EINVAL;
        r = json_read(verified->payload, verified->n_payload, &statement, &wrong);
        if (r < 0)
                return r;
        companion = json_pack("{s:s, s:O, s:s, s:o}", "_type", STATEMENT_TYPE, "subject", json_object_get(statement, "subject"), "predicateType",
                              TYPE_TEST_RESULT, "predicate", predicate_of(json_object_get(statement, "predicate"), verified));
        *ret = companion ? json_dumps(companion, JSON_COMPACT) : NULL;
        return *ret ? 0 : -ENOMEM;
}
