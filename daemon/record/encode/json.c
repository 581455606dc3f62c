/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/encode/json.h"

#include <stdbool.h>

/* What somebody can do something about; what is anything else is one thing. */
static const char *wrong_with_text(enum json_error_code code) {
        static const struct {
                enum json_error_code code;
                const char *wrong;
        } words[] = {
                { json_error_duplicate_key,          "a key stands twice in one object" },
                { json_error_premature_end_of_input, "this is not JSON: it ends too early" },
        };

        for (size_t i = 0; i < ELEMENTS(words); i++)
                if (words[i].code == code)
                        return words[i].wrong;
        return "this is not JSON";
}

/*
 * Counts brackets outside strings before any parser recurses into them, or makes of each of them an object that is a hundred times as large.
 * NULL: they are not too many.
 */
static const char *wrong_with_brackets(const char *text, size_t n) {
        unsigned depth = 0, n_brackets = 0;
        bool in_string = false;

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
                                return "the JSON is nested deeper than 32";
                        if (++n_brackets > JSON_BRACKETS_MAX)
                                return "the JSON has more than 65536 objects and arrays";
                } else if ((c == '}' || c == ']') && depth > 0)
                        depth--;
        }
        return NULL;
}

int json_read(const char *text, size_t n, json_t **ret, const char **ret_wrong) {
        json_error_t error = {}; /* jansson leaves the code alone where it has nothing to say */
        const char *wrong = wrong_with_brackets(text, n);
        json_t *value;

        if (wrong) {
                *ret_wrong = wrong;
                return -EBADMSG;
        }
        value = json_loadb(text, n, JSON_REJECT_DUPLICATES, &error);
        if (value) {
                *ret = value;
                return 0;
        }
        if (json_error_code(&error) == json_error_out_of_memory || json_error_code(&error) == json_error_unknown)
                return -ENOMEM;
        *ret_wrong = wrong_with_text(json_error_code(&error));
        return -EBADMSG;
}
