/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/keys/envelope.h"

/* The vector of the DSSE specification, hashed with sha256sum. */
static void test_the_pae_is_that_of_the_specification(void **state) {
        char hex[DIGEST_HEX];
        uint8_t digest[DIGEST_BYTES];
        Printer pae = {};

        pae_print(&pae, "http://example.com/HelloWorld", "hello world", 11);
        assert_int_equal(pae.n, 54);
        assert_memory_equal(pae.text, "DSSEv1 29 http://example.com/HelloWorld 11 hello world", 54);
        assert_int_equal(digest_sha256(pae.text, pae.n, digest), 0);
        assert_string_equal(digest_to_hex(digest, hex),
                            "217751fac2c4f14edb2c9297fbc34abcb016ba88e74757e875ec4ac16fb6b6a1");
        printer_done(&pae);
}

static void test_lengths_are_those_of_bytes(void **state) {
        Printer pae = {};

        pae_print(&pae, RECORD_PAYLOAD_TYPE, "grün\0", 6);
        assert_int_equal(pae.n, 7 + 3 + 28 + 1 + 2 + 6);
        assert_memory_equal(pae.text, "DSSEv1 28 application/vnd.in-toto+json 6 grün\0", pae.n);
        printer_done(&pae);

        pae_print(&pae, RECORD_PAYLOAD_TYPE, "", 0);
        assert_memory_equal(pae.text, "DSSEv1 28 application/vnd.in-toto+json 0 ", pae.n);
        printer_done(&pae);
}

static int parse(const char *text, Envelope *ret) {
        const char *wrong = NULL;
        int r = envelope_parse(text, strlen(text), ret, &wrong);

        if (r < 0) {
                assert_int_equal(r, -EBADMSG);
                assert_non_null(wrong);
        }
        return r;
}

static void test_an_envelope_comes_back_as_the_bytes_that_are_verified(void **state) {
        Envelope envelope;

        assert_int_equal(
                        parse("{\"payload\":\"aGVsbG8=\",\"payloadType\":\"application/vnd.in-toto+json\",\"more\":{},"
                              "\"signatures\":[{\"sig\":\"QUJD\",\"keyid\":\"SHA256:x\"}]}",
                              &envelope),
                        0);
        assert_memory_equal(envelope.pae, "DSSEv1 28 application/vnd.in-toto+json 5 hello", envelope.n_pae);
        assert_int_equal(envelope.payload_offset, envelope.n_pae - 5);
        assert_string_equal(envelope.signatures[0].key_id, "SHA256:x");
        assert_int_equal(envelope.signatures[0].n, 3);
        assert_memory_equal(envelope.signatures[0].bytes, "ABC", 3);
        envelope_done(&envelope);
}

#define OWN(payload, key_id, tail)                                                                          \
        "{\"payload\":\"" payload "\",\"payloadType\":\"application/vnd.in-toto+json\",\"signatures\":[{"         \
        "\"keyid\":\"" key_id "\",\"sig\":\"QUJD\"}]" tail

static void test_the_form_of_our_own_means_what_it_means_as_json(void **state) {
        static const struct {
                const char *text, *key_id; /* NULL: refused */
        } cases[] = {
                { OWN("aGVsbG8=", "SHA256:x", "}"), "SHA256:x" },
                { OWN("aGVsbG8=", "SHA256:x", "}\n"), "SHA256:x" },
                { OWN("aGVsbG8=", "", "}"), "" },
                { OWN("aGVsb\\u00478=", "SHA256:\\u0078", "}"), "SHA256:x" },
                { OWN("aGVsbG8=", "\xc3\xbc", "}"), "\xc3\xbc" },
                { OWN("aGVsbG8=", "SHA256:x", ""), NULL },
                { OWN("aGVsbG8=", "SHA256:x", "}]"), NULL },
                { OWN("aGVsbG8=", "\x01", "}"), NULL },
                { OWN("aGVsbG8=", "\xff", "}"), NULL },
                { OWN("aGVsbG8=\n", "", "}"), NULL },
                { OWN("aGVsbG8", "", "}"), NULL },
        };
        Envelope envelope;

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                assert_int_equal(parse(cases[i].text, &envelope), cases[i].key_id ? 0 : -EBADMSG);
                if (!cases[i].key_id)
                        continue;
                assert_string_equal(envelope.signatures[0].key_id, cases[i].key_id);
                assert_int_equal(envelope.n_pae - envelope.payload_offset, 5);
                assert_memory_equal(envelope.pae + envelope.payload_offset, "hello", 5);
                assert_int_equal(envelope.signatures[0].n, 3);
                envelope_done(&envelope);
        }
}

/* As its parts stand in a store that anybody may have written to. */
static void test_parts_are_an_envelope_whatever_they_are(void **state) {
        static const struct {
                const char *key_id, *text;
        } cases[] = {
                { "SHA256:x", OWN("aGVsbG8=", "SHA256:x", "}") },
                { NULL, OWN("aGVsbG8=", "", "}") },
                { "", OWN("aGVsbG8=", "", "}") },
                { "\"}]}\n{", OWN("aGVsbG8=", "", "}") },
                { "x\n", OWN("aGVsbG8=", "", "}") },
                { "\\u0041", OWN("aGVsbG8=", "", "}") },
                { "\xff", OWN("aGVsbG8=", "", "}") },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_printer_ Printer printer = {};

                envelope_print(&printer, cases[i].key_id, "hello", 5, "ABC", 3);
                assert_int_equal(printer.error, 0);
                assert_int_equal(printer.n, strlen(cases[i].text));
                assert_memory_equal(printer.text, cases[i].text, printer.n);
        }
}

