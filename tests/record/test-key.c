/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "checks/text/whole-file.h"
#include "daemon/record/keys/envelope.h"
#include "daemon/record/keys/key.h"
#include "tests/record/place.h"

/* RFC 8032 section 7.1, test 1; the fingerprint was computed from the public key with sha256sum. */
static const char rfc_private[] = "-----BEGIN PRIVATE KEY-----\n"
                                  "MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n"
                                  "-----END PRIVATE KEY-----\n";
static const char rfc_public[] = "-----BEGIN PUBLIC KEY-----\n"
                                 "MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=\n"
                                 "-----END PUBLIC KEY-----\n";
static const char rfc_fingerprint[] = "SHA256:bbXpuKG6zhzdmnxq256TlqzFBzRl2f6OOg722cYNbU8";
static const uint8_t rfc_signature_of_nothing[] = {
        0xe5, 0x56, 0x43, 0x00, 0xc3, 0x60, 0xac, 0x72, 0x90, 0x86, 0xe2, 0xcc, 0x80, 0x6e, 0x82, 0x8a,
        0x84, 0x87, 0x7f, 0x1e, 0xb8, 0xe5, 0xd9, 0x74, 0xd8, 0x73, 0xe0, 0x65, 0x22, 0x49, 0x01, 0x55,
        0x5f, 0xb8, 0x82, 0x15, 0x90, 0xa3, 0x3b, 0xac, 0xc6, 0x1e, 0x39, 0x70, 0x1c, 0xf9, 0xb4, 0x6b,
        0xd2, 0x5b, 0xf5, 0xf0, 0x59, 0x5b, 0xbe, 0x24, 0x65, 0x51, 0x41, 0x43, 0x8e, 0x7a, 0x10, 0x0b,
};

static Place place;

/* What was synced, in order: f for a file, d for a folder. */
static char synced[8];

int fsync(int fd) {
        struct stat st;
        size_t n = strlen(synced);

        if (fstat(fd, &st) == 0 && n + 1 < sizeof(synced))
                synced[n] = S_ISDIR(st.st_mode) ? 'd' : 'f';
        return (int) syscall(SYS_fsync, fd);
}

static int setup(void **state) {
        place_init(&place);
        return 0;
}

static int teardown(void **state) {
        place_done(&place);
        return 0;
}

static void test_the_vector_of_the_standard_signs_as_it_says(void **state) {
        uint8_t signature[KEY_SIGNATURE_MAX];
        RecordKey *key;
        char path[128];
        size_t n;

        (void) snprintf(path, sizeof(path), "%s/rfc.key", place.folder);
        assert_int_equal(whole_file_replace(AT_FDCWD, path, 0600, rfc_private, strlen(rfc_private)), 0);
        assert_int_equal(record_key_load(path, &key), 0);
        assert_string_equal(record_key_id(key), rfc_fingerprint);
        assert_string_equal(record_key_public_pem(key), rfc_public);
        assert_int_equal(key_sign(key, "", 0, signature, &n), 0);
        assert_int_equal(record_key_algorithm(key), RECORD_ED25519);
        assert_int_equal(n, sizeof(rfc_signature_of_nothing));
        assert_memory_equal(signature, rfc_signature_of_nothing, n);
        assert_int_equal(public_key_verify(key_public(key), "", 0, signature, n), 1);
        assert_int_equal(public_key_verify(key_public(key), "x", 1, signature, n), 0);
        assert_int_equal(public_key_verify(key_public(key), "", 0, signature, n - 1), 0);
        assert_int_equal(public_key_verify(key_public(key), "", 0, signature, 0), 0);
        assert_int_equal(public_key_verify(key_public(key), "", 0, signature, sizeof(signature)), 0);
        signature[63] ^= 0x20;
        assert_int_equal(public_key_verify(key_public(key), "", 0, signature, n), 0);
        (void) record_key_free(key);
}

