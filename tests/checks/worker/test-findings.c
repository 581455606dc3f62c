/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "checks/worker/findings.h"

static Finding finding_at(const char *where, const char *code) {
        Finding finding = { .code = code, .severity = SEVERITY_FAIL, .message = "here", .reproduced = 1, .runs = 1 };

        assert_int_equal(location_parse(where, &finding.where, NULL, NULL), 0);
        return finding;
}

static void add(Findings *findings, const char *where, const char *code, unsigned run) {
        Finding finding = finding_at(where, code);

        assert_int_equal(findings_add(findings, &finding, run), 0);
}

static void test_the_same_code_and_place_is_one_finding(void **state) {
        Findings findings = {};

        add(&findings, "us0-1/chip3", "hbm-cell", 1);
        add(&findings, "us0-1/chip3", "hbm-cell", 1); /* twice in one run is once */
        add(&findings, "us0-1/chip3", "hbm-row", 1);
        add(&findings, "us0-1/chip3/hbm1", "hbm-cell", 1);
        assert_int_equal(findings.n, 3);

        add(&findings, "us0-1/chip3", "hbm-cell", 2);
        add(&findings, "us0-1/chip3/hbm2", "hbm-cell", 2);
        assert_int_equal(findings.n, 4);
        assert_int_equal(findings.items[0].finding.reproduced, 2);
        assert_int_equal(findings.items[1].finding.reproduced, 1);
        assert_int_equal(findings.items[3].finding.reproduced, 1);
        findings_clear(&findings);
        assert_int_equal(findings.n, 0);
}

/* Two runs of a step in one of which it was tried four times. */
static void test_what_a_check_tried_again_adds_up(void **state) {
        Finding finding = finding_at("us0-1/chip3", "systolic-pe");
        Findings findings = {};

        finding.reproduced = 3;
        finding.runs = 4;
        assert_int_equal(findings_add(&findings, &finding, 1), 0);
        assert_int_equal(findings_add(&findings, &finding, 2), 0);
        assert_int_equal(findings.items[0].finding.reproduced, 6);
        assert_int_equal(findings.items[0].finding.runs, 8);
        findings_clear(&findings);
}

static void test_strings_outlive_their_event(void **state) {
        char expected[] = "0xff";
        Finding finding = finding_at("us0-1/chip3", "hbm-cell");
        Findings findings = {};

        finding.evidence.expected = expected;
        assert_int_equal(findings_add(&findings, &finding, 1), 0);
        memset(expected, 'x', 4);
        assert_string_equal(findings_find(&findings, "hbm-cell")->evidence.expected, "0xff");
        findings_clear(&findings);
}

static void test_what_was_only_suspected_goes_away(void **state) {
        Findings findings = {};

        add(&findings, "us0-1/chip3", "device-hang", 1);
        add(&findings, "us0-1/chip3", "hbm-cell", 1);
        findings_remove(&findings, "device-hang");
        assert_null(findings_find(&findings, "device-hang"));
        assert_non_null(findings_find(&findings, "hbm-cell"));
        assert_int_equal(findings_verdict(&findings), VERDICT_FAILED);
        findings_remove(&findings, "hbm-cell");
        assert_int_equal(findings_verdict(&findings), VERDICT_PASSED);
        findings_clear(&findings);
}

static void test_they_are_bounded(void **state) {
        Findings findings = {};
        Finding finding = finding_at("us0-1/chip3", "hbm-cell");

        for (unsigned i = 0; i < STREAM_FINDINGS_MAX; i++) {
                Finding one = finding_at("us0-1/chip3", "systolic-pe");

                assert_int_equal(location_append(&one.where, LOCATION_CORE, i % 8), 0);
                assert_int_equal(location_append_pe(&one.where, i / 8, 0), 0);
                assert_int_equal(findings_add(&findings, &one, 1), 0);
        }
        assert_int_equal(findings_add(&findings, &finding, 1), -ENOBUFS);
        findings_clear(&findings);
}

static void add_either(Findings *findings, const char *where, const char *far_end, unsigned run) {
        Finding finding = finding_at(where, "efa-either-end");

        finding.severity = SEVERITY_WARN;
        finding.evidence.far_end = far_end;
        assert_int_equal(findings_add(findings, &finding, run), 0);
}

