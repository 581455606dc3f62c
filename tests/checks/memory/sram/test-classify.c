/* SPDX-License-Identifier: Apache-2.0 */

/* Lists of failures made by hand, and random ones of known structure: what they must be called, and where. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "checks/memory/sram/classify.h"
#include "checks/text/cleanup.h"

#define NUMBER 13 /* an array of PSUM */

static MemoryGeometry geometry;
static MarchFailures failures;
static SramDefects defects;

static int set_up(void **state) {
        assert_int_equal(memory_geometry_parse("16 1 1 1 4 32 1", &geometry), 0);
        failures = (MarchFailures) {};
        defects = (SramDefects) {};
        return 0;
}

static int tear_down(void **state) {
        march_failures_done(&failures);
        sram_defects_done(&defects);
        return 0;
}

/* BITS of the access at (partition, bank, row) read as their inverse; -1: all of them. */
static void fail_bits(unsigned partition, unsigned bank, unsigned row, int first, int second) {
        static const MarchSighting sighting = { .phase = MARCH_PHASE_MARCH };
        MemoryData expected = {}, actual = {};
        uint32_t linear = (partition * geometry.size[SRAM_BANK] + bank) * geometry.size[SRAM_ROW] + row;

        if (first < 0)
                memset(actual.bytes, 0xff, sizeof(actual.bytes));
        else
                actual.bytes[first / 8] |= (uint8_t) (1u << first % 8);
        if (second >= 0)
                actual.bytes[second / 8] |= (uint8_t) (1u << second % 8);
        assert_int_equal(march_failures_add(&failures, NUMBER, linear, &sighting, &expected, &actual), 0);
}

static void fail_block(unsigned partition, unsigned bank) {
        for (unsigned row = 0; row < geometry.size[SRAM_ROW]; row++)
                fail_bits(partition, bank, row, -1, -1);
}

static void classify(unsigned low, unsigned high) {
        SramCase c;

        march_failures_merge(&failures);
        assert_int_equal(sram_case_init(&c, &geometry, NUMBER, 8, &defects), 0);
        sram_case_take(&c, &failures);
        if (high > 0) {
                assert_int_equal(sram_case_add_pair(&c, high, low), 0);
                assert_int_equal(sram_case_add_pair(&c, low, high), 0);
        }
        assert_int_equal(sram_case_find_blocks(&c), 0);
        assert_int_equal(sram_case_find_rest(&c), 0);
        sram_case_done(&c);
}

static const SramDefect *find(SramDefectKind kind, unsigned partition, unsigned bank, unsigned row, int bit) {
        for (size_t i = 0; i < defects.n; i++) {
                const SramDefect *defect = &defects.defects[i];

                if (defect->kind == kind && defect->number == NUMBER && defect->at[SRAM_PARTITION] == partition &&
                    defect->at[SRAM_BANK] == bank && defect->at[SRAM_ROW] == row && defect->bit == bit)
                        return defect;
        }
        fail_msg("no defect %u at partition %u, bank %u, row %u, bit %d", kind, partition, bank, row, bit);
        return NULL;
}

static void one_bit_is_a_cell_and_two_are_a_word(void **state) {
        fail_bits(3, 1, 7, 200, -1);
        fail_bits(3, 1, 7, 200, -1);
        fail_bits(4, 2, 9, 0, 255);
        classify(0, 0);
        assert_int_equal(defects.n, 2);
        assert_int_equal(find(SRAM_DEFECT_CELL, 3, 1, 7, 200)->n_reads, 2);
        (void) find(SRAM_DEFECT_WORD, 4, 2, 9, -1);
}

static void the_same_bit_in_two_rows_is_two_cells(void **state) {
        fail_bits(3, 1, 7, 20, -1);
        fail_bits(3, 1, 8, 20, -1);
        classify(0, 0);
        assert_int_equal(defects.n, 2);
        (void) find(SRAM_DEFECT_CELL, 3, 1, 7, 20);
        (void) find(SRAM_DEFECT_CELL, 3, 1, 8, 20);
}

static void the_same_bit_in_half_of_the_rows_is_a_column_and_leaves_others(void **state) {
        for (unsigned row = 7; row < 7 + 16; row++)
                fail_bits(3, 1, row, 20, row == 7 ? 30 : -1);
        fail_bits(3, 2, 8, 20, -1); /* another bank */
        classify(0, 0);
        assert_int_equal(defects.n, 3);
        assert_int_equal(find(SRAM_DEFECT_COLUMN, 3, 1, 7, 20)->n_accesses, 16);
        (void) find(SRAM_DEFECT_CELL, 3, 1, 7, 30);
        (void) find(SRAM_DEFECT_CELL, 3, 2, 8, 20);
}