/* RFC 6979 section A.2.5; the fingerprint is what ssh-keygen says. */
static const char p256_public[] = "-----BEGIN PUBLIC KEY-----\n"
                                  "MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEYP7UuiVanTHJYet0xjVtaMBJuJI7\n"
                                  "Yfps5mliLmDyn7Z5A/4QCLi8maQa6elWKLxk8vGyDC1+n1F3o8KU1EYimQ==\n"
                                  "-----END PUBLIC KEY-----\n";
static const char p256_fingerprint[] = "SHA256:hfuNWmjIYvsBGZ6dpCLTTAEa5LxbZABRHHVoynAxFlo";
static const uint8_t p256_signature_of_sample[] = {
        0x30, 0x46, 0x02, 0x21, 0x00, 0xef, 0xd4, 0x8b, 0x2a, 0xac, 0xb6, 0xa8, 0xfd, 0x11, 0x40, 0xdd, 0x9c, 0xd4, 0x5e, 0x81, 0xd6, 0x9d, 0x2c, 0x87,
        0x7b, 0x56, 0xaa, 0xf9, 0x91, 0xc3, 0x4d, 0x0e, 0xa8, 0x4e, 0xaf, 0x37, 0x16, 0x02, 0x21, 0x00, 0xf7, 0xcb, 0x1c, 0x94, 0x2d, 0x65, 0x7c, 0x41,
        0xd4, 0x36, 0xc7, 0xa1, 0xb6, 0xe2, 0x9f, 0x65, 0xf3, 0xe9, 0x00, 0xdb, 0xb9, 0xaf, 0xf4, 0x06, 0x4d, 0xc4, 0xab, 0x2f, 0x84, 0x3a, 0xcd, 0xa8,
};

static void test_the_other_vector_verifies_and_no_bit_of_it_may_turn(void **state) {
        uint8_t signature[sizeof(p256_signature_of_sample) + 1] = {};
        size_t n = sizeof(p256_signature_of_sample);
        PublicKey key, again;
        char *pem;

        assert_int_equal(public_key_from_pem(&key, p256_public, strlen(p256_public)), 0);
        assert_int_equal(key.algorithm, RECORD_ECDSA_P256);
        assert_string_equal(key.id, p256_fingerprint);
        assert_int_equal(key.n_spki, 91);
        assert_string_equal(public_key_details(&key), "PKIX_ECDSA_P256_SHA_256");
        assert_int_equal(public_key_to_pem(&key, &pem), 0);
        assert_string_equal(pem, p256_public);
        free(pem);
        assert_int_equal(public_key_from_spki(&again, key.spki, key.n_spki), 0);
        assert_string_equal(again.id, key.id);
        public_key_done(&again);

        memcpy(signature, p256_signature_of_sample, n);
        assert_int_equal(public_key_verify(&key, "sample", 6, signature, n), 1);
        assert_int_equal(public_key_verify(&key, "simple", 6, signature, n), 0);
        assert_int_equal(public_key_verify(&key, "sample", 6, signature, n - 1), 0);
        assert_int_equal(public_key_verify(&key, "sample", 6, signature, n + 1), 0);
        for (size_t i = 0; i < n * 8; i++) {
                signature[i / 8] ^= (uint8_t) (1u << i % 8);
                assert_int_equal(public_key_verify(&key, "sample", 6, signature, n), 0);
                signature[i / 8] ^= (uint8_t) (1u << i % 8);
        }
        public_key_done(&key);
}

static void test_a_key_of_either_algorithm_signs_what_it_verifies(void **state) {
        static const size_t sizes[] = { 44, 91 };

        for (RecordAlgorithm i = 0; i < _RECORD_ALGORITHM_MAX; i++) {
                uint8_t signature[KEY_SIGNATURE_MAX];
                char path[128];
                RecordKey *key;
                size_t n;

                assert_int_equal(record_algorithm_from_string(record_algorithm_to_string(i)), i);
                (void) snprintf(path, sizeof(path), "%s/%s.key", place.folder, record_algorithm_to_string(i));
                memset(synced, 0, sizeof(synced));
                assert_int_equal(record_key_generate(path, i), 0);
                assert_string_equal(synced, "ffd"); /* a key that signs is there after a loss of power, names and all */
                assert_int_equal(record_key_load(path, &key), 0);
                assert_int_equal(record_key_algorithm(key), i);
                assert_int_equal(key_public(key)->n_spki, sizes[i]);
                for (unsigned k = 0; k < 64; k++) { /* the length of DER varies */
                        assert_int_equal(key_sign(key, &k, sizeof(k), signature, &n), 0);
                        assert_int_equal(public_key_verify(key_public(key), &k, sizeof(k), signature, n), 1);
                }
                (void) record_key_free(key);
        }
        assert_int_equal(record_algorithm_from_string("rsa"), _RECORD_ALGORITHM_INVALID);
        assert_null(record_algorithm_to_string(_RECORD_ALGORITHM_INVALID));
}

