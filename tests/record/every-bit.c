/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Every single bit of an envelope, a checkpoint and a proof is turned once. Whatever is accepted after that says why it may be: what was
 * changed is signed by nobody, and nothing that is signed, nor what it is taken for, has changed.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/keys/keyring.h"
#include "daemon/record/keys/proof.h"
#include "tests/record/note-key.h"
#include "tests/record/place.h"
#include "tests/record/plain-tree.h"
#include "tests/record/sign-line.h"

#define SUBJECT "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff" /* in its place: the key */

static char payload[] =
                "{\"_type\":\"https://in-toto.io/Statement/v1\",\"subject\":[{\"digest\":{\"sha256\":"
                "\"" SUBJECT "\"}}],\"predicateType\":\"" RECORD_TYPE_HEARTBEAT "\","
                "\"predicate\":{\"producer\":{\"id\":\"p\",\"scanner\":{\"uri\":\"u\"}},\"log\":{\"origin\":\"o\",\"index\":0},"
                "\"sentOn\":\"2026-11-21T09:00:00Z\"}}";

/* The payload of a heartbeat of KEY. */
static void tell_key(const RecordKey *key) {
        static char *at = NULL;
        uint8_t digest[DIGEST_BYTES];
        char hex[DIGEST_HEX];

        at = at ? at : strstr(payload, SUBJECT);
        assert_int_equal(digest_sha256(key_public(key)->spki, key_public(key)->n_spki, digest), 0);
        memcpy(at, digest_to_hex(digest, hex), DIGEST_HEX - 1);
}

/* A part of a text that nobody signs, and why. */
typedef struct Loose {
        const char *why;
        const char *begin;
        size_t n;
        unsigned accepted;
} Loose;

static RecordKey *make_key(const char *name, RecordAlgorithm algorithm) {
        RecordKey *key;
        Place place;

        place_init(&place);
        key = place_key(&place, name, algorithm);
        place_done(&place);
        return key;
}

static Loose loose(const char *why, const char *text, size_t n, const char *from, const char *to) {
        const char *begin = memmem(text, n, from, strlen(from)), *end;

        assert_non_null(begin);
        end = memmem(begin + strlen(from), (size_t) (text + n - begin) - strlen(from), to, strlen(to));
        assert_non_null(end);
        return (Loose) { why, begin, (size_t) (end - begin), 0 };
}

/* The part that holds BYTE; what is accepted elsewhere is a hole. */
static void accept(Loose *parts, size_t n, const char *text, size_t byte) {
        for (size_t i = 0; i < n; i++)
                if (text + byte >= parts[i].begin && text + byte < parts[i].begin + parts[i].n) {
                        parts[i].accepted++;
                        return;
                }
        fail_msg("byte %zu (%c) may be changed: %.*s", byte, text[byte], 40, text + byte);
}

static void tell(const char *what, const Loose *parts, size_t n_parts, size_t n) {
        for (size_t i = 0; i < n_parts; i++) {
                print_message("# %s: of %zu bits %u accepted in %s\n", what, n * 8, parts[i].accepted, parts[i].why);
                assert_true(parts[i].accepted > 0);
        }
}

/* ---- an envelope ---- */

static void turn_envelope(RecordAlgorithm algorithm) {
        RecordKey *key = make_key("key", algorithm);
        RecordVerified sound, verified;
        RecordKeyring *keyring;
        Loose parts[1];
        RecordTrust trust;
        SignedLine record;
        char *text;
        size_t n;

        assert_int_equal(record_keyring_parse(record_key_public_pem(key), strlen(record_key_public_pem(key)), &keyring), 0);
        tell_key(key);
        assert_int_equal(sign_line(key, payload, strlen(payload), &record), 0);
        text = record.envelope.text;
        n = record.envelope.n;
        parts[0] = loose("the key ID, which is a hint", text, n, "\"keyid\":", ",\"sig\"");
        assert_int_equal(record_verify(keyring, text, n, &trust, &sound), 0);
        assert_int_equal(trust, RECORD_VERIFIED);

        for (size_t bit = 0; bit < n * 8; bit++) {
                text[bit / 8] ^= (char) (1 << bit % 8);
                assert_int_equal(record_verify(keyring, text, n, &trust, &verified), 0);
                if (trust == RECORD_VERIFIED) {
                        accept(parts, ELEMENTS(parts), text, bit / 8);
                        assert_string_equal(verified.entry.id, sound.entry.id);
                        assert_int_equal(verified.n_payload, sound.n_payload);
                        assert_memory_equal(verified.payload, sound.payload, sound.n_payload);
                        assert_string_equal(verified.reason, sound.reason);
                        assert_string_equal(verified.key_id, sound.key_id);
                } else {
                        assert_int_equal(trust, RECORD_REFUSED);
                        assert_null(verified.payload);
                }
                record_verified_done(&verified);
                text[bit / 8] ^= (char) (1 << bit % 8);
        }
        tell(record_algorithm_to_string(algorithm), parts, ELEMENTS(parts), n);
        record_verified_done(&sound);
        signed_line_done(&record);
        (void) record_keyring_free(keyring);
        (void) record_key_free(key);
}

static void test_every_bit_of_an_envelope(void **state) {
        turn_envelope(RECORD_ED25519);
}

static void test_every_bit_of_an_envelope_of_p256(void **state) {
        turn_envelope(RECORD_ECDSA_P256);
}

/* ---- a checkpoint, cosigned by a witness that counts and one that nobody knows ---- */

#define LEAVES 3
#define INDEX  1

