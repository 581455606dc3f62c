/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Statement, read: whatever form it has, in one. */

#include <jansson.h>

#include "daemon/record/record.h"
#include "daemon/record/statement/schema.h"

/*
 * STATEMENT, as it was signed, fits the schema of its type. That of a chip is put in the members of version 1 in place of one of a later version
 * (health-v2.h); what it does not tell is not there, either. Any other stays. -EBADMSG, and *WRONG says why; -ENOMEM.
 */
int statement_fit(json_t **statement, SchemaWrong *wrong);

/* Whether TYPE, of a predicate, is one of a record that has a verdict: a chip's or a roll-up. */
bool statement_is_verdict(const char *type);
