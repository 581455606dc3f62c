/* SPDX-License-Identifier: Apache-2.0 */

/* The codes of the SRAM arrays against decoders that know nothing but their definition: all errors of up to three bits. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/sram/ecc.h"
#include "tests/sim/plain-code.h"

static uint64_t random_u64(void) {
        static uint64_t x = 88172645463325252u;

        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        return x;
}

/* The answer for one access in which only WORD is wrong, over random data. */
static PlainWord decode_word(uint64_t wrong, unsigned word) {
        MemoryBits intended, got;
        MemoryEccTally tally = {};

        for (unsigned i = 0; i < 4; i++)
                intended.w[i] = random_u64();
        got = intended;
        got.w[word] ^= wrong;
        got = sram_decode_secded(got, &intended, &tally);
        for (unsigned i = 0; i < 4; i++)
                if (i != word)
                        assert_int_equal(got.w[i], intended.w[i]);
        return (PlainWord) { got.w[word] ^ intended.w[word], (unsigned) tally.corrected, (unsigned) tally.uncorrected };
}

static void same(PlainWord a, PlainWord b) {
        assert_int_equal(a.wrong, b.wrong);
        assert_int_equal(a.corrected, b.corrected);
        assert_int_equal(a.uncorrected, b.uncorrected);
}

static void columns_are_different_and_odd(void **state) {
        for (unsigned i = 0; i < 64; i++) {
                assert_int_equal(sram_secded_check(UINT64_C(1) << i), plain_column(i));
                assert_int_equal(__builtin_popcount(plain_column(i)) % 2, 1);
                for (unsigned k = 0; k < i; k++)
                        assert_int_not_equal(plain_column(i), plain_column(k));
        }
}

static void every_single_error_is_corrected_and_every_double_told(void **state) {
        for (unsigned i = 0; i < 64; i++) {
                same(decode_word(UINT64_C(1) << i, i % 4), (PlainWord) { 0, 1, 0 });
                for (unsigned k = 0; k < i; k++) {
                        uint64_t wrong = UINT64_C(1) << i | UINT64_C(1) << k;

                        same(decode_word(wrong, (i + k) % 4), (PlainWord) { wrong, 0, 1 });
                }
        }
}

static void more_errors_do_what_their_syndrome_says(void **state) {
        unsigned n_made_worse = 0, n_told = 0, n_silent = 0;

        for (unsigned i = 0; i < 64; i++)
                for (unsigned k = 0; k < i; k++)
                        for (unsigned m = 0; m < k; m++) {
                                uint64_t wrong = UINT64_C(1) << i | UINT64_C(1) << k | UINT64_C(1) << m;
                                PlainWord made = decode_word(wrong, m % 4);

                                same(made, plain_secded(wrong));
                                assert_int_not_equal(made.wrong, 0);
                                n_made_worse += made.corrected;
                                n_told += made.uncorrected;
                        }
        /* Most triples look like one error. */
        assert_true(n_made_worse > n_told && n_told > 0);

        for (unsigned i = 0; i < 200000; i++) {
                uint64_t wrong = random_u64() & random_u64();
                PlainWord made = decode_word(wrong, i % 4);

                same(made, plain_secded(wrong));
                n_silent += wrong != 0 && made.corrected + made.uncorrected == 0;
        }
        assert_true(n_silent > 0);
}

static void parity_tells_odd_numbers_of_errors_only(void **state) {
        for (unsigned i = 0; i < 256; i++)
                for (unsigned k = 0; k <= i; k++) {
                        MemoryBits intended, got;
                        MemoryEccTally tally = {};
                        unsigned expected = i == k ? 1 : i / 32 == k / 32 ? 0 : 2;

                        for (unsigned w = 0; w < 4; w++)
                                intended.w[w] = random_u64();
                        got = intended;
                        got.w[i / 64] ^= UINT64_C(1) << i % 64;
                        if (k != i)
                                got.w[k / 64] ^= UINT64_C(1) << k % 64;

                        MemoryBits passed = sram_decode_parity(got, &intended, &tally);
                        assert_memory_equal(&passed, &got, sizeof(got));
                        assert_int_equal(tally.uncorrected, expected);
                        assert_int_equal(tally.corrected, 0);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(columns_are_different_and_odd),
                cmocka_unit_test(every_single_error_is_corrected_and_every_double_told),
                cmocka_unit_test(more_errors_do_what_their_syndrome_says),
                cmocka_unit_test(parity_tells_odd_numbers_of_errors_only),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
