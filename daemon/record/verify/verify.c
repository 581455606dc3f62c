/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/encode/timestamp.h"
#include "daemon/record/keys/state.h"
#include "daemon/record/statement/reason.h"
#include "daemon/record/statement/schema.h"
#include "daemon/record/statement/statement-judge.h"
#include "daemon/record/statement/statement-read.h"
#include "daemon/record/statement/statement.h"
#include "daemon/record/verify/verify.h"

#define TRIED_BYTES_MAX ((size_t) 64 << 20) /* with Ed25519 each key hashes the whole again: a tenth of a second */

/*
 * The key ID only says where to look first; the signature decides. A signature that no key fits is forged
 * where the envelope names a key we hold, and otherwise of someone we do not know. Of a long envelope that names none not all keys are tried: no
 * record of ours is that long and without a name, and whoever sends one should not cost us a second.
 */
static int check_signature(const RecordKeyring *keyring, const Envelope *envelope, RecordTrust *ret_trust,
                           const KeyringKey **ret_key, const char **ret_wrong) {
        const KeyringKey *named = keyring_find(keyring, envelope->signatures[0].key_id);
        size_t left = TRIED_BYTES_MAX / envelope->n_pae;
        int r;

        *ret_wrong = named ? "the signature does not fit" : "no key of the keyring fits";
        for (size_t i = 0; i <= keyring->n_keys; i++) {
                const KeyringKey *key = i == 0 ? named : &keyring->keys[i - 1];

                if (!key || (i > 0 && key == named))
                        continue;
                if (left-- == 0) {
                        *ret_wrong = named ? *ret_wrong : "it names no key of the keyring, and is too long to try all of them";
                        break;
                }
                r = envelope_verify(envelope, &key->key);
                if (r < 0)
                        return r;
                if (r > 0) {
                        *ret_key = key;
                        *ret_trust = RECORD_VERIFIED;
                        return 0;
                }
        }
        *ret_trust = named ? RECORD_REFUSED : RECORD_UNKNOWN_KEY;
        return 0;
}

static int take_text(const char *text, char *to, size_t size, const char *what, Refusal *refusal) {
        if (strlen(text) >= size)
                return refuse(refusal, what, " is too long");
        (void) strcpy(to, text);
        return 0;
}

/* The last time that is told counts. */
static int take_times(const json_t *predicate, RecordEntry *entry, Refusal *refusal) {
        const json_t *run = json_object_get(predicate, "run");
        const struct {
                const json_t *in;
                const char *name;
        } times[] = { { predicate, "sentOn" }, { run, "startedOn" }, { run, "finishedOn" } };

        for (size_t i = 0; i < ELEMENTS(times); i++)
                if (json_object_get(times[i].in, times[i].name) &&
                    timestamp_parse(text_of(times[i].in, times[i].name), &entry->finished_usec) < 0)
                        return refuse(refusal, times[i].name, " is no time");
        return 0;
}

/* The fields that readers index and select by. */
static int take_entry(const json_t *predicate, const char *type, RecordVerified *verified,
                      Refusal *refusal) {
        const json_t *log = json_object_get(predicate, "log"), *run = json_object_get(predicate, "run");
        const json_t *plan = json_array_get(json_object_get(predicate, "configuration"), 0);
        const char *path = text_of(json_object_get(predicate, "location"), "path");
        RecordEntry *entry = &verified->entry;
        int r;

        entry->index = (uint64_t) json_integer_value(json_object_get(log, "index"));
        if (*path && location_parse(path, &entry->subject, NULL, NULL) < 0)
                return refuse(refusal, "location.path", " is no location");
        r = take_text(type, entry->type, sizeof(entry->type), "predicateType", refusal);
        /* A result that another type tells is none of ours: nothing was judged by it. */
        entry->result = r == 0 && record_is_verdict(entry) ? result_from_string(text_of(predicate, "result")) : RESULT_INCONCLUSIVE;
        if (r == 0)
                r = take_text(text_of(plan, "name"), entry->plan, sizeof(entry->plan),
                              "the name of the plan", refusal);
        if (r == 0)
                r = take_text(text_of(run, "id"), entry->run, sizeof(entry->run), "run.id", refusal);
        if (r == 0)
                r = take_text(text_of(log, "origin"), verified->origin, sizeof(verified->origin),
                              "log.origin", refusal);
        verified->stage = stage_from_string(text_of(run, "stage"));
        verified->producer = strdup(text_of(json_object_get(predicate, "producer"), "id"));
        if (!verified->producer)
                return -ENOMEM;
        return r < 0 ? r : take_times(predicate, entry, refusal);
}

