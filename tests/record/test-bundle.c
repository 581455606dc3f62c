/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <jansson.h>

#include "daemon/record/keys/leaf.h"
#include "daemon/record/verify/bundle.h"
#include "tests/record/tiny-log.h"

#define RECORDS 11
#define INDEX   3

static TinyLog logs[_RECORD_ALGORITHM_MAX];

static int make(TinyLog *tiny, uint64_t index, uint64_t proven, char **ret, size_t *ret_n) {
        const Printer *envelope = &tiny->records[index].envelope;
        _cleanup_printer_ Printer proof = {};
        const char *wrong = NULL;
        int r;

        tiny_log_prove(tiny, proven, &proof);
        r = record_bundle(tiny->keyring, tiny->vkey.text, envelope->text, envelope->n, proof.text, proof.n, ret, ret_n, &wrong);
        assert_true(r != -EBADMSG || wrong);
        return r;
}

/* Whether what was read proves record INDEX as the one that was written. */
static int verify(const TinyLog *tiny, const char *text, size_t n) {
        _cleanup_(bundle_done) Bundle bundle = {};
        _cleanup_printer_ Printer leaf = {};
        const KeyringKey *key = NULL;
        Checkpoint checkpoint;
        CheckpointSeen seen;
        const char *wrong = NULL;
        uint8_t log_id[DIGEST_BYTES];
        TreeHash hash;
        int r;

        r = bundle_parse(text, n, &bundle, &wrong);
        if (r == 0)
                key = keyring_find(tiny->keyring, bundle.envelope.signatures[0].key_id);
        if (!key)
                return r < 0 ? r : -ENOKEY;
        leaf_print(&leaf, &bundle.envelope, &key->key);
        if (note_key_digest(&tiny->policy.log, log_id) < 0 || memcmp(log_id, bundle.log_id, sizeof(log_id)) != 0)
                return -EBADMSG;
        r = leaf.n == bundle.n_body && memcmp(leaf.text, bundle.body, leaf.n) == 0 ? tree_leaf(leaf.text, leaf.n, &hash) : -EBADMSG;
        return r < 0 ? r : proof_verify(&bundle.proof, &hash, &tiny->policy, &checkpoint, &seen, &wrong);
}

static void test_a_bundle_reads_back_as_its_record_and_proof(void **state) {
        for (RecordAlgorithm algorithm = 0; algorithm < _RECORD_ALGORITHM_MAX; algorithm++) {
                TinyLog *tiny = &logs[algorithm];

                for (uint64_t i = 0; i < RECORDS; i++) {
                        _cleanup_(bundle_done) Bundle bundle = {};
                        _cleanup_printer_ Printer proof = {}, again = {};
                        _cleanup_free_ char *text = NULL;
                        const char *wrong;
                        size_t n;

                        assert_int_equal(make(tiny, i, i, &text, &n), 0);
                        assert_int_equal(bundle_parse(text, n, &bundle, &wrong), 0);
                        assert_memory_equal(bundle.envelope.id, tiny->records[i].id, DIGEST_BYTES);
                        tiny_log_prove(tiny, i, &proof);
                        proof_print(&again, bundle.proof.index, &bundle.proof.path, bundle.proof.note, bundle.proof.n_note);
                        assert_int_equal(again.n, proof.n);
                        assert_memory_equal(again.text, proof.text, proof.n);
                        assert_int_equal(verify(tiny, text, n), 0);
                }
        }
}

static void test_a_bundle_is_made_of_what_belongs_together(void **state) {
        TinyLog *tiny = &logs[RECORD_ED25519], *other = &logs[RECORD_ECDSA_P256];
        const Printer *envelope = &tiny->records[INDEX].envelope;
        _cleanup_printer_ Printer proof = {};
        _cleanup_free_ char *text = NULL;
        const char *wrong;
        size_t n;

        tiny_log_prove(tiny, INDEX, &proof);
        assert_int_equal(make(tiny, INDEX, INDEX + 1, &text, &n), -EBADMSG);
        assert_int_equal(record_bundle(other->keyring, tiny->vkey.text, envelope->text, envelope->n, proof.text, proof.n, &text, &n, &wrong), -ENOKEY);
        assert_int_equal(record_bundle(tiny->keyring, other->vkey.text, envelope->text, envelope->n, proof.text, proof.n, &text, &n, &wrong), -EBADMSG);
        assert_int_equal(record_bundle(tiny->keyring, "x", envelope->text, envelope->n, proof.text, proof.n, &text, &n, &wrong), -EBADMSG);
        assert_int_equal(record_bundle(tiny->keyring, tiny->vkey.text, envelope->text, envelope->n, "x\n", 2, &text, &n, &wrong), -EBADMSG);
        assert_null(text);
}

/* What of a bundle is neither signed, nor hashed, nor repeated, so that nobody may go by it; and the letter of a line feed's escape. */
static bool is_free(const char *text, size_t at) {
        static const char *const members[] = { "\"hint\":\"", "\"integratedTime\":\"", "\"keyid\":\"" };

        for (size_t i = 0; i < ELEMENTS(members); i++) {
                const char *value = strstr(text, members[i]);
                size_t from = (size_t) (value - text) + strlen(members[i]);

                if (at >= (size_t) (value - text) && at <= from + strcspn(text + from, "\""))
                        return true;
        }
        return at > 5 && memcmp(text + at - 5, "\\u000", 5) == 0;
}

