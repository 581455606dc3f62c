/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/statement-judge.h"

#include <errno.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/archive.h"
#include "daemon/record/statement/holes.h"
#include "daemon/record/statement/identity.h"
#include "daemon/record/statement/key-rotation.h"
#include "daemon/record/statement/statement-read.h"

static const char *sha256_of(const json_t *subject) {
        return text_of(json_object_get(subject, "digest"), "sha256");
}

/* The subject is the new key. */
static int judge_rotation(const json_t *predicate, const json_t *subject, Judgement *wrong) {
        uint8_t digest[DIGEST_BYTES];
        KeyRotation rotation;
        char hex[DIGEST_HEX];
        int r;

        if (key_rotation_parse(predicate, &rotation) < 0) {
                (void) judge_wrong(wrong, "a key is not what its ID and algorithm say");
                return 0;
        }
        r = digest_sha256(rotation.new.spki, rotation.new.n_spki, digest);
        if (strcmp(rotation.new.id, rotation.old.id) == 0)
                (void) judge_wrong(wrong, "the key replaces itself");
        else if (r == 0 && strcmp(digest_to_hex(digest, hex), sha256_of(subject)) != 0)
                (void) judge_wrong(wrong, "the subject is not the new key");
        key_rotation_done(&rotation);
        return r < 0 ? -ENOMEM : 0;
}

static int judge_start(const json_t *predicate, const json_t *subject, Judgement *wrong) {
        const char *uri = text_of(subject, "uri"), *path = text_of(json_object_get(predicate, "location"), "path");
        Location where = {};
        int r;

        if (*path && (location_parse(path, &where, NULL, NULL) < 0 || location_kind(&where) != LOCATION_SERVER)) {
                (void) judge_wrong(wrong, "%.80s is no server", path);
                return 0;
        }
        r = identity_fits("server", uri, "", sha256_of(subject), text_of(json_object_get(predicate, "log"), "origin"), &where);
        if (r == 0)
                (void) judge_wrong(wrong, "the digest is not that of %.100s, or it is elsewhere", uri);
        return r < 0 ? r : 0;
}

static bool judge_archive(const json_t *statement, Judgement *wrong) {
        const char *told = text_of(json_array_get(json_object_get(statement, "subject"), 0), "name");
        char name[RECORD_ARCHIVE_NAME_MAX];
        Archive archive;

        if (archive_parse(json_object_get(statement, "predicate"), &archive) < 0)
                return judge_wrong(wrong, "it archives other records than those of a bundle before it");
        return strcmp(told, record_archive_name(archive.first, name)) == 0 || judge_wrong(wrong, "its archive is called %.60s, which is not %s", told, name);
}

/* The log key had signed more than was kept where records are lost, and no more than that where others stand in their place. */
static bool judge_decision(const json_t *predicate, Judgement *wrong) {
        const json_t *kept = json_object_get(predicate, "kept"), *left = json_object_get(predicate, "signed");
        json_int_t index = json_integer_value(json_object_get(json_object_get(predicate, "log"), "index"));
        bool is_more = json_integer_value(json_object_get(left, "size")) > json_integer_value(json_object_get(kept, "size"));
        const char *cause = text_of(predicate, "cause");
        Holes holes;

        if ((strcmp(cause, "records-lost") == 0 && !is_more) || (strcmp(cause, "forked") == 0 && (!left || is_more)))
                return judge_wrong(wrong, "what was signed and what is kept are no reason for %.20s", cause);
        if (!json_object_get(predicate, "pruned"))
                return strcmp(cause, "records-pruned") != 0 || judge_wrong(wrong, "it tells of no record that was pruned");
        return (holes_parse(predicate, &holes) == 0 && holes.end <= (uint64_t) index) || judge_wrong(wrong, "the records that were pruned are none before it, or more or fewer than there can be");
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
        bool is_verdict = statement_is_verdict(predicate_type);
        const json_t *predicate = json_object_get(statement, "predicate"), *subject = json_array_get(json_object_get(statement, "subject"), 0);
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
                return judge_start(predicate, subject, ret_judgement);
        else if (strcmp(predicate_type, RECORD_TYPE_ROTATION) == 0)
                return judge_rotation(predicate, subject, ret_judgement);
        else if (strcmp(predicate_type, RECORD_TYPE_ARCHIVE) == 0)
                (void) judge_archive(statement, ret_judgement);
        else if (strcmp(predicate_type, RECORD_TYPE_DECISION) == 0)
                (void) judge_decision(predicate, ret_judgement);
        return 0;
}
