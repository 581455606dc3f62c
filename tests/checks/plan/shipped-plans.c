/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every plan we ship is a plan: found by the name of its file, and with the words and parameters that checks have now. All
 * of the checks are in `preflight` and in `production`; what `production` does to find rows of memory that a spare row mends,
 * `repair-production` does to have them mended. Of each kind of fault each plan states how many escape it.
 */

#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "checks/memory/hbm/report/parameters.h"
#include "checks/plan/plan.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/fault-words.h"

static bool has_check(const Plan *plan, const CheckWord *check) {
        for (size_t i = 0; i < plan->n_steps; i++)
                if (plan->steps[i].check == check && plan->steps[i].required)
                        return true;

        return false;
}

/* A kind stands by itself or in its family; there is none of which a plan says nothing. */
static bool states_escapes(const Plan *plan) {
        const char *kind, *family;
        bool good = true;

        for (size_t i = 0; (kind = fault_word_at(i, &family)); i++) {
                bool stated = false;

                for (size_t e = 0; e < plan->n_escapes; e++)
                        for (size_t k = 0; k < plan->escapes[e].n_faults; k++)
                                stated = stated || plan->escapes[e].faults[k] == kind || plan->escapes[e].faults[k] == family;
                if (!stated) {
                        printf("%s: does not state how many of %s escape\n", plan->name, kind);
                        good = false;
                }
        }

        return good;
}

static bool judge_plan(const char *folder, const char *name) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *error = NULL;
        const CheckWord *check;
        bool good;

        if (plan_find(folder, name, &plan, &error) < 0) {
                printf("%s\n", error);
                return false;
        }

        printf("%s: %zu steps, %zu promises\n", name, plan->n_steps, plan->n_promises);
        good = states_escapes(plan);
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

/* What the check of a memory counts of each piece: else a scan in many pieces seems to have tested more than one of all at once. */
static bool names_samples(void) {
        const CheckWord *hbm = check_word_find("hbm");
        bool good = hbm->samples && strcmp(*hbm->samples, "hbm_samples_compared") == 0 && !hbm->samples[1];

        if (!good)
                printf("hbm: its samples are not declared\n");
        return good;
}

/* Whether REPAIR has STEP with other words for the repair alone. */
static bool has_repair(const Plan *repair, const PlanStep *step) {
        HbmParameters wanted = *(const HbmParameters *) step->parameters;

        wanted.repair = HBM_REPAIR_REQUEST;
        for (size_t i = 0; i < repair->n_steps; i++)
                if (repair->steps[i].check == step->check && strcmp(repair->steps[i].name, step->name) == 0)
                        return memcmp(repair->steps[i].parameters, &wanted, sizeof(wanted)) == 0;

        return false;
}

static bool judge_repair(const char *folder) {
        static const char *const elsewhere[] = { "hbm-wires", "hbm-ecc" }; /* lanes, addresses and codes: no row mends them */
        _cleanup_(plan_freep) Plan *production = NULL, *repair = NULL;
        const CheckWord *hbm = check_word_find("hbm");
        bool good = true;

        if (plan_find(folder, "production", &production, NULL) < 0 || plan_find(folder, "repair-production", &repair, NULL) < 0)
                return false;

        for (size_t i = 0; i < production->n_steps; i++) {
                const PlanStep *step = &production->steps[i];

                if (step->check == hbm && strcmp(step->name, elsewhere[0]) != 0 && strcmp(step->name, elsewhere[1]) != 0 &&
                    !has_repair(repair, step)) {
                        printf("repair-production: %s is not as in production\n", step->name);
                        good = false;
                }
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
        return n_plans >= 2 && n_bad == 0 && names_samples() && judge_repair(argv[1]) ? EXIT_SUCCESS : EXIT_FAILURE;
}
