/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * InUse
 *
 * Which rows of the stacks carry live data of a job. A scenario or a request says so,
 *
 *     {at: us0-1/chip3/hbm2, rows: "0:0-8191,1:0-16383"}      rows 0 … 8191 of SID 0 and all of SID 1; also: all, none
 *
 * of a stack, a chip or a server; where nobody does, an occupied chip has the lower seven eighths of the rows of each SID
 * in use, an idle one nothing.
 */

#include <stdio.h>

#include "checks/text/yaml.h"
#include "sim/chip/topology.h"

#define IN_USE_ITEMS_MAX 65536u /* of a scenario */

/* Reads one mapping and makes it so. -EINVAL with yaml->error, -ENOMEM. */
int in_use_read(Yaml *yaml, yaml_node_t *node, Hall *hall);
/* Every stack that has rows in use or was trespassed on, one per line; of the chips somebody has asked for. */
void in_use_list(const Hall *hall, FILE *out);
