/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/host-link/parameters.h"
#include "checks/port/device-host.h"
#include "tests/hall-device.h"

#define SINGLE "scenario: test\nseed: 3\ntopology: {servers: 1}\n"

extern const Check check_host_link;

static const HostLinkParameters usual = { .bytes = 64u << 20, .efficiency = 0.8 };

static Verdict judge(const char *fault, const HostLinkParameters *parameters, Found *found) {
        char text[512];

        (void) snprintf(text, sizeof(text), SINGLE "faults: [%s]\n", fault);
        return hall_judge(text, &check_host_link, "trn-0", 5, parameters, found);
}

/* Eight lanes of 32 GT/s in 128b/130b are 252.06 Gb/s; 256 of 282 bytes are payload. */
static void test_a_sound_link_is_as_fast_as_arithmetic_says(void **state) {
        Device *device = hall_device(SINGLE, "trn-0", 5, 1 << 20);
        WireHostTransfer transfers[] = { { .bytes = 1u << 30 }, { .bytes = 1u << 30, .to_host = 1 }, { .bytes = 1u << 20, .adapter = 1 } };
        uint64_t nsec[3];

        assert_int_equal(device_host_transfer(device, 5, transfers, 3, nsec), 0);
        for (unsigned i = 0; i < 3; i++) {
                double gbps = (double) transfers[i].bytes * 8 / ((double) nsec[i] - 1000);

                assert_true(gbps > 228.8 && gbps < 228.9);
        }
        (void) device_free(device);
}

static void test_sound_links_pass_and_say_how_fast_they_are(void **state) {
        Found found;

        assert_int_equal(judge("", &usual, &found), VERDICT_PASSED);
        assert_int_equal(found.n, 0);
        assert_true(found_value(&found, "host_link_bandwidth_min") > 228);
        assert_true(found_value(&found, "host_link_adapter_bandwidth_min") > 228);
        assert_true(found_value(&found, "host_link_bytes_moved") == 4 * 64.0 * (1 << 20));
}

typedef struct FaultCase {
        const char *fault, *code, *at;
        Verdict verdict;
} FaultCase;

static const FaultCase fault_cases[] = {
        { "{at: trn-0/chip5, kind: host-link-narrowed, width: 4}", "host-link", "trn-0/chip5", VERDICT_FAILED },
        { "{at: trn-0/chip5/nic5, kind: host-link-narrowed, width: 1}", "host-link", "trn-0/chip5/nic5", VERDICT_FAILED },
        { "{at: trn-0/chip5, kind: host-link-slowed, speed: 16}", "host-link", "trn-0/chip5", VERDICT_FAILED },
        { "{at: trn-0/chip5/nic5, kind: host-link-slowed, speed: 2.5}", "host-link", "trn-0/chip5/nic5", VERDICT_FAILED },
        { "{at: trn-0/chip5, kind: host-link-throttled, share: 0.87}", "host-link", "trn-0/chip5", VERDICT_FAILED },
        { "{at: trn-0/chip5/nic5, kind: host-link-throttled, share: 0.01}", "host-link", "trn-0/chip5/nic5", VERDICT_FAILED },
        { "{at: trn-0/chip5, kind: host-link-errors, rate: 200}", "host-link-errors", "trn-0/chip5", VERDICT_WARNED },
        { "{at: trn-0/chip5/nic5, kind: host-link-errors, rate: 1e6}", "host-link-errors", "trn-0/chip5/nic5", VERDICT_WARNED },
};

static void test_each_fault_is_found_where_it_is(void **state) {
        for (size_t i = 0; i < ELEMENTS(fault_cases); i++) {
                const FaultCase *one = &fault_cases[i];
                Found found;

                assert_int_equal(judge(one->fault, &usual, &found), one->verdict);
                assert_true(found_all(&found, &(Expected) { one->code, one->at }, 1));
        }
}

/* A narrow link that moves what a narrow link can is one finding, a narrow one that does not even do that is two. */
static void test_what_is_slow_is_judged_by_what_it_trained_to(void **state) {
        static const Expected two[] = { { "host-link", "trn-0/chip5" }, { "host-link", "trn-0/chip5" } };
        Found found;

        assert_int_equal(judge("{at: trn-0/chip5, kind: host-link-narrowed, width: 4}, "
                               "{at: trn-0/chip5, kind: host-link-throttled, share: 0.5}", &usual, &found), VERDICT_FAILED);
        assert_true(found_all(&found, two, 2));
}

static void test_without_transfers_it_disturbs_nothing_and_sees_the_training(void **state) {
        static const HostLinkParameters none = { .bytes = 0, .efficiency = 0.8 };
        Found found;

        assert_int_equal(check_host_link.disturbs_with(&none), DISTURBS_NOTHING);
        assert_int_equal(check_host_link.disturbs_with(&usual), DISTURBS_CHIP);
        assert_int_equal(judge("{at: trn-0/chip5, kind: host-link-narrowed, width: 2}", &none, &found), VERDICT_FAILED);
        assert_int_equal(judge("{at: trn-0/chip5, kind: host-link-throttled, share: 0.1}", &none, &found), VERDICT_PASSED);
        assert_true(found_value(&found, "host_link_bytes_moved") == 0);
}

static void less_moved(const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_HOST_TRANSFER)
                completion->result[0]--;
}

static void no_time(const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_HOST_TRANSFER)
                completion->device_nsec = 0;
}

static void little_time(const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_HOST_TRANSFER)
                completion->device_nsec -= completion->device_nsec / 8;
}

static void test_lies_are_no_pass(void **state) {
        static void (*const lies[])(const WireCommand *command, WireCompletion *completion) = { less_moved, no_time, little_time };
        Found found;

        for (size_t i = 0; i < ELEMENTS(lies); i++) {
                hall_lie = lies[i];
                assert_int_not_equal(judge("", &usual, &found), VERDICT_PASSED);
        }
        hall_lie = NULL;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_sound_link_is_as_fast_as_arithmetic_says),
                cmocka_unit_test(test_sound_links_pass_and_say_how_fast_they_are),
                cmocka_unit_test(test_each_fault_is_found_where_it_is),
                cmocka_unit_test(test_what_is_slow_is_judged_by_what_it_trained_to),
                cmocka_unit_test(test_without_transfers_it_disturbs_nothing_and_sees_the_training),
                cmocka_unit_test(test_lies_are_no_pass),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