static void test_every_flipped_bit_is_refused_or_changes_nothing(void **state) {
        TinyLog *tiny = &logs[RECORD_ED25519];
        _cleanup_free_ char *text = NULL;
        size_t n, passed = 0;

        assert_int_equal(make(tiny, INDEX, INDEX, &text, &n), 0);
        text = realloc(text, n + 1);
        text[n] = '\0';
        assert_int_equal(verify(tiny, text, n), 0);
        for (size_t bit = 0; bit < n * 8; bit++) {
                bool may_pass = is_free(text, bit / 8);

                text[bit / 8] ^= (char) (1 << bit % 8);
                if (verify(tiny, text, n) == 0) {
                        assert_true(may_pass);
                        passed++;
                }
                text[bit / 8] ^= (char) (1 << bit % 8);
        }
        assert_true(passed < n);
        for (size_t i = 0; i < n; i++)
                assert_true(verify(tiny, text, i) < 0);
}

static void test_what_is_no_bundle_is_refused(void **state) {
        static const char *const damages[] = {
                "mediaType=\"application/vnd.dev.sigstore.bundle+json;version=0.1\"",
                "dsseEnvelope=[]",
                "payload=\"e30=\"", /* other readers take it for an envelope */
                "verificationMaterial.publicKey=null",
                /* Other readers take these for what stands beside them. */
                "dsse_envelope={}", "DSSEEnvelope={}", "Payload={}", "dsseEnvelope.Payload={}", "messageSignature={}", "verification_material={}", "verificationMaterial.certificate={}", "verificationMaterial.x509CertificateChain={}",
                "verificationMaterial.tlog_entries=[]", "verificationMaterial.tlogEntries.0.log_index=\"4\"", "dsseEnvelope.payload_type=\"x\"",
                "verificationMaterial.tlogEntries.0.logId.keyId=\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"", /* of another log */
                "verificationMaterial.tlogEntries.0.logIndex=3",
                "verificationMaterial.tlogEntries.0.logIndex=\"03\"",
                "verificationMaterial.tlogEntries.0.logIndex=\"4\"",
                "verificationMaterial.tlogEntries.0.kindVersion.version=\"0.0.1\"",
                "verificationMaterial.tlogEntries.0.canonicalizedBody=\"\"",
                "verificationMaterial.tlogEntries.0.inclusionProof.treeSize=\"12\"",
                "verificationMaterial.tlogEntries.0.inclusionProof.hashes=\"\"",
                "verificationMaterial.tlogEntries.0.inclusionProof.hashes.0=\"AAAA\"",
                "verificationMaterial.tlogEntries.0.inclusionProof.checkpoint.envelope=\"x\"",
        };
        TinyLog *tiny = &logs[RECORD_ED25519];
        _cleanup_free_ char *text = NULL;
        size_t n;

        assert_int_equal(make(tiny, INDEX, INDEX, &text, &n), 0);
        assert_int_equal(verify(tiny, text, n), 0);
        for (size_t i = 0; i < ELEMENTS(damages); i++) {
                _cleanup_free_ char *path = strdup(damages[i]), *damaged = NULL;
                char *value = strchr(path, '='), *member = path, *dot;
                json_t *object = json_loadb(text, n, 0, NULL), *at = object, *other;

                *value++ = '\0';
                for (; (dot = strchr(member, '.')); member = dot + 1) {
                        *dot = '\0';
                        at = json_is_array(at) ? json_array_get(at, (size_t) atoi(member)) : json_object_get(at, member);
                }
                other = json_loads(value, JSON_DECODE_ANY, NULL);
                assert_int_equal(json_is_array(at) ? json_array_set_new(at, (size_t) atoi(member), other) : json_object_set_new(at, member, other), 0);
                damaged = json_dumps(object, JSON_COMPACT);
                json_decref(object);
                assert_int_equal(verify(tiny, damaged, strlen(damaged)), -EBADMSG);
        }
}

/* Which of two proofs counts would be for each reader to say. */
static void test_a_bundle_of_two_logs_is_refused(void **state) {
        TinyLog *tiny = &logs[RECORD_ED25519];
        _cleanup_free_ char *text = NULL, *twice = NULL;
        json_t *object, *entries;
        Bundle bundle = {};
        const char *wrong;
        size_t n;

        assert_int_equal(make(tiny, INDEX, INDEX, &text, &n), 0);
        object = json_loadb(text, n, 0, NULL);
        entries = json_object_get(json_object_get(object, "verificationMaterial"), "tlogEntries");
        assert_int_equal(json_array_append(entries, json_array_get(entries, 0)), 0);
        twice = json_dumps(object, JSON_COMPACT);
        json_decref(object);
        assert_int_equal(bundle_parse(text, n, &bundle, &wrong), 0);
        bundle_done(&bundle);
        assert_int_equal(bundle_parse(twice, strlen(twice), &bundle, &wrong), -EBADMSG);
        assert_non_null(strstr(wrong, "more than one log"));
}

static int setup(void **state) {
        for (RecordAlgorithm algorithm = 0; algorithm < _RECORD_ALGORITHM_MAX; algorithm++) {
                tiny_log_init(&logs[algorithm], algorithm);
                tiny_log_grow(&logs[algorithm], RECORDS, "x");
        }
        return 0;
}

static int teardown(void **state) {
        for (RecordAlgorithm algorithm = 0; algorithm < _RECORD_ALGORITHM_MAX; algorithm++)
                tiny_log_done(&logs[algorithm]);
        return 0;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_bundle_reads_back_as_its_record_and_proof),
                cmocka_unit_test(test_a_bundle_is_made_of_what_belongs_together),
                cmocka_unit_test(test_every_flipped_bit_is_refused_or_changes_nothing),
                cmocka_unit_test(test_what_is_no_bundle_is_refused),
                cmocka_unit_test(test_a_bundle_of_two_logs_is_refused),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
