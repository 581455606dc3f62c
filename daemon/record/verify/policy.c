/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/verify/policy.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/digest.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/keys/state.h"
#include "daemon/record/statement/identity.h"

#define CHALLENGE_MAX 1024 /* bytes of base64 */

/* The detail may quote the payload, cut anywhere: only plain characters go on to terminals and buses. */
static void say(Refusal *refusal, const char *what, const char *detail) {
        (void) snprintf(refusal->text, sizeof(refusal->text), "%s%s", what, detail);
        for (char *p = refusal->text; *p; p++)
                if (*p < 0x20 || *p > 0x7e)
                        *p = '?';
}

int refuse(Refusal *refusal, const char *what, const char *detail) {
        refusal->lack = RECORD_LACKS_NOTHING;
        say(refusal, what, detail);
        return -EBADMSG;
}

int doubt(Refusal *refusal, RecordLack lack, const char *what, const char *detail) {
        if (refusal->text[0])
                return 0;
        refusal->lack = lack;
        say(refusal, what, detail);
        return 0;
}

/* ---- whether this key may sign this record ---- */

static int check_producer(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        const KeyringKey *entry = evidence->key;

        if (entry->producer[0] && strcmp(entry->producer, verified->producer) != 0)
                return refuse(refusal, "the key is not that of producer ", verified->producer);
        if (entry->origin[0] && strcmp(entry->origin, verified->origin) != 0)
                return refuse(refusal, "the key may not sign in log ", verified->origin);
        return 0;
}

static int check_index(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        const KeyringKey *entry = evidence->key;
        const KeyringLog *log = keyring_find_log(policy->keyring, verified->origin);
        uint64_t index = verified->entry.index;
        char number[32];

        (void) snprintf(number, sizeof(number), "%llu", (unsigned long long) index);
        if (index < entry->from_index)
                return refuse(refusal, "the key was not yet in use at index ", number);
        if (index > entry->until_index)
                return refuse(refusal, "the key was revoked before index ", number);
        if (log && index < log->min_index && !policy->takes_old)
                return refuse(refusal, "the keyring takes nothing so old from this log: index ", number);
        return 0;
}

/* A sign of life is of the key that signed it, and of no other. */
static int check_signer(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        const json_t *subject = json_array_get(json_object_get(evidence->statement, "subject"), 0);
        const PublicKey *key = &evidence->key->key;
        uint8_t digest[DIGEST_BYTES];
        char hex[DIGEST_HEX];

        if (strcmp(verified->entry.type, RECORD_TYPE_HEARTBEAT) != 0)
                return 0;
        if (digest_sha256(key->spki, key->n_spki, digest) < 0)
                return -ENOMEM;
        if (strcmp(text_of(json_object_get(subject, "digest"), "sha256"), digest_to_hex(digest, hex)) != 0)
                return refuse(refusal, "the subject is not the key that signed", "");
        return 0;
}

/* ---- whether it is what was asked for ---- */

/* That the digest is of this serial the judge has seen. */
static bool has_serial(const json_t *subject, const char *wanted) {
        char product[RECORD_PRODUCT_BYTES], serial[RECORD_SERIAL_BYTES];

        identity_read(text_of(subject, "uri"), product, serial);
        return strncmp(text_of(subject, "uri"), "urn:dev:ops:", 12) == 0 && *wanted && strcmp(serial, wanted) == 0;
}

/* What looks like a digest is one: a part whose serial is the digest of another is not that other. */
static bool is_about(const json_t *subject, const char *wanted) {
        uint8_t digest[DIGEST_BYTES];

        if (digest_from_hex(wanted, digest) == 0)
                return strcmp(wanted, text_of(json_object_get(subject, "digest"), "sha256")) == 0;
        return has_serial(subject, wanted);
}

static int check_subject(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        const json_t *subject = json_array_get(json_object_get(evidence->statement, "subject"), 0);

        if (policy->subject && !is_about(subject, policy->subject))
                return refuse(refusal, "it is about another subject: ", text_of(subject, "uri"));
        return 0;
}

