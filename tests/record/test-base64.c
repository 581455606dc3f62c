/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/param.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "checks/text/cleanup.h"
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

/* Bit by bit, as the standard says it. */
static void encode_plainly(const uint8_t *data, size_t n, char *text) {
        static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        size_t n_letters = (8 * n + 5) / 6;

        for (size_t i = 0; i < n_letters; i++) {
                unsigned letter = 0;

                for (size_t bit = 6 * i; bit < 6 * i + 6; bit++)
                        letter = letter << 1 | (bit < 8 * n ? data[bit / 8] >> (7 - bit % 8) & 1 : 0);
                text[i] = alphabet[letter];
        }
        memset(text + n_letters, '=', BASE64_SIZE(n) - n_letters);
}

static void fill(uint8_t *data, size_t n, unsigned seed) {
        for (size_t i = 0; i < n; i++)
                data[i] = (uint8_t) (((i + seed) * 0x9e3779b1u) >> 13);
}

/* Of each length, and with nothing read that was not given, nor written behind the text. */
static void test_every_length_comes_out_and_goes_back(void **state) {
        for (size_t n = 0; n <= 130; n++)
                for (unsigned seed = 0; seed < 64; seed++) {
                        char expected[256] = "", *text = malloc(MAX(BASE64_SIZE(n), 1u));
                        uint8_t *data = malloc(n ?: 1); /* so that a sanitizer sees what is read behind it */
                        uint8_t back[BASE64_SIZE(130)];
                        size_t n_back;

                        assert_non_null(data);
                        assert_non_null(text);
                        fill(data, n, seed);
                        encode_plainly(data, n, expected);
                        assert_ptr_equal(base64_encode(data, n, text), text + BASE64_SIZE(n));
                        assert_memory_equal(text, expected, BASE64_SIZE(n));
                        assert_int_equal(base64_decode(text, BASE64_SIZE(n), back, &n_back), 0);
                        assert_int_equal(n_back, n);
                        assert_memory_equal(back, data, n);
                        free(data);
                        free(text);
                }
}

/* Longer ones are decoded piece by piece: padding ends a text wherever it stands, and both alphabets are two however far apart. */
static void test_a_long_text_is_one_text(void **state) {
        enum { BYTES = 4000 };
        static uint8_t data[BYTES], back[BYTES + 3];
        static char text[BASE64_SIZE(BYTES)];
        size_t n;

        fill(data, BYTES, 7);
        for (size_t n_data = BYTES - 8; n_data <= BYTES; n_data++) {
                encode_plainly(data, n_data, text);
                assert_int_equal(base64_decode(text, BASE64_SIZE(n_data), back, &n), 0);
                assert_int_equal(n, n_data);
                assert_memory_equal(back, data, n);
        }
        for (size_t end = 4; end < sizeof(text); end += 4) {
                encode_plainly(data, BYTES, text);
                text[end - 1] = '=';
                assert_int_equal(base64_decode(text, sizeof(text), back, &n), -EINVAL);
        }
        memset(text, 'A', sizeof(text));
        text[0] = '+';
        assert_int_equal(base64_decode(text, sizeof(text), back, &n), 0);
        assert_int_equal(base64_decode_standard(text, sizeof(text), back, &n), 0);
        text[sizeof(text) - 1] = '_';
        assert_int_equal(base64_decode(text, sizeof(text), back, &n), -EINVAL);
        text[0] = '-';
        assert_int_equal(base64_decode(text, sizeof(text), back, &n), 0);
        assert_int_equal(back[0], 0xf8);
        assert_int_equal(base64_decode_standard(text, sizeof(text), back, &n), -EINVAL);
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
                cmocka_unit_test(test_every_length_comes_out_and_goes_back),
                cmocka_unit_test(test_a_long_text_is_one_text),
                cmocka_unit_test(test_a_text_that_is_not_the_one_text_of_its_meaning_is_refused),
                cmocka_unit_test(test_either_alphabet_is_taken),
                cmocka_unit_test(test_every_short_text_decodes_only_to_what_encodes_to_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
