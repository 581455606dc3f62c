/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>

#include "checks/text/whole-file.h"
#include "daemon/record/keys/ring.h"
#include "daemon/record/keys/state.h"
#include "tests/record/logged.h"

#define N_ROOTS 4

static Logged logged;
static RecordKey *roots[N_ROOTS];
static char folder[128]; /* of files that a test writes */

static int setup(void **state) {
        payloads_init(&payloads);
        logged_init(&logged, &payloads);
        for (unsigned i = 0; i < N_ROOTS; i++) {
                char name[16];

                (void) snprintf(name, sizeof(name), "root%u", i);
                roots[i] = place_key(&payloads.place, name, RECORD_ED25519);
        }
        return 0;
}

static int teardown(void **state) {
        for (unsigned i = 0; i < N_ROOTS; i++)
                (void) record_key_free(roots[i]);
        logged_done(&logged);
        payloads_done(&payloads);
        return 0;
}

static int new_folder(void **state) {
        (void) snprintf(folder, sizeof(folder), "%s/ring-XXXXXX", payloads.place.folder);
        return mkdtemp(folder) ? 0 : -1;
}

/* ---- rings, written by hand ---- */

static void print_key(Printer *printer, const char *word, const RecordKey *key, const char *more) {
        char text[KEY_WORD_MAX];

        printer_text(printer, word);
        printer_text(printer, key_word(key, text));
        printer_text(printer, more);
        printer_text(printer, "\n");
}

typedef struct Make {
        const char *version; /* 7 */
        unsigned threshold, in, signers; /* of the roots: how many, which, and who signs; 2, 7, 3 */
        const char *binding; /* of the record key */
        const NoteKey *witness; /* w1 */
        const char *rest;    /* lines after all else, which tell expiry and quorum */
} Make;

#define BINDING " " PLACE_PRODUCER " " PLACE_ORIGIN
#define EXPIRES "expires 2036-11-20T09:14:02Z\n"
#define END     EXPIRES "quorum 1\n"

static void make_payload(const Make *make, Printer *payload) {
        char text[160];

        (void) snprintf(text, sizeof(text), "version %s\nthreshold %u\n", make->version ?: "7", make->threshold ?: 2);
        printer_text(payload, text);
        for (unsigned i = 0; i < N_ROOTS; i++)
                if ((make->in ?: 7) & 1u << i)
                        print_key(payload, "root ", roots[i], "");
        print_key(payload, "record ", payloads.key, make->binding ?: BINDING);
        printer_text(payload, "log ");
        note_key_print(payload, &logged.log_key);
        printer_text(payload, "\nwitness w1 ");
        note_key_print(payload, make->witness ?: &logged.witness_keys[0]);
        printer_text(payload, "\n");
        printer_text(payload, make->rest ?: END);
}

/* A zero stands behind it. */
static Printer make_ring(const Make *make) {
        _cleanup_(envelope_done) Envelope ring = {};
        _cleanup_printer_ Printer payload = {};
        Printer text = {};

        make_payload(make, &payload);
        assert_int_equal(payload.error, 0);
        assert_int_equal(envelope_init(&ring, RING_PAYLOAD_TYPE, payload.text, payload.n, N_ROOTS), 0);
        for (unsigned i = 0; i < N_ROOTS; i++)
                if ((make->signers ?: 3) & 1u << i)
                        assert_int_equal(envelope_add(&ring, roots[i]), 0);
        ring_print(&text, &ring);
        printer_raw(&text, "", 1);
        assert_int_equal(text.error, 0);
        text.n--;
        return text;
}

static const char *write_file(const char *name, const char *text, size_t n) {
        static char path[3][256]; /* of a ring, a text, and who vouches: one of each is in use */
        char *to = path[*name == 'r' && name[1] == 'i' ? 0 : *name == 't' ? 1 : 2];

        (void) snprintf(to, sizeof(path[0]), "%s/%s", folder, name);
        assert_int_equal(whole_file_replace(AT_FDCWD, to, 0644, text, n), 0);
        return to;
}

/* The public halves of SET, with a line for the threshold. */
static const char *write_roots(unsigned set, const char *threshold) {
        _cleanup_printer_ Printer text = {};

        for (unsigned i = 0; i < N_ROOTS; i++)
                if (set & 1u << i)
                        printer_text(&text, record_key_public_pem(roots[i]));
        printer_text(&text, threshold);
        return write_file("roots.pem", text.text, text.n);
}

