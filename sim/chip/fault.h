/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fault
 *
 * From the text of a fault to the Fault in its chip. One mapping holds the keys that all kinds have (at, kind,
 * persistence, probability, after, above, after-commands, droop) and those of
 * its own kind:
 *
 *     {at: us0-2/chip3/core5/pe17.93, kind: product-stuck, bit: 9, value: 1, persistence: intermittent, probability: 0.1}
 */

#include <stddef.h>

#include "checks/text/cleanup.h"
#include "checks/text/yaml.h"
#include "sim/chip/model.h"
#include "sim/chip/topology.h"

#define FAULT_TEXT_MAX 1024u /* bytes of one fault as text */

/* Reads and validates the mapping NODE; where the kind's own reader wants more, its userdata is the Fault, whose `at`
 * and kind are set. -EINVAL with yaml->error, -ENOMEM. */
int fault_read(Yaml *yaml, yaml_node_t *node, const Hall *hall, Fault **ret);
Fault *fault_free(Fault *fault);
DEFINE_CLEANUP(Fault *, fault_free);

/* Puts FAULT into its chip, which owns it from then on. -EEXIST, -ENOMEM, -ENOSPC; then the caller still has it. */
int fault_inject(Hall *hall, Fault *fault);

/* A sentence for what fault_inject() refused. */
const char *fault_refusal(int error);

const char *persistence_to_string(Persistence persistence);
extern const char *const fault_family_words[]; /* by FaultFamily, ends with NULL */
