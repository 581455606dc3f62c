/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The names of the plans on this machine. */

#include "checks/plan/plan.h"
#include "cli/terminal/nearest.h"

#define PLAN_NAMES_MAX 256

/* The names of all plans of all folders, each once, sorted. RET has room for one more than PLAN_NAMES_MAX. Returns how many. */
size_t plan_names(char (*ret)[PLAN_NAME_MAX]);
/* nearest_question() of the plan that NAME may mean; nothing where another machine's are meant. */
const char *plan_names_question(const char *name, char *buffer, size_t size);
