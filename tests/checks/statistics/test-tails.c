/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Tails against exact ones: rationals of whole numbers (for Poisson, 400 decimal digits), summed term by term by another program
 * and written down here with twenty digits.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "checks/statistics/tails.h"
#include "checks/text/cleanup.h"

typedef struct Exact {
        uint64_t k, n; /* n 0: Poisson, P is its mean */
        double p;
        long double at_most, at_least;
} Exact;

static const Exact exact[] = {
        { 0, 105, 0x1p-2, 7.6108411235127483086e-14L, 1 },
        { 105, 105, 0x1.8p-1, 1, 7.6108411235127483086e-14L },
        { 17, 105, 0x1p-2, 2.0714091200783298308e-2L, 9.8894607503858815450e-1L },
        { 60, 105, 0x1p-2, 9.9999999999937394873e-1L, 2.5765951519996643724e-12L },
        { 0, 2400, 0x1p-2, 1.4029175240095643508e-300L, 1 },
        { 300, 2000, 0x1p-1, 3.8208651397929664827e-237L, 1 },
        { 999, 2000, 0x1p-1, 4.9108049442707283963e-1L, 5.2674069552882558267e-1L },
        { 1001, 2000, 0x1p-1, 5.2674069552882558267e-1L, 4.9108049442707283963e-1L },
        { 1120, 2000, 0x1p-1, 9.9999996578651563522e-1L, 4.3886958819921212493e-8L },
        { 1700, 2000, 0x1p-1, 1, 3.8208651397929664827e-237L },
        { 3, 4096, 0x1p-8, 9.1205898840679985235e-5L, 9.9998407261573675683e-1L },
        { 16, 4096, 0x1p-8, 5.6596254966612252029e-1L, 5.3344932784763317112e-1L },
        { 90, 4096, 0x1p-8, 1, 1.1062322443033158654e-37L },
        { 700, 4096, 0x1.999999999999ap-4, 1, 4.4942440894454920099e-44L },
        { 1, 1, 0x1p-1, 1, 0.5L },
        { 25, 50, 0x1.3333333333333p-2, 9.9906682068674403252e-1L, 2.3695478489822620864e-3L },
        { 24, 49, 0x1.5555555555555p-2, 9.9212752086344000453e-1L, 1.6735095073327958210e-2L },
        { 2000, 2000, 0x1.70a3d70a3d70ap-1, 1, 4.6237342240709609028e-286L },
        { 50, 3000, 0x1p-10, 1, 2.8389932485024691607e-43L },
        { 2900, 3000, 0x1.8p-1, 1, 3.4394747009672619148e-234L },
        { 0, 0, 212, 8.5029541353038658598e-93L, 1 },
        { 112, 0, 212, 3.2019517500564957618e-14L, 9.9999999999998324657e-1L },
        { 330, 0, 212, 9.9999999999997405292e-1L, 4.0722033044960931342e-14L },
        { 211, 0, 212, 4.9086660708021968712e-1L, 5.3652209312248310892e-1L },
        { 213, 0, 212, 5.4551542203866423320e-1L, 4.8174469271707751685e-1L },
        { 0, 0, 600, 2.6503965530043108163e-261L, 1 },
        { 5, 0, 1.5, 9.9554401922475215081e-1L, 1.8575936222140674301e-2L },
        { 900, 0, 212, 1, 8.2952322069249943062e-269L },
        { 24, 0, 25, 4.7339846855634935672e-1L, 6.0612448291171608932e-1L },
        { 25, 0, 24.5, 5.9261605741305873683e-1L, 4.8650491635870932344e-1L },
        { 1, 0, 0x1.0624dd2f1a9fcp-10, 9.9999950033320836666e-1L, 9.9950016662500835274e-4L },
        { 700, 0, 1000, 6.9330099017264147661e-24L, 1 },
        { 1300, 0, 1000, 9.9999999999999999995e-1L, 6.8870866654301652273e-20L },
        { 2100, 0, 1000, 1, 1.9216004314540925935e-201L },
};

static void assert_near(double value, long double wanted, size_t i) {
        if (wanted < 1e-300L)
                return; /* a double has fewer digits there */
        if (!(fabsl((long double) value / wanted - 1) <= 1e-10L))
                fail_msg("row %zu: %.17g instead of %.17Lg", i, value, wanted);
}

static void test_tails_are_those_of_exact_fractions(void **state) {
        for (size_t i = 0; i < ELEMENTS(exact); i++) {
                const Exact *e = &exact[i];

                assert_near(e->n ? binomial_at_most(e->k, e->n, e->p) : poisson_at_most(e->k, e->p), e->at_most, i);
                assert_near(e->n ? binomial_at_least(e->k, e->n, e->p) : poisson_at_least(e->k, e->p), e->at_least, i);
        }
}

/* By Pascal's triangle on long doubles: all of them, where the table has some. */
static long double tail_by_recurrence(unsigned from, unsigned to, unsigned n, long double p) {
        long double row[257] = { 1 }, sum = 0;

        for (unsigned i = 1; i <= n; i++)
                for (unsigned k = i + 1; k-- > 0;)
                        row[k] = row[k] * (1 - p) + (k > 0 ? row[k - 1] * p : 0);
        for (unsigned k = from; k <= to; k++)
                sum += row[k];
        return sum;
}

static void test_tails_agree_with_the_recurrence(void **state) {
        static const double ps[] = { 0.25, 0.5, 0.75, 1.0 / 256, 0.999 };
        static const unsigned ns[] = { 1, 2, 23, 24, 25, 105 };

        for (size_t i = 0; i < ELEMENTS(ps); i++)
                for (size_t j = 0; j < ELEMENTS(ns); j++)
                        for (unsigned k = 0; k <= ns[j]; k++) {
                                assert_near(binomial_at_most(k, ns[j], ps[i]), tail_by_recurrence(0, k, ns[j], (long double) ps[i]), k);
                                assert_near(binomial_at_least(k, ns[j], ps[i]), tail_by_recurrence(k, ns[j], ns[j], (long double) ps[i]), k);
                        }
}

/* A Poisson is the binomial of very many and very rare ones. */
static void test_rare_events_are_poissons(void **state) {
        for (uint64_t k = 0; k < 40; k += 3) {
                assert_true(fabs(binomial_at_most(k, 100000000, 1e-7) / poisson_at_most(k, 10) - 1) < 1e-4);
                assert_true(fabs(binomial_at_least(k, 100000000, 1e-7) / poisson_at_least(k, 10) - 1) < 1e-4);
        }
}

static void test_105_of_one_side_is_rarer_than_1e_13(void **state) {
        assert_true(binomial_at_most(0, 105, 0.25) < 1e-13);
        assert_true(binomial_at_most(0, 104, 0.25) > 1e-13); /* 1.01e-13: one sample less is not enough */
        assert_true(binomial_at_least(105, 105, 0.75) < 1e-13);
}

static void test_a_p_value_is_at_most_one(void **state) {
        assert_true(binomial_p_value(1, 2, 0.5) == 1);
        assert_true(fabs(binomial_p_value(0, 10, 0.5) - 2.0 / 1024) < 1e-12);
        assert_true(poisson_p_value(10, 10) <= 1);
        assert_true(fabs(poisson_p_value(0, 10) - 2 * exp(-10)) < 1e-15);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tails_are_those_of_exact_fractions),
                cmocka_unit_test(test_tails_agree_with_the_recurrence),
                cmocka_unit_test(test_rare_events_are_poissons),
                cmocka_unit_test(test_105_of_one_side_is_rarer_than_1e_13),
                cmocka_unit_test(test_a_p_value_is_at_most_one),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
