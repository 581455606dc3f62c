/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>

#include "daemon/record/keys/state.h"
#include "daemon/record/tree/lines.h"
#include "tests/record/logged.h"

#define SOUND_INDEX 1

static Logged logged;

static int setup(void **state) {
        payloads_init(&payloads);
        logged_init(&logged, &payloads);
        return 0;
}

static int teardown(void **state) {
        logged_done(&logged);
        payloads_done(&payloads);
        return 0;
}

static void expect_record(const RecordPolicy *policy, const char *envelope, RecordTrust trust, const char *reason, RecordVerified *ret) {
        RecordVerified verified;
        RecordTrust found;

        assert_int_equal(record_verify_with_policy(policy, envelope, strlen(envelope), &found, &verified), 0);
        if (found != trust || (reason && !strstr(verified.reason, reason)))
                fail_msg("%d: \"%s\" does not say \"%s\"", (int) found, verified.reason, reason ?: "");
        if (ret)
                *ret = verified;
        else
                record_verified_done(&verified);
}

static void expect(const RecordPolicy *policy, RecordTrust trust, const char *reason) {
        expect_record(policy, payloads.envelope, trust, reason, NULL);
}

static void test_a_proof_tells_who_has_seen_the_record_and_when(void **state) {
        static const char *const quorums[] = { "none", "w1", "w2", "1", "2" };

        for (size_t i = 0; i < ELEMENTS(quorums); i++) {
                _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, quorums[i]);

                for (size_t size = LOGGED_INDEX + 1; size <= LOGGED_MAX; size++) {
                        _cleanup_printer_ Printer proof = logged_proof(&logged, LOGGED_INDEX, size, 6);
                        RecordPolicy policy = { .keyring = keyring, .needs_proof = true, .proof = proof.text, .n_proof = proof.n };
                        RecordVerified verified;

                        if (i == 1) {
                                expect(&policy, RECORD_CANNOT_TELL, "not enough witnesses");
                                continue;
                        }
                        expect_record(&policy, payloads.envelope, RECORD_VERIFIED, NULL, &verified);
                        assert_int_equal(verified.log_size, size);
                        assert_in_range(verified.n_hashes, 1, 6);
                        assert_string_equal(verified.witnesses, "w2, w3");
                        assert_true(verified.witnessed_usec == LOGGED_SEEN + 60000000);
                        record_verified_done(&verified);
                }
        }
}

/* A program goes by the lack, and never by the words of the reason. */
static void test_a_doubt_says_what_it_lacks(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *any = logged_keyring(&logged, &payloads, "none"), *w1 = logged_keyring(&logged, &payloads, "w1");
        _cleanup_printer_ Printer proof = logged_proof(&logged, LOGGED_INDEX, 11, 6);
        const struct {
                RecordPolicy policy;
                RecordTrust trust;
                RecordLack lack;
        } rows[] = {
                { { .keyring = any, .needs_proof = true, .proof = proof.text, .n_proof = proof.n }, RECORD_VERIFIED, RECORD_LACKS_NOTHING },
                { { .keyring = any, .challenge = "AAAA" }, RECORD_REFUSED, RECORD_LACKS_NOTHING },
                { { .keyring = any, .needs_proof = true }, RECORD_CANNOT_TELL, RECORD_LACKS_PROOF },
                { { .keyring = payloads.keyring, .needs_proof = true, .proof = proof.text, .n_proof = proof.n }, RECORD_CANNOT_TELL, RECORD_LACKS_PROOF },
                { { .keyring = w1, .needs_proof = true, .proof = proof.text, .n_proof = proof.n }, RECORD_CANNOT_TELL, RECORD_LACKS_WITNESSES },
                { { .keyring = any, .now_usec = UINT64_MAX }, RECORD_CANNOT_TELL, RECORD_LACKS_KEYRING },
        };

        for (size_t i = 0; i < ELEMENTS(rows); i++) {
                RecordVerified verified;

                expect_record(&rows[i].policy, payloads.envelope, rows[i].trust, NULL, &verified);
                assert_int_equal(verified.lack, rows[i].lack);
                record_verified_done(&verified);
        }
}

