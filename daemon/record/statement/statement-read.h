/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Statement, read: whatever form it has, in one. */

#include <jansson.h>

#include "daemon/record/record.h"

#define STATEMENT_WRONG 160

/*
 * Puts the statement of a chip in the members of version 1 in place of one of a later version (health-v2.h); what it does not tell is not there, either. Any
 * other stays. -EBADMSG, and *WRONG says why; -ENOMEM.
 */
int statement_spell_out(json_t **statement, char wrong[static STATEMENT_WRONG]);