static void most_bits_of_a_row_are_a_row(void **state) {
        fail_bits(0, 0, 31, -1, -1);
        fail_bits(0, 0, 30, 5, -1);
        classify(0, 0);
        assert_int_equal(defects.n, 2);
        (void) find(SRAM_DEFECT_ROW, 0, 0, 31, -1);
        (void) find(SRAM_DEFECT_CELL, 0, 0, 30, 5);
}

static void rows_that_a_decoder_confuses_are_one_defect(void **state) {
        uint32_t first = (5 * 4 + 2) * 32;

        fail_bits(5, 2, 3, -1, -1);
        fail_bits(5, 2, 19, -1, -1);
        fail_bits(5, 2, 20, -1, -1);
        classify(first + 3, first + 19);
        assert_int_equal(defects.n, 2);
        assert_int_equal(find(SRAM_DEFECT_DECODER, 5, 2, 3, -1)->other, 19);
        (void) find(SRAM_DEFECT_ROW, 5, 2, 20, -1);
}

static void dead_partitions_are_told_from_a_dead_bank(void **state) {
        fail_block(2, 3);
        fail_block(9, 3);
        fail_bits(9, 2, 1, 1, -1);
        classify(0, 0);
        assert_int_equal(defects.n, 3);
        assert_int_equal(find(SRAM_DEFECT_PARTITION, 2, 3, 0, -1)->n_accesses, 32);
        (void) find(SRAM_DEFECT_PARTITION, 9, 3, 0, -1);
        (void) find(SRAM_DEFECT_CELL, 9, 2, 1, 1);

        tear_down(NULL);
        set_up(NULL);
        for (unsigned partition = 0; partition < 8; partition++)
                fail_block(2 * partition, 1);
        fail_bits(3, 0, 1, 1, -1);
        classify(0, 0);
        assert_int_equal(defects.n, 2);
        assert_int_equal(find(SRAM_DEFECT_ARRAY, 0, 1, 0, -1)->n_accesses, 8 * 32);
        (void) find(SRAM_DEFECT_CELL, 3, 0, 1, 1);
}

static void a_bit_line_that_fails_in_every_row_is_no_dead_partition(void **state) {
        for (unsigned row = 0; row < 32; row++)
                fail_bits(7, 0, row, 99, -1);
        classify(0, 0);
        assert_int_equal(defects.n, 1);
        assert_int_equal(find(SRAM_DEFECT_COLUMN, 7, 0, 0, 99)->n_accesses, 32);
}

static void many_cells_without_structure_are_scattered(void **state) {
        for (unsigned i = 0; i < 9; i++)
                fail_bits(i, i % 4, 3 * i, (int) (17 * i), -1);
        fail_bits(15, 3, 2, -1, -1);
        classify(0, 0);
        assert_int_equal(defects.n, 2);
        (void) find(SRAM_DEFECT_ROW, 15, 3, 2, -1);
        assert_int_equal(find(SRAM_DEFECT_SCATTERED, 0, 0, 0, -1)->n_accesses, 9);
}

static void failures_of_other_arrays_do_not_count(void **state) {
        static const MarchSighting sighting = {};
        MemoryData expected = {}, actual = { .bytes = { 1 } };

        assert_int_equal(march_failures_add(&failures, NUMBER - 1, 5, &sighting, &expected, &actual), 0);
        classify(0, 0);
        assert_int_equal(defects.n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void) {
        const struct CMUnitTest tests[] = {
                TEST(one_bit_is_a_cell_and_two_are_a_word),
                TEST(the_same_bit_in_two_rows_is_two_cells),
                TEST(the_same_bit_in_half_of_the_rows_is_a_column_and_leaves_others),
                TEST(most_bits_of_a_row_are_a_row),
                TEST(rows_that_a_decoder_confuses_are_one_defect),
                TEST(dead_partitions_are_told_from_a_dead_bank),
                TEST(a_bit_line_that_fails_in_every_row_is_no_dead_partition),
                TEST(many_cells_without_structure_are_scattered),
                TEST(failures_of_other_arrays_do_not_count),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
