/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Expectation
 *
 * What a scenario says a scan should find, read from `expect:`.
 */

#include "checks/text/yaml.h"
#include "sim/fleet/scenario.h"

int expectations_read(Yaml *yaml, yaml_node_t *node, Scenario *scenario);
void expectations_free(Expectation *expectations, size_t n);

/* By Result, in lower case; ends with NULL. */
extern const char *const expectation_words[];

#define ELLIPSIS "\xe2\x80\xa6" /* before the end of a location */
