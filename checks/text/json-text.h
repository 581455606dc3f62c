/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Json-text
 *
 * Prints JSON straight into a growing buffer, for lines that are too many and too simple to be worth a tree. Text of
 * strangers is made harmless: what is no UTF-8 or would move a terminal's cursor becomes U+FFFD, and what is too long
 * ends in an ellipsis. Braces and brackets are the caller's; a failed allocation shows at the end.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Starts as {}. */
typedef struct JsonText {
        char *bytes;
        size_t n, size;
        bool failed;
} JsonText;

void json_put(JsonText *json, const char *literal); /* what is JSON already */
void json_put_text(JsonText *json, const char *text, size_t max); /* a string, at most MAX bytes once it is decoded */

/* A member: "name":, with the comma before it where one is needed. */
void json_put_name(JsonText *json, const char *name);
void json_put_string(JsonText *json, const char *name, const char *text, size_t max);
void json_put_string_if(JsonText *json, const char *name, const char *text, size_t max); /* nothing for NULL and "" */
void json_put_unsigned(JsonText *json, const char *name, uint64_t value);
void json_put_wide(JsonText *json, const char *name, uint64_t value);  /* as a string: numbers end at 2^53 for many */
void json_put_double(JsonText *json, const char *name, double value);  /* finite; the shortest that reads back the same */

/* Length of the UTF-8 character at TEXT, 0 where there is none: no overlong form, no surrogate, nothing above U+10FFFF. */
size_t json_character_length(const unsigned char *text);

/* The decimal digits of VALUE, somewhere in BUFFER. */
char *json_print_unsigned(uint64_t value, char buffer[static 24]);

/* Hands out what was written, terminated; NULL where memory ran out. JSON is not to be used any more. */
char *json_text_done(JsonText *json);