static void expect_file(const char *path, const char *pinned, bool remember, int error, const char *why, RecordKeyring **ret) {
        _cleanup_(record_state_freep) RecordState *state = NULL;
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_free_ char *found = NULL;
        char at[160];
        int r;

        (void) snprintf(at, sizeof(at), "%s/state", folder);
        if (remember)
                assert_int_equal(record_state_open(at, &state), 0);
        r = record_keyring_open(path, pinned, state, &keyring, &found);
        if (r != error || (why && (!found || !strstr(found, why))))
                fail_msg("%d: \"%s\" does not say \"%s\"", r, found ?: "", why ?: "");
        assert_true((r == 0) == (keyring != NULL));
        if (ret)
                *ret = TAKE_PTR(keyring);
}

static void expect(const Make *make, const char *pinned, bool remember, int error, const char *why) {
        _cleanup_printer_ Printer ring = make_ring(make);

        expect_file(write_file("ring.json", ring.text, ring.n), pinned, remember, error, why, NULL);
}

/* ---- what it takes ---- */

static void test_a_keyring_says_what_its_roots_signed(void **state) {
        _cleanup_printer_ Printer ring = make_ring(&(Make) { .binding = BINDING " 2 4 rotated",
                .rest = "expires 2036-11-20T09:14:02.5Z\nquorum 1\nmin " PLACE_ORIGIN " 3\n# a remark\n" });
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        RecordVerified verified;
        RecordTrust trust;

        expect_file(write_file("ring.json", ring.text, ring.n), write_roots(7, "threshold 2\n"), false, 0, NULL, &keyring);
        assert_int_equal(keyring->version, 7);
        assert_int_equal(keyring->n_roots, 3);
        assert_int_equal(keyring->threshold, 2);
        assert_true(keyring->expires_usec == UINT64_C(2110785242500000)); /* date -u -d 2036-11-20T09:14:02 +%s */
        assert_int_equal(keyring->n_keys, 1);
        assert_string_equal(keyring->keys[0].producer, PLACE_PRODUCER);
        assert_string_equal(keyring->keys[0].origin, PLACE_ORIGIN);
        assert_int_equal(keyring->keys[0].from_index, 2);
        assert_int_equal(keyring->keys[0].until_index, 4);
        assert_int_equal(keyring_find_log(keyring, PLACE_ORIGIN)->min_index, 3);
        assert_true(!quorum_is_met(&keyring->quorum, 0) && quorum_is_met(&keyring->quorum, 1));

        assert_int_equal(record_verify(keyring, payloads.envelope, strlen(payloads.envelope), &trust, &verified), 0);
        assert_int_equal(trust, RECORD_VERIFIED);
        record_verified_done(&verified);
        /* Before the first index. */
        assert_int_equal(record_verify(keyring, payloads.envelope_start, strlen(payloads.envelope_start), &trust, &verified), 0);
        assert_int_equal(trust, RECORD_REFUSED);
        record_verified_done(&verified);
}

static void test_it_takes_as_many_roots_as_are_asked_for_inside_and_outside(void **state) {
        static const char few_known[] = "too few of the known roots", few_own[] = "too few of its own roots";
        const char *two_of_three = write_roots(7, "threshold 2\n");

        expect(&(Make) {}, two_of_three, false, 0, NULL);
        expect(&(Make) { .signers = 6 }, two_of_three, false, 0, NULL);
        expect(&(Make) { .signers = 1 }, two_of_three, false, -EKEYREJECTED, few_known);
        /* One insider, who writes a keyring of his own, or counts himself enough. */
        expect(&(Make) { .signers = 1, .in = 1, .threshold = 1 }, two_of_three, false, -EKEYREJECTED, few_known);
        expect(&(Make) { .signers = 9, .in = 9 }, two_of_three, false, -EKEYREJECTED, few_known);
        expect(&(Make) { .threshold = 3 }, two_of_three, false, -EKEYREJECTED, few_own);
        expect(&(Make) { .in = 12 }, two_of_three, false, -EKEYREJECTED, few_own);
        /* Without a line it takes all. */
        expect(&(Make) {}, write_roots(7, ""), false, -EKEYREJECTED, few_known);
        expect(&(Make) { .signers = 7 }, write_roots(7, ""), false, 0, NULL);
        /* Lines end in one way, in every keyring. */
        expect(&(Make) {}, write_roots(7, "threshold 2\r\n"), false, -ENOKEY, "no public keys, or too few");
}

