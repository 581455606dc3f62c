/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/plan-names.h"
#include "cli/terminal/options.h"
#include "cli/terminal/pager.h"
#include "cli/terminal/say.h"
#include "cli/terminal/table.h"
#include "cli/terminal/verb.h"

static int load(const char *name, Plan **ret) {
        _cleanup_free_ char *wrong = NULL;
        char question[NEAREST_MAX + 32];
        int r;

        r = plan_find(plan_folders(), name, ret, &wrong);
        if (r == -ENOENT && !wrong)
                return complain(STATUS_USAGE, "no plan is called '%s' in %s%s", name, plan_folders(), plan_names_question(name, question, sizeof(question)));
        if (r == -ENOENT)
                return complain(STATUS_USAGE, "%s%s", wrong, plan_names_question(name, question, sizeof(question)));
        if (r < 0)
                return complain(STATUS_USAGE, "%s", wrong ?: strerror(-r));
        return 0;
}

static int list(void) {
        static const TableColumn columns[] = {
                { "PLAN",    "plan",       false, false },
                { "STAGE",   "stage",      false, false },
                { "STEPS",   "steps",      true,  false },
                { "DEVICE SECONDS", "budget_sec", true, false }, /* at most */
                { "SUMMARY", "summary",    false, true  },
                {},
        };
        _cleanup_free_ char (*found)[PLAN_NAME_MAX] = calloc(PLAN_NAMES_MAX + 1, sizeof(*found));
        _cleanup_(table_freep) Table *table = NULL;
        int r, status = STATUS_PASSED;
        size_t n;

        if (!found || table_new(columns, &table) < 0)
                return complain(STATUS_CANNOT_TELL, "out of memory");

        n = plan_names(found);
        if (n == 0)
                return complain(STATUS_USAGE, "there are no plans in %s; $ASSAY_PLANS may say where they are", plan_folders());
        for (size_t i = 0; i < n; i++) {
                _cleanup_(plan_freep) Plan *plan = NULL;
                char steps[24], budget[24];

                r = load(found[i], &plan);
                if (r != 0) {
                        status = r;
                        continue;
                }
                snprintf(steps, sizeof(steps), "%zu", plan->n_steps);
                snprintf(budget, sizeof(budget), "%.0f", ceil(plan->budget_sec));
                (void) table_row(table, (const char *[]) { plan->name, stage_to_string(plan->stage), steps, budget, plan->summary });
        }

        r = table_print(table);
        return r < 0 ? complain(STATUS_CANNOT_TELL, "could not print: %s", strerror(-r)) : status;
}

/* The plan's statements on faults that escape it, as they stand in its file. */
static json_t *escapes_json(const Plan *plan) {
        json_t *list = json_array();

        for (size_t i = 0; i < plan->n_escapes; i++) {
                const PlanEscape *escape = &plan->escapes[i];
                json_t *faults = json_array();

                for (size_t k = 0; k < escape->n_faults; k++)
                        (void) json_array_append_new(faults, json_string(escape->faults[k]));
                (void) json_array_append_new(list, json_pack("{s:o, s:f, s:f, s:s, s:s?}", "faults", faults, "always", escape->always, "commands",
                                                             escape->commands, "by", escape_by_to_string((EscapeBy) escape->by), "because",
                                                             escape->because));
        }
        return list;
}

static int show(const char *name) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        int r;

        r = load(name, &plan);
        if (r != 0)
                return r;

        if (options.json) {
                _cleanup_(json_decrefp) json_t *steps = json_array(), *promises = json_object();
                _cleanup_free_ char *limits = NULL;

                if (plan_limits(plan, &limits) < 0)
                        return complain(STATUS_CANNOT_TELL, "out of memory");

                for (size_t i = 0; i < plan->n_steps; i++)
                        (void) json_array_append_new(steps, json_pack("{s:s, s:s, s:b}", "name", plan->steps[i].name, "check",
                                                                      plan->steps[i].check->name, "required", plan->steps[i].required));
                for (size_t i = 0; i < plan->n_promises; i++)
                        (void) json_object_set_new(promises, plan->promises[i].measurement, json_real(plan->promises[i].value));

                _cleanup_(json_decrefp) json_t *object =
                                json_pack("{s:s, s:s, s:s, s:f, s:f, s:O, s:O, s:o, s:s}", "plan", plan->name, "summary", plan->summary, "stage",
                                          stage_to_string(plan->stage), "budget_sec", plan->budget_sec, "rotation_sec", plan->rotation_sec,
                                          "steps", steps, "coverage", promises, "escapes", escapes_json(plan), "limits", limits);
                (void) json_dumpf(object, stdout, JSON_INDENT(2));
                putchar('\n');
                return STATUS_PASSED;
        }

        pager_open();
        fwrite(plan->text, 1, plan->n_text, stdout);
        return STATUS_PASSED;
}

static int run(int argc, char **argv) {
        return argc == 0 ? list() : show(argv[0]);
}

const Verb verb_plans = {
        .name = "plans",
        .min = 0,
        .max = 1,
        .arguments = "[PLAN]",
        .summary = "List plans, or show one",
        .options = "",
        .run = run,
};