static void test_a_signature_or_key_id_of_any_length_stays_within_its_room(void **state) {
        char text[1200], sig[404], key_id[400];
        Envelope envelope;

        for (size_t n = 0; n <= 300; n++) {
                size_t n_sig = BASE64_SIZE(n);
                int r;

                memset(sig, 'A', n_sig);
                sig[n_sig] = '\0';
                if (n % 3 > 0)
                        sig[n_sig - 1] = '=';
                if (n % 3 == 1)
                        sig[n_sig - 2] = '=';
                memset(key_id, 'k', n);
                key_id[n] = '\0';
                (void) snprintf(text, sizeof(text),
                                "{\"payload\":\"\",\"payloadType\":\"application/vnd.in-toto+json\","
                                "\"signatures\":[{\"sig\":\"%s\",\"keyid\":\"%s\"}]}",
                                sig, key_id);
                r = parse(text, &envelope);
                assert_int_equal(r, n >= 1 && n <= 126 ? 0 : -EBADMSG);
                if (r < 0)
                        continue;
                assert_int_equal(envelope.signatures[0].n, n);
                assert_int_equal(strlen(envelope.signatures[0].key_id), n < KEY_ID_MAX ? n : 0);
                envelope_done(&envelope);
        }
}

/* The key and signature of RFC 6979 section A.2.5, in base64 by openssl. */
static void test_the_leaf_says_the_algorithm_of_its_key(void **state) {
        static const char pem[] = "-----BEGIN PUBLIC KEY-----\n"
                                  "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYP7UuiVanTHJYet0xjVtaMBJuJI7\n"
                                  "Yfps5mliLmDyn7Z5A/4QCLi8maQa6elWKLxk8vGyDC1+n1F3o8KU1EYimQ==\n"
                                  "-----END PUBLIC KEY-----\n";
        static const char expected[] =
                        "{\"apiVersion\":\"0.0.2\",\"kind\":\"hashedrekord\",\"spec\":{\"hashedRekordV002\":{\"data\":{"
                        "\"algorithm\":\"SHA2_256\",\"digest\":\"ryvb4aqbbsHireHWlPQfxxqDHQJo6YkVYhE9imKt0b8=\"},\"signature\":{\"content\":"
                        "\"MEYCIQDv1IsqrLao/RFA3ZzUXoHWnSyHe1aq+ZHDTQ6oTq83FgIhAPfLHJQtZXxB1DbHobbin2Xz6QDbua/0Bk3Eqy+EOs2o\","
                        "\"verifier\":{\"keyDetails\":\"PKIX_ECDSA_P256_SHA_256\",\"publicKey\":{\"rawBytes\":"
                        "\"MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYP7UuiVanTHJYet0xjVtaMBJuJI7Yfps5mliLmDyn7Z5A/4QCLi8maQa6elWKLxk8vGyDC1+n1F3o8KU1EYimQ==\"}}}}}}";
        _cleanup_printer_ Printer leaf = {};
        Signature signature = {};
        Envelope envelope = { .n_signatures = 1, .signatures = &signature };
        TreeHash hash, again;
        PublicKey key;

        assert_int_equal(base64_decode_standard("MEYCIQDv1IsqrLao/RFA3ZzUXoHWnSyHe1aq+ZHDTQ6oTq83FgIhAPfLHJQtZXxB1DbHobbin2Xz6QDbua/0Bk3Eqy+EOs2o", 96, signature.bytes, &signature.n), 0);
        assert_int_equal(digest_sha256("sample", 6, envelope.id), 0);
        assert_int_equal(public_key_from_pem(&key, pem, strlen(pem)), 0);
        leaf_print(&leaf, &envelope, &key);
        assert_int_equal(leaf.n, 489);
        assert_int_equal(leaf.n, strlen(expected));
        assert_memory_equal(leaf.text, expected, leaf.n);
        assert_int_equal(leaf_hash(&envelope, &key, &hash), 0);
        assert_int_equal(tree_leaf(expected, strlen(expected), &again), 0);
        assert_memory_equal(&hash, &again, sizeof(hash));
        public_key_done(&key);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_pae_is_that_of_the_specification),
                cmocka_unit_test(test_lengths_are_those_of_bytes),
                cmocka_unit_test(test_an_envelope_comes_back_as_the_bytes_that_are_verified),
                cmocka_unit_test(test_the_form_of_our_own_means_what_it_means_as_json),
                cmocka_unit_test(test_parts_are_an_envelope_whatever_they_are),
                cmocka_unit_test(test_a_signature_or_key_id_of_any_length_stays_within_its_room),
                cmocka_unit_test(test_the_leaf_says_the_algorithm_of_its_key),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
