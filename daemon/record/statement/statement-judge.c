/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/statement-judge.h"

#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/key-rotation.h"

static bool judge_rotation(const json_t *predicate, Judgement *wrong) {
        KeyRotation rotation;
        bool is_new;

        if (key_rotation_parse(predicate, &rotation) < 0)
                return judge_wrong(wrong, "a key is not what its ID and algorithm say");
        is_new = strcmp(rotation.new.id, rotation.old.id) != 0;
        key_rotation_done(&rotation);
        return is_new || judge_wrong(wrong, "the key replaces itself");
}

static int judge_verdict(json_t *statement, const char *predicate_type, Health *ret, Judgement *wrong) {
        Health health;
        int r;

        r = health_read(statement, predicate_type, &health, wrong);
        if (r < 0)
                return r;
        if (!(health.is_rollup ? judge_server(&health.scan, wrong) : judge_chip(&health.chip, wrong)) || !health_agrees(&health, wrong)) {
                health_done(&health);
                return -EBADMSG;
        }
        *ret = health;
        return 0;
}

int statement_judge(json_t *statement, const char *predicate_type, Health *ret, Judgement *wrong) {
        const json_t *predicate = json_object_get(statement, "predicate");
        bool is_first = json_integer_value(json_object_get(json_object_get(predicate, "log"), "index")) == 0;

        *ret = (Health) {};
        if (is_first != (json_object_get(predicate, "previous") == NULL)) {
                (void) judge_wrong(wrong, "the previous record is %s", is_first ? "named in the first" : "missing");
                return -EBADMSG;
        }
        if (strcmp(predicate_type, RECORD_TYPE_HEALTH) == 0 || strcmp(predicate_type, RECORD_TYPE_SUMMARY) == 0)
                return judge_verdict(statement, predicate_type, ret, wrong);
        return strcmp(predicate_type, RECORD_TYPE_ROTATION) != 0 || judge_rotation(predicate, wrong) ? 0 : -EBADMSG;
}
