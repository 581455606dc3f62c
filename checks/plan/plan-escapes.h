/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* The reader of `escapes:` in a plan, for plan.c. */

#include "checks/plan/plan.h"

/* Reads the list NODE into the Plan USERDATA; a YamlField's reader. */
int plan_read_escapes(Yaml *yaml, yaml_node_t *node, void *ret, void *userdata);
