/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks/text/cleanup.h"
#include "daemon/record/keys/note.h"
#include "tests/record/note-key.h"
#include "tests/record/place.h"

/* From the documentation of the package that the format comes from, golang.org/x/mod/sumdb/note. */
#define PUBLIC_VKEY "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW"
#define PUBLIC_TEXT "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n"
#define PUBLIC_LINE "\xe2\x80\x94 PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n"

#define LOG_NAME     "fleet.example/stations/st-017"
#define WITNESS_NAME "fleet.example/witness/w1"
#define TEXT         LOG_NAME "\n11\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"

static RecordKey *keys[2];

static int setup(void **state) {
        Place place;

        place_init(&place);
        assert_int_equal(record_key_load(place.key, &keys[0]), 0);
        keys[1] = place_key(&place, "other.key", RECORD_ED25519);
        place_done(&place);
        return 0;
}

static int teardown(void **state) {
        for (size_t i = 0; i < ELEMENTS(keys); i++)
                (void) record_key_free(keys[i]);
        return 0;
}

static int verify(const char *text, size_t n, const NoteKey *key, uint64_t *ret_usec) {
        Note *note = calloc(1, sizeof(*note));
        int r;

        assert_non_null(note);
        r = note_parse(text, n, note);
        if (r == 0)
                r = note_verify(note, key, ret_usec);
        free(note);
        return r;
}

static void test_a_public_note_verifies(void **state) {
        static const char note[] = PUBLIC_TEXT "\n" PUBLIC_LINE;
        _cleanup_printer_ Printer vkey = {};
        uint64_t usec = 1;
        NoteKey key;

        assert_int_equal(note_key_parse(&key, PUBLIC_VKEY), 0);
        note_key_print(&vkey, &key);
        assert_int_equal(vkey.n, strlen(PUBLIC_VKEY));
        assert_memory_equal(vkey.text, PUBLIC_VKEY, vkey.n);
        assert_int_equal(verify(note, strlen(note), &key, &usec), 1);
        assert_int_equal(usec, 0);
}

/* A log's line, and a witness's with its time. */
static void note_of_two(Printer *note, NoteKey *log, NoteKey *witness) {
        *log = note_key_of(LOG_NAME, NOTE_LOG, keys[0]);
        *witness = note_key_of(WITNESS_NAME, NOTE_WITNESS, keys[1]);
        printer_text(note, TEXT "\n");
        note_sign(note, TEXT, strlen(TEXT), log, keys[0], UINT64_C(1790000000123456));
        note_sign(note, TEXT, strlen(TEXT), witness, keys[1], UINT64_C(1790000000123456));
        assert_int_equal(note->error, 0);
}

static void test_who_signed_is_told_from_who_did_not(void **state) {
        _cleanup_printer_ Printer text = {};
        NoteKey log, witness, other;
        uint64_t usec;

        note_of_two(&text, &log, &witness);
        assert_int_equal(verify(text.text, text.n, &log, &usec), 1);
        assert_int_equal(usec, 0);
        assert_int_equal(verify(text.text, text.n, &witness, &usec), 1);
        assert_int_equal(usec, UINT64_C(1790000000000000));

        other = note_key_of("fleet.example/witness/w2", NOTE_WITNESS, keys[1]);
        assert_int_equal(verify(text.text, text.n, &other, &usec), 0);
        /* The same name with another key has another ID. */
        other = note_key_of(LOG_NAME, NOTE_LOG, keys[1]);
        assert_int_equal(verify(text.text, text.n, &other, &usec), 0);
        /* Name and ID of a key, and not its signature. */
        memcpy(other.id, log.id, sizeof(log.id));
        assert_int_equal(verify(text.text, text.n, &other, &usec), -EBADMSG);
}

/* What fits the text at the very second 0 is a signature without a time; of a log there is none to tell. */
static void test_a_witness_that_tells_no_time_has_not_signed(void **state) {
        _cleanup_printer_ Printer text = {};
        NoteKey log, witness;
        uint64_t usec;

        for (uint64_t sec = 0; sec < 2; sec++) {
                text.n = 0;
                note_of_two(&text, &log, &witness);
                text.n = strlen(TEXT "\n");
                note_sign(&text, TEXT, strlen(TEXT), &log, keys[0], 0);
                note_sign(&text, TEXT, strlen(TEXT), &witness, keys[1], sec * 1000000 + 999999);
                assert_int_equal(verify(text.text, text.n, &log, &usec), 1);
                assert_int_equal(verify(text.text, text.n, &witness, &usec), sec == 0 ? -EBADMSG : 1);
        }
        assert_int_equal(usec, 1000000);
}

