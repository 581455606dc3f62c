/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/bus/plan-names.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "cli/terminal/options.h"


static int compare(const void *a, const void *b) {
        return strcmp(a, b);
}

size_t plan_names(char (*ret)[PLAN_NAME_MAX]) {
        _cleanup_free_ char *folders = strdup(plan_folders());
        size_t n = 0;

        for (char *save = NULL, *folder = folders ? strtok_r(folders, ":", &save) : NULL; folder; folder = strtok_r(NULL, ":", &save)) {
                DIR *dir = opendir(folder);
                struct dirent *entry;

                while (dir && n < PLAN_NAMES_MAX && (entry = readdir(dir))) {
                        size_t length = strlen(entry->d_name);
                        bool seen = false;

                        if (length <= 5 || length - 5 >= PLAN_NAME_MAX || strcmp(entry->d_name + length - 5, ".yaml") != 0)
                                continue;
                        memcpy(ret[n], entry->d_name, length - 5);
                        ret[n][length - 5] = '\0';
                        for (size_t i = 0; i < n; i++)
                                seen = seen || strcmp(ret[i], ret[n]) == 0;
                        n += !seen;
                }
                if (dir)
                        closedir(dir);
        }

        qsort(ret, n, sizeof(*ret), compare);
        return n;
}

const char *plan_names_question(const char *name, char *buffer, size_t size) {
        _cleanup_free_ char (*found)[PLAN_NAME_MAX] = options.host ? NULL : calloc(PLAN_NAMES_MAX + 1, sizeof(*found));
        size_t n = found ? plan_names(found) : 0;
        Nearest nearest = nearest_to(name);

        for (size_t i = 0; i < n; i++)
                nearest_offer(&nearest, found[i]);
        return nearest_question(&nearest, buffer, size);
}
