/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Policy
 *
 * What a reader asks of a record beyond that it is authentic and agrees with itself: that its key may sign there, and that it is what the
 * reader wanted. What is another thing than was asked for is refused; what cannot be decided is a doubt, and no refusal may hide behind one.
 */

#include <jansson.h>

#include "daemon/record/keys/keyring.h"
#include "daemon/record/verify/bundle.h"

/* Why a record does not stand; "" while it does. */
typedef struct Refusal {
        RecordLack lack; /* cannot tell for want of this; RECORD_LACKS_NOTHING: it is refused */
        char text[320];
} Refusal;

/* Both say WHAT, and DETAIL after it. -EBADMSG */
int refuse(Refusal *refusal, const char *what, const char *detail);
/* 0: go on, there may be worse. The first doubt is the one that is told. */
int doubt(Refusal *refusal, RecordLack lack, const char *what, const char *detail);

/* The record as far as it is known: its envelope, the key that signed it, the bundle in which it came, and its statement, in the shape of its type. */
typedef struct Evidence {
        const Envelope *envelope;
        const KeyringKey *key;
        const Bundle *bundle; /* NULL: in none */
        const json_t *statement;
} Evidence;

/* VERIFIED says what readers select by; who has seen it is added there. */
int policy_check(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal);

/* policy-proof.c: that it is in its log, seen by enough witnesses, and the log is the one that was seen before. */
int policy_check_proof(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal);
