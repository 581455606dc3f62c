/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Any JSON as a verdict of a chip and as a roll-up, whether or not it fits a schema: it becomes facts that can be judged and told in a line. What was
 * read of a chip without a contradiction is printed, read and printed again as the same text.
 */

#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/reason.h"
#include "daemon/record/statement/schema.h"
#include "daemon/record/statement/statement-judge.h"
#include "daemon/record/statement/statement.h"
#include "tests/fuzz/known-key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A reason that is missing, or of a later assayd, cannot be printed. */
static bool has_reasons(const RecordHealth *chip) {
        for (size_t i = 0; i < chip->n_steps; i++)
                if (!reason_fits(chip->steps[i].reason, chip->steps[i].verdict))
                        return false;
        return result_to_string(chip->result) != NULL;
}

static void print(Printer *text, const RecordHealth *chip) {
        char path[LOCATION_STRING_MAX];

        printer_text(text, "{\"predicate\":{\"location\":{");
        printer_member(text, "path", location_format(&chip->subject.where, path));
        printer_text(text, "},");
        print_health(text, chip);
        printer_text(text, "}}");
}

static void try_again(const RecordHealth *chip) {
        _cleanup_printer_ Printer text = {}, again = {};
        _cleanup_json_ json_t *statement = NULL;
        _cleanup_health_ Health health = {};
        Judgement wrong;

        print(&text, chip);
        if (text.error < 0 || !has_reasons(chip))
                return;
        statement = json_loadb(text.text, text.n, JSON_REJECT_DUPLICATES, NULL);
        HOLDS(statement);
        HOLDS(health_read(statement, RECORD_TYPE_HEALTH, &health) == 0 && !health.wrong.wrong[0] && health_agrees(&health, &wrong));
        HOLDS(judge_chip(chip, &wrong) == judge_chip(&health.chip, &wrong));
        print(&again, &health.chip);
        HOLDS(again.n == text.n && memcmp(again.text, text.text, text.n) == 0);
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
        if (!health.is_rollup && !health.wrong.wrong[0])
                try_again(&health.chip);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_json_ json_t *statement = NULL;
        const char *wrong;

        if (json_read((const char *) data, size, &statement, &wrong) == 0) {
                try_type(statement, RECORD_TYPE_HEALTH);
                try_type(statement, RECORD_TYPE_SUMMARY);
        }
        return 0;
}