int verify_read_entry(const json_t *statement, RecordVerified *ret) {
        Refusal refusal = {};

        return take_entry(json_object_get(statement, "predicate"), text_of(statement, "predicateType"), ret, &refusal);
}

/* A rule that what is signed does not keep: "the payload: ", "predicate.run.stage". */
typedef struct Broken {
        const char *of;
        char rule[200];
} Broken;

static int broken(Broken *ret, const char *of, const char *rule) {
        ret->of = of;
        (void) snprintf(ret->rule, sizeof(ret->rule), "%s", rule);
        return -EBADMSG;
}

/* The rules for what one record says, of which a later version may have others: its shape, and that it agrees with itself. STATEMENT is spelled out. -EBADMSG. */
static int check_rules(json_t **statement, Health *health, Broken *ret) {
        SchemaWrong misfit;
        Judgement judgement;
        int r;

        r = statement_fit(statement, &misfit);
        if (r < 0)
                return r == -EBADMSG ? broken(ret, "the payload: ", misfit.text) : r;
        r = statement_judge(*statement, text_of(*statement, "predicateType"), health, &judgement);
        if (r < 0)
                return r == -EBADMSG ? broken(ret, "the payload: ", "its facts cannot be read") : r;
        return judgement.wrong[0] ? broken(ret, "the record contradicts itself: ", judgement.wrong) : 0;
}

/* Everything after the signature: the payload is authentic, but is it a record and does it agree with itself? */
static int check_payload(const RecordPolicy *policy, const Envelope *envelope, const Bundle *bundle, Verification *v, Refusal *refusal) {
        RecordVerified *verified = &v->verified;
        _cleanup_json_ json_t *statement = NULL;
        _cleanup_health_ Health health = {};
        const char *type, *wrong;
        Broken rule;
        int r;

        r = envelope_read_payload(envelope, &statement, &wrong);
        if (r < 0)
                return r == -EBADMSG ? refuse(refusal, "the payload: ", wrong) : r;
        if (strcmp(text_of(statement, "_type"), STATEMENT_TYPE) != 0)
                return refuse(refusal, "the payload is no ", STATEMENT_TYPE);
        r = check_rules(&statement, &health, &rule);
        verified->is_older = r == -EBADMSG && policy->takes_older_rules;
        if (r < 0 && !verified->is_older)
                return r == -EBADMSG ? refuse(refusal, rule.of, rule.rule) : r;
        type = text_of(statement, "predicateType");
        r = take_entry(json_object_get(statement, "predicate"), type, verified, refusal);
        if (r == 0)
                r = policy_check(policy, &(Evidence) { envelope, v->key, bundle, statement }, verified, refusal);
        if (r == 0)
                r = verified->is_older ? reason_of_older(&verified->entry.subject, rule.rule, &verified->reason) : reason_of(statement, type, &health, &verified->reason);
        if (r < 0)
                return r;
        v->statement = TAKE_PTR(statement);
        return 0;
}

static void take_payload(Envelope *envelope, RecordVerified *verified) {
        verified->n_payload = envelope->n_pae - envelope->payload_offset;
        memmove(envelope->pae, envelope->pae + envelope->payload_offset, verified->n_payload);
        envelope->pae[verified->n_payload] = '\0'; /* the PAE's head has left the room */
        verified->payload = TAKE_PTR(envelope->pae);
}

/* BUNDLE: in which it came, or NULL. */
static int check_envelope(const RecordPolicy *policy, Envelope *envelope, const Bundle *bundle, Verification *v, Refusal *refusal) {
        RecordVerified *verified = &v->verified;
        const char *wrong;
        int r;

        r = check_signature(policy->keyring, envelope, &v->trust, &v->key, &wrong);
        if (r < 0)
                return r;
        if (!v->key)
                return refuse(refusal, wrong, "");

        v->trust = RECORD_REFUSED;
        r = check_payload(policy, envelope, bundle, v, refusal);
        if (r < 0)
                return r;
        (void) digest_to_hex(envelope->id, verified->entry.id);
        if (refusal->lack) {
                v->trust = RECORD_CANNOT_TELL;
                return -EBADMSG;
        }
        if (policy->state) {
                r = state_note_accepted(policy->state, verified->producer, verified->origin, verified->entry.index);
                if (r < 0)
                        return r;
        }
        take_payload(envelope, verified);
        (void) strcpy(verified->key_id, v->key->key.id);
        v->trust = RECORD_VERIFIED;
        return 0;
}

