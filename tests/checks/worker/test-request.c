/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "checks/worker/request.h"

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

#define ROTATION(step, partition, position, age, failed, tested)                                               \
        DEVICE ",\"seed\":1,\"rotations\":[{\"step\":\"" step "\",\"serial\":\"S3\",\"age\":" age ",\"partition\":\"" partition   \
               "\",\"position\":" position ",\"failed\":\"" failed "\",\"tested\":" tested "}]"
#define OF(position, age, failed, tested) ROTATION("us0-1/chip3:hbm", "sid 3 row 16384/32", position, age, failed, tested)

static void test_what_earlier_scans_did_is_read(void **state) {
        _cleanup_(request_done) Request request = {};
        _cleanup_free_ char *error = NULL;
        const Rotation *rotation;

        assert_int_equal(read_line(OF("41", "86400", "12\",\"altered\":\"50\",\"suspicious\":\"51\",\"joined\":\"52\",\"together\":\"53", "[[\"0-5,12\",60],[\"6-8\",3600]]"), &request, &error), 0);
        assert_null(request_rotation(&request, "us0-1/chip3:hbm", "S4")); /* another chip sits there now */
        assert_null(request_rotation(&request, "us0-1/chip4:hbm", "S3"));
        rotation = request_rotation(&request, "us0-1/chip3:hbm", "S3");
        assert_non_null(rotation);
        assert_int_equal(partition_regions(&rotation->partition), 96);
        assert_int_equal(rotation->position, 41);
        assert_int_equal(rotation->age, 86400);
        for (unsigned region = 0; region < 96; region++) {
                assert_int_equal(rotation->ages[region], region <= 5 || region == 12 ? 60 : region <= 8 ? 3600 : -1);
                assert_int_equal(region_set_has(&rotation->failed, region), region == 12);
                assert_int_equal(region_set_has(&rotation->altered, region), region == 50);
                assert_int_equal(region_set_has(&rotation->suspicious, region), region == 51);
                assert_int_equal(region_set_has(&rotation->joined, region), region == 52);
                assert_int_equal(region_set_has(&rotation->together, region), region == 53);
        }
}

static void test_what_no_scan_can_have_done_is_refused(void **state) {
        static const char *const cases[] = {
                OF("96", "1", "", "[]"),  OF("-1", "1", "", "[]"),     OF("1.5", "1", "", "[]"),  OF("\"1\"", "1", "", "[]"),
                OF("18446744073709551616", "1", "", "[]"),             OF("0", "-1", "", "[]"),   OF("0", "2147483648", "", "[]"),
                OF("0", "1", "96", "[]"), OF("0", "1", "5", "[]"),     OF("0", "1", "5-", "[]"),  OF("0", "1", "", "7"),
                OF("0", "1", "\",\"suspicious\":\"96", "[]"), OF("0", "1", "\",\"altered\":\"5-", "[]"),
                OF("0", "1", "\",\"joined\":\"96", "[]"), OF("0", "1", "\",\"together\":\"5-", "[]"),
                OF("0", "1", "", "[7]"),  OF("0", "1", "", "[[\"1\"]]"), OF("0", "1", "", "[[1,1]]"), OF("0", "1", "", "[[\"1\",-1]]"),
                OF("0", "1", "", "[[\"96\",1]]"), OF("0", "1", "", "[[\"1-3\",1],[\"3\",2]]"), OF("0", "1", "", "[[\"1\",1,1]]"),
                ROTATION("us0-1/chip3:hbm", "", "0", "1", "", "[]"),   ROTATION("us0-1/chip3:hbm", "sid 9999 row 1/1", "0", "1", "", "[]"),
                DEVICE ",\"seed\":1,\"rotations\":{}", DEVICE ",\"seed\":1,\"rotations\":[7]", DEVICE ",\"seed\":1,\"rotations\":[{}]",
                DEVICE ",\"seed\":1,\"rotations\":[{\"step\":\"a\",\"serial\":\"S\",\"age\":1,\"partition\":\"sid 1 row 1/1\","
                       "\"position\":0,\"failed\":\"\",\"tested\":[],\"more\":1}]",
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(request_done) Request request = {};
                _cleanup_free_ char *error = NULL;

                if (read_line(cases[i], &request, &error) != -EINVAL)
                        fail_msg("taken: %s", cases[i]);
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

static void test_a_topology_must_name_the_servers_together(void **state) {
        static const char *const cases[][2] = {
                { "topology: t\\nrings: [[us0-1, a, b, c]]\\n", NULL },
                { "topology: t\\nservers: [us0-1]\\ncables: []\\n", NULL },
                { "topology: t\\nservers: [us0-2]\\n", "topology: no ring and no server is called us0-1" },
                { "topology: t\\nrings: [[us0-1]]\\n", "topology:2:9: a ring of 1 servers" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(request_done) Request request = {};
                _cleanup_free_ char *error = NULL;
                char members[512];

                (void) snprintf(members, sizeof(members), DEVICE ",\"seed\":1,\"topology\":\"%s\"", cases[i][0]);
                assert_int_equal(read_line(members, &request, &error), cases[i][1] ? -EINVAL : 0);
                assert_int_equal(!request.topology, cases[i][1] != NULL);
                if (cases[i][1] && !strstr(error, cases[i][1]))
                        fail_msg("%s", error);
        }
}

static void test_servers_of_two_rings_are_no_target(void **state) {
        static const char text[] = "topology: t\nrings: [[a, b, c, d], [e, f, g, h]]\n";
        _cleanup_(topology_freep) Topology *topology = NULL;
        _cleanup_(request_done) Request request = { .target = { .n_servers = 2, .servers = { { .name = "a" }, { .name = "e" } } } };
        _cleanup_free_ char *error = NULL;

        assert_int_equal(topology_parse("t", text, strlen(text), &topology, &error), 0);
        assert_int_equal(request_set_topology(&request, topology, "t", &error), -EINVAL);
        assert_string_equal(error, "t: a and e are not in one ring");
        assert_null(request.topology);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_topology_must_name_the_servers_together),
                cmocka_unit_test(test_servers_of_two_rings_are_no_target),
                cmocka_unit_test(test_a_request_is_read_whole),
                cmocka_unit_test(test_a_budget_only_ever_shrinks),
                cmocka_unit_test(test_every_key_is_checked),
                cmocka_unit_test(test_what_earlier_scans_did_is_read),
                cmocka_unit_test(test_what_no_scan_can_have_done_is_refused),
                cmocka_unit_test(test_bytes_must_be_as_many_as_were_said),
                cmocka_unit_test(test_the_digest_is_that_of_the_text),
        };

        return cmocka_run_group_tests(tests, make_plan, NULL);
}
