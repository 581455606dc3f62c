/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/verify/equivocation.h"

#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"

typedef struct Place {
        uint64_t index;
        char id[RECORD_ID_HEX];
        char origin[];
} Place;

static int compare(const void *one, const void *other) {
        const Place *a = one, *b = other;

        return a->index != b->index ? (a->index > b->index) - (a->index < b->index) : strcmp(a->origin, b->origin);
}

int equivocation_add(Equivocation *seen, const RecordVerified *verified, const char **ret) {
        size_t n = strlen(verified->origin) + 1;
        _cleanup_free_ Place *place = malloc(sizeof(*place) + n);
        Place **found;

        if (!place)
                return -ENOMEM;
        place->index = verified->entry.index;
        (void) strcpy(place->id, verified->entry.id);
        memcpy(place->origin, verified->origin, n);
        found = tsearch(place, &seen->root, compare);
        if (!found)
                return -ENOMEM;
        if (*found == place) {
                (void) TAKE_PTR(place);
                return 0;
        }
        if (strcmp((*found)->id, place->id) == 0)
                return 0;
        *ret = (*found)->id;
        return 1;
}

void equivocation_done(Equivocation *seen) {
        tdestroy(seen->root, free);
        seen->root = NULL;
}
