/* SPDX-License-Identifier: Apache-2.0 */

/* What systolic says of a PSUM that fails, on chips that have their SRAM. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/systolic/psum/psum.h"
#include "tests/hall-device.h"

extern const Check check_systolic;

#define HEAD "scenario: t\nseed: %u\ntopology: {servers: 1}\n"
#define CHIP "trn-0/chip3/"
#define FAULT(at, what) "  - {at: " CHIP at ", kind: " what "}\n"

static unsigned scenario_seed = 5;
static bool cells; /* whether elements are tried on cores that fail nothing else */

/* PSUM alone, as systolic calls it. */
static int psum_alone(Step *step, Verdict *ret) {
        PsumResult result;

        *ret = VERDICT_PASSED;
        return psum_judge(step, cells, 0, 0, ret, &result);
}

/* The same of core 5, which has wrong outputs that the array explains. */
static int psum_of_the_array(Step *step, Verdict *ret) {
        PsumResult result;

        *ret = VERDICT_PASSED;
        return psum_judge(step, cells, 1u << 5, 0, ret, &result);
}

static Found found;

static Verdict scan(const Check *check, const char *faults) {
        Device *device;
        char text[4096];
        Verdict verdict;

        (void) snprintf(text, sizeof(text), HEAD "%s%s\n", scenario_seed, faults ? "faults:\n" : "", faults ? faults : "");
        device = hall_device(text, "trn-0", 3, 4u << 20);
        assert_non_null(device);
        verdict = hall_scan(device, check, NULL, &found);
        (void) device_free(device);
        return verdict;
}

static Verdict judge(const char *faults) {
        Check check = check_systolic;

        check.run = psum_alone;
        return scan(&check, faults);
}

static Verdict judge_systolic(const char *faults) {
        return scan(&check_systolic, faults);
}

static void assert_said(const char *text) {
        if (!strstr(found.lines, text))
                fail_msg("\"%s\" is not in\n%s", text, found.lines);
}

static void a_sound_psum_passes(void **state) {
        for (unsigned i = 0; i < 2; i++) {
                cells = i;
                assert_int_equal(judge(NULL), VERDICT_PASSED);
                assert_int_equal(found.n, 0);
        }
}

/* The short form is enough; from outside no level of a line differs from the other. */
static void every_line_of_the_address_is_named(void **state) {
        cells = false;
        for (unsigned bit = 0; bit < 12; bit++) {
                char fault[128], line[48];

                (void) snprintf(fault, sizeof(fault), FAULT("core%u", "psum-address-stuck, bit: %u, value: %u"), bit % 8, bit, bit % 2);
                (void) snprintf(line, sizeof(line), "core%u: line %u of the PSUM address", bit % 8, bit);
                assert_int_equal(judge(fault), VERDICT_FAILED);
                assert_int_equal(found.n, 1);
                assert_said(line);
        }
}

static void two_lines_are_two_findings(void **state) {
        cells = false;
        assert_int_equal(judge(FAULT("core1", "psum-address-stuck, bit: 2, value: 1") FAULT("core1", "psum-address-stuck, bit: 10, value: 0")),
                         VERDICT_FAILED);
        assert_int_equal(found.n, 2);
        assert_said("line 2 of the PSUM address (bit 2 of the element)");
        assert_said("line 10 of the PSUM address (bit 1 of the bank)");
}

static void the_flag_is_named_with_what_it_does(void **state) {
        cells = false;
        assert_int_equal(judge(FAULT("core6", "accumulate-stuck, value: accumulate")), VERDICT_FAILED);
        assert_int_equal(found.n, 1);
        assert_said("core6: matmuls add to PSUM, though told to overwrite it: the accumulate flag is stuck\"");
        assert_int_equal(judge(FAULT("core6", "accumulate-stuck, value: overwrite")), VERDICT_FAILED);
        assert_int_equal(found.n, 1);
        assert_said("core6: matmuls overwrite PSUM, though told to add to it: the accumulate flag is stuck\"");
}

