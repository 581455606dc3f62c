/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * The statement of a record, whatever form it has. Those of chips come in two versions, of which the second is a third as long and leaves out what follows from the
 * rest; its readers see the members of the first. A part of record.h.
 */

#include <stdbool.h>
#include <stddef.h>

struct json_t;

/* Whether predicate TYPE is of a chip's record, in any of its versions. */
bool record_type_is_health(const char *type);

/*
 * The statement in PAYLOAD, of N bytes, with the members of version 1; what version 2 leaves to the record of the server (scanner, clock, seeds, the stream's
 * digest) is not there. *RET is a new reference. -EBADMSG: it is no statement of ours; -ENOMEM.
 */
int record_statement_read(const char *payload, size_t n, struct json_t **ret);
