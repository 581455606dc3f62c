/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Reading: the inside of a reader of verdicts, for health-read.c and steps-read.c. */

#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/health-read.h"

/* Nothing is read after an error; the first contradiction is told, and what follows it is read. */
typedef struct Reading {
        Health *health;
        Location subject;
        int error; /* 0 or -ENOMEM */
} Reading;

#define REFUSE(reading, ...) ((reading)->health->wrong.wrong[0] ? false : judge_wrong(&(reading)->health->wrong, __VA_ARGS__))

/* Zeros; NULL after an error. */
void *reading_take(Reading *reading, size_t n, size_t size);

static inline bool reading_says(const json_t *object, const char *key, const char *word) {
        return strcmp(text_of(object, key), word) == 0;
}

/* Other readers know doubles alone: an integer between two of them would be another number there. */
bool reading_is_double(const json_t *number);
/* A number, or its digits where a double has no room for it. */
uint64_t reading_count(const json_t *object, const char *key);
/* Where FROM is: at its component, or its subject. A component that the grammar does not know may be of a later one: PLACE_UNNAMED. */
Location reading_where(const Reading *reading, const json_t *from);

/* FROM: a step, or a roll-up; NAME: what it is called. REASON: why it could not judge, else "". */
void read_measurements(Reading *reading, const json_t *from, const char *name, const char *reason, RecordStep *ret);
void read_diagnoses(Reading *reading, const json_t *from, RecordStep *ret);
/* Those of a chip. */
void read_steps(Reading *reading, const json_t *steps);
