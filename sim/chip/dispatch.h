/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Dispatch
 *
 * Which model answers what: made once from the tables of all models. Attributes are found by a hash of their whole path,
 * because a healthy chip is asked for hundreds of them.
 */

#include <stddef.h>
#include <stdint.h>

#include "sim/chip/model.h"

typedef struct DispatchAttribute {
        char *path; /* NULL: a free slot */
        const Model *model;
        const Attribute *attribute;
        unsigned part;  /* which part of the chip */
        unsigned index; /* what %u stood for */
} DispatchAttribute;

/* How many parts of KIND a chip has; 0 where it is no part that a model can be. */
unsigned part_count(LocationKind kind);

size_t dispatch_slots(void); /* part states of one chip */
/* The slot of the first part of MODEL, the others follow. */
size_t dispatch_slot(const Model *model);
const Model *dispatch_command(unsigned type); /* NULL: no model knows this command */
const DispatchAttribute *dispatch_attribute(const char *path, size_t n);
/* All kinds of fault of all models, in the order of the models; NULL past the end. */
const FaultKind *fault_kind_at(size_t index, const Model **ret_model);
const FaultKind *fault_kind_find(const char *name);
/* Whose part a fault of KIND at AT sits in: models may share a kind. */
const Model *fault_model(const FaultKind *kind, const Location *at);
