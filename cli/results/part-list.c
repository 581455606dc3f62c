/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/results/part-list.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIST_CHARS 28 /* what is longer is counted */

static const char chip[] = "/chip";

/* The number of the chip that PART is, of the server that the first N characters of FIRST name; negative: it is none. */
static long chip_of(const char *part, const char *first, size_t n) {
        size_t skip = n + sizeof(chip) - 1;

        return strlen(part) > skip && strncmp(part, first, skip) == 0 ? strtol(part + skip, NULL, 10) : -1;
}

/* 0, or -1: they are not chips of one server, or too many to be told one by one. */
static int list_chips(const char *const *parts, size_t n, char *ret) {
        const char *slash = strstr(parts[0], chip);
        size_t n_server = slash ? (size_t) (slash - parts[0]) : 0, used;

        if (!slash)
                return -1;
        used = (size_t) snprintf(ret, PART_LIST_MAX, "%.*s%s", (int) n_server, parts[0], chip);
        for (size_t i = 0, k; i < n; i = k) {
                long from = chip_of(parts[i], parts[0], n_server);

                for (k = i + 1; k < n && chip_of(parts[k], parts[0], n_server) == from + (long) (k - i); k++)
                        continue;
                if (from < 0 || used > LIST_CHARS)
                        return -1;
                used += (size_t) snprintf(ret + used, PART_LIST_MAX - used, k - i > 1 ? "%s%ld-%ld" : "%s%ld", i > 0 ? "," : "", from,
                                          from + (long) (k - i) - 1);
        }
        return used > LIST_CHARS ? -1 : 0;
}

const char *part_list_format(const char *const *parts, size_t n, char ret[static PART_LIST_MAX]) {
        if (n == 1)
                (void) snprintf(ret, PART_LIST_MAX, "%s", parts[0]);
        else if (list_chips(parts, n, ret) < 0)
                (void) snprintf(ret, PART_LIST_MAX, "%.*s and %zu more", PART_LIST_MAX - 32, parts[0], n - 1);
        return ret;
}
