/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/stream/stream.h"
#include "sim/fleet/comparison.h"

#define HEAD "scenario: t\ntopology: {servers: 2}\n"
#define EXPECT HEAD "expect: {trn-0/chip3: {verdict: failed, findings: [{code: hbm-cell, at: …/bit7}]}}\n"
#define CELL "trn-0/chip3/hbm0/ch0/pc0/sid0/bg0/ba0/row0/col0/bit7"

/* What a worker might have said of two chips of trn-0. */
typedef struct Story {
        const char *finding, *code; /* in chip 3 */
        Verdict chip3, chip4, server;
        bool cut;         /* before its end */
} Story;

static void put(FILE *file, uint64_t *sequence, char *lines) {
        char *rest = lines, *line;

        assert_non_null(lines);
        while ((line = strsep(&rest, "\n")) && *line != '\0') {
                char *numbered;

                assert_true(asprintf(&line, "%s\n", line) > 0);
                numbered = stream_number(line, (*sequence)++);
                assert_non_null(numbered);
                fputs(numbered, file);
                free(numbered);
                free(line);
        }
        free(lines);
}

static Location location(const char *text) {
        Location at;

        assert_int_equal(location_parse(text, &at, NULL, NULL), 0);
        return at;
}

static void put_step(FILE *file, uint64_t *sequence, const char *id, Verdict verdict, const Story *story) {
        StepEnd end = { .verdict = verdict, .required = true, .runs = 1,
                        .reason = verdict == VERDICT_ERROR ? REASON_WORKER_CRASHED : REASON_NONE,
                        .message = verdict == VERDICT_ERROR ? "it crashed" : NULL };

        put(file, sequence, stream_step_start(id, "hbm"));
        if (story && story->finding) {
                Finding finding = { .code = story->code, .severity = SEVERITY_FAIL, .where = location(story->finding),
                                    .message = "broken", .runs = 1, .reproduced = 1 };

                put(file, sequence, stream_finding(id, &finding));
        }
        if (strcmp(id, "trn-0:links") == 0) {
                Location chip3 = location("trn-0/chip3");

                put(file, sequence, stream_part_done(id, &chip3, VERDICT_PASSED, REASON_NONE));
        }
        put(file, sequence, stream_step_end(id, &end));
}

static FILE *tell(const Story *story) {
        static const char *const units[] = { "trn-0", "trn-0/chip3", "trn-0/chip4" };
        Hardware hardware[3] = {};
        RunStart start = { .version = "0", .command_line = "x", .plan = "p", .plan_sha256 = "00", .dut = "trn-0",
                           .n_hardware = 3, .hardware = hardware };
        FILE *file = tmpfile();
        uint64_t sequence = 0;

        for (size_t i = 0; i < ELEMENTS(units); i++)
                hardware[i] = (Hardware) { .where = location(units[i]), .name = units[i], .serial = "s", .part_number = "",
                                           .firmware = "", .tray = "", .pci_address = "" };
        put(file, &sequence, stream_schema_version());
        put(file, &sequence, stream_run_start(&start));
        put_step(file, &sequence, "trn-0/chip3:hbm", story->chip3, story);
        put_step(file, &sequence, "trn-0/chip4:hbm", story->chip4, NULL);
        put_step(file, &sequence, "trn-0:links", story->server, NULL);
        if (!story->cut)
                put(file, &sequence, stream_run_end(RESULT_FAILED));
        rewind(file);
        return file;
}

/* The differences as one text. */
static int compare(const char *text, const Story *story, char said[static 4096]) {
        _cleanup_(scenario_freep) Scenario *scenario = NULL;
        _cleanup_free_ char *error = NULL;
        FILE *file = tell(story), *out;
        int n;

        if (scenario_parse("t", text, strlen(text), &scenario, &error) < 0)
                fail_msg("%s", error);
        memset(said, 0, 4096);
        out = fmemopen(said, 4095, "w");
        n = expectations_compare(scenario, file, out);
        (void) fclose(out);
        (void) fclose(file);
        return n;
}

