/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "daemon/record/keys/keyring.h"

#define KEY_A                                                                                                \
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"          \
        "-----END PUBLIC KEY-----\n"
#define KEY_A_ID "SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8"
/* RFC 8032 section 7.1, test 2. */
#define KEY_B                                                                                                \
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=\n"          \
        "-----END PUBLIC KEY-----\n"
#define KEY_P256                                                                                             \
        "-----BEGIN PUBLIC KEY-----\n"                                                                       \
        "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54W\n" \
        "K84zV2sxXs7LtkBoN79R9Q==\n-----END PUBLIC KEY-----\n"
#define KEY_X25519                                                                                           \
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VuAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"          \
        "-----END PUBLIC KEY-----\n"
#define CERTIFICATE "-----BEGIN CERTIFICATE-----\nMAA=\n-----END CERTIFICATE-----\n"

static size_t keys_in(const char *pem) {
        RecordKeyring *keyring = NULL;
        size_t n;
        int r;

        r = record_keyring_parse(pem, strlen(pem), &keyring);
        if (r < 0) {
                assert_int_equal(r, -EBADMSG);
                assert_null(keyring);
                return 0;
        }
        n = keyring->n_keys;
        (void) record_keyring_free(keyring);
        return n;
}

static void test_a_keyring_holds_every_key_once(void **state) {
        assert_int_equal(keys_in(KEY_A), 1);
        assert_int_equal(keys_in(KEY_A KEY_B), 2);
        assert_int_equal(keys_in(KEY_A KEY_B KEY_A), 2);
        assert_int_equal(keys_in(KEY_A KEY_P256 KEY_B), 3);
        assert_int_equal(keys_in("the station's key\n" KEY_A "\nand its spare\n" KEY_B "\n"), 2);
}

static void test_one_bad_block_spoils_the_keyring(void **state) {
        assert_int_equal(keys_in(""), 0);
        assert_int_equal(keys_in("nothing"), 0);
        assert_int_equal(keys_in(KEY_X25519), 0);
        assert_int_equal(keys_in(KEY_A KEY_X25519), 0);
        assert_int_equal(keys_in(KEY_A CERTIFICATE), 0);
        assert_int_equal(keys_in(KEY_A "-----BEGIN PUBLIC KEY-----\nMCow\n-----END PUBLIC KEY-----\n"), 0);
        assert_int_equal(keys_in(KEY_A "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA11qYAYKxCrfVS"), 0);
}

static void test_a_key_is_found_by_its_fingerprint(void **state) {
        RecordKeyring *keyring;

        assert_int_equal(record_keyring_parse(KEY_B KEY_A, strlen(KEY_B KEY_A), &keyring), 0);
        assert_ptr_equal(keyring_find(keyring, KEY_A_ID), &keyring->keys[1]);
        assert_null(keyring_find(keyring, ""));
        assert_null(keyring_find(keyring, "SHA256:"));
        (void) record_keyring_free(keyring);
}

static void test_a_file_that_is_not_there_is_told(void **state) {
        RecordKeyring *keyring;

        assert_int_equal(record_keyring_load("/nonexistent/keyring", &keyring), -ENOENT);
        assert_int_equal(record_keyring_load("/dev/null", &keyring), -EBADMSG);
        assert_int_equal(record_keyring_load("/dev/zero", &keyring), -EFBIG);
        assert_int_equal(record_keyring_load("/", &keyring), -EISDIR);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_keyring_holds_every_key_once),
                cmocka_unit_test(test_one_bad_block_spoils_the_keyring),
                cmocka_unit_test(test_a_key_is_found_by_its_fingerprint),
                cmocka_unit_test(test_a_file_that_is_not_there_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
