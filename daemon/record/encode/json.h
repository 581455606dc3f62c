/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* JSON from outside: one value, no key twice, at most JSON_BRACKETS_MAX brackets and JSON_DEPTH_MAX deep, valid UTF-8, no NUL. */

#include <jansson.h>
#include <stddef.h>

#include "checks/text/cleanup.h"

#define JSON_DEPTH_MAX    32
#define JSON_BRACKETS_MAX 65536 /* no envelope of ours has room for as many */

static inline void json_drop(json_t **value) {
        json_decref(*value);
}

#define _cleanup_json_ _cleanup_(json_drop)

/* "" where there is no text. */
static inline const char *text_of(const json_t *object, const char *key) {
        return json_string_value(json_object_get(object, key)) ?: "";
}

/* Reads an object or an array. -EBADMSG and *ret_wrong (a static sentence), or -ENOMEM. */
int json_read(const char *text, size_t n, json_t **ret, const char **ret_wrong);
