/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/sparsity/loads.h"
#include "checks/sparsity/parameters.h"
#include "tests/checks/tensor-outcome.h"

extern const Check check_sparsity;

static const SparsityParameters bits = { .paths = SPARSITY_BITS };
static const SparsityParameters all = { .paths = SPARSITY_ALL };
static const SparsityParameters often = { .paths = SPARSITY_ALL, .rounds = 4 };

static TensorOutcome outcome;

static void run(TensorChip *chip, const SparsityParameters *parameters) {
        tensor_chip_run(chip, &check_sparsity, parameters, &outcome);
}

static void assert_failed_with(size_t n_findings) {
        for (size_t i = 0; i < outcome.n_findings && outcome.n_findings != n_findings; i++)
                print_message("%s at %s: %s\n", outcome.findings[i].code, outcome.findings[i].where, outcome.findings[i].message);
        assert_int_equal(outcome.error, 0);
        assert_int_equal(outcome.verdict, VERDICT_FAILED);
        assert_int_equal(outcome.n_findings, n_findings);
}

static void assert_any_finding(const char *code, const char *where, const char *says) {
        char full[LOCATION_STRING_MAX];

        (void) snprintf(full, sizeof(full), "us0-0/chip0/%s", where);
        for (size_t i = 0; i < outcome.n_findings; i++)
                if (strcmp(outcome.findings[i].code, code) == 0 && strcmp(outcome.findings[i].where, full) == 0 &&
                    strstr(outcome.findings[i].message, says))
                        return;
        fail_msg("no %s at %s says \"%s\"", code, where, says);
}

static void test_a_healthy_chip_passes(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        for (unsigned i = 0; i < 3; i++) {
                run(&chip, i == 1 ? &all : &bits);
                assert_int_equal(outcome.error, 0);
                assert_int_equal(outcome.verdict, VERDICT_PASSED);
                assert_int_equal(outcome.n_findings, 0);
                assert_int_equal(outcome.n_beyond, 0);
        }
        tensor_chip_done(&chip);
}

static void test_the_small_set_shows_every_tag_bit_at_both_levels_and_every_mode(void **state) {
        static uint8_t seen[2][PE_ROWS][PE_COLUMNS];
        unsigned modes = 0;

        for (unsigned i = 0; i < SPARSE_LOADS; i++) {
                const SparseLoad *load = sparse_load_at(i);

                if (!load->for_bits)
                        continue;
                modes |= 1u << sparse_mode_index(load->mode);
                for (unsigned row = 0; load->mode->group == 16 && row < PE_ROWS; row++)
                        for (unsigned column = 0; column < PE_COLUMNS; column++) {
                                seen[1][row][column] |= (uint8_t) sparse_load_tag(load, row, column);
                                seen[0][row][column] |= (uint8_t) (~sparse_load_tag(load, row, column) & 15);
                        }
        }

        assert_int_equal(modes, 127);
        for (unsigned row = 0; row < PE_ROWS; row++)
                for (unsigned column = 0; column < PE_COLUMNS; column++) {
                        assert_int_equal(seen[0][row][column], 15);
                        assert_int_equal(seen[1][row][column], 15);
                }
}

/* What core 5 was sent: which inputs each element was to select, and which sets of inputs a group was. */
typedef struct Sent {
        unsigned keep, group, n_masks, masks; /* masks: how many there are */
        unsigned n_loads;
        uint16_t paths[PE_ROWS][PE_COLUMNS];
        bool mask[1u << SPARSE_GROUP_MAX];
} Sent;

static Sent sent[] = {
        { .keep = 4, .group = 16, .masks = 1820 }, { .keep = 4, .group = 12, .masks = 495 }, { .keep = 4, .group = 8, .masks = 70 },
        { .keep = 2, .group = 8, .masks = 28 },    { .keep = 2, .group = 4, .masks = 6 },    { .keep = 1, .group = 4, .masks = 4 },
        { .keep = 1, .group = 2, .masks = 2 },
};