static void test_a_proof_that_is_asked_for_and_not_there_leaves_a_doubt(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "none");
        _cleanup_printer_ Printer proof = logged_proof(&logged, LOGGED_INDEX, 11, 0);
        RecordPolicy policy = { .keyring = keyring, .needs_proof = true };

        expect(&policy, RECORD_CANNOT_TELL, "nothing, neither a bundle nor --proof FILE, proves that it is in the log " PLACE_ORIGIN);
        policy.needs_proof = false;
        expect(&policy, RECORD_VERIFIED, NULL);
        policy = (RecordPolicy) { .keyring = payloads.keyring, .needs_proof = true, .proof = proof.text, .n_proof = proof.n };
        expect(&policy, RECORD_CANNOT_TELL, "does not know the log");
        policy.needs_proof = false;
        expect(&policy, RECORD_VERIFIED, NULL);
}

static void test_a_proof_of_another_record_is_refused(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "none");
        TreeHash leaf = logged.leaves[LOGGED_INDEX];

        for (size_t index = 0; index < 11; index++) {
                _cleanup_printer_ Printer proof = logged_proof(&logged, index, 11, 0);
                RecordPolicy policy = { .keyring = keyring, .proof = proof.text, .n_proof = proof.n };

                expect(&policy, index == LOGGED_INDEX ? RECORD_VERIFIED : RECORD_REFUSED, NULL);
        }
        /* The record at another place of its log than it says. */
        logged.leaves[5] = leaf;
        logged.leaves[LOGGED_INDEX] = (TreeHash) {};
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_printer_ Printer proof = logged_proof(&logged, 5, 11, 0);
                RecordPolicy policy = { .keyring = keyring, .proof = proof.text, .n_proof = proof.n };

                if (i == 1)
                        *strstr(proof.text, "index 5") = 'i', strstr(proof.text, "index 5")[6] = '4';
                expect(&policy, RECORD_REFUSED, i == 0 ? "of another record" : "not where the proof says");
        }
        logged.leaves[5] = (TreeHash) { .bytes = { 5 } };
        logged.leaves[LOGGED_INDEX] = leaf;
}

static void test_every_flipped_bit_of_a_proof_is_refused_or_signed_by_nobody(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "w1");
        _cleanup_printer_ Printer proof = logged_proof(&logged, LOGGED_INDEX, 6, 1);
        RecordPolicy policy = { .keyring = keyring, .needs_proof = true, .proof = proof.text, .n_proof = proof.n };
        const char *witness = strstr(proof.text, " w1 ");

        for (size_t bit = 0; bit < 8 * proof.n; bit++) {
                RecordVerified verified;
                RecordTrust trust;

                proof.text[bit / 8] ^= (char) (1 << bit % 8);
                assert_int_equal(record_verify_with_policy(&policy, payloads.envelope, strlen(payloads.envelope), &trust, &verified), 0);
                /* Of a witness's name and key ID nothing is left to know it by; there is no other doubt. */
                if (trust == RECORD_VERIFIED || (trust == RECORD_CANNOT_TELL && (proof.text + bit / 8 <= witness || proof.text + bit / 8 > witness + 10)))
                        fail_msg("bit %zu: %d %s", bit, (int) trust, verified.reason);
                record_verified_done(&verified);
                proof.text[bit / 8] ^= (char) (1 << bit % 8);
        }
}

static void test_bombs_are_refused(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "none");
        _cleanup_printer_ Printer proof = logged_proof(&logged, LOGGED_INDEX, 11, 0), bomb = {};
        RecordPolicy policy = { .keyring = keyring };
        const char *path = strchr(strstr(proof.text, "index"), '\n') + 1;

        /* 64 hashes; a megabyte of them; 65 signatures. */
        for (unsigned i = 0; i < 3; i++) {
                bomb.n = 0;
                printer_raw(&bomb, proof.text, i < 2 ? (size_t) (path - proof.text) : proof.n);
                for (unsigned k = 0; k < (i == 0 ? 60 : i == 1 ? 25000 : 64); k++)
                        printer_text(&bomb, i < 2 ? "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n" : "\xe2\x80\x94 someone AAAAAAAA\n");
                if (i < 2)
                        printer_text(&bomb, path);
                policy.proof = bomb.text;
                policy.n_proof = bomb.n;
                expect(&policy, RECORD_REFUSED, i < 2 ? "does not" : "no signed note");
        }
}

