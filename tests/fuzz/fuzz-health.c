/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Any JSON as a verdict of a chip and as a roll-up, whether or not it fits a schema: it becomes facts that can be judged and told in a line. What was
 * read of a chip without a contradiction is printed, read and printed again as the same text.
 */

#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/health-v2.h"
#include "daemon/record/statement/reason.h"
#include "daemon/record/statement/schema.h"
#include "daemon/record/statement/statement-judge.h"
#include "daemon/record/statement/statement-read.h"
#include "daemon/record/statement/statement.h"
#include "tests/fuzz/known-key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_name(const char *name) {
        return *name && strlen(name) < 128 && name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.")] == '\0';
}

static bool can_print_step(const RecordHealth *chip, size_t index) {
        const RecordStep *step = &chip->steps[index];

        for (size_t i = 0; i < index; i++)
                if (strcmp(chip->steps[i].name, step->name) == 0)
                        return false;
        for (size_t i = 0; i < step->n_measurements; i++)
                if (!is_name(step->measurements[i].name) || !location_contains(&chip->subject.where, &step->measurements[i].where))
                        return false;
        return is_name(step->name) && is_name(step->check) && reason_fits(step->reason, step->verdict);
}

/* A reason that is missing, or of a later assayd, cannot be printed, nor can what has no name or two. */
static bool can_print(const RecordHealth *chip) {
        char path[LOCATION_STRING_MAX];
        Location where;

        for (size_t i = 0; i < chip->n_steps; i++)
                if (!can_print_step(chip, i))
                        return false;
        for (size_t i = 0; i < chip->n_promises; i++)
                for (size_t k = 0; k <= i; k++)
                        if (k < i ? strcmp(chip->promises[k].measurement, chip->promises[i].measurement) == 0 : !is_name(chip->promises[i].measurement))
                                return false;
        return location_parse(location_format(&chip->subject.where, path), &where, NULL, NULL) >= 0 && result_to_string(chip->result) != NULL;
}

static void print(Printer *text, const RecordHealth *chip) {
        char path[LOCATION_STRING_MAX];

        printer_text(text, "{\"predicateType\":\"" RECORD_TYPE_HEALTH_V2 "\",\"predicate\":{\"location\":{");
        printer_member(text, "path", location_format(&chip->subject.where, path));
        printer_text(text, "},");
        health_v2_print(text, &(RecordRun) {}, chip);
        printer_text(text, "}}");
}

static void try_again(const RecordHealth *chip) {
        _cleanup_printer_ Printer text = {}, again = {};
        _cleanup_json_ json_t *statement = NULL;
        _cleanup_health_ Health health = {};
        SchemaWrong misfit;
        json_t *whole;
        Judgement wrong;

        if (!can_print(chip))
                return;
        print(&text, chip);
        if (text.error < 0)
                return;
        statement = json_loadb(text.text, text.n, JSON_REJECT_DUPLICATES, NULL);
        HOLDS(statement);
        HOLDS(health_v2_expand(statement, &whole, &misfit) == 0);
        json_decref(statement);
        statement = whole;
        HOLDS(health_read(statement, RECORD_TYPE_HEALTH_V2, &health) == 0 && !health.wrong.wrong[0] && health_agrees(&health, &wrong));
        HOLDS(judge_chip(chip, &wrong) == judge_chip(&health.chip, &wrong));
        print(&again, &health.chip);
        HOLDS(again.n == text.n && memcmp(again.text, text.text, text.n) == 0);
}

/* As readers of one's own log take what follows older rules: whatever it says, it can be told how it stands. */
static void try_standing(const json_t *statement, const char *type, const Location *where, Result result) {
        RecordVerified verified = { .is_older = true, .entry = { .subject = *where, .result = result } }, later;
        RecordStand stand = {};

        verified.payload = json_dumps(statement, JSON_COMPACT | JSON_ENCODE_ANY);
        verified.reason = strdup("us0-2/chip3: signed under older rules");
        HOLDS(verified.payload && verified.reason);
        verified.n_payload = strlen(verified.payload);
        (void) snprintf(verified.entry.type, sizeof(verified.entry.type), "%s", type);
        if (record_stand_of(&verified, &stand) == 0) {
                HOLDS(stand.result == RESULT_FAILED || stand.result == RESULT_INCONCLUSIVE);
                HOLDS(record_clears(&verified, &verified) <= 0); /* -EBADMSG: a failure of which nothing else can be read stands, too */
                later = verified; /* which borrows from it; it passed by another plan, and may clear it */
                later.is_older = false;
                later.entry.result = RESULT_PASSED;
                (void) strcpy(later.entry.plan, "other");
                (void) record_clears(&later, &verified);
                (void) record_tests_all_regions(&later, &verified, "hbm");
                (void) record_stand_narrow(&stand, &verified, &later, 1);
        }
        record_stand_done(&stand);
        record_verified_done(&verified);
}

static void try_type(json_t *statement, const char *type) {
        _cleanup_health_ Health health = {}, judged = {};
        _cleanup_free_ char *reason = NULL, *own = NULL;
        Judgement wrong = {};
        SchemaWrong misfit;
        Places places;

        (void) schema_fits(statement, type, &misfit);
        HOLDS(health_read(statement, type, &health) == 0);
        HOLDS(statement_judge(statement, type, &judged, &wrong) == 0);
        HOLDS(reason_of(statement, type, &health, &reason) == 0);
        HOLDS(!health.is_rollup || reason_of_server(&health, judge_own(&health.scan), &own) == 0);
        if (places_of(&health, &places) == 0)
                places_done(&places);
        try_standing(statement, type, health.is_rollup ? &health.scan.server.where : &health.chip.subject.where, health.is_rollup ? health.scan.result : health.chip.result);
        if (!health.is_rollup && !health.wrong.wrong[0])
                try_again(&health.chip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_json_ json_t *statement = NULL;
        SchemaWrong misfit = {};
        const char *wrong;

        if (json_read((const char *) data, size, &statement, &wrong) == 0) {
                if (statement_fit(&statement, &misfit) < 0) {
                        HOLDS(misfit.text[0]);
                        if (strcmp(text_of(statement, "predicateType"), RECORD_TYPE_HEALTH_V2) == 0)
                                return 0;
                }
                try_type(statement, RECORD_TYPE_HEALTH_V2);
                try_type(statement, RECORD_TYPE_HEALTH);
                try_type(statement, RECORD_TYPE_SUMMARY);
        }
        return 0;
}
