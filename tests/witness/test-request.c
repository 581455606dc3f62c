/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "daemon/witness/request.h"

/* From c2sp.org/tlog-witness@v1.0.0. */
static const char public[] = "old 20852014\n"
                             "PlRNCrwHpqhGrupue0L7gxbjbMiKA9temvuZZDDpkaw=\n"
                             "jrJZDmY8Y7SyJE0MWLpLozkIVMSMZcD5kvuKxPC3swk=\n"
                             "5+pKlUdi2LeF/BcMHBn+Ku6yhPGNCswZZD1X/6QgPd8=\n"
                             "/6WVhPs2CwSsb5rYBH5cjHV/wSmA79abXAwhXw3Kj/0=\n"
                             "\n"
                             "example.com/behind-the-sofa\n"
                             "20852163\n"
                             "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n"
                             "\n"
                             "\xe2\x80\x94 example.com/behind-the-sofa "
                             "Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=\n"
                             "\xe2\x80\x94 example.com/behind-the-sofa "
                             "opLqBQsREYCgu6xQkYQwJr9fo45a62DN9EdmHXnZdXNqlcVGlCum2Wks+49/V6267UEjw6QUXTS5Rovnzv++qbSzm9Q=\n";

static void test_the_example_of_the_standard_is_read_and_printed(void **state) {
        _cleanup_free_ Request *request = malloc(sizeof(*request));
        _cleanup_printer_ Printer again = {};
        const char *wrong;

        assert_int_equal(request_parse(public, strlen(public), request, &wrong), 0);
        assert_int_equal(request->old, 20852014);
        assert_int_equal(request->path.n, 4);
        assert_int_equal(request->note.n_signatures, 2);
        assert_int_equal(request->checkpoint.size, 20852163);
        assert_string_equal(request->checkpoint.origin, "example.com/behind-the-sofa");
        request_print(&again, request->old, &request->path, request->note.text, request->n_note);
        assert_int_equal(again.n, strlen(public));
        assert_memory_equal(again.text, public, again.n);
        assert_true(again.n < REQUEST_MAX);
}

/* No other text means the same: what is cut off or altered is refused, or is a request that prints differently. */
static void test_no_two_texts_mean_the_same(void **state) {
        _cleanup_free_ Request *request = malloc(sizeof(*request));
        const char *wrong = NULL;
        char body[sizeof(public)];

        for (size_t n = 0; n + 1 < sizeof(public); n++) {
                int r = request_parse(public, n, request, &wrong);

                assert_true(r == 0 ? public[n - 1] == '\n' : r == -EBADMSG && wrong);
        }
        for (size_t i = 0; i < 8 * strlen(public); i++) {
                _cleanup_printer_ Printer again = {};

                memcpy(body, public, sizeof(body));
                body[i / 8] ^= (char) (1 << i % 8);
                if (request_parse(body, strlen(public), request, &wrong) < 0)
                        continue;
                request_print(&again, request->old, &request->path, request->note.text, request->n_note);
                assert_int_equal(again.n, strlen(public));
                assert_memory_equal(again.text, body, again.n);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_example_of_the_standard_is_read_and_printed),
                cmocka_unit_test(test_no_two_texts_mean_the_same),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
