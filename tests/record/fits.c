/* SPDX-License-Identifier: Apache-2.0 */

/*
 * fits: of each statement on standard input, one JSON line each, whether it is one of ours (fits), has another shape (schema), or contradicts
 * itself (judge). No signature is looked at.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/schema.h"
#include "daemon/record/statement/statement-judge.h"
#include "daemon/record/statement/statement-read.h"
#include "daemon/record/statement/statement.h"

static const char *judge(const char *line, size_t n) {
        _cleanup_json_ json_t *statement = NULL;
        const char *wrong, *type;
        _cleanup_health_ Health health = {};
        SchemaWrong misfit;
        Judgement judgement;

        if (json_read(line, n, &statement, &wrong) < 0)
                return "unreadable";
        if (strcmp(text_of(statement, "_type"), STATEMENT_TYPE) != 0 || statement_fit(&statement, &misfit) < 0)
                return "schema";
        type = text_of(statement, "predicateType");
        return statement_judge(statement, type, &health, &judgement) == 0 && !judgement.wrong[0] ? "fits" : "judge";
}

int main(void) {
        _cleanup_free_ char *line = NULL;
        size_t size = 0;
        ssize_t n;

        while ((n = getline(&line, &size, stdin)) > 0)
                puts(judge(line, (size_t) n - (line[n - 1] == '\n')));
        return ferror(stdin) || fflush(stdout) != 0;
}
