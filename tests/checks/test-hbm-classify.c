/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Confusion matrix: failures made up of one structure at a random place, whole or in the company of a cell elsewhere, must
 * be told as that structure at that place and nothing else.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "checks/hbm/diagnose.h"

#define STACK 2

static const MemoryGeometry geometry = { { 3, 2, 2, 2, 2, 32, 32 }, 3 * 2 * 2 * 2 * 2 * 32 * 32 };
static uint64_t random_state;

static unsigned below(unsigned n) {
        random_state = memory_mix(random_state);
        return (unsigned) (random_state >> 33) % n;
}

static void fail_at(HbmFailures *failures, const uint16_t at[7], int bit, int lane) {
        MemoryData expected = {}, actual = {};

        for (unsigned i = 0; i < 256; i++)
                if ((bit >= 0 && (int) i == bit) || (lane >= 0 && (int) (i % 32) == lane) || (bit < 0 && lane < 0))
                        actual.bytes[i / 8] |= (uint8_t) (1u << i % 8);
        assert_int_equal(hbm_failures_add(failures, STACK, memory_geometry_linear(&geometry, at), &(HbmSighting) {}, &expected, &actual), 0);
}

/* Makes every access that agrees with AT in the first N axes fail. */
static void fail_box(HbmFailures *failures, const uint16_t at[7], unsigned n, int bit, int lane) {
        uint32_t accesses = 1;
        uint16_t place[7];

        for (unsigned axis = n; axis < 7; axis++)
                accesses *= geometry.size[axis];
        for (uint32_t i = 0; i < accesses; i++) {
                uint32_t rest = i;

                memcpy(place, at, sizeof(place));
                for (unsigned axis = 7; axis-- > n;) {
                        place[axis] = (uint16_t) (rest % geometry.size[axis]);
                        rest /= geometry.size[axis];
                }
                fail_at(failures, place, bit, lane);
        }
}

static void make(HbmDefectKind kind, HbmFailures *failures, const uint16_t at[7], int bit) {
        uint16_t place[7];

        memcpy(place, at, sizeof(place));
        switch (kind) {
        case HBM_DEFECT_LANE:
                fail_box(failures, at, 2, -1, bit % 32);
                break;
        case HBM_DEFECT_PSEUDO_CHANNEL:
                for (place[HBM_SID] = 0; place[HBM_SID] < 2; place[HBM_SID]++)
                        for (place[HBM_BANK] = 0; place[HBM_BANK] < 2; place[HBM_BANK]++)
                                fail_box(failures, place, 5, -1, -1);
                break;
        case HBM_DEFECT_BANK:
                fail_box(failures, at, 5, -1, -1);
                break;
        case HBM_DEFECT_ROW:
                fail_box(failures, at, 6, -1, -1);
                break;
        case HBM_DEFECT_COLUMN:
                for (unsigned i = 0; i < 5; i++) {
                        place[HBM_ROW] = (uint16_t) ((at[HBM_ROW] + 5 * i) % 32);
                        fail_at(failures, place, bit, -1);
                }
                break;
        case HBM_DEFECT_WORD:
                fail_at(failures, at, bit, -1);
                fail_at(failures, at, (bit + 9) % 256, -1);
                break;
        case HBM_DEFECT_CELL:
                fail_at(failures, at, bit, -1);
                break;
        case HBM_DEFECT_SCATTERED:
                for (unsigned i = 0; i < 12; i++) { /* in different banks: they share nothing */
                        for (unsigned axis = 0; axis < 7; axis++)
                                place[axis] = (uint16_t) below(geometry.size[axis]);
                        place[HBM_CHANNEL] = (uint16_t) (i % 3);
                        place[HBM_PSEUDO_CHANNEL] = (uint16_t) (i / 3 % 2);
                        place[HBM_SID] = (uint16_t) (i / 6);
                        fail_at(failures, place, (int) below(256), -1);
                }
                break;
        case _HBM_DEFECT_KIND_MAX:
                fail();
        }
}

static unsigned axes_of(HbmDefectKind kind) {
        static const unsigned n[_HBM_DEFECT_KIND_MAX] = { 2, 2, 5, 6, 5, 7, 7, 0 };

        return n[kind];
}

static void check_defect(const HbmDefect *defect, HbmDefectKind kind, const uint16_t at[7], int bit) {
        assert_int_equal(defect->kind, kind);
        assert_int_equal(defect->stack, STACK);
        assert_memory_equal(defect->at, at, axes_of(kind) * sizeof(at[0]));
        if (kind == HBM_DEFECT_LANE)
                assert_int_equal(defect->bit, bit % 32);
        if (kind == HBM_DEFECT_CELL || kind == HBM_DEFECT_COLUMN)
                assert_int_equal(defect->bit, bit);
        if (kind == HBM_DEFECT_COLUMN)
                assert_int_equal(defect->at[HBM_COLUMN], at[HBM_COLUMN]);
}

