/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The inside of a judge, for judge.c and judge-summary.c. */

#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/judge.h"

/* Says what is wrong, and returns false. */
bool judge_wrong(Judgement *judgement, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline bool judge_says(const json_t *object, const char *key, const char *word) {
        return strcmp(text_of(object, key), word) == 0;
}

/* Raise *evidence to what they mean. WHOSE: the step's name, or the server. */
bool judge_measurements(const json_t *measurements, const char *whose, Verdict *evidence, Judgement *judgement);
bool judge_diagnoses(const json_t *diagnoses, Verdict *evidence, Judgement *judgement);
bool judge_status(const json_t *predicate, Judgement *judgement);
/* How many chips the server has: by the product in URI, that of the subject, and by what the record says itself; 0: neither tells. */
size_t judge_chips_of(const json_t *predicate, const char *uri);
/* URI: of the subject */
bool judge_summary(const json_t *predicate, const char *uri, Judgement *judgement);
