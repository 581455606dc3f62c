/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <p11-kit/pkcs11.h>
#include <stdio.h>
#include <sys/stat.h>

#include "checks/text/whole-file.h"
#include "daemon/record/keys/token.h"
#include "tests/record/place.h"

/* Keys made by openssl and put into SoftHSM by its own tool. */

static const char *const modules[] = { "/usr/lib/softhsm/libsofthsm2.so", "/usr/lib64/pkcs11/libsofthsm2.so", "/usr/lib/pkcs11/libsofthsm2.so" };
static const char *module;
static Place place;
static char pin[512], wrong_pin[128];

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void run(const char *format, ...) {
        char command[1024];
        va_list arguments;

        va_start(arguments, format);
        (void) vsnprintf(command, sizeof(command), format, arguments);
        va_end(arguments);
        if (system(command) != 0)
                fail_msg("%s", command);
}

static const char *uri(const char *format, ...) {
        static char text[1024];
        va_list arguments;
        int n;

        n = snprintf(text, sizeof(text), "pkcs11:");
        va_start(arguments, format);
        n += vsnprintf(text + n, sizeof(text) - (size_t) n, format, arguments);
        va_end(arguments);
        (void) snprintf(text + n, sizeof(text) - (size_t) n, "%smodule-path=%s", strchr(text, '?') ? "&" : "?", module);
        return text;
}
#pragma GCC diagnostic pop

static void make_token(void) {
        run("softhsm2-util --init-token --free --label station --so-pin 12345678 --pin 1234 >/dev/null");
        for (RecordAlgorithm i = 0; i < _RECORD_ALGORITHM_MAX; i++) {
                const char *word = record_algorithm_to_string(i);

                run("softhsm2-util --import %s/%s.key --token station --label %s --id 0%d --pin 1234 >/dev/null", place.folder, word, word, i + 1);
        }
}

static int setup(void **state) {
        char path[256];

        for (size_t i = 0; i < ELEMENTS(modules) && !module; i++)
                if (access(modules[i], R_OK) == 0 && system("command -v softhsm2-util >/dev/null") == 0)
                        module = modules[i];
        place_init(&place);
        if (!module)
                return 0;
        (void) snprintf(path, sizeof(path), "%s/tokens", place.folder);
        assert_int_equal(mkdir(path, 0700), 0);
        (void) snprintf(pin, sizeof(pin), "directories.tokendir = %s\nobjectstore.backend = file\n", path);
        (void) snprintf(path, sizeof(path), "%s/softhsm2.conf", place.folder);
        assert_int_equal(whole_file_replace(AT_FDCWD, path, 0600, pin, strlen(pin)), 0);
        (void) setenv("SOFTHSM2_CONF", path, 1);
        (void) snprintf(pin, sizeof(pin), "%s/pin", place.folder);
        assert_int_equal(whole_file_replace(AT_FDCWD, pin, 0600, "1234\n", strlen("1234\n")), 0);
        (void) snprintf(wrong_pin, sizeof(wrong_pin), "%s/wrong-pin", place.folder);
        assert_int_equal(whole_file_replace(AT_FDCWD, wrong_pin, 0600, "4321\n", strlen("4321\n")), 0);
        for (RecordAlgorithm i = 0; i < _RECORD_ALGORITHM_MAX; i++) {
                (void) snprintf(path, sizeof(path), "%s/%s.key", place.folder, record_algorithm_to_string(i));
                assert_int_equal(record_key_generate(path, i), 0);
        }
        make_token();
        return 0;
}

static int teardown(void **state) {
        place_done(&place);
        return 0;
}

static void need_softhsm(void) {
        if (module)
                return;
        print_message("# skipped: no softhsm2\n");
        skip();
}

static void load_file(RecordAlgorithm algorithm, RecordKey **ret) {
        char path[256];

        (void) snprintf(path, sizeof(path), "%s/%s.key", place.folder, record_algorithm_to_string(algorithm));
        assert_int_equal(record_key_load(path, ret), 0);
}

