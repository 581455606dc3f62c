/* SPDX-License-Identifier: Apache-2.0 */

#include "cli/verify/verify-policy.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "checks/text/whole-file.h"
#include "checks/vocabulary/verdict.h"
#include "cli/bus/call.h"
#include "cli/files/file-kind.h"
#include "cli/terminal/options.h"
#include "cli/terminal/say.h"

/*
 * An identity document is named with a slash, which no serial has, like a program in a shell: else whoever can put a file where this runs could
 * say what is asked for.
 */
static int take_subject(VerifyPolicy *policy) {
        _cleanup_free_ char *document = NULL;
        size_t n;
        int r;

        policy->policy.subject = options.subject;
        if (options.subject && !strchr(options.subject, '/') && strchr(options.subject, '.'))
                (void) complain(0, "%s is taken for a serial, though none of ours has a dot; a file is named with a slash: --subject ./%s", options.subject, options.subject);
        if (!options.subject || !strchr(options.subject, '/'))
                return 0;
        r = whole_file_drain(options.subject, FILE_BYTES_MAX, &document, &n);
        if (r == 0)
                r = record_digest(document, n, policy->subject);
        if (r < 0)
                return complain(STATUS_USAGE, "%s: %s", options.subject, strerror(-r));
        policy->policy.subject = policy->subject;
        return 0;
}

static int take_proof(VerifyPolicy *policy) {
        FileKind kind;
        int r;

        if (!options.proof)
                return 0;
        r = whole_file_drain(options.proof, FILE_BYTES_MAX, &policy->proof, &policy->policy.n_proof);
        if (r < 0)
                return complain(STATUS_USAGE, "%s: %s", options.proof, strerror(-r));
        kind = file_kind(policy->proof, policy->policy.n_proof);
        if (kind >= 0 && kind != FILE_PROOF)
                return complain(STATUS_USAGE, "%s: no proof, as export --format proof writes one; this is %s", options.proof, file_kind_to_string(kind));
        policy->policy.proof = policy->proof;
        policy->policy.needs_proof = true;
        return 0;
}

static int ask_consistency(void *userdata, const char *origin, uint64_t old, uint64_t size, char **ret, size_t *ret_n) {
        const VerifyPolicy *policy = userdata;

        return call_consistency(policy->bus, origin, old, size, ret, ret_n);
}

int verify_policy_init(VerifyPolicy *policy, sd_bus *bus, bool is_witnessed) {
        int r;

        *policy = (VerifyPolicy) {
                .bus = bus,
                .policy = { .challenge = options.challenge, .plan = options.plan,
                            .max_age_usec = options.max_age_usec == UINT64_MAX ? 0 : options.max_age_usec },
        };
        r = call_state(&policy->state);
        policy->policy.state = policy->state;
        if (r == 0)
                r = take_subject(policy);
        if (r == 0)
                r = take_proof(policy);
        if (r == 0)
                r = call_keyring_of(bus, policy->state, is_witnessed, &policy->keyring);
        if (r != 0)
                return r;
        policy->policy.keyring = policy->keyring;
        /* What the daemon says of its own keys asks for nothing; who brings keys of a log wants to see the record there. */
        if (options.key && record_keyring_wants_proof(policy->keyring))
                policy->policy.needs_proof = true;
        if (bus) {
                policy->policy.consistency = ask_consistency;
                policy->policy.userdata = policy;
        }
        return 0;
}

int verify_policy_fetch(const VerifyPolicy *policy, uint64_t index, RecordTrust *ret_trust, RecordVerified *ret) {
        int (*call)(sd_bus *, uint64_t, sd_bus_error *, char **) = policy->policy.needs_proof ? call_proof_soon : call_proof_now;
        _cleanup_(sd_bus_error_free) sd_bus_error no_proof = SD_BUS_ERROR_NULL;
        RecordPolicy with_proof = policy->policy;
        _cleanup_free_ char *proof = NULL;

        if (!with_proof.proof && call(policy->bus, index, &no_proof, &proof) >= 0) {
                with_proof.proof = proof;
                with_proof.n_proof = strlen(proof);
        }
        return call_verified_by(policy->bus, &with_proof, index, ret_trust, ret);
}

int verify_policy_fetch_verdict(const VerifyPolicy *policy, uint64_t index, RecordTrust *ret_trust, RecordVerified *ret) {
        _cleanup_(record_verified_done) RecordVerified unproven = {};
        RecordPolicy without_proof = policy->policy;
        RecordTrust trust;
        int r;

        r = verify_policy_fetch(policy, index, ret_trust, ret);
        if (r != 0 || *ret_trust != RECORD_CANNOT_TELL)
                return r;
        without_proof.needs_proof = false;
        r = call_verified_by(policy->bus, &without_proof, index, &trust, &unproven);
        if (r != 0 || trust != RECORD_VERIFIED || unproven.entry.result != RESULT_FAILED)
                return r;
        record_verified_done(ret);
        *ret_trust = trust;
        *ret = unproven;
        unproven = (RecordVerified) {};
        return 0;
}

const char *verify_policy_distrust(RecordTrust trust) {
        static const char *const words[_RECORD_TRUST_MAX] = {
                [RECORD_VERIFIED] = "",
                [RECORD_UNKNOWN_KEY] = " is signed with a key not trusted here",
                [RECORD_REFUSED] = " does not verify",
                [RECORD_CANNOT_TELL] = "",
        };

        return words[trust];
}

void verify_policy_done(VerifyPolicy *policy) {
        (void) record_keyring_free(policy->keyring);
        (void) record_state_free(policy->state);
        free(policy->proof);
        *policy = (VerifyPolicy) {};
}