/* When the supply sags, which four rows alone never bring about. */
static void what_full_load_alone_shows_is_named(void **state) {
        assert_int_equal(judge_systolic(FAULT("core6", "accumulate-stuck, value: overwrite, droop: 40")), VERDICT_FAILED);
        assert_int_equal(found.n, 1);
        assert_said("core6: under full load matmuls overwrite PSUM, though told to add to it");
        assert_int_equal(judge_systolic(FAULT("core6", "accumulate-stuck, value: accumulate, droop: 50")), VERDICT_FAILED);
        assert_int_equal(found.n, 1);
        assert_said("core6: under full load matmuls add to PSUM, though told to overwrite it");
        for (unsigned bit = 5; bit < 12; bit += 2) {
                char fault[128], line[64];

                (void) snprintf(fault, sizeof(fault), FAULT("core%u", "psum-address-stuck, bit: %u, value: %u, droop: 20"), bit % 8, bit, bit % 2);
                (void) snprintf(line, sizeof(line), "core%u: under full load line %u of the PSUM address", bit % 8, bit);
                assert_int_equal(judge_systolic(fault), VERDICT_FAILED);
                assert_int_equal(found.n, 1);
                assert_said(line);
        }
}

static void what_comes_and_goes_is_named_too(void **state) {
        cells = true;
        assert_int_equal(judge(FAULT("core2", "psum-address-stuck, bit: 7, value: 1, persistence: intermittent, probability: 0.3")),
                         VERDICT_FAILED);
        assert_said("line 7 of the PSUM address");
        assert_int_equal(judge(FAULT("core2", "accumulate-stuck, value: overwrite, persistence: intermittent, probability: 0.5")),
                         VERDICT_FAILED);
        assert_said("matmuls overwrite PSUM");
}

/* Whatever comes and goes is not called permanent, and what does not is not said to. */
static void words_claim_no_more_than_was_seen(void **state) {
        static const char *const seldom = "persistence: intermittent, probability: ";
        static const struct {
                const char *fault, *always, *at_times;
                bool of_array;
        } cases[] = {
                { "accumulate-stuck, value: overwrite", "flag is stuck", "flag is stuck at times", false },
                { "accumulate-stuck, value: accumulate", "flag is stuck", "flag is stuck at times", false },
                { "pe-column-dead, column: 9", "column 9 of the array is wrong in all rows", "column 9 of the array is at times wrong in all rows", true },
        };

        cells = true;
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char fault[160];

                (void) snprintf(fault, sizeof(fault), FAULT("core1", "%s"), cases[i].fault);
                assert_int_equal(cases[i].of_array ? judge_systolic(fault) : judge(fault), VERDICT_FAILED);
                assert_said(cases[i].always);
                assert_null(strstr(found.lines, "at times"));
                (void) snprintf(fault, sizeof(fault), FAULT("core1", "%s, %s%s"), cases[i].fault, seldom, cases[i].of_array ? "0.2" : "0.3");
                assert_int_equal(cases[i].of_array ? judge_systolic(fault) : judge(fault), VERDICT_FAILED);
                assert_said(cases[i].at_times);
        }
}

/* Bits of the corners and the middle, by hand: element e is in row e / 8, bit b of it bit 32 (e % 8) + b of the row. */
static void every_element_is_reached(void **state) {
        static const struct {
                const char *fault, *says, *at;
        } cases[] = {
                { FAULT("core0/psum0/part0/row0/bit0", "stuck-at, value: 0"), "PSUM bank 0, partition 0, element 0: bit 0 is stuck at 0", "psum0/part0" },
                { FAULT("core7/psum7/part127/row63/bit255", "stuck-at, value: 1"), "PSUM bank 7, partition 127, element 511: bit 31 is stuck at 1", "psum7/part127" },
                { FAULT("core3/psum2/part65/row17/bit100", "stuck-at, value: 1"), "PSUM bank 2, partition 65, element 139: bit 4 is stuck at 1", "psum2/part65" },
                { FAULT("core3/psum2/part65/row17", "sram-row-dead"), "partition 65: 8 elements from 136 on", "psum2/part65" },
                { FAULT("core3/psum2/part65/bit70", "sram-column, reads: ones"), "64 elements from 2 on: bit 6 is stuck at 1", "psum2/part65" },
                { FAULT("core3/psum5/part65", "sram-partition-dead, reads: inverted"), "512 elements from 0 on", "psum5/part65" },
                { FAULT("core3/psum5", "sram-array-dead"), "65536 elements of 128 partitions are wrong", "core3/psum5\"" },
        };

        cells = true;
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                assert_int_equal(judge(cases[i].fault), VERDICT_FAILED);
                assert_int_equal(found.n, 1);
                assert_said(cases[i].says);
                assert_said(cases[i].at);
        }
}

