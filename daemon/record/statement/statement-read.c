/* SPDX-License-Identifier: Apache-2.0 */

#include "daemon/record/statement/statement-read.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/health-v2.h"

bool record_type_is_health(const char *type) {
        return strcmp(type, RECORD_TYPE_HEALTH) == 0 || strcmp(type, RECORD_TYPE_HEALTH_V2) == 0;
}

bool statement_is_verdict(const char *type) {
        return record_type_is_health(type) || strcmp(type, RECORD_TYPE_SUMMARY) == 0;
}

bool record_is_verdict(const RecordEntry *entry) {
        assert(entry);
        return statement_is_verdict(entry->type);
}

static bool is_later(const json_t *statement) {
        return strcmp(text_of(statement, "predicateType"), RECORD_TYPE_HEALTH_V2) == 0;
}

int statement_fit(json_t **statement, SchemaWrong *wrong) {
        json_t *whole;
        int r;

        if (!schema_fits(*statement, text_of(*statement, "predicateType"), wrong))
                return -EBADMSG;
        if (!is_later(*statement))
                return 0;
        r = health_v2_expand(*statement, &whole, wrong);
        if (r < 0)
                return r;
        json_decref(*statement);
        *statement = whole;
        return 0;
}

int record_statement_read(const char *payload, size_t n, json_t **ret) {
        _cleanup_json_ json_t *statement = NULL;
        SchemaWrong misfit;
        const char *wrong;
        int r;

        r = json_read(payload, n, &statement, &wrong);
        if (r == 0 && is_later(statement))
                r = statement_fit(&statement, &misfit);
        if (r < 0)
                return r;
        *ret = statement;
        statement = NULL;
        return 0;
}
