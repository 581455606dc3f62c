/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "checks/cleanup.h"
#include "daemon/record/encode/base64.h"

/* RFC 4648 section 10, and its alphabets' last letters. */
static const struct {
        const char *plain, *text;
} vectors[] = {
        { "", "" },           { "f", "Zg==" },         { "fo", "Zm8=" },
        { "foo", "Zm9v" },    { "foob", "Zm9vYg==" },  { "fooba", "Zm9vYmE=" },
        { "foobar", "Zm9vYmFy" }, { "\xfb\xff\xbf", "+/+/" }, { "\xff\xff\xff", "////" },
};

static void test_the_vectors_of_the_standard_come_out_both_ways(void **state) {
        for (size_t i = 0; i < ELEMENTS(vectors); i++) {
                char text[16] = "", *end;
                uint8_t data[16];
                size_t n;

                end = base64_encode(vectors[i].plain, strlen(vectors[i].plain), text);
                assert_int_equal(end - text, BASE64_SIZE(strlen(vectors[i].plain)));
                assert_string_equal(text, vectors[i].text);
                assert_int_equal(base64_decode(text, strlen(text), data, &n), 0);
                assert_int_equal(n, strlen(vectors[i].plain));
                assert_memory_equal(data, vectors[i].plain, n);
        }
}

/* Of each length, and with nothing read that was not given: as OpenSSL writes it. */
static void test_every_length_comes_out_as_from_openssl(void **state) {
        for (size_t n = 0; n <= 130; n++)
                for (unsigned seed = 0; seed < 64; seed++) {
                        char text[256] = "", expected[256] = "";
                        uint8_t *data = malloc(n ?: 1); /* so that a sanitizer sees what is read behind it */

                        assert_non_null(data);
                        for (size_t i = 0; i < n; i++)
                                data[i] = (uint8_t) (((i + seed) * 0x9e3779b1u) >> 13);
                        assert_int_equal(EVP_EncodeBlock((uint8_t *) expected, data, (int) n), BASE64_SIZE(n));
                        assert_ptr_equal(base64_encode(data, n, text), text + BASE64_SIZE(n));
                        assert_string_equal(text, expected);
                        free(data);
                }
}

static void test_a_text_that_is_not_the_one_text_of_its_meaning_is_refused(void **state) {
        static const char *const texts[] = {
                "Z",    "Zg",   "Zg=",      "Zh==",     "Zm9=",    "Zg==Zg==", "=",    "====", "Z===", "Zg=g",
                "Zg =", "Zm9v\n", "Zm9vYg\n=", " Zm9", "Zm.v",    "Zm9v====", "+-+-", "/_A=", "Zm\xc3\xa9", "Z\0==",
        };
        uint8_t data[16];
        size_t n;

        for (size_t i = 0; i < ELEMENTS(texts); i++)
                assert_int_equal(base64_decode(texts[i], i == ELEMENTS(texts) - 1 ? 4 : strlen(texts[i]), data, &n), -EINVAL);
}

static void test_either_alphabet_is_taken(void **state) {
        uint8_t a[8], b[8];
        size_t n_a, n_b;

        assert_int_equal(base64_decode("+/+/+w==", 8, a, &n_a), 0);
        assert_int_equal(base64_decode("-_-_-w==", 8, b, &n_b), 0);
        assert_int_equal(n_a, 4);
        assert_int_equal(n_b, 4);
        assert_memory_equal(a, b, 4);
}

/* Of all texts of four characters exactly those decode that encoding what they mean gives back. */
static void test_every_short_text_decodes_only_to_what_encodes_to_it(void **state) {
        static const char some[] = "ABQZaghwz0189+/-_=";
        size_t n_taken = 0;

        for (size_t i = 0; i < 18 * 18 * 18 * 18; i++) {
                char text[4] = { some[i % 18], some[i / 18 % 18], some[i / 324 % 18], some[i / 5832] }, again[4];
                uint8_t data[3];
                size_t n;

                if (base64_decode(text, 4, data, &n) < 0)
                        continue;
                n_taken++;
                assert_ptr_equal(base64_encode(data, n, again), again + 4);
                for (size_t k = 0; k < 4; k++)
                        if (text[k] != '-' && text[k] != '_')
                                assert_int_equal(again[k], text[k]);
        }
        assert_true(n_taken > 1000);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_vectors_of_the_standard_come_out_both_ways),
                cmocka_unit_test(test_every_length_comes_out_as_from_openssl),
                cmocka_unit_test(test_a_text_that_is_not_the_one_text_of_its_meaning_is_refused),
                cmocka_unit_test(test_either_alphabet_is_taken),
                cmocka_unit_test(test_every_short_text_decodes_only_to_what_encodes_to_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
