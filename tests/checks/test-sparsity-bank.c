/* SPDX-License-Identifier: Apache-2.0 */

/* What sparsity makes of a PSUM that fails, on chips that have their SRAM: nothing that is not the selectors'. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/sparsity/parameters.h"
#include "tests/hall-device.h"

extern const Check check_sparsity;

#define HEAD  "scenario: t\nseed: 5\ntopology: {servers: 1}\nfaults:\n"
#define CHIP  "trn-0/chip3/"
#define FAULT(at, what) "  - {at: " CHIP at ", kind: " what "}\n"
#define TAG   FAULT("core3/sparse/row70/slot65", "tag-stuck, bit: 2, value: 1")

static const SparsityParameters all_paths = { .paths = SPARSITY_ALL, .rounds = 1 };

static Found found;

static Verdict scan(const char *faults, const SparsityParameters *parameters) {
        Device *device;
        char text[4096];
        Verdict verdict;

        (void) snprintf(text, sizeof(text), HEAD "%s\n", faults);
        device = hall_device(text, "trn-0", 3, 8u << 20);
        assert_non_null(device);
        verdict = hall_scan(device, &check_sparsity, parameters, &found);
        (void) device_free(device);
        return verdict;
}

static void assert_verdict(const char *faults, const SparsityParameters *parameters, Verdict verdict, unsigned n_findings) {
        Verdict said = scan(faults, parameters);

        if (said != verdict || found.n != n_findings)
                fail_msg("%d and not %d, %u findings of\n%s%s", said, verdict, found.n, faults, found.lines);
        if (n_findings > 0 && (!strstr(found.lines, "sparsity-tag") || !strstr(found.lines, "core3/sparse/row70/slot65")))
                fail_msg("of\n%s\n%s", faults, found.lines);
}

/* In the banks that modes use, and in that of tiles; with parity that tells and without. */
static const char *const broken[] = {
        FAULT("core3/psum2/part65/row3", "sram-row-dead"),
        FAULT("core3/psum1/part65/row0/bit22", "stuck-at, value: 1"),
        FAULT("core3/psum4/part65/row1/bit200", "stuck-at, value: 0") FAULT("core3/psum4", "sram-ecc-off"),
        FAULT("core3/psum5/part65", "sram-partition-dead, reads: inverted"),
        FAULT("core3/psum3", "sram-array-dead"),
        FAULT("core3/psum0", "sram-array-dead"),
        FAULT("core3/psum0", "sram-array-dead") FAULT("core3/psum1", "sram-array-dead") FAULT("core3/psum2/part65", "sram-partition-dead"),
        FAULT("core3/psum7/part65", "sram-partition-dead, reads: ones, persistence: intermittent, probability: 0.5"),
        FAULT("core3", "psum-address-stuck, bit: 10, value: 1"),
};

static void another_bank_is_taken(void **state) {
        for (size_t i = 0; i < ELEMENTS(broken); i++) {
                assert_verdict(broken[i], i % 2 ? NULL : &all_paths, VERDICT_PASSED, 0);
        }
}

static void a_tag_is_told_beside_a_sick_bank(void **state) {
        for (size_t i = 0; i < ELEMENTS(broken); i++) {
                char faults[1024];

                (void) snprintf(faults, sizeof(faults), "%s" TAG, broken[i]);
                assert_verdict(faults, i % 2 ? &all_paths : NULL, VERDICT_FAILED, 1);
        }
}

/* Where no bank holds what it is given nothing can be read, and the selectors are not to blame. */
static void without_a_sound_bank_the_selectors_are_not_judged(void **state) {
        static const char *const faults[] = {
                FAULT("core3", "accumulate-stuck, value: accumulate"),
                FAULT("core3", "accumulate-stuck, value: accumulate, persistence: intermittent, probability: 0.3"),
                FAULT("core3", "psum-address-stuck, bit: 0, value: 1"), FAULT("core3", "psum-address-stuck, bit: 5, value: 0"),
                FAULT("core3", "accumulate-stuck, value: accumulate") TAG, FAULT("core3", "psum-address-stuck, bit: 4, value: 1") TAG,
        };

        for (size_t i = 0; i < ELEMENTS(faults); i++) {
                assert_verdict(faults[i], i % 2 ? &all_paths : NULL, VERDICT_SKIPPED, 0);
        }
        assert_verdict(FAULT("core3", "accumulate-stuck, value: accumulate, persistence: intermittent, probability: 0.1"), &all_paths,
                       VERDICT_SKIPPED, 0);
        assert_verdict(FAULT("core3", "accumulate-stuck, value: overwrite") TAG, NULL, VERDICT_FAILED, 1);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(another_bank_is_taken),
                cmocka_unit_test(a_tag_is_told_beside_a_sick_bank),
                cmocka_unit_test(without_a_sound_bank_the_selectors_are_not_judged),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