static void test_roots_that_cannot_be_vouch_for_nothing(void **state) {
        static const char *const thresholds[] = { "threshold 0\n", "threshold 3\n", "threshold two\n", "threshold 1\nthreshold 2\n", "threshold -1\n" };

        expect(&(Make) {}, NULL, false, -ENOKEY, "nobody vouches");
        expect(&(Make) {}, "/nonexistent/roots", false, -ENOKEY, "cannot be read");
        expect(&(Make) {}, write_file("roots.pem", "", 0), false, -ENOKEY, "no public keys");
        for (size_t i = 0; i < ELEMENTS(thresholds); i++)
                expect(&(Make) {}, write_roots(3, thresholds[i]), false, -ENOKEY, "no public keys, or too few");
}

/* The same signature twice, and one key's two signatures, count once. */
static void test_a_root_counts_once(void **state) {
        _cleanup_printer_ Printer text = make_ring(&(Make) { .signers = 1 }), twice = {};
        const char *signature = strstr(text.text, "{\"keyid\"");

        printer_raw(&twice, text.text, (size_t) (signature - text.text));
        printer_raw(&twice, signature, (size_t) (text.text + text.n - 3 - signature));
        printer_text(&twice, ",");
        printer_raw(&twice, signature, (size_t) (text.text + text.n - signature));
        expect_file(write_file("ring.json", twice.text, twice.n), write_roots(7, "threshold 2\n"), false, -EKEYREJECTED, "too few of the known", NULL);
}

static void test_a_keyring_that_cannot_be_is_refused(void **state) {
        static const struct {
                Make make;
                const char *why;
        } cases[] = {
                { { .version = "0" }, "`version N`" },
                { { .version = "-1" }, "`version N`" },
                { { .version = "7.0" }, "`version N`" },
                { { .version = "\"7\"" }, "`version N`" },
                { { .version = "07" }, "`version N`" },
                { { .version = "9007199254740992" }, "`version N`" },
                { { .version = "7\nversion 8" }, "second `version`" },
                { { .version = "7 8" }, "`version N`" },
                { { .rest = "quorum 1\n" }, "expires" },
                { { .rest = "expires 2036-11-20\nquorum 1\n" }, "expires" },
                { { .rest = "expires 2036-02-30T00:00:00Z\nquorum 1\n" }, "expires" },
                { { .rest = "expires 2036-11-20T09:14:02+01:00\nquorum 1\n" }, "expires" },
                { { .rest = "expires 2036-11-20T09:14:02Zulu\nquorum 1\n" }, "expires" },
                { { .rest = END "expires 2046-11-20T09:14:02Z\n" }, "second `expires`" },
                { { .rest = EXPIRES }, "quorum" },
                { { .rest = EXPIRES "quorum 2\n" }, "quorum" },
                { { .rest = EXPIRES "quorum -1\n" }, "quorum" },
                { { .rest = EXPIRES "quorum w2\n" }, "quorum" },
                { { .rest = END "quorum none\n" }, "second `quorum`" },
                { { .rest = END "min elsewhere 1\n" }, "`min" },
                { { .rest = END "min " PLACE_ORIGIN " one\n" }, "`min" },
                { { .rest = END "min " PLACE_ORIGIN " 3\nmin " PLACE_ORIGIN " 2\n" }, "`min" },
                { { .rest = END "min " PLACE_ORIGIN " 9007199254740992\n" }, "`min" },
                { { .threshold = 4 }, "roots" },
                { { .threshold = 100 }, "threshold" },
                { { .rest = END "threshold 1\n" }, "second `threshold`" },
                { { .binding = "" }, "`record" },
                { { .binding = " p" }, "`record" },
                { { .binding = " p \xc3\xa4" }, "`record" },
                { { .binding = " \xc3\xa4 l" }, "`record" },
                { { .binding = BINDING " 5 4" }, "`record" },
                { { .binding = BINDING " 0 null" }, "`record" },
                { { .binding = BINDING " 0 1e3" }, "`record" },
                { { .binding = BINDING " -1" }, "`record" },
                { { .binding = BINDING " 0 9007199254740992" }, "`record" },
                { { .binding = BINDING " 0 4 rotated twice" }, "`record" },
                { { .binding = BINDING "\x1b" }, "control character" },
                { { .binding = BINDING "\r" }, "CR LF" },
                { { .rest = END "mni " PLACE_ORIGIN " 3\n" }, "line 11 begins with no word" },
                { { .rest = END "min\x1b " PLACE_ORIGIN " 3\n" }, "line 11 begins with no word" },
                { { .rest = END "_min " PLACE_ORIGIN " 3\n" }, "line 11 begins with no word" },
        };
        const char *pinned = write_roots(7, "threshold 2\n");

        for (size_t i = 0; i < ELEMENTS(cases); i++)
                expect(&cases[i].make, pinned, false, -EKEYREJECTED, cases[i].why);
}

