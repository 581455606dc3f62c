/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "checks/request.h"

#define DEVICE "\"device\":\"sim:s#us0-1\",\"plan_file\":\"try.yaml\""

static char plan[512];

/* Sends TEXT through a pipe and closes it. */
static int read_request(const char *text, size_t n, Request *ret, char **ret_error) {
        _cleanup_close_ int reading = -EBADF;
        int fds[2], r;

        assert_int_equal(pipe(fds), 0);
        reading = fds[0];
        assert_int_equal(write(fds[1], text, n), n);
        close(fds[1]);
        r = request_read(reading, ret, ret_error);
        return r;
}

static int read_line(const char *members, Request *ret, char **ret_error) {
        char text[4096];

        (void) snprintf(text, sizeof(text), "{%s,\"plan_bytes\":%zu}\n%s", members, strlen(plan), plan);
        return read_request(text, strlen(text), ret, ret_error);
}

static int make_plan(void **state) {
        (void) snprintf(plan, sizeof(plan),
                        "plan: try\nsummary: a try\nstage: PREFLIGHT\nbudget: 30\nsteps:\n  - check: %s\n",
                        check_word_at(0)->name);
        return 0;
}

static void test_a_request_is_read_whole(void **state) {
        _cleanup_(request_done) Request request = {};
        _cleanup_free_ char *error = NULL;

        assert_int_equal(read_line(DEVICE
                                   ",\"seed\":9223372036854775807,\"budget_sec\":12.5,\"deadline_scale\":3,"
                                   "\"first_sequence\":7,\"done\":[\"us0-1/chip3:hbm\"]",
                                   &request, &error),
                         0);
        assert_true(request.seed == (uint64_t) INT64_MAX);
        assert_true(request.budget_sec == 12.5);
        assert_true(request.deadline_scale == 3);
        assert_int_equal(request.first_sequence, 7);
        assert_true(request_is_done(&request, "us0-1/chip3:hbm"));
        assert_false(request_is_done(&request, "us0-1/chip4:hbm"));
        assert_true(request_asks_for(&request, "anything"));
        assert_string_equal(request.plan->name, "try");
}

static void test_a_budget_only_ever_shrinks(void **state) {
        static const struct {
                const char *budget;
                double expected;
        } cases[] = {
                {",\"budget_sec\":0",   30},
                { ",\"budget_sec\":31", 30},
                { ",\"budget_sec\":29", 29},
                { "",                   30}
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(request_done) Request request = {};
                _cleanup_free_ char *error = NULL;
                char members[256];

                (void) snprintf(members, sizeof(members), DEVICE ",\"seed\":1%s", cases[i].budget);
                assert_int_equal(read_line(members, &request, &error), 0);
                assert_true(request.budget_sec == cases[i].expected);
        }
}

static void test_every_key_is_checked(void **state) {
        static const char *const cases[] = {
                DEVICE,                                              /* no seed */
                DEVICE ",\"seed\":1.5",
                DEVICE ",\"seed\":\"1\"",
                DEVICE ",\"seed\":-1",
                DEVICE ",\"seed\":1,\"seed\":1",
                DEVICE ",\"seed\":1,\"Seed\":1",
                DEVICE ",\"seed\":1,\"deadline_scale\":0",
                DEVICE ",\"seed\":1,\"deadline_scale\":1e4",
                DEVICE ",\"seed\":1,\"budget_sec\":-1",
                DEVICE ",\"seed\":1,\"budget_sec\":null",
                DEVICE ",\"seed\":1,\"first_sequence\":1e3",
                DEVICE ",\"seed\":1,\"done\":\"us0-1/chip3:hbm\"",
                DEVICE ",\"seed\":1,\"done\":[null]",
                "\"device\":\"\",\"plan_file\":\"p\",\"seed\":1",
                "\"device\":\"sim:s#us0-1/chip99\",\"plan_file\":\"p\",\"seed\":1",
                "\"device\":[\"sim:s#us0-1\"],\"plan_file\":\"p\",\"seed\":1",
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(request_done) Request request = {};
                _cleanup_free_ char *error = NULL;

                if (read_line(cases[i], &request, &error) != -EINVAL)
                        print_error("%s\n", cases[i]);
                assert_null(request.plan);
                assert_non_null(error);
        }
}

static void test_bytes_must_be_as_many_as_were_said(void **state) {
        static const struct {
                const char *text;
                int error;
        } cases[] = {
                { "", -ECONNABORTED },
                { "{", -ECONNABORTED },
                { "{" DEVICE ",\"seed\":1,\"plan_bytes\":100}\nplan: x\n", -ECONNABORTED },
                { "{" DEVICE ",\"seed\":1,\"plan_bytes\":3}\nplan: x\n", -EINVAL },
                { "{" DEVICE ",\"seed\":1,\"plan_bytes\":8}\nplan: x\n", -EINVAL }, /* no plan */
                { "{" DEVICE ",\"seed\":1,\"plan_bytes\":65537}\n", -EINVAL },
                { "[]\n", -EINVAL },
                { "\n", -EINVAL },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(request_done) Request request = {};
                _cleanup_free_ char *error = NULL;

                assert_int_equal(read_request(cases[i].text, strlen(cases[i].text), &request, &error),
                                 cases[i].error);
        }
}

static void test_the_digest_is_that_of_the_text(void **state) {
        Plan abc = { .text = (char *) "abc", .n_text = 3 };
        Request request = { .plan = &abc };
        char digest[65];

        assert_int_equal(request_digest(&request, digest), 0);
        /* FIPS 180-4, example of one block */
        assert_string_equal(digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_request_is_read_whole),
                cmocka_unit_test(test_a_budget_only_ever_shrinks),
                cmocka_unit_test(test_every_key_is_checked),
                cmocka_unit_test(test_bytes_must_be_as_many_as_were_said),
                cmocka_unit_test(test_the_digest_is_that_of_the_text),
        };

        return cmocka_run_group_tests(tests, make_plan, NULL);
}
