/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every plan we ship is a plan: found by the name of its file, and with the words and parameters that checks have now. All
 * of the checks are in `preflight` and in `production`.
 */

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "checks/cleanup.h"
#include "checks/plan.h"

static bool has_check(const Plan *plan, const CheckWord *check) {
        for (size_t i = 0; i < plan->n_steps; i++)
                if (plan->steps[i].check == check && plan->steps[i].required)
                        return true;

        return false;
}

static bool judge_plan(const char *folder, const char *name) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *error = NULL;
        const CheckWord *check;
        bool good = true;

        if (plan_find(folder, name, &plan, &error) < 0) {
                printf("%s\n", error);
                return false;
        }

        printf("%s: %zu steps, %zu promises\n", name, plan->n_steps, plan->n_promises);
        if (!plan->summary || plan->n_promises == 0) {
                printf("%s: has no summary or promises nothing\n", name);
                good = false;
        }

        for (size_t i = 0; (check = check_word_at(i)); i++)
                if ((strcmp(name, "preflight") == 0 || strcmp(name, "production") == 0) && !has_check(plan, check)) {
                        printf("%s: leaves out %s\n", name, check->name);
                        good = false;
                }

        return good;
}

int main(int argc, char *argv[]) {
        struct dirent **entries;
        unsigned n_plans = 0, n_bad = 0;
        int n = argc > 1 ? scandir(argv[1], &entries, NULL, alphasort) : -1;

        for (int i = 0; i < n; i++) {
                char *ending = strstr(entries[i]->d_name, ".yaml");

                if (ending) {
                        *ending = '\0';
                        n_bad += !judge_plan(argv[1], entries[i]->d_name);
                        n_plans++;
                }
                free(entries[i]);
        }

        if (n >= 0)
                free(entries);
        return n_plans >= 2 && n_bad == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
