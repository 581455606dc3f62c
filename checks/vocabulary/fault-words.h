/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Fault words
 *
 * The kinds of faults of which a plan states how many escape it (plan.h), and their families: memory, compute, links, telemetry. They
 * are those of `assay-sim kinds`, which this side of the device port does not link; a test holds the two lists equal.
 */

#include <stddef.h>

#define FAULT_WORDS_MAX 256 /* of kinds and families together */

/* The word of a kind or a family, static; NULL: none is called so. */
const char *fault_word_find(const char *name);

/* The kind of INDEX, static, with its family in *ret_family unless that is NULL; NULL past the end. */
const char *fault_word_at(size_t index, const char **ret_family);