/* Roots bind every key, once; neither a block beside their lines nor a second line says that it may sign elsewhere, too. */
static void test_a_key_that_is_bound_twice_or_to_nothing_is_refused(void **state) {
        const char *pinned = write_roots(7, "threshold 2\n"), *spare = record_key_public_pem(roots[3]), *pem = record_key_public_pem(payloads.key);
        _cleanup_printer_ Printer rest = {}, line = {};

        print_key(&line, "record ", payloads.key, " p l 0 4\n");
        printer_raw(&line, "", 1);
        for (unsigned i = 0; i < 3; i++) {
                rest.n = 0;
                printer_text(&rest, END);
                printer_text(&rest, i == 0 ? spare : i == 1 ? pem : line.text);
                printer_raw(&rest, "", 1);
                expect(&(Make) { .rest = rest.text }, pinned, false, -EKEYREJECTED, i == 0 ? "bound to no producer" : i == 1 ? "PEM block" : "`record");
        }
}

/* What writes records or keeps the log is none that watches it. */
static void test_a_witness_of_its_own_is_refused(void **state) {
        const NoteKey of_log = note_key_of("w1", NOTE_WITNESS, logged.log), of_records = note_key_of("w1", NOTE_WITNESS, payloads.key);
        const char *pinned = write_roots(7, "threshold 2\n");

        expect(&(Make) { .witness = &of_log }, pinned, false, -EKEYREJECTED, "vouch for itself");
        expect(&(Make) { .witness = &of_records }, pinned, false, -EKEYREJECTED, "vouch for itself");
        expect(&(Make) { .rest = EXPIRES "quorum none\n" }, pinned, false, 0, NULL);
}

static void test_a_key_is_what_its_spki_is(void **state) {
        _cleanup_printer_ Printer payload = {};
        static const char *const edits[][2] = {
                { " MCow", " NCow" },      /* another beginning of DER */
                { " MCow", " M\nCow" },
                { " MCow", " _Cow" },      /* of the other alphabet */
                { " MCowBQYDK2Vw", " MCowBQYDK2Vu" }, /* X25519 */
                { "=\n", "==\n" },
                { " MCow", " " },
        };

        make_payload(&(Make) { .binding = BINDING }, &payload);
        printer_raw(&payload, "", 1);
        for (size_t i = 0; i < 2 * ELEMENTS(edits); i++) {
                const char *const *edit = edits[i / 2];
                const char *from = strstr(payload.text, i % 2 ? "record" : "root"), *at = strstr(from, edit[0]);
                _cleanup_(envelope_done) Envelope ring = {};
                _cleanup_printer_ Printer text = {};
                char *edited;

                if (!at || (i % 2 && edit[0][0] == '='))
                        continue;
                assert_true(asprintf(&edited, "%.*s%s%s", (int) (at - payload.text), payload.text, edit[1], at + strlen(edit[0])) > 0);
                assert_int_equal(envelope_init(&ring, RING_PAYLOAD_TYPE, edited, strlen(edited), N_ROOTS), 0);
                assert_int_equal(envelope_add(&ring, roots[0]) | envelope_add(&ring, roots[1]), 0);
                ring_print(&text, &ring);
                expect_file(write_file("ring.json", text.text, text.n), write_roots(7, "threshold 2\n"), false, -EKEYREJECTED,
                            i % 2 ? "`record" : "`root", NULL);
                free(edited);
        }
}

