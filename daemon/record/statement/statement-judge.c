/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/statement-judge.h"

#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/archive.h"
#include "daemon/record/statement/identity.h"
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

static bool judge_subject(const json_t *statement, Judgement *wrong) {
        const json_t *subject = json_array_get(json_object_get(statement, "subject"), 0);
        const char *sha256 = text_of(json_object_get(subject, "digest"), "sha256");
        const char *origin = text_of(json_object_get(json_object_get(statement, "predicate"), "log"), "origin");

        return identity_fits("server", text_of(subject, "uri"), sha256, origin) || judge_wrong(wrong, "the digest is not that of %.100s", text_of(subject, "uri"));
}

static bool judge_archive(const json_t *statement, Judgement *wrong) {
        const char *told = text_of(json_array_get(json_object_get(statement, "subject"), 0), "name");
        char name[RECORD_ARCHIVE_NAME_MAX];
        Archive archive;

        if (archive_parse(json_object_get(statement, "predicate"), &archive) < 0)
                return judge_wrong(wrong, "it archives other records than those of a bundle before it");
        return strcmp(told, record_archive_name(archive.first, name)) == 0 || judge_wrong(wrong, "its archive is called %.60s, which is not %s", told, name);
}

static bool judge_verdict(const Health *health, const char *predicate_type, Judgement *wrong) {
        if (health->wrong.wrong[0])
                return judge_wrong(wrong, "%s", health->wrong.wrong);
        if (!judge_run(&health->scan.run, wrong) || !(health->is_rollup ? judge_server(&health->scan, wrong) : judge_chip(&health->chip, wrong)))
                return false;
        if (strcmp(predicate_type, RECORD_TYPE_HEALTH_V2) == 0 && !judge_chip_values(&health->chip, wrong))
                return false;
        return health_agrees(health, wrong);
}

int statement_judge(json_t *statement, const char *predicate_type, Health *ret, Judgement *ret_judgement) {
        bool is_verdict = record_type_is_health(predicate_type) || strcmp(predicate_type, RECORD_TYPE_SUMMARY) == 0;
        const json_t *predicate = json_object_get(statement, "predicate");
        bool is_first = json_integer_value(json_object_get(json_object_get(predicate, "log"), "index")) == 0;
        int r;

        *ret = (Health) {};
        *ret_judgement = (Judgement) {};
        if (is_verdict) {
                r = health_read(statement, predicate_type, ret);
                if (r < 0)
                        return r;
        }
        if (is_first != (json_object_get(predicate, "previous") == NULL))
                (void) judge_wrong(ret_judgement, "the previous record is %s", is_first ? "named in the first" : "missing");
        else if (is_verdict)
                (void) judge_verdict(ret, predicate_type, ret_judgement);
        else if (strcmp(predicate_type, RECORD_TYPE_RUN_START) == 0)
                (void) judge_subject(statement, ret_judgement);
        else if (strcmp(predicate_type, RECORD_TYPE_ROTATION) == 0)
                (void) judge_rotation(predicate, ret_judgement);
        else if (strcmp(predicate_type, RECORD_TYPE_ARCHIVE) == 0)
                (void) judge_archive(statement, ret_judgement);
        return 0;
}
