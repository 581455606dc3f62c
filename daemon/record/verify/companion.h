/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Companion
 *
 * A record in the words of in-toto's test-result predicate (v0.1), as earlier assayds signed it on demand. None is signed any more, but those
 * that were given away are still told from a forgery. A companion was signed like a record and is none: it stands in no log, so nobody can tell
 * by its place whether its key was good then. The last entry of its `configuration` names the record, and tells beside it what the predicate has
 * no words for:
 *
 *     {"name": TYPE, "digest": {"sha256": ID}, "annotations": {"origin": …, "index": …, "result": …, "finishedOn": …[, "challenge": …]}}
 *
 * with the record's own result: the predicate's is FAILED where nobody knows.
 */

#include "daemon/record/verify/policy.h"

#define COMPANION_TYPE "https://in-toto.io/attestation/test-result/v0.1"

/* Of an authentic statement of that type, signed with KEY: index, ID and origin of its record go into RECORD. 0 and a doubt, or -EBADMSG. */
int companion_read(const json_t *statement, const KeyringKey *key, RecordVerified *record, Refusal *refusal);