static void watch_tags(const TensorChip *chip, const WireCommand *command) {
        const WireLoad *load = &command->load;
        Sent *to = sent;

        if (command->type != COMMAND_LOAD_STATIONARY || command->unit != 5 || !(load->flags & LOAD_SPARSE) ||
            load->format != FORMAT_BF16)
                return;
        while (to->keep != load->keep || to->group != load->group)
                to++;

        to->n_loads++;
        for (unsigned column = 0; column < PE_COLUMNS; column++)
                for (unsigned row = 0, mask = 0; row < PE_ROWS; row++) {
                        const uint8_t *words = chip->window + load->tags_offset + row * (PE_COLUMNS / 4) * 2;
                        unsigned tag = words[column / 2] >> 4 * (column % 2) & 15;

                        to->paths[row][column] |= (uint16_t) (1u << tag);
                        mask = (row % load->keep == 0 ? 0 : mask) | 1u << tag;
                        if (row % load->keep != load->keep - 1u || __builtin_popcount(mask) != load->keep || mask >> load->group)
                                continue;
                        to->n_masks += !to->mask[mask];
                        to->mask[mask] = true;
                }
}

/* A load shows one input of an element, so all of them take as many loads as there are. The others: masks, odd tags and, in 4:16,
 * the complement; a random tile of each mode. */
static void test_what_is_sent_covers_every_path_and_every_mask_with_no_load_too_many(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        chip.watch = watch_tags;
        run(&chip, &all);
        assert_int_equal(outcome.verdict, VERDICT_PASSED);
        tensor_chip_done(&chip);

        for (size_t i = 0; i < ELEMENTS(sent); i++) {
                assert_int_equal(sent[i].n_masks, sent[i].masks);
                assert_int_equal(sent[i].n_loads, sent[i].group + 3 + (sent[i].group == 16));
                for (unsigned row = 0; row < PE_ROWS; row++)
                        for (unsigned column = 0; column < PE_COLUMNS; column++)
                                assert_int_equal(sent[i].paths[row][column] & ((1u << sent[i].group) - 1), (1u << sent[i].group) - 1);
        }
}

static void test_random_tag_bits_are_all_found_and_placed(void **state) {
        TensorChip chip;
        char where[64], says[64];

        srandom(1234);
        tensor_chip_init(&chip);
        for (unsigned i = 0; i < 16; i++) {
                TensorParameters parameters = { .bit = (unsigned) random() % 4,
                                                .value = (unsigned) random() % 2 };

                (void) snprintf(where, sizeof(where), "core%u/sparse/row%u/slot%u", (unsigned) random() % 8,
                                (unsigned) random() % 128, (unsigned) random() % 128);
                (void) snprintf(says, sizeof(says), "tag bit %u stuck at %u", (unsigned) parameters.bit,
                                (unsigned) parameters.value);
                tensor_chip_inject(&chip, "tag-stuck", where, parameters, 1);
                run(&chip, i % 20 == 0 ? &all : &bits);
                assert_failed_with(1);
                assert_finding(&outcome, 0, "sparsity-tag", where, says);
                assert_true(outcome.n_beyond > 0);
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
}

static void test_tags_of_one_group_and_of_several_cores_are_told_apart(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "tag-stuck", "core1/sparse/row4/slot9",
                           (TensorParameters){ .bit = 0, .value = 1 }, 1);
        tensor_chip_inject(&chip, "tag-stuck", "core1/sparse/row5/slot9",
                           (TensorParameters){ .bit = 3, .value = 0 }, 1);
        tensor_chip_inject(&chip, "tag-stuck", "core7/sparse/row127/slot127",
                           (TensorParameters){ .bit = 1, .value = 0 }, 1);
        run(&chip, &bits);
        assert_failed_with(3);
        assert_finding(&outcome, 0, "sparsity-tag", "core1/sparse/row4/slot9", "tag bit 0 stuck at 1");
        assert_finding(&outcome, 1, "sparsity-tag", "core1/sparse/row5/slot9", "tag bit 3 stuck at 0");
        assert_finding(&outcome, 2, "sparsity-tag", "core7/sparse/row127/slot127", "tag bit 1 stuck at 0");
        tensor_chip_done(&chip);
}