static void test_a_public_key_has_one_form(void **state) {
        static const char *const bad[] = {
                "", "-----BEGIN PUBLIC KEY-----\n",
                /* compressed; hybrid, of which OpenSSL makes a key, too; P-384; the private half */
                "-----BEGIN PUBLIC KEY-----\nMDkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDIgADYP7UuiVanTHJYet0xjVtaMBJuJI7\nYfps5mliLmDyn7Y=\n-----END PUBLIC KEY-----\n",
                "-----BEGIN PUBLIC KEY-----\nMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAHYP7UuiVanTHJYet0xjVtaMBJuJI7\n"
                "Yfps5mliLmDyn7Z5A/4QCLi8maQa6elWKLxk8vGyDC1+n1F3o8KU1EYimQ==\n-----END PUBLIC KEY-----\n",
                "-----BEGIN PUBLIC KEY-----\n"
                "MHYwEAYHKoZIzj0CAQYFK4EEACIDYgAEe1bxd6JYSuJu6E+s+t5Ai/TyAtYmntNK\n"
                "yEMeDV9ClOe/WW3FLN83TK4pvpBLr549Sa2+cu7JBxT8GNmPqcO1hS+EtdO5wh1I\n"
                "NI6diM8Kr0tr8HVpFdgZDKcHJ2afXsMa\n"
                "-----END PUBLIC KEY-----\n",
                rfc_private,
        };
        char twice[512];
        PublicKey key;

        for (size_t i = 0; i < ELEMENTS(bad); i++)
                assert_int_equal(public_key_from_pem(&key, bad[i], strlen(bad[i])), -EBADMSG);

        /* A point that is on no curve; something before, behind, or a second key. */
        (void) snprintf(twice, sizeof(twice), "%s", p256_public);
        twice[100] ^= 1;
        assert_int_equal(public_key_from_pem(&key, twice, strlen(twice)), -EBADMSG);
        (void) snprintf(twice, sizeof(twice), "%s%s", p256_public, rfc_public);
        assert_int_equal(public_key_from_pem(&key, twice, strlen(twice)), -EBADMSG);
        (void) snprintf(twice, sizeof(twice), "x\n%s", p256_public);
        assert_int_equal(public_key_from_pem(&key, twice, strlen(twice)), -EBADMSG);
        (void) snprintf(twice, sizeof(twice), "%s\n ", p256_public);
        assert_int_equal(public_key_from_pem(&key, twice, strlen(twice)), 0);
        public_key_done(&key);
}

static void test_a_key_that_others_may_read_is_refused(void **state) {
        static const struct {
                mode_t mode;
                int result;
        } cases[] = {
                { 0600, 0 }, { 0400, 0 }, { 0440, 0 }, { 0640, 0 },
                { 0644, -EPERM }, { 0604, -EPERM }, { 0660, -EPERM }, { 0602, -EPERM },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                RecordKey *key = NULL;

                assert_int_equal(chmod(place.key, cases[i].mode), 0);
                assert_int_equal(record_key_load(place.key, &key), cases[i].result);
                (void) record_key_free(key);
        }
        (void) chmod(place.key, 0600);
}

