/* SPDX-License-Identifier: Apache-2.0 */

/* A plan is read whole, or refused with a position. */

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "checks/plan.h"

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

        return 0;
}