static void judge(HbmFailures *failures, HbmDefects *defects) {
        HbmDiagnosis diagnosis = { .geometry = &geometry, .failures = failures, .scatter_max = 8 };

        hbm_failures_merge(failures);
        assert_int_equal(hbm_diagnose(&diagnosis, STACK, false, defects), 0);
}

static void each_structure_is_told_as_itself(void **state) {
        for (unsigned kind = 0; kind < _HBM_DEFECT_KIND_MAX; kind++)
                for (unsigned seed = 1; seed <= 40; seed++) {
                        HbmFailures failures = {};
                        HbmDefects defects = {};
                        uint16_t at[7];
                        int bit;

                        random_state = seed;
                        for (unsigned axis = 0; axis < 7; axis++)
                                at[axis] = (uint16_t) below(geometry.size[axis]);
                        bit = (int) below(256);

                        make((HbmDefectKind) kind, &failures, at, bit);
                        judge(&failures, &defects);
                        assert_int_equal(defects.n, 1);
                        check_defect(&defects.defects[0], (HbmDefectKind) kind, at, bit);
                        hbm_defects_done(&defects);
                        hbm_failures_done(&failures);
                }
}

/* A cell in a bank of its own does not change what else is told, nor is it lost. */
static void a_cell_beside_a_structure_is_told_too(void **state) {
        for (unsigned kind = 0; kind < HBM_DEFECT_SCATTERED; kind++)
                for (unsigned seed = 1; seed <= 20; seed++) {
                        HbmFailures failures = {};
                        HbmDefects defects = {};
                        uint16_t at[7], beside[7];

                        random_state = seed + 1000;
                        for (unsigned axis = 0; axis < 7; axis++)
                                at[axis] = beside[axis] = (uint16_t) below(geometry.size[axis]);
                        beside[HBM_CHANNEL] = (uint16_t) ((at[HBM_CHANNEL] + 1) % 3);

                        make((HbmDefectKind) kind, &failures, at, 77);
                        fail_at(&failures, beside, 13, -1);
                        judge(&failures, &defects);
                        assert_int_equal(defects.n, 2);
                        for (unsigned i = 0; i < 2; i++) {
                                bool other = defects.defects[i].at[HBM_CHANNEL] == beside[HBM_CHANNEL];

                                check_defect(&defects.defects[i], other ? HBM_DEFECT_CELL : (HbmDefectKind) kind,
                                             other ? beside : at, other ? 13 : 77);
                        }
                        hbm_defects_done(&defects);
                        hbm_failures_done(&failures);
                }
}

static void under_a_lane_a_bank_and_a_cell_are_told(void **state) {
        const uint16_t lane[7] = { 1, 1 }, bank[7] = { 1, 1, 1, 0, 1 }, cell[7] = { 1, 1, 0, 1, 1, 5, 6 };
        HbmFailures failures = {};
        HbmDefects defects = {};

        fail_box(&failures, lane, 2, -1, 9);
        fail_box(&failures, bank, 5, -1, -1);
        fail_at(&failures, cell, 100, -1);
        judge(&failures, &defects);
        assert_int_equal(defects.n, 3);
        check_defect(&defects.defects[0], HBM_DEFECT_LANE, lane, 9);
        check_defect(&defects.defects[1], HBM_DEFECT_BANK, bank, 0);
        check_defect(&defects.defects[2], HBM_DEFECT_CELL, cell, 100);
        hbm_defects_done(&defects);
        hbm_failures_done(&failures);
}

static void what_differs_more_than_once_is_one_failure(void **state) {
        const uint16_t at[7] = { 1, 1, 1, 1, 1, 1, 1 };
        HbmFailures failures = {};
        HbmDefects defects = {};

        for (unsigned i = 0; i < 10000; i++)
                fail_at(&failures, at, 5, -1);
        assert_true(failures.allocated < 1000);
        judge(&failures, &defects);
        assert_int_equal(defects.n, 1);
        assert_int_equal(defects.defects[0].n_reads, 10000);
        hbm_defects_done(&defects);
        hbm_failures_done(&failures);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_structure_is_told_as_itself),
                cmocka_unit_test(a_cell_beside_a_structure_is_told_too),
                cmocka_unit_test(under_a_lane_a_bank_and_a_cell_are_told),
                cmocka_unit_test(what_differs_more_than_once_is_one_failure),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