static void test_a_bad_envelope_of_a_keyring_is_refused(void **state) {
        _cleanup_printer_ Printer text = make_ring(&(Make) {});
        static const char *const edits[][2] = {
                { "vnd.assay.keyring", "vnd.in-toto+json" },
                { "vnd.assay.keyring", "vnd.assay.keyring+json" },
                { "\"signatures\":[", "\"signatures\":[7," },
                { "\"sig\":\"", "\"sig\":\" " },
                { "\"payload\":\"", "\"payload\":\"!" },
                { "\"payload\":", "\"payload\":7,\"payload\":" },
                { "\"keyid\":\"", "\"keyid\":7,\"x\":\"" },
        };

        for (size_t i = 0; i < ELEMENTS(edits); i++) {
                const char *at = strstr(text.text, edits[i][0]);
                char *edited;

                assert_true(asprintf(&edited, "%.*s%s%s", (int) (at - text.text), text.text, edits[i][1], at + strlen(edits[i][0])) > 0);
                expect_file(write_file("ring.json", edited, strlen(edited)), write_roots(7, "threshold 2\n"), false, -EKEYREJECTED, NULL, NULL);
                free(edited);
        }
}

/* ---- what is remembered ---- */

static void test_versions_only_rise(void **state) {
        const char *pinned = write_roots(7, "threshold 2\n");

        expect(&(Make) { .version = "7" }, pinned, true, 0, NULL);
        expect(&(Make) { .version = "7" }, NULL, true, 0, NULL);
        expect(&(Make) { .version = "7", .binding = BINDING " 0 9" }, NULL, true, -EKEYREJECTED, "same version");
        expect(&(Make) { .version = "6" }, pinned, true, -EKEYREJECTED, "newer keyring");
        expect(&(Make) { .version = "9" }, NULL, true, 0, NULL);
        expect(&(Make) { .version = "8" }, NULL, true, -EKEYREJECTED, "newer keyring");
}

static void test_the_next_keyring_is_signed_by_the_old_roots_and_the_new(void **state) {
        expect(&(Make) { .version = "7" }, write_roots(7, "threshold 2\n"), true, 0, NULL);
        /* From 0, 1, 2 to 2, 3. */
        expect(&(Make) { .version = "8", .in = 12, .signers = 12 }, NULL, true, -EKEYREJECTED, "too few of the known");
        expect(&(Make) { .version = "8", .in = 12, .signers = 3 }, NULL, true, -EKEYREJECTED, "too few of its own");
        expect(&(Make) { .version = "8", .in = 12, .signers = 14 }, NULL, true, 0, NULL);
        /* The old ones are out, whoever has them pinned. */
        expect(&(Make) { .version = "9" }, write_roots(7, "threshold 2\n"), true, -EKEYREJECTED, "too few of the known");
        expect(&(Make) { .version = "9", .in = 12, .signers = 12 }, NULL, true, 0, NULL);
}

static void test_an_earlier_keyring_vouches_for_later_ones(void **state) {
        _cleanup_printer_ Printer earlier = make_ring(&(Make) { .version = "5" });
        const char *pinned = write_file("earlier.json", earlier.text, earlier.n);

        expect(&(Make) { .version = "7" }, pinned, false, 0, NULL);
        expect(&(Make) { .version = "5" }, pinned, false, 0, NULL);
        expect(&(Make) { .version = "4" }, pinned, false, -EKEYREJECTED, "newer keyring");
        expect(&(Make) { .version = "7", .in = 12, .signers = 12 }, pinned, false, -EKEYREJECTED, "too few of the known");
}

static void test_a_text_takes_no_signed_keyrings_place(void **state) {
        const char *pem = record_key_public_pem(payloads.key), *text = write_file("text.pem", pem, strlen(pem));

        expect_file(text, NULL, true, 0, NULL, NULL);
        expect_file(text, write_roots(7, ""), true, -EKEYREJECTED, "no root has signed", NULL);
        expect(&(Make) {}, write_roots(7, "threshold 2\n"), true, 0, NULL);
        text = write_file("text.pem", pem, strlen(pem));
        expect_file(text, NULL, true, -EKEYREJECTED, "no root has signed", NULL);
        expect_file(text, NULL, false, 0, NULL, NULL);
}

