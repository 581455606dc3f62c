/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/json.h"

#include <stdbool.h>

/* Counts brackets outside strings before any parser recurses into them. */
static bool is_too_deep(const char *text, size_t n) {
        bool in_string = false;
        unsigned depth = 0;

        for (size_t i = 0; i < n; i++) {
                char c = text[i];

                if (in_string) {
                        if (c == '\\')
                                i++;
                        else if (c == '"')
                                in_string = false;
                } else if (c == '"')
                        in_string = true;
                else if (c == '{' || c == '[') {
                        if (++depth > JSON_DEPTH_MAX)
                                return true;
                } else if ((c == '}' || c == ']') && depth > 0)
                        depth--;
        }
        return false;
}

int json_read(const char *text, size_t n, json_t **ret, const char **ret_wrong) {
        json_error_t error = {}; /* jansson leaves the code alone where it has nothing to say */
        json_t *value;

        if (is_too_deep(text, n)) {
                *ret_wrong = "the JSON is nested deeper than 32";
                return -EBADMSG;
        }
        value = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
        if (value) {
                *ret = value;
                return 0;
        }
        if (json_error_code(&error) == json_error_out_of_memory || json_error_code(&error) == json_error_unknown)
                return -ENOMEM;
        *ret_wrong = json_error_code(&error) == json_error_duplicate_key ? "a key stands twice in one object"
                                                                         : "this is not JSON";
        return -EBADMSG;
}