/* Of the record that PROOF is of, malloc'd. */
static char *bundle_of(const RecordKeyring *keyring, const Printer *proof) {
        _cleanup_free_ char *made = NULL;
        _cleanup_printer_ Printer vkey = {};
        const char *wrong;
        size_t n;

        note_key_print(&vkey, &logged.log_key);
        printer_raw(&vkey, "", 1);
        assert_int_equal(record_bundle(keyring, vkey.text, payloads.envelope, strlen(payloads.envelope), proof->text, proof->n, &made, &n, &wrong), 0);
        return strndup(made, n);
}

/* The same proof in Sigstore's words, and each thing it tells twice told otherwise. */
static void test_a_bundle_is_a_record_and_its_proof(void **state) {
        static const char *const edits[][2] = {
                { "\"logIndex\":\"4\"", "\"logIndex\":\"5\"" },
                { "\"treeSize\":\"11\"", "\"treeSize\":\"12\"" },
                { "\"rootHash\":\"", "\"rootHash\":\"A" },
                { "\"hashes\":[", "\"hashes\":[\"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\"," },
                { "\"canonicalizedBody\":\"ey", "\"canonicalizedBody\":\"fy" },
                { "\"hint\":\"SHA256:", "\"hint\":\"SHA256;" },
                { "\"version\":\"0.0.2\"", "\"version\":\"0.0.1\"" },
                { "bundle.v0.3+json", "bundle.v0.2+json" },
                { "\"tlogEntries\":[", "\"tlogEntries\":[{}," },
                { "\"signatures\":[", "\"signatures\":[{\"sig\":\"AAAA\"}," },
                { "\"tlogEntries\"", "\"tlogEntries\":[],\"tlogEntries\"" },
        };
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "w1");
        _cleanup_printer_ Printer proof = logged_proof(&logged, LOGGED_INDEX, 11, 1);
        _cleanup_free_ char *bundle = bundle_of(keyring, &proof);
        RecordPolicy policy = { .keyring = keyring, .needs_proof = true };
        RecordVerified verified;

        expect_record(&policy, bundle, RECORD_VERIFIED, NULL, &verified);
        assert_int_equal(verified.log_size, 11);
        assert_string_equal(verified.witnesses, "w1");
        record_verified_done(&verified);
        for (size_t i = 0; i < ELEMENTS(edits); i++) {
                const char *at = strstr(bundle, edits[i][0]);
                char *edited;

                if (!at)
                        fail_msg("no %s in %s", edits[i][0], bundle);
                assert_true(asprintf(&edited, "%.*s%s%s", (int) (at - bundle), bundle, edits[i][1], at + strlen(edits[i][0])) > 0);
                expect_record(&policy, edited, RECORD_REFUSED, NULL, NULL);
                free(edited);
        }
        /* Without a log in the keyring there is only the signature. */
        expect_record(&(RecordPolicy) { .keyring = payloads.keyring }, bundle, RECORD_VERIFIED, NULL, NULL);
        expect_record(&(RecordPolicy) { .keyring = payloads.keyring, .needs_proof = true }, bundle, RECORD_CANNOT_TELL, NULL, NULL);
}

static void test_the_entry_of_the_log_is_of_this_signature(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "none");
        _cleanup_printer_ Printer proof = logged_proof(&logged, LOGGED_INDEX, 11, 0);
        RecordPolicy policy = { .keyring = keyring, .proof = proof.text, .n_proof = proof.n };
        _cleanup_free_ char *bundle = bundle_of(keyring, &proof);

        expect_record(&policy, bundle, RECORD_VERIFIED, NULL, NULL);
        memcpy(strstr(bundle, "\"canonicalizedBody\":\"ey"), "\"canonicalizedBody\":\"fy", 23);
        expect_record(&policy, bundle, RECORD_REFUSED, "of another signature", NULL);
}