static void test_dead_inputs_of_a_row_are_named(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "select-dead", "core3/sparse/row66", (TensorParameters){ .position = 13 },
                           1);
        tensor_chip_inject(&chip, "select-dead", "core3/sparse/row66", (TensorParameters){ .position = 2 },
                           1);
        tensor_chip_inject(&chip, "tag-stuck", "core3/sparse/row70/slot1",
                           (TensorParameters){ .bit = 2, .value = 1 }, 1);
        run(&chip, &bits);
        assert_failed_with(3);
        assert_any_finding("sparsity-tag", "core3/sparse/row70/slot1", "tag bit 2 stuck at 1");
        assert_any_finding("sparsity-select", "core3/sparse/row66", "input 2 of the selector reads zero");
        assert_any_finding("sparsity-select", "core3/sparse/row66", "input 13 of the selector reads zero");
        tensor_chip_done(&chip);
}

/* The control is dense, and has to be rid of the tags of a register that misses the first load in another mode. */
static void test_stale_tags_of_two_kinds_are_no_fault_of_the_array(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "tag-stale", "core1/sparse/slot125", (TensorParameters){ .misses = 2 }, 1);
        tensor_chip_inject(&chip, "tag-stale", "core1/sparse/row53/slot125", (TensorParameters){ .misses = 1 }, 1);
        run(&chip, &all);
        assert_true(outcome.n_findings >= 1);
        assert_any_finding("sparsity-stale", "core1/sparse/slot125", "acts on dense");
        assert_any_finding("sparsity-stale", "core1/sparse/row53/slot125", "not taken over");
        tensor_chip_done(&chip);
}

static void test_a_refused_mode_is_named(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "mode-refused", "core6/sparse", (TensorParameters){ .mode = 3 }, 1);
        run(&chip, &bits);
        assert_failed_with(1);
        assert_finding(&outcome, 0, "sparsity-mode", "core6/sparse", "mode 2:8 is refused");
        run(&chip, &all);
        assert_failed_with(1);
        tensor_chip_done(&chip);
}

static void test_an_intermittent_tag_bit_is_placed(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "tag-stuck", "core2/sparse/row17/slot40",
                           (TensorParameters){ .bit = 1, .value = 1 }, 0.5);
        run(&chip, &all);
        assert_failed_with(1);
        assert_finding(&outcome, 0, "sparsity-tag", "core2/sparse/row17/slot40", "tag bit 1 at times stuck at 1");
        tensor_chip_done(&chip);
}

static void test_a_broken_array_is_left_to_the_dense_test(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        tensor_chip_inject(&chip, "product-stuck", "core2/pe5.6",
                           (TensorParameters){ .bit = 24, .value = 1 }, 1);
        run(&chip, &bits);
        assert_int_equal(outcome.error, 0);
        assert_int_equal(outcome.verdict, VERDICT_SKIPPED);
        assert_int_equal(outcome.n_findings, 0);

        tensor_chip_inject(&chip, "tag-stuck", "core2/sparse/row17/slot40",
                           (TensorParameters){ .bit = 1, .value = 1 }, 1);
        run(&chip, &bits);
        assert_failed_with(1);
        assert_finding(&outcome, 0, "sparsity-tag", "core2/sparse/row17/slot40", "tag bit 1 stuck at 1");
        tensor_chip_done(&chip);
}

