/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Verification, for who needs more of it than a reader is told. */

#include "daemon/record/verify/policy.h"

typedef struct Verification {
        RecordTrust trust;
        RecordVerified verified; /* of what did not verify only the reason */
        const KeyringKey *key;   /* that signed it; these two where it has verified */
        json_t *statement;
} Verification;

void verification_done(Verification *verification);

/* Takes what readers select by, and the producer, from STATEMENT, judged by nobody. -EBADMSG, -ENOMEM. */
int verify_read_entry(const json_t *statement, RecordVerified *ret);

/* Judges an envelope that was parsed. Where it verifies its PAE has left it: the payload is in VERIFIED. 0 or -ENOMEM. */
int verify_envelope(const RecordPolicy *policy, Envelope *envelope, Verification *ret);