/* An hour after the witness; the record says it ended 50 seconds before that. */
static void test_a_record_is_as_old_as_its_witness_says(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "w1");
        const char *const changes[] = { "predicate.run.finishedOn", "\"2027-01-01T00:00:00.000Z\"" };
        json_t *root = json_loads(payloads.health, 0, NULL);
        TreeHash leaf = logged.leaves[SOUND_INDEX];
        RecordPolicy policy = { .keyring = keyring, .max_age_usec = 3600 * UINT64_C(1000000) };
        SignedLine record;
        char *text;

        payload_set(root, changes[0], changes[1]);
        text = json_dumps(root, JSON_COMPACT);
        assert_int_equal(sign_line(payloads.key, text, strlen(text), &record), 0);
        printer_raw(&record.envelope, "", 1);
        logged.leaves[SOUND_INDEX] = record.leaf;
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_printer_ Printer proof = logged_proof(&logged, SOUND_INDEX, 11, 3);

                policy.proof = proof.text;
                policy.n_proof = proof.n;
                policy.now_usec = LOGGED_SEEN + policy.max_age_usec + i;
                expect_record(&policy, record.envelope.text, i == 0 ? RECORD_VERIFIED : RECORD_CANNOT_TELL,
                              i == 0 ? NULL : "too old, by when it was witnessed", NULL);
                policy.proof = NULL;
                expect_record(&policy, record.envelope.text, RECORD_CANNOT_TELL, "its clock is ahead", NULL);
        }
        logged.leaves[SOUND_INDEX] = leaf;
        signed_line_done(&record);
        free(text);
        json_decref(root);
}

/* Its line would make up the quorum, and leave the age to the station's own clock. */
static void test_a_witness_without_a_time_makes_no_quorum(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "w1");
        _cleanup_printer_ Printer note = logged_note(&logged, 11, 0), proof = {};
        size_t n_text = (size_t) (strstr(note.text, "\n\n") + 1 - note.text);
        RecordPolicy policy = { .keyring = keyring, .needs_proof = true };
        TreePath path = {};

        note_sign(&note, note.text, n_text, &logged.witness_keys[0], logged.witnesses[0], 0);
        plain_path(logged.leaves, LOGGED_INDEX, 11, &path);
        proof_print(&proof, LOGGED_INDEX, &path, note.text, note.n);
        assert_int_equal(proof.error, 0);
        policy.proof = proof.text;
        policy.n_proof = proof.n;
        expect(&policy, RECORD_REFUSED, "a witness's signature does not fit");
}

/* ---- what is remembered ---- */

static void make_folder(char *path, size_t n) {
        (void) snprintf(path, n, "%s/state-XXXXXX", payloads.place.folder);
        assert_non_null(mkdtemp(path));
}

/* How the log grew, for whoever asks; USERDATA: the leaves that are shown. */
static int show_growth(void *userdata, const char *origin, uint64_t old, uint64_t size, char **ret, size_t *ret_n) {
        Printer text = {};
        TreePath path = {};

        plain_subproof(userdata, old, size, true, &path);
        lines_print_path(&text, &path);
        printer_text(&text, "\n");
        *ret = text.text;
        *ret_n = text.n;
        return text.error;
}

/* One verification, as a process does it. */
static void verify_at(const char *folder, RecordKeyring *keyring, size_t size, unsigned witnesses, TreeHash *shown, RecordTrust trust,
                      const char *reason) {
        _cleanup_printer_ Printer proof = logged_proof(&logged, LOGGED_INDEX, size, witnesses);
        RecordPolicy policy = { .keyring = keyring, .needs_proof = true, .proof = proof.text, .n_proof = proof.n,
                                .consistency = shown ? show_growth : NULL, .userdata = shown };

        assert_int_equal(record_state_open(folder, &policy.state), 0);
        expect(&policy, trust, reason);
        (void) record_state_free(policy.state);
}

static void test_a_log_only_grows(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "none");
        char folder[128];

        make_folder(folder, sizeof(folder));
        verify_at(folder, keyring, 11, 0, NULL, RECORD_VERIFIED, NULL);
        verify_at(folder, keyring, 11, 0, NULL, RECORD_VERIFIED, NULL);
        verify_at(folder, keyring, 10, 0, logged.leaves, RECORD_REFUSED, "older state of the log");
        verify_at(folder, keyring, 12, 0, NULL, RECORD_CANNOT_TELL, "only grew");
        verify_at(folder, keyring, 12, 0, logged.leaves, RECORD_VERIFIED, NULL);
        verify_at(folder, keyring, 11, 0, logged.leaves, RECORD_REFUSED, "older state of the log");
        verify_at(folder, keyring, LOGGED_MAX, 0, logged.leaves, RECORD_VERIFIED, NULL);
}

