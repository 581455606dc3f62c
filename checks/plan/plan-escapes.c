/* SPDX-License-Identifier: Apache-2.0 */

/* Reads the statements of a plan on faults that escape it: see PlanEscape in plan.h. */

#include "checks/plan/plan-escapes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/vocabulary/fault-words.h"

static const char *const by_words[] = { [ESCAPE_BY_COMPUTATION] = "computation", [ESCAPE_BY_CAMPAIGN] = "campaign", [ESCAPE_BY_DESIGN] = "design", NULL };

const char *escape_by_to_string(EscapeBy by) {
        return by_words[by];
}

static bool is_stated(const Plan *plan, const char *fault) {
        for (size_t i = 0; i <= plan->n_escapes; i++) /* the one that is being read, too */
                for (size_t k = 0; k < plan->escapes[i].n_faults; k++)
                        if (plan->escapes[i].faults[k] == fault) /* words are static, so equal ones are the same */
                                return true;

        return false;
}

static int read_fault(Yaml *yaml, yaml_node_t *node, size_t index, void *userdata) {
        Plan *plan = userdata;
        PlanEscape *escape = &plan->escapes[plan->n_escapes];
        const char *text, *fault;
        int r;

        r = yaml_scalar(yaml, node, "a kind of fault", &text);
        if (r < 0)
                return r;

        fault = fault_word_find(text);
        if (!fault)
                return yaml_refuse(yaml, node, 0, "'%.60s' is no kind of fault, expected one of `assay-sim kinds`, or memory, compute, links "
                                   "or telemetry for all of them that are not named", text);
        if (is_stated(plan, fault))
                return yaml_refuse(yaml, node, 0, "'%s' stands above, expected each kind once", fault);

        escape->faults[escape->n_faults++] = fault;
        return 0;
}

static int read_faults(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        static const char expected[] = "a list of kinds of faults";
        const char ***faults = ret;

        *faults = calloc(FAULT_WORDS_MAX, sizeof(**faults));
        if (!*faults)
                return -ENOMEM;

        return yaml_items(yaml, node, FAULT_WORDS_MAX, expected, read_fault, userdata);
}

static const YamlField fields[] = {
        YAML_CUSTOM("faults", PlanEscape, faults, read_faults, .required = true),
        YAML_NUMBER("always", PlanEscape, always, 0, 1),
        YAML_NUMBER("commands", PlanEscape, commands, 0, 1e6),
        YAML_WORD("by", PlanEscape, by, by_words, .required = true),
        YAML_STRING("because", PlanEscape, because, 1, 400),
        {},
};

static int read_escape(Yaml *yaml, yaml_node_t *node, size_t index, void *userdata) {
        Plan *plan = userdata;
        PlanEscape *escape = &plan->escapes[index];
        int r;

        r = yaml_read(yaml, node, fields, escape, plan);
        plan->n_escapes = index + 1; /* also where it was refused, for plan_free() */
        if (r < 0)
                return r;
        if (escape->n_faults == 0)
                return yaml_refuse(yaml, node, 0, "no kind of fault is here, expected at least one");
        if (escape->always > 0 && !escape->because)
                return yaml_refuse(yaml, node, 0, "faults that are always there escape, expected `because:` to say why");
        if (escape->always >= 1 && escape->commands > 0)
                return yaml_refuse(yaml, node, 0, "all of them escape, so that no number of `commands` finds them");

        return 0;
}

int plan_read_escapes(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata) {
        return yaml_items(yaml, node, PLAN_ESCAPES_MAX, "a list of at most 64 statements", read_escape, userdata);
}