static void test_every_flipped_bit_is_refused_or_is_nobodys(void **state) {
        _cleanup_printer_ Printer text = {};
        NoteKey log, witness;

        note_of_two(&text, &log, &witness);
        for (size_t bit = 0; bit < text.n * 8; bit++) {
                size_t line = strlen(TEXT) + 1;
                uint64_t usec;
                int a, b;

                text.text[bit / 8] ^= (char) (1 << bit % 8);
                a = verify(text.text, text.n, &log, &usec);
                b = verify(text.text, text.n, &witness, &usec);
                /* A flip in the line of one leaves the other's, unless there is no note any more. */
                if (bit / 8 < line)
                        assert_true(a != 1 && b != 1);
                else
                        assert_true(a != 1 || b != 1);
                text.text[bit / 8] ^= (char) (1 << bit % 8);
        }
}

static void test_what_is_no_note_is_refused(void **state) {
        static const char *const texts[] = {
                "", "\n", "\n\n", "text\n", "text\n\n", "text\n\nno signature\n", "text\n\n" PUBLIC_LINE "\n",
                "te\rxt\n\n" PUBLIC_LINE, "te\txt\n\n" PUBLIC_LINE, "text\n\n\xe2\x80\x94 name\n", "text\n\n\xe2\x80\x94  AAAAAAAA\n",
                "text\n\n\xe2\x80\x94 name AAAAAA==\n", "text\n\n\xe2\x80\x94 name AAAAAAA\n", "text\n\n\xe2\x80\x94 na+me AAAAAAAA\n",
                "text\n\n\xe2\x80\x94 name AAAA-AAA\n", "text\n\n- name AAAAAAAA\n", "text\n\n\xe2\x80\x94 name AAAAAAAA",
                "text\n\n\xe2\x80\x94 name AAAAAAAA \n",
        };
        static const char good[] = "text\n\n\xe2\x80\x94 name AAAAAAAA\n";
        Note note;

        for (size_t i = 0; i < ELEMENTS(texts); i++)
                assert_int_equal(note_parse(texts[i], strlen(texts[i]), &note), -EBADMSG);
        assert_int_equal(note_parse(good, strlen(good), &note), 0);
        assert_int_equal(note.n, 5);
        assert_int_equal(note.n_signatures, 1);
}

/* Lines of others, longer ones too, are none of our business; more of them than anyone needs are. */
static void test_lines_of_others_are_left_alone(void **state) {
        NoteKey log = note_key_of(LOG_NAME, NOTE_LOG, keys[0]);
        uint64_t usec;

        for (unsigned n_others = 0; n_others <= NOTE_SIGNATURES_MAX; n_others += 16) {
                _cleanup_printer_ Printer text = {};

                printer_text(&text, TEXT "\n");
                for (unsigned i = 0; i < n_others; i++) {
                        printer_text(&text, "\xe2\x80\x94 other.example ");
                        for (unsigned k = 0; k < 100; k++)
                                printer_text(&text, "AAAABBBB");
                        printer_text(&text, "\n");
                }
                note_sign(&text, TEXT, strlen(TEXT), &log, keys[0], 0);
                assert_int_equal(verify(text.text, text.n, &log, &usec), n_others < NOTE_SIGNATURES_MAX ? 1 : -EBADMSG);
        }
}

static void test_what_is_no_vkey_is_refused(void **state) {
        static const char *const texts[] = {
                "", "+", "++", "PeterNeumann", "PeterNeumann+c74f20a3", "+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
                "PeterNeumann+c74f20a4+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
                "PeterNeumann+C74F20A3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
                "PeterNeumann+c74f20a3+AhpcAQcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW",
                "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq_LDE4izWy10TW",
                "Peter Neumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW", PUBLIC_VKEY "A", PUBLIC_VKEY "\n",
        };
        NoteKey key;

        for (size_t i = 0; i < ELEMENTS(texts); i++)
                assert_int_equal(note_key_parse(&key, texts[i]), -EINVAL);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_public_note_verifies),
                cmocka_unit_test(test_who_signed_is_told_from_who_did_not),
                cmocka_unit_test(test_a_witness_that_tells_no_time_has_not_signed),
                cmocka_unit_test(test_every_flipped_bit_is_refused_or_is_nobodys),
                cmocka_unit_test(test_what_is_no_note_is_refused),
                cmocka_unit_test(test_lines_of_others_are_left_alone),
                cmocka_unit_test(test_what_is_no_vkey_is_refused),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