/* An audit has seen a newer checkpoint than the one that proofs are against. */
static void test_what_an_audit_has_seen_makes_no_proof_old(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "none");
        _cleanup_printer_ Printer note = logged_note(&logged, 13, 0);
        RecordState *kept;
        char folder[128];

        make_folder(folder, sizeof(folder));
        assert_int_equal(record_state_open(folder, &kept), 0);
        assert_int_equal(state_write_checkpoint(kept, STATE_AUDITED, PLACE_ORIGIN, note.text, note.n), 0);
        (void) record_state_free(kept);
        verify_at(folder, keyring, 11, 0, NULL, RECORD_VERIFIED, NULL);
}

static void test_another_history_is_refused(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "none");
        TreeHash before = logged.leaves[2], honest[LOGGED_MAX];
        char folder[128];

        make_folder(folder, sizeof(folder));
        memcpy(honest, logged.leaves, sizeof(honest));
        verify_at(folder, keyring, 11, 0, NULL, RECORD_VERIFIED, NULL);
        logged.leaves[2].bytes[1] ^= 1;
        verify_at(folder, keyring, 11, 0, NULL, RECORD_REFUSED, "another history of the same size");
        verify_at(folder, keyring, 13, 0, logged.leaves, RECORD_REFUSED, "does not continue");
        verify_at(folder, keyring, 13, 0, honest, RECORD_REFUSED, "does not continue");
        verify_at(folder, keyring, 13, 0, NULL, RECORD_CANNOT_TELL, "only grew");
        logged.leaves[2] = before;
        verify_at(folder, keyring, 13, 0, logged.leaves, RECORD_VERIFIED, NULL);
}

/* Two of three, and whether one of them is the same on both says nothing: it takes as many as the keyring asks for. */
static void test_witnesses_of_both_stand_for_what_lies_between(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "2");
        char folder[128];

        make_folder(folder, sizeof(folder));
        verify_at(folder, keyring, 11, 3, NULL, RECORD_VERIFIED, NULL);
        verify_at(folder, keyring, 12, 6, NULL, RECORD_CANNOT_TELL, "only grew");
        verify_at(folder, keyring, 12, 7, NULL, RECORD_VERIFIED, NULL);
        verify_at(folder, keyring, 13, 6, NULL, RECORD_VERIFIED, NULL);
}

static void test_a_doubt_is_not_remembered(void **state) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = logged_keyring(&logged, &payloads, "2");
        char folder[128];

        make_folder(folder, sizeof(folder));
        verify_at(folder, keyring, 20, 1, NULL, RECORD_CANNOT_TELL, "not enough witnesses");
        verify_at(folder, keyring, 11, 3, NULL, RECORD_VERIFIED, NULL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_proof_tells_who_has_seen_the_record_and_when),
                cmocka_unit_test(test_a_doubt_says_what_it_lacks),
                cmocka_unit_test(test_a_proof_that_is_asked_for_and_not_there_leaves_a_doubt),
                cmocka_unit_test(test_a_proof_of_another_record_is_refused),
                cmocka_unit_test(test_every_flipped_bit_of_a_proof_is_refused_or_signed_by_nobody),
                cmocka_unit_test(test_bombs_are_refused),
                cmocka_unit_test(test_a_bundle_is_a_record_and_its_proof),
                cmocka_unit_test(test_the_entry_of_the_log_is_of_this_signature),
                cmocka_unit_test(test_a_record_is_as_old_as_its_witness_says),
                cmocka_unit_test(test_a_witness_without_a_time_makes_no_quorum),
                cmocka_unit_test(test_a_log_only_grows),
                cmocka_unit_test(test_what_an_audit_has_seen_makes_no_proof_old),
                cmocka_unit_test(test_another_history_is_refused),
                cmocka_unit_test(test_witnesses_of_both_stand_for_what_lies_between),
                cmocka_unit_test(test_a_doubt_is_not_remembered),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