/* The same bytes, whichever alphabet they are written in. */
static bool is_same_challenge(const char *a, const char *b) {
        uint8_t bytes[2][CHALLENGE_MAX];
        size_t n[2];

        if (strlen(a) > CHALLENGE_MAX || strlen(b) > CHALLENGE_MAX || base64_decode(a, strlen(a), bytes[0], &n[0]) < 0 ||
            base64_decode(b, strlen(b), bytes[1], &n[1]) < 0)
                return false;
        return n[0] == n[1] && memcmp(bytes[0], bytes[1], n[0]) == 0;
}

static int check_challenge(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        const json_t *predicate = json_object_get(evidence->statement, "predicate");
        const char *challenge = text_of(json_object_get(predicate, "run"), "challenge");

        if (!policy->challenge)
                return 0;
        if (!*challenge)
                return refuse(refusal, "it answers no challenge", "");
        if (!is_same_challenge(policy->challenge, challenge))
                return refuse(refusal, "it answers another challenge", "");
        return 0;
}

static int check_plan(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        const json_t *predicate = json_object_get(evidence->statement, "predicate");
        const json_t *plan = json_array_get(json_object_get(predicate, "configuration"), 0);

        if (policy->plan && strcmp(policy->plan, text_of(plan, "name")) != 0 &&
            strcmp(policy->plan, text_of(json_object_get(plan, "digest"), "sha256")) != 0)
                return refuse(refusal, "it is of another plan: ", text_of(plan, "name"));
        return 0;
}

/* ---- whether it still counts ---- */

static uint64_t now_usec(const RecordPolicy *policy) {
        struct timespec ts;

        if (policy->now_usec > 0)
                return policy->now_usec;
        (void) clock_gettime(CLOCK_REALTIME, &ts);
        return (uint64_t) ts.tv_sec * 1000000 + (uint64_t) ts.tv_nsec / 1000;
}

/*
 * A station's clock is not believed where a witness's is known: a record is at least as old as when it was witnessed. And a failure does not
 * age: it would become `cannot tell`, which some hooks let pass.
 */
static int check_age(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        uint64_t made = verified->entry.finished_usec, now = now_usec(policy);
        bool is_witnessed = verified->witnessed_usec > 0 && verified->witnessed_usec < made;

        if (policy->max_age_usec == 0 || verified->entry.result == RESULT_FAILED)
                return 0;
        if (is_witnessed)
                made = verified->witnessed_usec;
        if (made > now + RECORD_AHEAD_USEC)
                return doubt(refusal, RECORD_LACKS_AGE, is_witnessed ? "a witness's clock is ahead of this one" : "its clock is ahead of this one", "");
        if (now > made && now - made > policy->max_age_usec)
                return doubt(refusal, RECORD_LACKS_AGE, "it is too old, by ", is_witnessed ? "when it was witnessed" : "what it says of its end");
        return 0;
}

/* A record is accepted once: what its producer signed later is known. */
static int check_replay(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        uint64_t newest;
        int r;

        if (!policy->state)
                return 0;
        r = state_read_accepted(policy->state, verified->producer, verified->origin, &newest);
        if (r == -ENOENT)
                return 0;
        if (r == 0 && verified->entry.index <= newest)
                return refuse(refusal, "it, or a newer one of this producer, was accepted before", "");
        return r == -EBADMSG ? doubt(refusal, RECORD_LACKS_STATE, "what was kept of earlier records is damaged", "") : r;
}

static int check_expiry(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        return now_usec(policy) >= policy->keyring->expires_usec ? doubt(refusal, RECORD_LACKS_KEYRING, "the keyring has expired", "") : 0;
}

int policy_check(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) {
        static int (*const checks[])(const RecordPolicy *policy, const Evidence *evidence, RecordVerified *verified, Refusal *refusal) = {
                check_signer, check_producer, check_index,        check_subject, check_challenge,
                check_plan,   check_replay,   policy_check_proof, check_age,     check_expiry,
        };
        int r = 0;

        for (size_t i = 0; i < ELEMENTS(checks) && r == 0; i++)
                r = checks[i](policy, evidence, verified, refusal);
        return r;
}