static const Story as_expected = { .finding = CELL, .code = "hbm-cell", .chip3 = VERDICT_FAILED };

static void what_was_expected_is_no_difference(void **state) {
        char said[4096];

        assert_int_equal(compare(EXPECT, &as_expected, said), 0);
        assert_string_equal(said, "");
}

static void another_code_is_two_differences(void **state) {
        Story story = as_expected;
        char said[4096];

        story.code = "hbm-row";
        assert_int_equal(compare(EXPECT, &story, said), 2);
        assert_non_null(strstr(said, "trn-0/chip3: hbm-cell at …/bit7 was not found\n"));
        assert_non_null(strstr(said, "trn-0/chip3: hbm-row at " CELL " was not expected\n"));
}

static void a_finding_elsewhere_does_not_count(void **state) {
        Story story = as_expected;
        char said[4096];

        story.finding = "trn-0/chip3/hbm0/ch0/pc0/sid0/bg0/ba0/row0/col0/bit77";
        assert_int_equal(compare(EXPECT, &story, said), 2);
}

static void chips_that_are_not_named_must_pass(void **state) {
        Story story = as_expected;
        char said[4096];

        assert_int_equal(compare(HEAD, &story, said), 2);
        assert_non_null(strstr(said, "trn-0/chip3: failed, expected passed\n"));
        story.chip4 = VERDICT_WARNED;
        assert_int_equal(compare(EXPECT, &story, said), 1);
        assert_non_null(strstr(said, "trn-0/chip4: warned, expected passed\n"));
}

static void a_fault_that_was_not_found_is_a_difference(void **state) {
        char said[4096];

        assert_int_equal(compare(EXPECT, &(Story) {}, said), 2);
        assert_non_null(strstr(said, "trn-0/chip3: passed, expected failed\n"));
}

static void more_lets_others_stand_beside(void **state) {
        static const char text[] = HEAD "expect: {trn-0/chip3: {verdict: failed, more: true}}\n";
        char said[4096];

        assert_int_equal(compare(text, &as_expected, said), 0);
}

static void a_server_step_that_broke_off_leaves_its_other_chips_unjudged(void **state) {
        Story story = as_expected;
        char said[4096];

        story.server = VERDICT_ERROR;
        assert_int_equal(compare(EXPECT, &story, said), 1);
        assert_non_null(strstr(said, "trn-0/chip4: inconclusive, expected passed\n"));
}

static void a_stream_that_is_cut_off_compares_as_nothing(void **state) {
        Story story = as_expected;
        char said[4096];

        story.cut = true;
        assert_true(compare(EXPECT, &story, said) < 0);
        assert_non_null(strstr(said, "the stream cannot be read"));
}

static void a_chip_that_the_stream_left_out_is_a_difference(void **state) {
        static const char text[] = HEAD "expect: {trn-0/chip9: {verdict: passed}, trn-1/chip9: {verdict: failed}, "
                                        "trn-0/chip3: {verdict: failed, more: true}}\n";
        char said[4096];

        assert_int_equal(compare(text, &as_expected, said), 1);
        assert_string_equal(said, "trn-0/chip9: is not part of the stream\n");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_was_expected_is_no_difference),
                cmocka_unit_test(another_code_is_two_differences),
                cmocka_unit_test(a_finding_elsewhere_does_not_count),
                cmocka_unit_test(chips_that_are_not_named_must_pass),
                cmocka_unit_test(a_fault_that_was_not_found_is_a_difference),
                cmocka_unit_test(more_lets_others_stand_beside),
                cmocka_unit_test(a_server_step_that_broke_off_leaves_its_other_chips_unjudged),
                cmocka_unit_test(a_stream_that_is_cut_off_compares_as_nothing),
                cmocka_unit_test(a_chip_that_the_stream_left_out_is_a_difference),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
