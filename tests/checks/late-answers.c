/* SPDX-License-Identifier: Apache-2.0 */

/*
 * A device that says it is done and is not: an answer is wrong when it is compared, and right when it is looked at again, to find
 * out what is wrong with it. It was wrong, and does not pass.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/plan/plan.h"
#include "tests/hall-device.h"

extern const Check check_rounding, check_sparsity, check_systolic;

#define WINDOW (16u << 20)
#define CORE   3u
#define NUMBER 5u /* of its answers, the one that comes late */

static HallDevice *hall;
static unsigned n_answers;
static uint8_t *late; /* still to be written */

/* Which of the two a compiler calls is its own affair. */
int __real_memcmp(const void *a, const void *b, size_t n);
int __real_bcmp(const void *a, const void *b, size_t n);
int __wrap_memcmp(const void *a, const void *b, size_t n);
int __wrap_bcmp(const void *a, const void *b, size_t n);

static int compared(const void *a, size_t n, int r) {
        const uint8_t *from = a;

        if (late && late >= from && late < from + n && r != 0) {
                *late ^= 1;
                late = NULL;
        }
        return r;
}

int __wrap_memcmp(const void *a, const void *b, size_t n) {
        return compared(a, n, __real_memcmp(a, b, n));
}

int __wrap_bcmp(const void *a, const void *b, size_t n) {
        return compared(a, n, __real_bcmp(a, b, n));
}

static void answer_late(const WireCommand *command, WireCompletion *completion) {
        if ((command->type != COMMAND_MATMUL && command->type != COMMAND_CONVERT) || command->unit != CORE || n_answers++ != NUMBER)
                return;
        late = hall->reach.window + command->out_offset;
        *late ^= 1;
}

static void test_what_was_wrong_once_does_not_pass(void **state) {
        static const Check *const checks[] = { &check_systolic, &check_sparsity, &check_rounding };
        static Found found;

        for (size_t i = 0; i < ELEMENTS(checks); i++) {
                Device *device;

                hall = hall_device_new("scenario: test\nseed: 3\ntopology: {servers: 1}\n", "trn-0", 0, WINDOW);
                device = hall_connect(hall, &hall_transport, hall);
                n_answers = 0;
                hall_lie = answer_late;
                assert_int_equal(hall_scan(device, checks[i], *check_word_find(checks[i]->name)->parameters_defaults, &found), VERDICT_FAILED);
                hall_lie = NULL;
                assert_true(n_answers > NUMBER);
                assert_null(late);
                (void) device_free(device);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_what_was_wrong_once_does_not_pass) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