/* Not even by who names it: its roots say that it takes more. */
static void test_a_text_for_roots_to_sign_is_no_keyring(void **state) {
        static const char *const lines[] = { "version 7\n", "threshold 1\n", "" };
        const char *pem = record_key_public_pem(payloads.key);

        for (size_t i = 0; i < ELEMENTS(lines); i++) {
                _cleanup_printer_ Printer text = {};

                printer_text(&text, pem);
                printer_text(&text, lines[i]);
                if (!*lines[i])
                        print_key(&text, "root ", roots[0], "");
                expect_file(write_file("text.pem", text.text, text.n), NULL, false, -EBADMSG, "for roots to sign", NULL);
        }
}

/* A key of records that stands bound in the file of roots is none of them. */
static void test_roots_may_be_named_in_lines(void **state) {
        _cleanup_printer_ Printer text = {};
        const char *pinned;

        for (unsigned i = 0; i < 3; i++)
                print_key(&text, "root ", roots[i], "");
        printer_text(&text, "threshold 2\n");
        print_key(&text, "record ", roots[3], " p l");
        pinned = write_file("roots.pem", text.text, text.n);
        expect(&(Make) {}, pinned, false, 0, NULL);
        expect(&(Make) { .signers = 1 }, pinned, false, -EKEYREJECTED, "too few of the known");
        expect(&(Make) { .signers = 9, .in = 15 }, pinned, false, -EKEYREJECTED, "too few of the known");
}

/* As earlier versions made them. */
static void test_a_keyring_of_json_is_refused_and_says_what_to_do(void **state) {
        static const char old[] = "{\"payload\":\"e30=\",\"payloadType\":\"application/vnd.assay.keyring+json\",\"signatures\":[{\"sig\":\"AAAA\"}]}";

        expect_file(write_file("ring.json", old, strlen(old)), write_roots(7, "threshold 2\n"), false, -EKEYREJECTED, "signed anew with assayctl keys ring", NULL);
}

static void test_what_was_kept_and_is_damaged_vouches_for_nothing(void **state) {
        char path[192];

        expect(&(Make) {}, write_roots(7, "threshold 2\n"), true, 0, NULL);
        (void) snprintf(path, sizeof(path), "%s/state/keyring.json", folder);
        assert_int_equal(truncate(path, 100), 0);
        expect(&(Make) { .version = "8" }, write_roots(7, "threshold 2\n"), true, -ENOKEY, "kept is damaged");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_a_keyring_says_what_its_roots_signed, new_folder),
                cmocka_unit_test_setup(test_it_takes_as_many_roots_as_are_asked_for_inside_and_outside, new_folder),
                cmocka_unit_test_setup(test_roots_that_cannot_be_vouch_for_nothing, new_folder),
                cmocka_unit_test_setup(test_a_root_counts_once, new_folder),
                cmocka_unit_test_setup(test_a_keyring_that_cannot_be_is_refused, new_folder),
                cmocka_unit_test_setup(test_a_key_that_is_bound_twice_or_to_nothing_is_refused, new_folder),
                cmocka_unit_test_setup(test_a_witness_of_its_own_is_refused, new_folder),
                cmocka_unit_test_setup(test_a_key_is_what_its_spki_is, new_folder),
                cmocka_unit_test_setup(test_a_bad_envelope_of_a_keyring_is_refused, new_folder),
                cmocka_unit_test_setup(test_versions_only_rise, new_folder),
                cmocka_unit_test_setup(test_the_next_keyring_is_signed_by_the_old_roots_and_the_new, new_folder),
                cmocka_unit_test_setup(test_an_earlier_keyring_vouches_for_later_ones, new_folder),
                cmocka_unit_test_setup(test_a_text_takes_no_signed_keyrings_place, new_folder),
                cmocka_unit_test_setup(test_a_text_for_roots_to_sign_is_no_keyring, new_folder),
                cmocka_unit_test_setup(test_roots_may_be_named_in_lines, new_folder),
                cmocka_unit_test_setup(test_a_keyring_of_json_is_refused_and_says_what_to_do, new_folder),
                cmocka_unit_test_setup(test_what_was_kept_and_is_damaged_vouches_for_nothing, new_folder),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
