/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Stream-schema
 *
 * What one line of OCP Test & Validation output 2.0 may hold, as tables over jansson's values, and what our own
 * extensions hold. It judges shape only; order, numbers and sums are the reader's. Private to the stream.
 */

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define SCHEMA_WRONG_MAX 160

/* Returns 0; or -EPROTO with a sentence of our own words in WRONG (nothing of what the peer wrote is in it). */
int stream_schema_judge(const json_t *line, bool numbered, char wrong[static SCHEMA_WRONG_MAX]);

/* The same for the content of the extension NAME. Extensions of others hold what they like. */
int stream_schema_judge_extension(const char *name, const json_t *content, char wrong[static SCHEMA_WRONG_MAX]);