static int verify(const RecordPolicy *policy, const char *text, size_t n, Verification *v, Refusal *refusal) {
        _cleanup_(envelope_done) Envelope envelope = {};
        const char *wrong;
        int r;

        r = envelope_parse(text, n, &envelope, &wrong);
        if (r < 0)
                return r == -EBADMSG ? refuse(refusal, wrong, "") : r;
        return check_envelope(policy, &envelope, NULL, v, refusal);
}

/* A bundle is an envelope, and its proof in other words. */
static int verify_bundle(const RecordPolicy *policy, const char *text, size_t n, Verification *v, Refusal *refusal) {
        _cleanup_(bundle_done) Bundle bundle = {};
        const char *wrong;
        int r;

        r = bundle_parse(text, n, &bundle, &wrong);
        if (r < 0)
                return r == -EBADMSG ? refuse(refusal, wrong, "") : r;
        return check_envelope(policy, &bundle.envelope, &bundle, v, refusal);
}

/* Its own member tells, and none of another's that is called so: what is no JSON is no bundle. */
static bool is_bundle(const char *text, size_t n) {
        static const char member[] = "\"" ENVELOPE_OF_BUNDLE "\"";
        _cleanup_json_ json_t *object = NULL;
        const char *wrong;

        return memmem(text, n, member, sizeof(member) - 1) && json_read(text, n, &object, &wrong) == 0 && json_object_get(object, ENVELOPE_OF_BUNDLE);
}

void verification_done(Verification *verification) {
        record_verified_done(&verification->verified);
        json_decref(verification->statement);
        *verification = (Verification) {};
}

/* Of what did not verify nothing is told but why; and of what is authentic, which record of which log it is. */
static int conclude(int r, const Refusal *refusal, Verification *v, Verification *ret) {
        if (r == -EBADMSG) {
                Verification told = { .trust = v->trust };

                if (told.trust == RECORD_CANNOT_TELL) {
                        told.verified.entry = v->verified.entry;
                        told.verified.lack = refusal->lack;
                        (void) strcpy(told.verified.origin, v->verified.origin);
                }
                verification_done(v);
                *v = told;
                v->verified.reason = strdup(refusal->text);
                r = v->verified.reason ? 0 : -ENOMEM;
        }
        if (r < 0)
                return r;
        *ret = *v;
        *v = (Verification) {};
        return 0;
}

int verify_envelope(const RecordPolicy *policy, Envelope *envelope, Verification *ret) {
        _cleanup_(verification_done) Verification v = { .trust = RECORD_REFUSED };
        Refusal refusal = {};

        return conclude(check_envelope(policy, envelope, NULL, &v, &refusal), &refusal, &v, ret);
}

int record_verify_with_policy(const RecordPolicy *policy, const char *envelope, size_t n, RecordTrust *ret_trust,
                              RecordVerified *ret) {
        _cleanup_(verification_done) Verification v = { .trust = RECORD_REFUSED }, found = {};
        Refusal refusal = {};
        int r;

        assert(policy && policy->keyring && envelope && ret_trust && ret);

        r = (is_bundle(envelope, n) ? verify_bundle : verify)(policy, envelope, n, &v, &refusal);
        r = conclude(r, &refusal, &v, &found);
        if (r < 0)
                return r;
        *ret_trust = found.trust;
        *ret = found.verified;
        found.verified = (RecordVerified) {};
        return 0;
}

const char *record_word(const RecordEntry *entry) {
        static const char *const words[][2] = {
                { RECORD_TYPE_RUN_START, "run started" },
                { RECORD_TYPE_HEARTBEAT, "heartbeat"   },
                { RECORD_TYPE_ROTATION,  "key changed" },
                { RECORD_TYPE_DECISION,  "log continued" },
                { RECORD_TYPE_ARCHIVE,   "archived"    },
        };

        assert(entry);

        for (size_t i = 0; i < ELEMENTS(words); i++)
                if (strcmp(entry->type, words[i][0]) == 0)
                        return words[i][1];
        return result_to_string(entry->result);
}

int record_verify(const RecordKeyring *keyring, const char *envelope, size_t n, RecordTrust *ret_trust,
                  RecordVerified *ret) {
        return record_verify_with_policy(&(RecordPolicy) { .keyring = keyring }, envelope, n, ret_trust, ret);
}

int record_id(const char *envelope, size_t n, char ret[static RECORD_ID_HEX]) {
        _cleanup_(envelope_done) Envelope parsed = {};
        const char *wrong;
        int r;

        r = envelope_parse(envelope, n, &parsed, &wrong);
        if (r == 0)
                (void) digest_to_hex(parsed.id, ret);
        return r;
}

void record_verified_done(RecordVerified *verified) {
        free(verified->producer);
        free(verified->witnesses);
        free(verified->payload);
        free(verified->reason);
        *verified = (RecordVerified) {};
}
