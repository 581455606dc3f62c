/* SPDX-License-Identifier: Apache-2.0 */

/* What parses is printed as it was written, and lies within every prefix of itself. */

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/vocabulary/location.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_free_ char *text = malloc(size + 1);
        char printed[LOCATION_STRING_MAX];
        Location location, prefix;
        const char *wrong = NULL;
        size_t offset = SIZE_MAX;

        if (!text)
                return 0;

        memcpy(text, data, size);
        text[size] = '\0';
        if (location_parse(text, &location, &wrong, &offset) < 0) {
                HOLDS(wrong && *wrong && offset <= strlen(text));
                return 0;
        }

        HOLDS(strcmp(location_format(&location, printed), text) == 0);
        for (unsigned n = 0; n <= location.n_parts; n++) {
                prefix = location;
                prefix.n_parts = n;
                HOLDS(location_contains(&prefix, &location));
                HOLDS(location_equal(&prefix, &location) == (n == location.n_parts));
                HOLDS((location_compare(&prefix, &location) == 0) == (n == location.n_parts));
        }

        return 0;
}
