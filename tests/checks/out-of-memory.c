/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Out-of-memory
 *
 * The sweep over allocations: the first, second, third … one fails, ours and jansson's, until a run gets through
 * untouched. What fails says so: a line is whole or NULL, a plan is whole or refused, a stream that could not be read is
 * no stream that ended well, a check of a broken chip failed it or is in error. Under AddressSanitizer nothing leaks on the way.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "tests/hall-device.h"

extern const Check check_rounding, check_sparsity, check_systolic;

static unsigned n_left; /* allocations that still succeed; 0: this one fails, and only this one */
static bool counting, failed;

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
void *__real_reallocarray(void *old, size_t n, size_t size);
char *__real_strdup(const char *text);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_reallocarray(void *old, size_t n, size_t size);
char *__wrap_strdup(const char *text);

static bool fails(void) {
        if (!counting || failed || n_left-- > 0)
                return false;

        failed = true;
        return true;
}

void *__wrap_malloc(size_t size) {
        return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size) {
        return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *old, size_t size) {
        return fails() ? NULL : __real_realloc(old, size);
}

void *__wrap_reallocarray(void *old, size_t n, size_t size) {
        return fails() ? NULL : __real_reallocarray(old, n, size);
}

char *__wrap_strdup(const char *text) {
        return fails() ? NULL : __real_strdup(text);
}

static void begin(unsigned n) {
        n_left = n;
        failed = false;
        counting = true;
}

/* Returns whether an allocation failed meanwhile. */
static bool end(void) {
        counting = false;
        return failed;
}

static Location parse(const char *text) {
        Location location;

        assert_int_equal(location_parse(text, &location, NULL, NULL), 0);
        return location;
}

static char *write_finding(void) {
        Finding finding = {
                .code = "hbm-cell", .severity = SEVERITY_FAIL, .where = parse("a/chip3/hbm1"), .message = "x", .runs = 1,
                .evidence = { .expected = "0", .actual = "1", .has_count = true, .count = 0.1 },
        };
        _cleanup_free_ char *lines = stream_finding("a/chip3:hbm", &finding);

        return lines ? stream_number(lines, 7) : NULL;
}

static void test_a_line_is_whole_or_not_there(void **state) {
        bool touched = true;

        for (unsigned n = 0; touched; n++) {
                _cleanup_free_ char *line = NULL;

                begin(n);
                line = write_finding();
                touched = end();
                assert_int_equal(line == NULL, touched);
                assert_true(n < 100);
        }
}

static int on_event(const Event *event, void *userdata) {
        if (event->type == EVENT_STEP_END)
                *(Verdict *) userdata = event->end.verdict;

        return 0;
}

static char *child_lines(void) {
        Measurement measurement = { .name = "m", .value = 1, .where = parse("a/chip3") };
        StepEnd passed = { .verdict = VERDICT_PASSED, .runs = 1 };
        _cleanup_free_ char *start = stream_step_start("a/chip3:x", "x"),
                            *measured = stream_measurement("a/chip3:x", &measurement),
                            *ends = stream_step_end("a/chip3:x", &passed);
        char *all = NULL;

        assert_true(asprintf(&all, "%s%s%s", start, measured, ends) > 0);
        return all;
}

static void test_a_stream_that_could_not_be_read_did_not_end_well(void **state) {
        _cleanup_free_ char *lines = child_lines();
        unsigned n = 0;
        bool touched = true;

        for (; touched; n++) {
                _cleanup_(stream_reader_freep) StreamReader *reader = NULL;
                Verdict verdict = _VERDICT_INVALID;
                int r;

                begin(n);
                r = stream_reader_new(false, 0, on_event, &verdict, &reader);
                if (r >= 0)
                        r = stream_reader_feed(reader, lines, strlen(lines));
                if (r >= 0)
                        r = stream_reader_end(reader);
                touched = end();

                assert_true(touched ? r < 0 && verdict == _VERDICT_INVALID : r == 0 && verdict == VERDICT_PASSED);
                assert_true(n < 1000);
        }

        assert_true(n > 20); /* jansson's were among them */
}

static void test_a_plan_is_whole_or_refused(void **state) {
        static const char text[] = "plan: a\nsummary: b\nstage: RMA\nsteps: [{check: identity, parameters: {firmware: x}}]\n"
                                   "coverage: {identity_serials_compared: 1}\n";
        bool touched = true;

        for (unsigned n = 0; touched; n++) {
                _cleanup_(plan_freep) Plan *plan = NULL;
                _cleanup_free_ char *error = NULL;
                int r;

                begin(n);
                r = plan_parse("p", text, strlen(text), &plan, &error);
                touched = end();
                assert_true(touched ? r == -ENOMEM && !plan : r == 0 && plan->n_steps == 1);
                assert_true(n < 1000);
        }
}

/* ---- checks of engines ---- */

static const char sick[] = "scenario: test\nseed: 3\ntopology: {servers: 1}\nfaults:\n"
                           "  - {at: trn-0/chip0/core4/pe17.93, kind: psum-stuck, bit: 20, value: 1}\n"
                           "  - {at: trn-0/chip0/core1/sparse/row9/slot77, kind: tag-stuck, bit: 0, value: 1}\n"
                           "  - {at: trn-0/chip0/core6/scalar/lane9, kind: rng-bit-stuck, bit: 31, value: 0}\n";

/* The simulator's allocations are not the check's. */
static int execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions, uint64_t deadline_usec) {
        bool before = counting;
        int r;

        counting = false;
        r = hall_execute(userdata, commands, n, completions, deadline_usec);
        counting = before;
        return r;
}

static Verdict scan(const Check *check, unsigned n, bool *ret_touched) {
        static const DeviceTransport transport = { .execute = execute, .close = hall_close };
        static Found found;
        const void *parameters = *check_word_find(check->name)->parameters_defaults;
        HallDevice *hall = hall_device_new(sick, "trn-0", 0, 32u << 20);
        Device *device = hall_connect(hall, &transport, hall);
        Verdict verdict;

        begin(n);
        if (check->prepare)
                check->prepare();
        if (check->prepare_for)
                check->prepare_for(parameters, 1);
        hall_holds = false;
        verdict = hall_scan(device, check, parameters, &found);
        *ret_touched = end();
        (void) device_free(device);
        return verdict;
}

static void test_a_check_without_memory_does_not_pass(void **state) {
        static const Check *const checks[] = { &check_systolic, &check_sparsity, &check_rounding };

        for (size_t i = 0; i < ELEMENTS(checks); i++) {
                bool touched = true;

                /* The first ones are all different; later ones are those of lanes and columns, again and again. */
                for (unsigned n = 0; touched; n += 1 + n / 4) {
                        Verdict verdict = scan(checks[i], n, &touched);

                        /* Invalid: there was no step to run. */
                        assert_true(verdict == VERDICT_FAILED || (touched && (verdict == VERDICT_ERROR || verdict == _VERDICT_INVALID)));
                        assert_true(n < 100000);
                }
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_line_is_whole_or_not_there),
                cmocka_unit_test(test_a_stream_that_could_not_be_read_did_not_end_well),
                cmocka_unit_test(test_a_plan_is_whole_or_refused),
                cmocka_unit_test(test_a_check_without_memory_does_not_pass),
        };

        json_set_alloc_funcs(__wrap_malloc, free);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
