/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/store/known.h"

static Known known;

static int setup(void **state) {
        known = (Known) {};
        return 0;
}

static void key_of(unsigned i, uint8_t ret[static DIGEST_BYTES]) {
        char text[DIGEST_BYTES];

        (void) snprintf(text, sizeof(text), "us0-%u/chip%u", i / 16, i % 16);
        assert_true(known_key(text, ret));
}

static void test_what_was_added_is_known_until_it_is_removed(void **state) {
        uint8_t one[DIGEST_BYTES], other[DIGEST_BYTES];

        key_of(1, one);
        key_of(2, other);
        assert_false(known_has(&known, one));
        known_add(&known, one);
        assert_true(known_has(&known, one));
        assert_false(known_has(&known, other));
        known_remove(&known, other);
        assert_true(known_has(&known, one));
        known_remove(&known, one);
        assert_false(known_has(&known, one));
}

/* It may forget, and must not take one for another; most of an UltraServer it keeps. */
static void test_it_forgets_and_confuses_nothing(void **state) {
        uint8_t key[DIGEST_BYTES];
        unsigned n_kept = 0;

        for (unsigned i = 0; i < 1000; i++) {
                key_of(i, key);
                assert_false(known_has(&known, key));
                known_add(&known, key);
                assert_true(known_has(&known, key));
        }
        known = (Known) {};
        for (unsigned i = 0; i < 64; i++) {
                key_of(i, key);
                known_add(&known, key);
        }
        for (unsigned i = 0; i < 64; i++) {
                key_of(i, key);
                n_kept += known_has(&known, key);
        }
        assert_in_range(n_kept, 48, 64);
}

static void test_no_text_and_a_long_one_are_no_keys(void **state) {
        uint8_t key[DIGEST_BYTES];
        char text[DIGEST_BYTES + 1] = "";

        assert_false(known_key("", key));
        memset(text, 'x', DIGEST_BYTES);
        assert_false(known_key(text, key));
        text[DIGEST_BYTES - 1] = '\0';
        assert_true(known_key(text, key));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_what_was_added_is_known_until_it_is_removed, setup),
                cmocka_unit_test_setup(test_it_forgets_and_confuses_nothing, setup),
                cmocka_unit_test_setup(test_no_text_and_a_long_one_are_no_keys, setup),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