/* One run blames an adapter, the other met it once only, and suspects its partner as well. */
static void test_what_one_run_explains_another_does_not_suspect(void **state) {
        static const char *const failures[] = { "us0-1/chip5/nic5", "us0-1/chip6/nic6", "us0-1/chip6/nic6/path3" };

        for (size_t i = 0; i < 2 * ELEMENTS(failures); i++) {
                Findings findings = {};
                unsigned first = i % 2 == 0 ? 1 : 2;

                add(&findings, failures[i / 2], "efa-slow", first);
                add_either(&findings, "us0-1/chip5/nic5", "us0-1/chip6/nic6", 3 - first);
                add_either(&findings, "us0-1/chip6/nic6", "us0-1/chip5/nic5", 3 - first);
                findings_settle(&findings);
                assert_int_equal(findings.n, 1);
                assert_string_equal(findings.items[0].finding.code, "efa-slow");
                findings_clear(&findings);
        }
}

/* A failure elsewhere explains nothing, nor does a warning. */
static void test_what_is_not_explained_stays(void **state) {
        Findings findings = {};
        Finding warning = finding_at("us0-1/chip5/nic5", "efa-retransmission");

        warning.severity = SEVERITY_WARN;
        add(&findings, "us0-1/chip7/nic7", "efa-slow", 1);
        add(&findings, "us0-2/chip5/nic5", "efa-slow", 1);
        assert_int_equal(findings_add(&findings, &warning, 1), 0);
        add_either(&findings, "us0-1/chip5/nic5", "us0-1/chip6/nic6", 1);
        add_either(&findings, "us0-1/chip6/nic6", "us0-1/chip5/nic5", 2);
        findings_settle(&findings);
        assert_int_equal(findings.n, 5);
        findings_clear(&findings);
}

/* The lines by which FINDINGS are told. Released with free(). */
static char *written(const Findings *findings, bool once) {
        Outlet *outlet = calloc(1, sizeof(*outlet));
        char *text = calloc(1, 16384);
        int ends[2];

        assert_true(outlet && text);
        assert_int_equal(pipe(ends), 0);
        outlet->fd = ends[1];
        findings_write(findings, "us0-1:efa", 2, once, outlet);
        assert_int_equal(outlet_flush(outlet), 0);
        (void) close(ends[1]);
        assert_true(read(ends[0], text, 16383) >= 0);
        (void) close(ends[0]);
        free(outlet);
        return text;
}

static unsigned count_of(const char *text, const char *what) {
        unsigned n = 0;

        while ((text = strstr(text, what))) {
                text += strlen(what);
                n++;
        }
        return n;
}

/* The second run alone saw the second one; the first measured nothing of it. */
static void test_each_follows_from_its_own_value(void **state) {
        Finding first = finding_at("us0-1/chip3/nic3", "efa-loss"), second = finding_at("us0-1/chip9/nic9", "efa-loss");
        char *text;
        Findings findings = {};

        first.evidence.decided = (Decided) { "efa_packets_wrong", 17, 0 };
        second.evidence.decided = (Decided) { "efa_packets_wrong", 3, 0 };
        assert_int_equal(findings_add(&findings, &first, 1), 0);
        assert_int_equal(findings_add(&findings, &second, 2), 0);
        text = written(&findings, false);
        assert_int_equal(count_of(text, "\"measurement\""), 2);
        assert_non_null(strstr(text, "{\"name\":\"efa_packets_wrong\",\"value\":17,\"unit\":\"{packet}\","
                                     "\"validators\":[{\"type\":\"EQUAL\",\"value\":0}]"));
        assert_non_null(strstr(strstr(text, "\"value\":3,\"unit\""), "us0-1/chip9/nic9"));
        assert_int_equal(count_of(text, "decided"), 0); /* it is known between a child and the worker alone */
        free(text);
        text = written(&findings, true);
        assert_int_equal(count_of(text, "\"measurement\""), 1);
        assert_int_equal(count_of(text, "\"diagnosis\""), 2);
        free(text);

        findings_remove(&findings, "efa-loss");
        text = written(&findings, false);
        assert_int_equal(count_of(text, "\"measurement\""), 0);
        free(text);
        findings_clear(&findings);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_same_code_and_place_is_one_finding),
                cmocka_unit_test(test_what_a_check_tried_again_adds_up),
                cmocka_unit_test(test_strings_outlive_their_event),
                cmocka_unit_test(test_what_was_only_suspected_goes_away),
                cmocka_unit_test(test_they_are_bounded),
                cmocka_unit_test(test_what_one_run_explains_another_does_not_suspect),
                cmocka_unit_test(test_what_is_not_explained_stays),
                cmocka_unit_test(test_each_follows_from_its_own_value),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
