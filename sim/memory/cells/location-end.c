/* SPDX-License-Identifier: Apache-2.0 */

#include "sim/memory/cells/location-end.h"

#include <stdio.h>
#include <string.h>

/* How many parts of AT an end shares that begins with TEXT: up to the part of that name. Below MIN: it begins with none. */
static unsigned shared_parts(const char *text, const Location *at, unsigned min) {
        size_t n_word = strcspn(text, "0123456789/");
        unsigned shared = at->n_parts;

        while (shared-- > min) {
                const char *word = location_kind_to_string(at->parts[shared].kind);

                if (strlen(word) == n_word && memcmp(word, text, n_word) == 0)
                        break;
        }
        return shared;
}

int memory_location_end(const char *text, const Location *at, unsigned shared_min, Location *ret, const char **ret_wrong,
                        size_t *ret_offset) {
        unsigned shared = shared_parts(text, at, shared_min);
        char whole[2 * LOCATION_STRING_MAX];
        Location start = *at, other;
        size_t n, offset;

        *ret_wrong = "expected the end of a location, such as row7/col1/bit3";
        *ret_offset = 0;
        if (shared < shared_min || shared >= at->n_parts)
                return -EINVAL;

        start.n_parts = shared;
        (void) location_format(&start, whole);
        n = strlen(whole);
        (void) snprintf(whole + n, sizeof(whole) - n, "/%s", text);
        if (location_parse(whole, &other, ret_wrong, &offset) < 0) {
                *ret_offset = offset > n ? offset - n - 1 : 0;
                return -EINVAL;
        }
        if (other.n_parts != at->n_parts || location_kind(&other) != location_kind(at)) {
                *ret_wrong = "that is no part of the same sort";
                return -EINVAL;
        }

        *ret = other;
        return 0;
}