/* An element of the array spoils all banks alike: that is not PSUM's. */
static void what_the_array_does_is_not_psums(void **state) {
        static const char *const faults[] = {
                FAULT("core1/pe0.0", "weight-stuck, bit: 3, value: 1"), FAULT("core1/pe0.1", "activation-stuck, bit: 8, value: 1"),
                FAULT("core1/pe2.0", "product-stuck, bit: 20, value: 1"), FAULT("core1/pe3.1", "psum-stuck, bit: 23, value: 0"),
                FAULT("core1", "pe-column-dead, column: 1"), FAULT("core1", "pe-row-dead, row: 1"),
                FAULT("core1/pe0.0", "activation-stuck, bit: 4, value: 0"),
                FAULT("core1/pe0.1", "psum-stuck, bit: 27, value: 1, persistence: intermittent, probability: 0.5"),
        };

        for (size_t i = 0; i < ELEMENTS(faults); i++) {
                assert_int_equal(judge_systolic(faults[i]), VERDICT_FAILED);
                assert_true(found.n > 0);
                if (strstr(found.lines, "systolic-psum"))
                        fail_msg("%s\n%s", faults[i], found.lines);
        }
}

/* The array's patterns go to bank 0: where that fails, the array is judged in another one. */
static void a_bank_that_fails_does_not_hide_the_array(void **state) {
        assert_int_equal(judge_systolic(FAULT("core4/psum0/part9/row3/bit11", "stuck-at, value: 1")), VERDICT_FAILED);
        assert_int_equal(found.n, 1);
        assert_said("PSUM bank 0, partition 9, element 24: bit 11 is stuck at 1");

        assert_int_equal(judge_systolic(FAULT("core4/psum0", "sram-array-dead") FAULT("core4/pe7.9", "weight-stuck, bit: 14, value: 1")),
                         VERDICT_FAILED);
        assert_int_equal(found.n, 2);
        assert_said("systolic-psum");
        assert_said("core4/pe7.9");
}

/* Lines of the address and the flag, which spoil sums of the patterns as well: the array is sound. LINES for more of them. */
static void a_line_that_comes_and_goes_is_not_the_arrays(void **state) {
        static const double probabilities[] = { 0.2, 0.5, 0.05 };
        unsigned n_lines = getenv("LINES") ? (unsigned) atoi(getenv("LINES")) : 45, n_array = 0, n_psum = 0;
        const uint64_t seed = hall_seed;
        char fault[256];

        for (unsigned i = 0; i < n_lines; i++) {
                hall_seed = i;
                (void) snprintf(fault, sizeof(fault), FAULT("core%u", "psum-address-stuck, bit: %u, value: %u, persistence: intermittent, probability: %g"), i / 3 % 8,
                                i % 12, i / 12 % 2, probabilities[i / 5 % 3]);
                (void) judge_systolic(fault);
                n_psum += strstr(found.lines, "\"systolic-psum\"") != NULL;
                for (const char *line = found.lines, *end; (end = strchr(line, '\n')); line = end + 1)
                        if (memmem(line, (size_t) (end - line), "\"diagnosis\"", 11) && !memmem(line, (size_t) (end - line), "\"systolic-psum\"", 15)) {
                                n_array++;
                                print_error("%s%.*s\n", fault, (int) (end - line), line);
                        }
        }
        hall_seed = seed;
        print_message("# %u lines: PSUM named %u times, the array %u\n", n_lines, n_psum, n_array);
        assert_int_equal(n_array, 0);
}

/* A core that refuses what only it was asked leaves nobody to ask. */
static void a_core_may_refuse_in_the_midst_of_a_test(void **state) {
        Check check = check_systolic;

        check.run = psum_of_the_array;
        for (scenario_seed = 1; scenario_seed <= 40; scenario_seed++)
                assert_int_equal(scan(&check, FAULT("core5", "format-refused, format: bf16, persistence: intermittent, probability: 0.02")), VERDICT_PASSED);
        scenario_seed = 5;
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_sound_psum_passes),
                cmocka_unit_test(every_line_of_the_address_is_named),
                cmocka_unit_test(two_lines_are_two_findings),
                cmocka_unit_test(the_flag_is_named_with_what_it_does),
                cmocka_unit_test(what_full_load_alone_shows_is_named),
                cmocka_unit_test(what_comes_and_goes_is_named_too),
                cmocka_unit_test(words_claim_no_more_than_was_seen),
                cmocka_unit_test(every_element_is_reached),
                cmocka_unit_test(what_the_array_does_is_not_psums),
                cmocka_unit_test(a_bank_that_fails_does_not_hide_the_array),
                cmocka_unit_test(a_line_that_comes_and_goes_is_not_the_arrays),
                cmocka_unit_test(a_core_may_refuse_in_the_midst_of_a_test),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