static void test_a_token_signs_as_the_file_its_key_came_from(void **state) {
        need_softhsm();
        for (RecordAlgorithm i = 0; i < _RECORD_ALGORITHM_MAX; i++) {
                uint8_t signature[KEY_SIGNATURE_MAX], secret[DIGEST_BYTES], same[DIGEST_BYTES];
                RecordKey *file, *key, *public;
                size_t n;

                load_file(i, &file);
                assert_int_equal(record_key_load(uri("token=station;object=%s?pin-source=%s", record_algorithm_to_string(i), pin), &key), 0);
                assert_int_equal(record_key_algorithm(key), i);
                assert_string_equal(record_key_id(key), record_key_id(file));
                assert_string_equal(record_key_public_pem(key), record_key_public_pem(file));
                for (unsigned k = 0; k < 16; k++) {
                        assert_int_equal(key_sign(key, &k, sizeof(k), signature, &n), 0);
                        assert_int_equal(public_key_verify(key_public(file), &k, sizeof(k), signature, n), 1);
                }
                assert_int_equal(key_secret(key, "waiting", secret), i == RECORD_ED25519 ? 0 : -EOPNOTSUPP);
                assert_int_equal(key_secret(file, "waiting", same), i == RECORD_ED25519 ? 0 : -EOPNOTSUPP);
                assert_memory_equal(secret, same, i == RECORD_ED25519 ? sizeof(secret) : 0);
                (void) record_key_free(key);

                /* Who only looks needs no PIN, and signs nothing. */
                assert_int_equal(record_key_load_public(uri("token=station;id=%%0%d", i + 1), &public), 0);
                assert_string_equal(record_key_id(public), record_key_id(file));
                assert_true(key_sign(public, "", 0, signature, &n) < 0);
                (void) record_key_free(public);
                (void) record_key_free(file);
        }
}

static void test_each_error_is_told_apart(void **state) {
        const struct {
                const char *uri;
                int result;
        } cases[] = {
                { strdupa(uri("token=station;object=ed25519?pin-source=%s", wrong_pin)), -EACCES },
                { strdupa(uri("token=station;object=ed25519?pin-source=/nonexistent")), -ENOENT },
                { strdupa(uri("token=station;object=ed25519?pin-source=pin")), -EINVAL },
                { strdupa(uri("token=station;object=ed25519?pin-source=|cat")), -EINVAL },
                { strdupa(uri("token=station;object=ed25519")), -EACCES },
                { strdupa(uri("token=station;object=other?pin-source=%s", pin)), -ENOKEY },
                { strdupa(uri("token=station?pin-source=%s", pin)), -ENOTUNIQ },
                { strdupa(uri("token=another;object=ed25519?pin-source=%s", pin)), -ENODEV },
                { strdupa(uri("token=station;object=ed25519;colour=red?pin-source=%s", pin)), -EINVAL },
                { "pkcs11:token=station;object=ed25519?module-path=/nonexistent.so", -ELIBACC },
                { "pkcs11:token=station;object=ed25519?module-name=softhsm2", -EINVAL },
                { "pkcs11:%", -EINVAL },
        };
        RecordKey *key = NULL;

        need_softhsm();
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                if (record_key_load(cases[i].uri, &key) != cases[i].result)
                        fail_msg("%s: %s", cases[i].uri, record_key_strerror(cases[i].uri, cases[i].result));
                assert_null(key);
                assert_non_null(record_key_strerror(cases[i].uri, cases[i].result));
        }
        assert_int_equal(chmod(pin, 0644), 0);
        assert_int_equal(record_key_load(uri("token=station;object=ed25519?pin-source=%s", pin), &key), -EPERM);
        assert_int_equal(chmod(pin, 0600), 0);
        assert_int_equal(record_key_load(uri("token=station;object=ed25519?pin-value=1234"), &key), 0);
        (void) record_key_free(key);
        assert_int_equal(record_key_source_length("pkcs11:token=a?pin-value=1234"), strlen("pkcs11:token=a"));
}

/* The module as if another caller had it: what it does there happens to all sessions. */
static CK_FUNCTION_LIST *raw_module(void **ret_handle) {
        CK_C_GetFunctionList get;
        CK_FUNCTION_LIST *list;

        *ret_handle = dlopen(module, RTLD_NOW | RTLD_LOCAL);
        assert_non_null(*ret_handle);
        *(void **) &get = dlsym(*ret_handle, "C_GetFunctionList");
        assert_non_null(get);
        assert_int_equal(get(&list), CKR_OK);
        return list;
}