static void test_no_random_array_fault_passes_for_a_tag(void **state) {
        static const char *const kinds[] = { "weight-stuck", "activation-stuck", "product-stuck",
                                             "psum-stuck" };
        static const unsigned widths[] = { 16, 16, 32, 32 };
        TensorChip chip;
        char where[64];

        srandom(99);
        tensor_chip_init(&chip);
        for (unsigned i = 0; i < 16; i++) {
                unsigned kind = (unsigned) random() % 4;

                (void) snprintf(where, sizeof(where), "core%u/pe%u.%u", (unsigned) random() % 8,
                                (unsigned) random() % 128, (unsigned) random() % 128);
                tensor_chip_inject(&chip, kinds[kind], where,
                                   (TensorParameters){ .bit = (unsigned) random() % widths[kind],
                                                       .value = (unsigned) random() % 2 },
                                   1);
                run(&chip, &bits);
                assert_int_equal(outcome.error, 0);
                if (outcome.n_findings > 0)
                        fail_msg("%s at %s: %s", kinds[kind], where, outcome.findings[0].message);
                assert_true(outcome.verdict == VERDICT_SKIPPED || outcome.verdict == VERDICT_PASSED);
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
}

/* What a core makes of bf16 at times it makes of dense products too. */
static void test_a_core_that_misreads_its_format_at_times_is_left_to_the_dense_test(void **state) {
        static const double probabilities[] = { 0.5, 0.2, 0.05 };
        TensorChip chip;

        tensor_chip_init(&chip);
        for (size_t i = 0; i < 2 * ELEMENTS(probabilities); i++) {
                tensor_chip_inject(&chip, "format-wrong", "core4", (TensorParameters){ .format = FORMAT_BF16 }, probabilities[i / 2]);
                run(&chip, i % 2 ? &all : &bits);
                assert_int_equal(outcome.error, 0);
                assert_int_equal(outcome.n_findings, 0);
                assert_true(outcome.verdict == VERDICT_SKIPPED || (outcome.verdict == VERDICT_PASSED && probabilities[i / 2] < 0.1));
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
}

/* It may refuse loads, matmuls or both, and no mode is to blame for it: `systolic` names the format. The selectors of the others count. */
static void test_a_core_that_refuses_its_format_at_times_hides_no_other(void **state) {
        static const double probabilities[] = { 1, 0.43, 0.2, 0.05, 0.02 };
        TensorChip chip;

        tensor_chip_init(&chip);
        for (size_t i = 0; i < 2 * ELEMENTS(probabilities); i++) {
                tensor_chip_inject(&chip, "format-refused", "core3", (TensorParameters){ .format = FORMAT_BF16 }, probabilities[i / 2]);
                tensor_chip_inject(&chip, "tag-stuck", "core6/sparse/row22/slot49", (TensorParameters){ .bit = 0, .value = 0 }, 1);
                run(&chip, i % 2 ? &all : &bits);
                assert_failed_with(1);
                assert_finding(&outcome, 0, "sparsity-tag", "core6/sparse/row22/slot49", "bit 0");
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
}

static void test_what_is_repeated_does_not_pass(void **state) {
        TensorChip chip;

        for (unsigned i = 0; i < 4; i++) {
                tensor_chip_init(&chip);
                chip.tampered = i < 2 ? 1u << 3 : (1u << CORES) - 1;
                chip.repeats = true;
                run(&chip, i % 2 ? &all : &bits);
                assert_int_equal(outcome.error, 0);
                assert_int_equal(outcome.verdict, VERDICT_SKIPPED);
                assert_int_equal(outcome.n_findings, 0);
                tensor_chip_done(&chip);
        }
}

static void test_what_is_short_is_an_error(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        chip.tampered = 1u << 6;
        chip.is_short = true;
        run(&chip, &bits);
        assert_int_equal(outcome.error, -EPROTO);
        tensor_chip_done(&chip);
}

static void test_a_core_that_writes_nothing_does_not_pass(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        for (uint64_t from = 1; from < 128; from += 24) {
                chip.silent_from = 0;
                run(&chip, &bits); /* leaves golden answers in the window */
                assert_int_equal(outcome.verdict, VERDICT_PASSED);
                chip.silent_from = chip.n_commands + from;
                run(&chip, &bits);
                assert_false(outcome.error == 0 && outcome.verdict == VERDICT_PASSED);
        }
        tensor_chip_done(&chip);
}

static void test_no_error_of_the_port_becomes_a_pass(void **state) {
        static const int errors[] = { -EIO, -ETIMEDOUT, -ENODEV, -EPROTO };
        TensorChip chip;

        for (uint64_t at = 1;; at += 5) {
                bool reached;

                tensor_chip_init(&chip);
                chip.fail_at = at;
                chip.fail_status = at % 2 ? STATUS_NRT_HW_ERROR : STATUS_NRT_UNSUPPORTED;
                run(&chip, &bits);
                reached = chip.n_commands >= at;
                if (!reached)
                        assert_int_equal(outcome.verdict, VERDICT_PASSED);
                else if (at % 2)
                        assert_true(outcome.error < 0 || outcome.verdict == VERDICT_FAILED);
                else /* a matmul without its format is one that systolic has to judge */
                        assert_int_equal(outcome.verdict, VERDICT_SKIPPED);
                tensor_chip_done(&chip);

                tensor_chip_init(&chip);
                chip.break_at = at;
                chip.break_error = errors[at % ELEMENTS(errors)];
                run(&chip, &bits);
                assert_true(reached ? outcome.error < 0 : outcome.verdict == VERDICT_PASSED);
                tensor_chip_done(&chip);
                if (!reached)
                        break;
        }
}

/* Each kind of fault, alone, always there or half of the time. */
typedef struct Case {
        const char *kind, *where;
        TensorParameters parameters;
        const char *code, *found, *says; /* ~: at times, where it comes and goes */
} Case;

static const Case cases[] = {
        { "tag-lane-stuck", "core1/sparse/row9", { .bit = 6, .value = 1 }, "sparsity-lane", "core1/sparse/row9", "wire 6 of the tags ~stuck at 1" },
        { "tag-lane-stuck", "core1/sparse/row127", { .bit = 15, .value = 0 }, "sparsity-lane", "core1/sparse/row127", "wire 15 of the tags ~stuck at 0" },
        { "tag-stale", "core2/sparse/row5/slot7", { .misses = 0 }, "sparsity-stale", "core2/sparse/row5/slot7", "tag of a load is ~not taken" },
        { "tag-stale", "core2/sparse/row5/slot7", { .misses = 1 }, "sparsity-stale", "core2/sparse/row5/slot7", "in another mode is ~not taken" },
        { "tag-stale", "core2/sparse/row5/slot7", { .misses = 2 }, "sparsity-stale", "core2/sparse/row5/slot7", "~acts on dense" },
        { "tag-stale", "core2/sparse/row6", { .misses = 0 }, "sparsity-stale", "core2/sparse/row6", "tag of a load is ~not taken" },
        { "tag-stale", "core2/sparse/row6", { .misses = 1 }, "sparsity-stale", "core2/sparse/row6", "in another mode is ~not taken" },
        { "tag-stale", "core2/sparse/row6", { .misses = 2 }, "sparsity-stale", "core2/sparse/row6", "~acts on dense" },
        { "tag-stale", "core2/sparse/slot8", { .misses = 0 }, "sparsity-stale", "core2/sparse/slot8", "tag of a load is ~not taken" },
        { "tag-stale", "core2/sparse/slot8", { .misses = 1 }, "sparsity-stale", "core2/sparse/slot8", "in another mode is ~not taken" },
        { "tag-stale", "core2/sparse/slot8", { .misses = 2 }, "sparsity-stale", "core2/sparse/slot8", "~acts on dense" },
        { "compressed-swapped", "core3/sparse/row13/slot2", { .other = 14 }, "sparsity-order", "core3/sparse/row13/slot2", "rows 13 and 14 are ~swapped" },
        { "compressed-swapped", "core3/sparse/row15", { .other = 12 }, "sparsity-order", "core3/sparse/row12", "rows 12 and 15 are ~swapped" },
        { "decoder-stuck", "core4/sparse/row17/slot100", { .code = 11, .other = 3 }, "sparsity-select", "core4/sparse/row17/slot100", "tag 11 ~selects input 3" },
        { "decoder-stuck", "core4/sparse/row17", { .code = 0, .other = 1 }, "sparsity-select", "core4/sparse/row17", "tag 0 ~selects input 1" },
        { "select-dead", "core4/sparse/row40", { .position = 15 }, "sparsity-select", "core4/sparse/row40", "input 15 of the selector ~reads zero" },
        { "select-leg-stuck", "core5/sparse/row1/slot1", { .position = 9, .value = 0 }, "sparsity-select", "core5/sparse/row1/slot1", "input 9 of the selector ~reads zero" },
        { "select-leg-stuck", "core5/sparse/row1/slot1", { .position = 9, .value = 1 }, "sparsity-select", "core5/sparse/row1/slot1", "input 9 of the selector is ~let through" },
        { "select-leg-stuck", "core5/sparse/row2", { .position = 4, .value = 1 }, "sparsity-select", "core5/sparse/row2", "input 4 of the selector is ~let through" },
        { "select-leg-stuck", "core5/sparse/row33/slot99", { .position = 15, .has_bit = true, .bit = 0, .value = 0 }, "sparsity-select", "core5/sparse/row33/slot99", "bit 0 of input 15 of the selector ~stuck at 0" },
        { "select-leg-stuck", "core5/sparse/row33/slot99", { .position = 3, .has_bit = true, .bit = 7, .value = 0 }, "sparsity-select", "core5/sparse/row33/slot99", "bit 7 of input 3 of the selector ~stuck at 0" },
        { "select-leg-stuck", "core5/sparse/row33/slot99", { .position = 3, .has_bit = true, .bit = 14, .value = 1 }, "sparsity-select", "core5/sparse/row33/slot99", "bit 14 of input 3 of the selector ~stuck at 1" },
        { "select-bridged", "core6/sparse/row77/slot5", { .position = 12, .other = 2, .wired = 0 }, "sparsity-select", "core6/sparse/row77/slot5", "inputs 2 and 12 of the selector are ~bridged: wired-and" },
        { "select-leg-stuck", "core5/sparse/row33", { .position = 3, .has_bit = true, .bit = 15, .value = 1 }, "sparsity-select", "core5/sparse/row33", "bit 15 of input 3 of the selector ~stuck at 1" },
        { "select-bridged", "core6/sparse/row77/slot5", { .position = 12, .other = 2, .wired = 1 }, "sparsity-select", "core6/sparse/row77/slot5", "inputs 2 and 12 of the selector are ~bridged: wired-or" },
        { "select-bridged", "core6/sparse/row78", { .position = 1, .other = 0, .wired = 1 }, "sparsity-select", "core6/sparse/row78", "inputs 0 and 1 of the selector are ~bridged: wired-or" },
        { "ratio-wrong", "core7/sparse", { .mode = 2, .as = 4 }, "sparsity-mode", "core7/sparse", "mode 4:8 is ~taken for 2:4" },
        { "ratio-wrong", "core7/sparse", { .mode = 6, .as = 0 }, "sparsity-mode", "core7/sparse", "mode 1:2 is ~taken for 4:16" },
};

/* "; shown by K of N loads": about as often as it was there, and not a word where it always was. */
static void assert_share(const char *message, double probability) {
        const char *shown = strstr(message, "; shown by ");
        unsigned k, n;

        assert_int_equal(shown != NULL, probability < 1);
        if (!shown)
                return;
        assert_int_equal(sscanf(shown, "; shown by %u of %u loads", &k, &n), 2);
        assert_true(k >= 1 && k < n && fabs(k - probability * n) <= 4.5 * sqrt(probability * (1 - probability) * n) + 0.5);
}

static void run_case(TensorChip *chip, const Case *c, double probability) {
        char says[128];

        tensor_chip_inject(chip, c->kind, c->where, c->parameters, probability);
        run(chip, probability < 1 ? &often : &all);
        (void) snprintf(says, sizeof(says), "%.*s%s%s", (int) strcspn(c->says, "~"), c->says, probability < 1 ? "at times " : "",
                        strchr(c->says, '~') + 1);
        if (outcome.n_findings != 1 || !strstr(outcome.findings[0].message, says))
                print_message("%s at %s with probability %g\n", c->kind, c->where, probability);
        assert_failed_with(1);
        assert_finding(&outcome, 0, c->code, c->found, says);
        assert_share(outcome.findings[0].message, probability);
        tensor_chip_heal(chip);
}

static void test_each_kind_is_named_with_all_that_is_wrong(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        for (size_t i = 0; i < ELEMENTS(cases); i++)
                run_case(&chip, &cases[i], 1);
        tensor_chip_done(&chip);
}

/* Every second case has each kind, and each takes four times what it takes above. */
static void test_each_kind_is_named_where_it_comes_and_goes(void **state) {
        TensorChip chip;

        tensor_chip_init(&chip);
        for (size_t i = 0; i < ELEMENTS(cases); i += 2)
                run_case(&chip, &cases[i], 0.5);
        tensor_chip_done(&chip);
}

/*
 * An activation register of the array that is seldom wrong is no fault of selectors, also where dense products have not shown it: they
 * know nothing of each other, and do not all fail in one load from one column on. Every third is the first of its row.
 */
static void test_an_activation_that_is_seldom_wrong_blames_no_selector(void **state) {
        TensorChip chip;
        char where[64];

        tensor_chip_init(&chip);
        for (unsigned i = 0; i < 24; i++) {
                TensorParameters parameters = { .bit = i < 12 ? 0 : i % 16, .value = i % 4 == 3 };

                (void) snprintf(where, sizeof(where), "core7/pe%u.%u", 5 + i * 5, i % 3 == 2 ? 0 : i * 5);
                tensor_chip_inject(&chip, "activation-stuck", where, parameters, 0.002 * (1 + i % 12));
                run(&chip, &often);
                if (outcome.n_findings > 0)
                        fail_msg("%s: %s", where, outcome.findings[0].message);
                assert_int_equal(outcome.error, 0);
                assert_true(outcome.verdict == VERDICT_SKIPPED || outcome.verdict == VERDICT_PASSED);
                tensor_chip_heal(&chip);
        }
        tensor_chip_done(&chip);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_healthy_chip_passes),
                cmocka_unit_test(test_the_small_set_shows_every_tag_bit_at_both_levels_and_every_mode),
                cmocka_unit_test(test_what_is_sent_covers_every_path_and_every_mask_with_no_load_too_many),
                cmocka_unit_test(test_random_tag_bits_are_all_found_and_placed),
                cmocka_unit_test(test_tags_of_one_group_and_of_several_cores_are_told_apart),
                cmocka_unit_test(test_dead_inputs_of_a_row_are_named),
                cmocka_unit_test(test_each_kind_is_named_with_all_that_is_wrong),
                cmocka_unit_test(test_each_kind_is_named_where_it_comes_and_goes),
                cmocka_unit_test(test_stale_tags_of_two_kinds_are_no_fault_of_the_array),
                cmocka_unit_test(test_a_refused_mode_is_named),
                cmocka_unit_test(test_an_intermittent_tag_bit_is_placed),
                cmocka_unit_test(test_a_broken_array_is_left_to_the_dense_test),
                cmocka_unit_test(test_an_activation_that_is_seldom_wrong_blames_no_selector),
                cmocka_unit_test(test_no_random_array_fault_passes_for_a_tag),
                cmocka_unit_test(test_a_core_that_misreads_its_format_at_times_is_left_to_the_dense_test),
                cmocka_unit_test(test_a_core_that_refuses_its_format_at_times_hides_no_other),
                cmocka_unit_test(test_what_is_repeated_does_not_pass),
                cmocka_unit_test(test_what_is_short_is_an_error),
                cmocka_unit_test(test_a_core_that_writes_nothing_does_not_pass),
                cmocka_unit_test(test_no_error_of_the_port_becomes_a_pass),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
