/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Schema
 *
 * The shape of the statements, as tables: what must be there, of which type, within which bounds. The
 * published form of the same is health-v1.schema.json. Fields that are not named here are let through: `v1`
 * may grow.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SCHEMA_WRONG_MAX 192
#define RECORD_PROMISES_MAX 256 /* of a chip: each is looked for in all measurements; a plan has fewer */

/* "steps[3].measurements: is missing" */
typedef struct SchemaWrong {
        char text[SCHEMA_WRONG_MAX];
} SchemaWrong;

/* PREDICATE_TYPE must be one of those we know; then all of STATEMENT but its `_type` is looked at. */
bool schema_fits(const json_t *statement, const char *predicate_type, SchemaWrong *wrong);

/* Forms of texts: 64 hex digits; 8-4-4-4-12 of them; a-b-c of lower-case letters and digits; "0-12,40", or "" for none. */
bool form_is_sha256(const char *text);
bool form_is_uuid(const char *text);
bool form_is_code(const char *text);
bool form_is_regions(const char *text);