/* The owner of the file, or of the link that leads to it, chooses the key. */
static void test_a_key_that_others_may_choose_is_refused(void **state) {
        RecordKey *key = NULL;
        char link[128];

        (void) snprintf(link, sizeof(link), "%.63s/link.pem", place.folder);
        assert_int_equal(symlink(place.key, link), 0);
        assert_int_equal(record_key_load(link, &key), -ELOOP);
        assert_non_null(strstr(record_key_strerror(link, -ELOOP), "symbolic link"));
        assert_int_equal(unlink(link), 0);
        if (geteuid() != 0)
                return; /* only root can give a file away */
        assert_int_equal(chown(place.key, 65534, (gid_t) -1), 0);
        assert_int_equal(record_key_load(place.key, &key), -EPERM);
        assert_int_equal(chown(place.key, 0, (gid_t) -1), 0);
        assert_int_equal(record_key_load(place.key, &key), 0);
        (void) record_key_free(key);
}

static void test_only_a_private_key_is_asked_for_its_mode(void **state) {
        static const char *const texts[] = { "", "no key", "-----BEGIN PUBLIC KEY-----\nno key\n-----END PUBLIC KEY-----\n" };
        RecordKey *key = NULL;
        char path[128];

        (void) snprintf(path, sizeof(path), "%s/none.pem", place.folder);
        for (size_t i = 0; i < ELEMENTS(texts); i++) {
                assert_int_equal(whole_file_replace(AT_FDCWD, path, 0644, texts[i], strlen(texts[i])), 0);
                assert_int_equal(record_key_load_public(path, &key), -EBADMSG);
        }
        assert_int_equal(chmod(place.key, 0644), 0);
        assert_int_equal(record_key_load_public(place.key, &key), -EPERM);
        (void) chmod(place.key, 0600);
        assert_int_equal(record_key_load_public(place.key, &key), 0);
        (void) record_key_free(key);
}

static void test_what_is_no_key_of_ours_is_refused(void **state) {
        static const char *const commands[] = {
                ": >'%s'",
                "echo nonsense >'%s'",
                "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-384 -out '%s' 2>/dev/null",
                "openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -pkeyopt ec_param_enc:explicit -out '%s' 2>/dev/null",
                "openssl genpkey -algorithm X25519 -out '%s' 2>/dev/null",
                "openssl genpkey -algorithm ed25519 2>/dev/null | openssl pkey -pubout -out '%s'",
                "openssl genpkey -algorithm ed25519 -aes-256-cbc -pass pass:secret -out '%s' 2>/dev/null",
        };
        RecordKey *key = NULL;
        char path[128], command[512];

        (void) snprintf(path, sizeof(path), "%s/bad.key", place.folder);
        assert_int_equal(record_key_load(path, &key), -ENOENT);
        assert_int_equal(record_key_load(place.folder, &key), -EBADMSG);
        for (size_t i = 0; i < ELEMENTS(commands); i++) {
                (void) snprintf(command, sizeof(command), "umask 077; ");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
                (void) snprintf(command + 11, sizeof(command) - 11, commands[i], path);
#pragma GCC diagnostic pop
                assert_int_equal(system(command), 0);
                assert_int_equal(record_key_load(path, &key), -EBADMSG);
                assert_int_equal(unlink(path), 0);
        }
        assert_null(key);
}

