/* SPDX-License-Identifier: Apache-2.0 */

/* A plan is read whole, or refused with a position. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/fault-words.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        abort();                                                                             \
        } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *error = NULL;
        int r;

        r = plan_parse("p", (const char *) data, size, &plan, &error);
        if (r < 0) {
                HOLDS(!plan && error && strncmp(error, "p:", 2) == 0);
                for (const char *at = error; *at; at++)
                        HOLDS((unsigned char) *at >= 0x20);
                return 0;
        }

        HOLDS(plan && plan->n_steps >= 1 && plan->n_steps <= PLAN_STEPS_MAX && plan->n_promises <= PLAN_PROMISES_MAX);
        HOLDS(stage_to_string(plan->stage) && plan->name[0] != '\0');
        HOLDS(isfinite(plan->budget_sec) && plan->budget_sec > 0 && plan->deadline_sec > 0);
        HOLDS(plan->n_text == size && memcmp(plan->text, data, size) == 0);
        for (size_t i = 0; i < plan->n_steps; i++) {
                HOLDS(plan->steps[i].check && plan->steps[i].name[0] != '\0');
                HOLDS(!plan->steps[i].check->parameters == !plan->steps[i].parameters);
        }

        HOLDS(plan->n_escapes <= PLAN_ESCAPES_MAX);
        for (size_t i = 0; i < plan->n_escapes; i++) {
                const PlanEscape *escape = &plan->escapes[i];

                HOLDS(escape->n_faults >= 1 && escape_by_to_string((EscapeBy) escape->by));
                HOLDS(escape->always >= 0 && escape->always <= 1 && escape->commands >= 0 && isfinite(escape->commands));
                HOLDS(!(escape->always > 0) || escape->because);
                for (size_t k = 0; k < escape->n_faults; k++)
                        HOLDS(fault_word_find(escape->faults[k]) == escape->faults[k]);
        }

        return 0;
}
