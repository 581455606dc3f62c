/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/audit/audit.h"

#include <search.h>
#include <string.h>

static int compare(const void *a, const void *b) {
        return strcmp(a, b);
}

void *audit_set_find(const AuditSet *set, const char *key) {
        void *const *found = tfind(key, &set->root, compare);

        return found ? *found : NULL;
}

void *audit_set_add(AuditSet *set, const char *key, size_t size) {
        void *const *found = tfind(key, &set->root, compare);
        char *item;

        if (found)
                return *found;
        item = calloc(1, size);
        if (!item)
                return NULL;
        (void) strcpy(item, key);
        if (!tsearch(item, &set->root, compare)) {
                free(item);
                return NULL;
        }
        return item;
}

void audit_set_remove(AuditSet *set, void *item) {
        (void) tdelete(item, &set->root, compare);
        free(item);
}

typedef struct Walk {
        void (*each)(void *item, void *userdata);
        void *userdata;
} Walk;

static void visit(const void *node, VISIT which, void *userdata) {
        Walk *walk = userdata;

        if (which == postorder || which == leaf)
                walk->each(*(void *const *) node, walk->userdata);
}

void audit_set_each(const AuditSet *set, void (*each)(void *item, void *userdata), void *userdata) {
        Walk walk = { each, userdata };

        twalk_r(set->root, visit, &walk);
}

void audit_set_done(AuditSet *set) {
        tdestroy(set->root, free);
        set->root = NULL;
}
