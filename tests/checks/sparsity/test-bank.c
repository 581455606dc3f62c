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

/* Of one cell, and of two where there is a semicolon: the second one is another part of the same bank. */
static const char *const cells[][2] = {
        { "transition", "<0w1/0/->" },
        { "write-disturb", "<1w1/0/->" },
        { "incorrect-read", "<1r1/1/0>" },
        { "coupling-state", "<1;0/1/->" },
        { "coupling-disturb", "<1r1;0/1/->" },
        { "coupling-transition", "<1;0w1/0/->" },
        { "coupling-write-disturb", "<1;1w1/0/->" },
        { "coupling-incorrect-read", "<1;1r1/1/0>" },
        { "coupling-inversion", "<0w1;x/!x/->" },
        { "coupling-inversion", "<1w0;x/!x/->" },
        { "coupling-idempotent", "<1w0;0/1/->" },
        { "coupling-idempotent", "<0w1;1/0/->" },
        { "dynamic-write", "<0w1w1/0/->" },
        { "dynamic-coupling-disturb", "<0w1r1;1/0/->" },
};

static void write_cell(char *text, size_t n, unsigned i, double probability) {
        bool coupled = strchr(cells[i % ELEMENTS(cells)][1], ';');
        char aggressor[64] = "", at[64];

        (void) snprintf(at, sizeof(at), "core3/psum%u/part%u/row%u/bit%u", (unsigned) random() % 8, (unsigned) random() % 128, (unsigned) random() % 12,
                        (unsigned) random() % 256);
        if (coupled)
                (void) snprintf(aggressor, sizeof(aggressor), ", aggressor: part%u/row%u/bit%u", (unsigned) random() % 128, (unsigned) random() % 12,
                                (unsigned) random() % 256);
        (void) snprintf(text, n, "  - {at: " CHIP "%s, kind: %s, primitive: \"%s\"%s, persistence: intermittent, probability: %g}\n", at,
                        cells[i % ELEMENTS(cells)][0], cells[i % ELEMENTS(cells)][1], aggressor, probability);
}

/* Prints and counts what is said of a selector beside FAULT. */
static unsigned count_selectors(const char *fault, const SparsityParameters *parameters) {
        const char *line = found.lines;
        unsigned n = 0;

        (void) scan(fault, parameters);
        for (const char *end; (end = strchr(line, '\n')); line = end + 1) {
                if (!memmem(line, (size_t) (end - line), "\"diagnosis\"", 11) || memmem(line, (size_t) (end - line), "sparsity-sums", 13))
                        continue;
                if (n++ == 0)
                        print_error("%s%.*s\n", fault, (int) (end - line), line);
        }
        return n;
}

/* Each of them shows itself in some load, by what was written before in its bank, and most of them in nothing else. */
static void a_cell_that_another_one_turns_over_is_no_selector(void **state) {
        static const char *const faults[] = {
                FAULT("core3/psum2/part61/row7/bit231", "coupling-idempotent, primitive: \"<1w0;0/1/->\", aggressor: part116/row6/bit135"),
                FAULT("core3/psum2/part79/row7/bit43", "coupling-idempotent, primitive: \"<1w0;0/1/->\", aggressor: part117/row5/bit116"),
                FAULT("core3/psum1/part73/row6/bit6", "coupling-idempotent, primitive: \"<1w0;0/1/->\", aggressor: part78/row8/bit157"),
                FAULT("core3/psum3/part38/row3/bit49", "coupling-state, primitive: \"<1;0/1/->\", aggressor: part34/row8/bit32"),
                FAULT("core3/psum2/part24/row6/bit156", "coupling-disturb, primitive: \"<1r1;0/1/->\", aggressor: part67/row9/bit93"),
        };

        for (size_t i = 0; i < 2 * ELEMENTS(faults); i++)
                assert_int_equal(count_selectors(faults[i / 2], i % 2 ? &all_paths : NULL), 0);
}

/* Bridged with an input that most modes do not have, they are zero in all columns at once in some loads, and no activation's line. */
static void inputs_of_a_row_are_not_left_to_the_array(void **state) {
        Verdict verdict = scan(FAULT("core4/sparse/row80", "select-bridged, position: 0, other: 12, wired: and"), &all_paths);

        assert_int_equal(verdict, VERDICT_FAILED);
        assert_non_null(strstr(found.lines, "inputs 0 and 12 of the selector are bridged"));
}

/* CELLS for more of them. */
static void no_cell_of_psum_is_a_selector(void **state) {
        static const double probabilities[] = { 1, 0.5, 0.2 };
        unsigned n_cells = getenv("CELLS") ? (unsigned) atoi(getenv("CELLS")) : 210, n_named = 0;
        char fault[512];

        srandom(2);
        for (unsigned i = 0; i < n_cells; i++) {
                write_cell(fault, sizeof(fault), i, probabilities[i % 3]);
                n_named += count_selectors(fault, i % 2 ? &all_paths : NULL) > 0;
        }
        print_message("# %u cells of PSUM: selectors named beside %u\n", n_cells, n_named);
        assert_int_equal(n_named, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(another_bank_is_taken),
                cmocka_unit_test(a_tag_is_told_beside_a_sick_bank),
                cmocka_unit_test(without_a_sound_bank_the_selectors_are_not_judged),
                cmocka_unit_test(a_cell_that_another_one_turns_over_is_no_selector),
                cmocka_unit_test(no_cell_of_psum_is_a_selector),
                cmocka_unit_test(inputs_of_a_row_are_not_left_to_the_array),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