static void test_a_lost_session_is_opened_again(void **state) {
        uint8_t signature[KEY_SIGNATURE_MAX];
        CK_FUNCTION_LIST *raw;
        CK_SLOT_ID slots[8];
        RecordKey *key;
        void *handle;
        CK_ULONG n_slots = 8;
        size_t n;

        need_softhsm();
        assert_int_equal(record_key_load(uri("token=station;object=ed25519?pin-source=%s", pin), &key), 0);
        raw = raw_module(&handle);
        assert_int_equal(raw->C_GetSlotList(CK_TRUE, slots, &n_slots), CKR_OK);
        for (CK_ULONG i = 0; i < n_slots; i++)
                assert_int_equal(raw->C_CloseAllSessions(slots[i]), CKR_OK);
        assert_int_equal(key_sign(key, "x", 1, signature, &n), 0);
        assert_int_equal(public_key_verify(key_public(key), "x", 1, signature, n), 1);
        assert_int_equal(raw->C_Finalize(NULL), CKR_OK);
        assert_int_equal(key_sign(key, "y", 1, signature, &n), 0);
        assert_int_equal(public_key_verify(key_public(key), "y", 1, signature, n), 1);

        /* A PIN that became wrong is sent once. */
        assert_int_equal(whole_file_replace(AT_FDCWD, pin, 0600, "4321", strlen("4321")), 0);
        assert_int_equal(raw->C_Finalize(NULL), CKR_OK);
        assert_int_equal(key_sign(key, "z", 1, signature, &n), -EACCES);
        assert_int_equal(whole_file_replace(AT_FDCWD, pin, 0600, "1234", strlen("1234")), 0);
        assert_int_equal(key_sign(key, "z", 1, signature, &n), -EACCES);
        (void) record_key_free(key);
        (void) dlclose(handle);
}

static void test_a_token_that_was_taken_out_is_missed_until_it_is_back(void **state) {
        uint8_t signature[KEY_SIGNATURE_MAX];
        CK_FUNCTION_LIST *raw;
        RecordKey *key;
        void *handle;
        size_t n;

        need_softhsm();
        assert_int_equal(record_key_load(uri("token=station;object=ecdsa-p256?pin-source=%s", pin), &key), 0);
        raw = raw_module(&handle);
        run("mv %s/tokens %s/away && mkdir %s/tokens", place.folder, place.folder, place.folder);
        assert_int_equal(raw->C_Finalize(NULL), CKR_OK);
        assert_int_equal(key_sign(key, "x", 1, signature, &n), -ENODEV);
        assert_int_equal(key_sign(key, "x", 1, signature, &n), -ENODEV);

        /* Another token of that name, with another key, is not the one. */
        run("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out %s/ecdsa-p256.key 2>/dev/null", place.folder);
        make_token();
        assert_int_equal(key_sign(key, "x", 1, signature, &n), -EIO);

        run("rm -r %s/tokens && mv %s/away %s/tokens", place.folder, place.folder, place.folder);
        assert_int_equal(raw->C_Finalize(NULL), CKR_OK);
        assert_int_equal(key_sign(key, "x", 1, signature, &n), 0);
        assert_int_equal(public_key_verify(key_public(key), "x", 1, signature, n), 1);
        (void) record_key_free(key);
        (void) dlclose(handle);
}

static void test_half_a_key_is_none(void **state) {
        RecordKey *key = NULL;

        need_softhsm();
        run("openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256 -out %s/a.key 2>/dev/null", place.folder);
        run("softhsm2-util --import %s/a.key --no-public-key --token station --label torn --id 07 --pin 1234 >/dev/null", place.folder);
        assert_int_equal(record_key_load(uri("token=station;object=torn?pin-source=%s", pin), &key), -ENOKEY);
        assert_null(key);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_token_signs_as_the_file_its_key_came_from),
                cmocka_unit_test(test_each_error_is_told_apart),
                cmocka_unit_test(test_a_lost_session_is_opened_again),
                cmocka_unit_test(test_a_token_that_was_taken_out_is_missed_until_it_is_back),
                cmocka_unit_test(test_half_a_key_is_none),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