typedef struct Turning {
        RecordKey *log_key, *witness_key, *other_key;
        CheckpointPolicy policy;
        Quorum quorum;
        TreeHash leaves[LEAVES];
        Checkpoint checkpoint;
        Printer note, proof;
} Turning;

static Turning turning;

static void sign_note(Printer *note) {
        NoteKey other = note_key_of("x", NOTE_WITNESS, turning.other_key);
        size_t n = note_of(note, &turning.checkpoint, &turning.policy.log, turning.log_key);

        note_sign(note, note->text, n, &turning.policy.witnesses[0], turning.witness_key, 1795252442000000);
        note_sign(note, note->text, n, &other, turning.other_key, 1795252442000000);
        assert_int_equal(note->error, 0);
}

static int setup(void **state) {
        const char *rest;
        _cleanup_printer_ Printer proof = {};
        TreePath path = {};

        turning.log_key = make_key("log", RECORD_ED25519);
        turning.witness_key = make_key("witness", RECORD_ED25519);
        turning.other_key = make_key("other", RECORD_ED25519);
        turning.policy.log = note_key_of("o", NOTE_LOG, turning.log_key);
        turning.policy.n_witnesses = 1;
        turning.policy.witnesses[0] = note_key_of("w", NOTE_WITNESS, turning.witness_key);
        turning.quorum.wanted = 1;
        for (unsigned i = 0; i < LEAVES; i++)
                assert_int_equal(tree_leaf(&i, sizeof(i), &turning.leaves[i]), 0);
        turning.checkpoint = (Checkpoint) { .origin = "o", .size = LEAVES, .root = plain_root(turning.leaves, LEAVES) };
        sign_note(&turning.note);
        plain_path(turning.leaves, INDEX, LEAVES, &path);
        proof_print(&proof, INDEX, &path, turning.note.text, turning.note.n);
        rest = memchr(proof.text, '\n', proof.n);
        printer_raw(&turning.proof, proof.text, (size_t) (rest + 1 - proof.text));
        printer_text(&turning.proof, "extra Zm9yIG5vYm9keQ==\n");
        printer_raw(&turning.proof, rest + 1, proof.n - (size_t) (rest + 1 - proof.text));
        return turning.proof.error;
}

static int teardown(void **state) {
        printer_done(&turning.note);
        printer_done(&turning.proof);
        (void) record_key_free(turning.log_key);
        (void) record_key_free(turning.witness_key);
        (void) record_key_free(turning.other_key);
        return 0;
}

/* What is believed is what was signed; and a witness whose line no longer bears its name is one that has said nothing. */
static void check_believed(const Checkpoint *checkpoint, const CheckpointSeen *seen, bool is_of_witness) {
        assert_string_equal(checkpoint->origin, turning.checkpoint.origin);
        assert_int_equal(checkpoint->size, turning.checkpoint.size);
        assert_memory_equal(checkpoint->root.bytes, turning.checkpoint.root.bytes, DIGEST_BYTES);
        assert_int_equal(quorum_is_met(&turning.quorum, seen->witnesses), !is_of_witness);
        assert_int_equal(seen->usec, is_of_witness ? 0 : 1795252442000000);
}

static void test_every_bit_of_a_checkpoint(void **state) {
        char *text = turning.note.text;
        size_t n = turning.note.n;
        Loose parts[] = {
                loose("the name and key ID of a witness, which then has said nothing", text, n, "\xe2\x80\x94 w ", "\n"),
                loose("the line of a signer that nobody knows", text, n, "\xe2\x80\x94 x ", "\n"),
        };

        for (size_t bit = 0; bit < n * 8; bit++) {
                Checkpoint checkpoint;
                CheckpointSeen seen;
                const char *wrong;

                text[bit / 8] ^= (char) (1 << bit % 8);
                if (checkpoint_verify(text, n, &turning.policy, &checkpoint, &seen, &wrong) == 0) {
                        unsigned before = parts[0].accepted;

                        accept(parts, ELEMENTS(parts), text, bit / 8);
                        check_believed(&checkpoint, &seen, parts[0].accepted > before);
                }
                text[bit / 8] ^= (char) (1 << bit % 8);
        }
        tell("checkpoint", parts, ELEMENTS(parts), n);
}

static void test_every_bit_of_a_proof(void **state) {
        char *text = turning.proof.text;
        size_t n = turning.proof.n;
        Loose parts[] = {
                loose("what is extra", text, n, "extra ", "\n"),
                loose("the name and key ID of a witness, which then has said nothing", text, n, "\xe2\x80\x94 w ", "\n"),
                loose("the line of a signer that nobody knows", text, n, "\xe2\x80\x94 x ", "\n"),
        };

        for (size_t bit = 0; bit < n * 8; bit++) {
                Checkpoint checkpoint;
                CheckpointSeen seen;
                const char *wrong;
                Proof proof;

                text[bit / 8] ^= (char) (1 << bit % 8);
                if (proof_parse(text, n, &proof) == 0 &&
                    proof_verify(&proof, &turning.leaves[INDEX], &turning.policy, &checkpoint, &seen, &wrong) == 0) {
                        unsigned before = parts[1].accepted;

                        accept(parts, ELEMENTS(parts), text, bit / 8);
                        assert_int_equal(proof.index, INDEX);
                        check_believed(&checkpoint, &seen, parts[1].accepted > before);
                }
                text[bit / 8] ^= (char) (1 << bit % 8);
        }
        tell("proof", parts, ELEMENTS(parts), n);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_bit_of_an_envelope),
                cmocka_unit_test(test_every_bit_of_an_envelope_of_p256),
                cmocka_unit_test(test_every_bit_of_a_checkpoint),
                cmocka_unit_test(test_every_bit_of_a_proof),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