static void test_a_new_key_is_private_and_never_replaces_another(void **state) {
        struct stat st, public;
        RecordKeyring *keyring;
        char path[128];
        RecordKey *key;

        assert_int_equal(stat(place.key, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(record_key_generate(place.key, RECORD_ED25519), -EEXIST);
        (void) snprintf(path, sizeof(path), "%s.pub", place.key);
        assert_int_equal(stat(path, &public), 0);
        assert_int_equal(record_key_load(place.key, &key), 0);
        assert_int_equal(record_keyring_load(path, &keyring), 0);
        (void) record_keyring_free(keyring);
        (void) record_key_free(key);

        /* Half a pair is none. */
        (void) snprintf(path, sizeof(path), "%s/half.pub", place.folder);
        assert_int_equal(whole_file_replace(AT_FDCWD, path, 0644, "taken", strlen("taken")), 0);
        (void) snprintf(path, sizeof(path), "%s/half", place.folder);
        assert_int_equal(record_key_generate(path, RECORD_ED25519), -EEXIST);
        assert_int_equal(access(path, F_OK), -1);
        assert_int_equal(record_key_generate("/nonexistent/key", RECORD_ED25519), -ENOENT);
}

static void test_a_service_makes_public_halves_that_others_may_read(void **state) {
        mode_t mask = umask(0077);
        char path[128], public[160];
        struct stat st;

        (void) snprintf(path, sizeof(path), "%s/service.pem", place.folder);
        (void) snprintf(public, sizeof(public), "%s.pub", path);
        assert_int_equal(record_key_generate(path, RECORD_ED25519), 0);
        (void) umask(mask);
        assert_int_equal(stat(path, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0600);
        assert_int_equal(stat(public, &st), 0);
        assert_int_equal(st.st_mode & 07777, 0644);
}

static void test_two_keys_are_two(void **state) {
        RecordKey *a = place_key(&place, "record.key", RECORD_ED25519), *b = place_key(&place, "second.key", RECORD_ED25519);

        assert_string_not_equal(record_key_id(a), record_key_id(b));
        (void) record_key_free(a);
        (void) record_key_free(b);
}

static RecordKey *rfc_key(void) {
        RecordKey *key;
        char path[128];

        (void) snprintf(path, sizeof(path), "%s/secret.key", place.folder);
        assert_int_equal(whole_file_replace(AT_FDCWD, path, 0600, rfc_private, strlen(rfc_private)), 0);
        assert_int_equal(record_key_load(path, &key), 0);
        return key;
}

/* SHA-256 of what `openssl pkeyutl -sign -rawin` says of the line "assay secret v1, never told: waiting"; RFC 4231, section 4.2: its key, which is shorter,
 * is filled up with zeros. */
static void test_a_key_gives_a_secret_for_each_purpose(void **state) {
        static const uint8_t hmac_key[DIGEST_BYTES] = { 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11 };
        RecordKey *key = rfc_key(), *other = place_key(&place, "ecdsa.key", RECORD_ECDSA_P256), *public;
        uint8_t secret[DIGEST_BYTES], again[DIGEST_BYTES];
        char hex[DIGEST_HEX];

        assert_int_equal(key_secret(key, "waiting", secret), 0);
        assert_string_equal(digest_to_hex(secret, hex), "89078e1e3b2972ef34d7cd2644b273395555ed21fef60bb4c40c62eb1836f032");
        assert_int_equal(key_secret(key, "another", again), 0);
        assert_memory_not_equal(secret, again, sizeof(secret));
        assert_int_equal(key_secret(other, "waiting", again), -EOPNOTSUPP);
        assert_int_equal(record_key_from_public_pem(rfc_public, &public), 0);
        assert_int_equal(key_secret(public, "waiting", again), -EOPNOTSUPP);
        assert_int_equal(digest_hmac(hmac_key, "Hi There", 8, secret), 0);
        assert_string_equal(digest_to_hex(secret, hex), "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
        (void) record_key_free(public);
        (void) record_key_free(other);
        (void) record_key_free(key);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_vector_of_the_standard_signs_as_it_says),
                cmocka_unit_test(test_the_other_vector_verifies_and_no_bit_of_it_may_turn),
                cmocka_unit_test(test_a_key_of_either_algorithm_signs_what_it_verifies),
                cmocka_unit_test(test_a_public_key_has_one_form),
                cmocka_unit_test(test_a_key_that_others_may_read_is_refused),
                cmocka_unit_test(test_a_key_that_others_may_choose_is_refused),
                cmocka_unit_test(test_only_a_private_key_is_asked_for_its_mode),
                cmocka_unit_test(test_what_is_no_key_of_ours_is_refused),
                cmocka_unit_test(test_a_new_key_is_private_and_never_replaces_another),
                cmocka_unit_test(test_a_service_makes_public_halves_that_others_may_read),
                cmocka_unit_test(test_two_keys_are_two),
                cmocka_unit_test(test_a_key_gives_a_secret_for_each_purpose),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
