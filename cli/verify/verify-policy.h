/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* What `verify` asks of records, and `gate`, `verdict`, `scan` and `show` too, as their options say it: keyring, state, subject, challenge, plan, age and proof. */

#include <systemd/sd-bus.h>

#include "daemon/record/record.h"

typedef struct VerifyPolicy {
        RecordPolicy policy;
        RecordKeyring *keyring;
        RecordState *state; /* NULL without --state */
        char *proof;        /* of --proof */
        char subject[RECORD_ID_HEX];
        sd_bus *bus;        /* borrowed; NULL where no daemon is asked */
} VerifyPolicy;

/* IS_WITNESSED: as of call_keyring_of(). Returns 0, or an exit status, having complained. It must stay where it is. */
int verify_policy_init(VerifyPolicy *policy, sd_bus *bus, bool is_witnessed);
void verify_policy_done(VerifyPolicy *policy);

/*
 * Record INDEX of the daemon, judged with the proof that it has of it. Where one is asked for it is waited for: a new record is covered within a
 * second. Returns 0, or an exit status, having complained.
 */
int verify_policy_fetch(const VerifyPolicy *policy, uint64_t index, RecordTrust *ret_trust, RecordVerified *ret);
/*
 * The same for who decides by it: a failure counts without the proof that a pass needs. Whoever keeps that back must not make it `unknown`, which
 * some hooks let pass.
 */
int verify_policy_fetch_verdict(const VerifyPolicy *policy, uint64_t index, RecordTrust *ret_trust, RecordVerified *ret);
/* What there is to say of a record that was not verified, after "record N". */
const char *verify_policy_distrust(RecordTrust trust);
