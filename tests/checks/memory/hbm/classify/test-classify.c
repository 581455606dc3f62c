/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Confusion matrix: failures made up of one structure at a random place, whole or in the company of others elsewhere, must
 * be told as that structure at that place and nothing else. What needs the device to be asked again (decoders, shorts,
 * address lines, intermittent faults) is tried in test-hbm-cause.c.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "checks/memory/hbm/diagnose/diagnose.h"

#define STACK    2
#define SUBARRAY 8

static const MemoryGeometry geometry = { .size = { 8, 2, 2, 1, 2, 32, 32 }, .whole = { 8, 2, 2, 1, 2, 32, 32 }, .accesses = 8 * 2 * 2 * 1 * 2 * 32 * 32 };
static uint64_t random_state;

static unsigned below(unsigned n) {
        random_state = memory_mix(random_state);
        return (unsigned) (random_state >> 33) % n;
}

/* Which bits of an access fail. */
typedef struct Bits {
        int bit, lane, symbol; /* -1: not by that; all -1: every bit */
} Bits;

static const Bits every = { -1, -1, -1 };

static void fail_at(MarchFailures *failures, const uint16_t at[7], Bits bits, MarchPhase phase) {
        MarchSighting sighting = { .phase = (uint8_t) phase, .pass = 0 };
        MemoryData expected = {}, actual = {};

        for (int i = 0; i < 256; i++)
                if (i == bits.bit || (bits.lane >= 0 && i % 32 == bits.lane) || (bits.symbol >= 0 && i / 16 == bits.symbol) ||
                    (bits.bit < 0 && bits.lane < 0 && bits.symbol < 0))
                        actual.bytes[i / 8] |= (uint8_t) (1u << i % 8);
        assert_int_equal(march_failures_add(failures, STACK, memory_geometry_linear(&geometry, at), &sighting, &expected, &actual), 0);
}

/* Makes every access of BOX fail. */
static void fail_box(MarchFailures *failures, WireBox box, Bits bits) {
        uint16_t at[7];

        memcpy(at, box.first, sizeof(at));
        for (;;) {
                unsigned axis = 7;

                fail_at(failures, at, bits, MARCH_PHASE_MARCH);
                while (axis-- > 0) {
                        if (at[axis]++ < box.last[axis])
                                break;
                        at[axis] = box.first[axis];
                        if (axis == 0)
                                return;
                }
        }
}

/* The accesses that agree with AT in the first N axes. */
static WireBox box_of(const uint16_t at[7], unsigned n) {
        WireBox box = memory_geometry_box(&geometry);

        for (unsigned axis = 0; axis < n; axis++)
                box.first[axis] = box.last[axis] = at[axis];
        return box;
}

static void along(WireBox *box, MemoryAxis axis, unsigned first, unsigned last) {
        box->first[axis] = (uint16_t) first;
        box->last[axis] = (uint16_t) last;
}

/* What can be made of failures alone, largest first. */
static const HbmDefectKind made[] = {
        HBM_DEFECT_STACK, HBM_DEFECT_CHANNEL, HBM_DEFECT_DIE, HBM_DEFECT_PSEUDO_CHANNEL, HBM_DEFECT_LANE, HBM_DEFECT_DATA_TSV,
        HBM_DEFECT_BANK, HBM_DEFECT_HAMMER, HBM_DEFECT_RETENTION, HBM_DEFECT_SUB_WORDLINE, HBM_DEFECT_ROW,
        HBM_DEFECT_BIT_LINE, HBM_DEFECT_COLUMN, HBM_DEFECT_WORD, HBM_DEFECT_CELL,
};

static void make(HbmDefectKind kind, MarchFailures *failures, const uint16_t at[7], int bit) {
        const Bits one = { bit, -1, -1 };
        WireBox box;

        switch (kind) {
        case HBM_DEFECT_STACK:
                fail_box(failures, box_of(at, 0), every);
                break;
        case HBM_DEFECT_CHANNEL:
                fail_box(failures, box_of(at, 1), every);
                break;
        case HBM_DEFECT_DIE:
                box = box_of(at, 3);
                along(&box, HBM_CHANNEL, at[0] / 4 * 4u, at[0] / 4 * 4u + 3);
                along(&box, HBM_PSEUDO_CHANNEL, 0, 1);
                fail_box(failures, box, every);
                break;
        case HBM_DEFECT_PSEUDO_CHANNEL:
                fail_box(failures, box_of(at, 2), every);
                break;
        case HBM_DEFECT_LANE:
                fail_box(failures, box_of(at, 2), (Bits) { -1, bit % 32, -1 });
                break;
        case HBM_DEFECT_DATA_TSV:
                fail_box(failures, box_of(at, 3), (Bits) { -1, bit % 32, -1 });
                break;
        case HBM_DEFECT_BANK:
                fail_box(failures, box_of(at, 5), every);
                break;
        case HBM_DEFECT_HAMMER:
                fail_at(failures, at, one, MARCH_PHASE_HAMMER);
                break;
        case HBM_DEFECT_RETENTION:
                fail_at(failures, at, one, MARCH_PHASE_RETENTION);
                break;
        case HBM_DEFECT_SUB_WORDLINE:
                fail_box(failures, box_of(at, 6), (Bits) { -1, -1, bit / 16 });
                break;
        case HBM_DEFECT_ROW:
                fail_box(failures, box_of(at, 6), every);
                break;
        case HBM_DEFECT_BIT_LINE:
                box = box_of(at, 7);
                along(&box, HBM_ROW, at[HBM_ROW] / SUBARRAY * SUBARRAY, at[HBM_ROW] / SUBARRAY * SUBARRAY + SUBARRAY - 1u);
                fail_box(failures, box, one);
                break;
        case HBM_DEFECT_COLUMN:
                box = box_of(at, 7);
                along(&box, HBM_ROW, 0, 31);
                fail_box(failures, box, one);
                break;
        case HBM_DEFECT_WORD:
                fail_at(failures, at, one, MARCH_PHASE_MARCH);
                fail_at(failures, at, (Bits) { (bit + 9) % 256, -1, -1 }, MARCH_PHASE_MARCH);
                break;
        case HBM_DEFECT_CELL:
                fail_at(failures, at, one, MARCH_PHASE_MARCH);
                break;
        case HBM_DEFECT_ADDRESS_TSV:
        case HBM_DEFECT_WORDLINE_SHORT:
        case HBM_DEFECT_DECODER:
        case HBM_DEFECT_INTERMITTENT:
        case HBM_DEFECT_SOFT_ERROR:
        case HBM_DEFECT_SCATTERED:
        case _HBM_DEFECT_KIND_MAX:
                fail();
        }
}

/* Coordinates from the channel down that must be as they were made; the column where there is no row. */
static bool is_at(const HbmDefect *defect, const uint16_t at[7]) {
        static const unsigned n[_HBM_DEFECT_KIND_MAX] = {
                [HBM_DEFECT_CHANNEL] = 1, [HBM_DEFECT_PSEUDO_CHANNEL] = 2, [HBM_DEFECT_LANE] = 2, [HBM_DEFECT_DATA_TSV] = 3,
                [HBM_DEFECT_BANK] = 5, [HBM_DEFECT_HAMMER] = 7, [HBM_DEFECT_RETENTION] = 7, [HBM_DEFECT_SUB_WORDLINE] = 6,
                [HBM_DEFECT_ROW] = 6, [HBM_DEFECT_BIT_LINE] = 5, [HBM_DEFECT_COLUMN] = 5, [HBM_DEFECT_WORD] = 7,
                [HBM_DEFECT_CELL] = 7,
        };

        if (memcmp(defect->at, at, n[defect->kind] * sizeof(at[0])) != 0)
                return false;
        if (defect->kind == HBM_DEFECT_BIT_LINE && defect->at[HBM_ROW] / SUBARRAY != at[HBM_ROW] / SUBARRAY)
                return false;
        return (defect->kind != HBM_DEFECT_BIT_LINE && defect->kind != HBM_DEFECT_COLUMN) || defect->at[HBM_COLUMN] == at[HBM_COLUMN];
}

static int bit_of(HbmDefectKind kind, const uint16_t at[7], int bit) {
        if (kind == HBM_DEFECT_DIE)
                return 4 * at[HBM_SID] + at[HBM_CHANNEL] / 4;
        if (kind == HBM_DEFECT_LANE || kind == HBM_DEFECT_DATA_TSV)
                return bit % 32;
        if (kind == HBM_DEFECT_SUB_WORDLINE)
                return bit / 16;
        if (kind == HBM_DEFECT_HAMMER || kind == HBM_DEFECT_RETENTION || kind == HBM_DEFECT_BIT_LINE || kind == HBM_DEFECT_COLUMN ||
            kind == HBM_DEFECT_CELL)
                return bit;
        return -1;
}

static const HbmDefect *find(const HbmDefects *defects, HbmDefectKind kind, const uint16_t at[7], int bit) {
        for (size_t i = 0; i < defects->n; i++)
                if (defects->defects[i].kind == kind && defects->defects[i].stack == STACK && is_at(&defects->defects[i], at) &&
                    defects->defects[i].bit == bit_of(kind, at, bit))
                        return &defects->defects[i];
        return NULL;
}

static void judge(MarchFailures *failures, HbmDefects *defects) {
        WireBox box = memory_geometry_box(&geometry);
        HbmDiagnosis diagnosis = {
                .geometry = &geometry, .box = &box, .subarray = SUBARRAY, .failures = failures, .scatter_max = 8,
        };

        march_failures_merge(failures);
        assert_int_equal(hbm_diagnose(&diagnosis, STACK, false, defects), 0);
}

typedef struct Made {
        HbmDefectKind kind;
        uint16_t at[7];
        int bit;
} Made;

/* Puts N structures in, and finds them and nothing else. */
static void expect(const Made *wanted, size_t n) {
        MarchFailures failures = {};
        HbmDefects defects = {};

        for (size_t i = 0; i < n; i++)
                make(wanted[i].kind, &failures, wanted[i].at, wanted[i].bit);
        assert_false(failures.full);
        judge(&failures, &defects);
        for (size_t i = 0; i < n; i++)
                if (!find(&defects, wanted[i].kind, wanted[i].at, wanted[i].bit))
                        fail_msg("%d was not told (first is %d at %u %u %u %u %u %u %u, %d)", wanted[i].kind,
                                 defects.n ? (int) defects.defects[0].kind : -1, defects.defects[0].at[0], defects.defects[0].at[1],
                                 defects.defects[0].at[2], defects.defects[0].at[3], defects.defects[0].at[4],
                                 defects.defects[0].at[5], defects.defects[0].at[6], defects.defects[0].bit);
        assert_int_equal(defects.n, n);
        hbm_defects_done(&defects);
        march_failures_done(&failures);
}

static Made anywhere(HbmDefectKind kind) {
        Made m = { .kind = kind };

        for (unsigned axis = 0; axis < 7; axis++)
                m.at[axis] = (uint16_t) below(geometry.size[axis]);
        m.bit = (int) below(256);
        return m;
}

static void each_structure_is_told_as_itself(void **state) {
        for (unsigned i = 0; i < ELEMENTS(made); i++)
                for (unsigned seed = 1; seed <= (i < 5 ? 6u : 40u); seed++) {
                        Made m;

                        random_state = seed;
                        m = anywhere(made[i]);
                        expect(&m, 1);
                }
}

/* Every pair that can stand side by side, in other pseudo-channels. */
static void two_structures_are_told_apart(void **state) {
        for (unsigned i = 1; i < ELEMENTS(made); i++)
                for (unsigned k = 3; k < ELEMENTS(made); k++)
                        for (unsigned seed = 1; seed <= 2; seed++) {
                                Made m[2];

                                random_state = seed + 100 * i + 10000 * k;
                                m[0] = anywhere(made[i]);
                                m[1] = anywhere(made[k]);
                                m[0].at[HBM_CHANNEL] = (uint16_t) below(4);
                                m[1].at[HBM_CHANNEL] = (uint16_t) (4 + below(4));
                                expect(m, 2);
                        }
}

/* What is smaller than a bank, several in one bank: rows, columns, bits differ, so none is part of another. */
static void several_in_one_bank_are_told_apart(void **state) {
        for (unsigned seed = 1; seed <= 300; seed++) {
                Made m[4];
                unsigned n;

                random_state = seed + 5000;
                n = 2 + below(2);
                m[0] = anywhere(made[9 + below(6)]);
                for (unsigned i = 1; i < n; i++) {
                        m[i] = anywhere(made[9 + below(6)]);
                        memcpy(m[i].at, m[0].at, 5 * sizeof(uint16_t));
                        /* Rows of their own, and not the subarray of another's bit line. */
                        m[i].at[HBM_ROW] = (uint16_t) ((m[0].at[HBM_ROW] + SUBARRAY * i) % 32);
                        m[i].at[HBM_COLUMN] = (uint16_t) ((m[0].at[HBM_COLUMN] + 7 * i) % 32);
                        m[i].bit = (int) (((unsigned) m[0].bit + 37 * i) % 256);
                }
                for (unsigned i = 0; i < n; i++)
                        for (unsigned k = 0; k < n; k++)
                                if (m[i].kind == HBM_DEFECT_COLUMN && k != i && m[k].kind == HBM_DEFECT_SUB_WORDLINE)
                                        m[k].kind = HBM_DEFECT_CELL; /* the symbol and the column cross: a row of its own is not */
                expect(m, n);
        }
}

static void under_a_lane_a_bank_and_a_cell_are_told(void **state) {
        const Made m[] = {
                { HBM_DEFECT_LANE, { 1, 1 }, 9 },
                { HBM_DEFECT_BANK, { 1, 1, 1, 0, 1 }, 0 },
                { HBM_DEFECT_CELL, { 1, 1, 0, 0, 1, 5, 6 }, 100 },
        };

        expect(m, ELEMENTS(m));
}

/* One bank in each of CHANNELS channels. */
static void break_banks(MarchFailures *failures, unsigned channels) {
        for (unsigned i = 0; i < channels; i++)
                make(HBM_DEFECT_BANK, failures, (const uint16_t[7]) { (uint16_t) i, i % 2, i / 2 % 2, 0, i / 4 % 2 }, 0);
}

static void a_stack_that_comes_and_goes_is_no_heap_of_banks(void **state) {
        for (unsigned channels = 5; channels <= 8; channels++) {
                MarchFailures failures = {};
                HbmDefects defects = {};

                break_banks(&failures, channels);
                judge(&failures, &defects);
                /* Eight of 64 banks are enough; fewer may be what they seem. */
                assert_int_equal(defects.n, channels < 8 ? channels : 1);
                assert_int_equal(defects.defects[0].kind, channels < 8 ? HBM_DEFECT_BANK : HBM_DEFECT_STACK);
                hbm_defects_done(&defects);
                march_failures_done(&failures);
        }
}

static void what_shares_nothing_is_scattered(void **state) {
        MarchFailures failures = {};
        HbmDefects defects = {};

        random_state = 77;
        for (unsigned i = 0; i < 12; i++) {
                Made m = anywhere(HBM_DEFECT_CELL);

                m.at[HBM_CHANNEL] = (uint16_t) (i % 8);
                m.at[HBM_PSEUDO_CHANNEL] = (uint16_t) (i / 8);
                make(m.kind, &failures, m.at, m.bit);
        }
        judge(&failures, &defects);
        assert_int_equal(defects.n, 1);
        assert_int_equal(defects.defects[0].kind, HBM_DEFECT_SCATTERED);
        assert_int_equal(defects.defects[0].n_accesses, 12);
        assert_true(defects.defects[0].evenness < 0); /* 12 in 8 channels are too few to tell */
        hbm_defects_done(&defects);
        march_failures_done(&failures);
}

/* All in three of eight channels: no even spread does that. */
static void an_uneven_spread_is_said(void **state) {
        MarchFailures failures = {};
        HbmDefects defects = {};

        random_state = 78;
        for (unsigned i = 0; i < 60; i++) {
                Made m = anywhere(HBM_DEFECT_CELL);

                m.at[HBM_CHANNEL] = (uint16_t) (i % 3);
                make(m.kind, &failures, m.at, m.bit);
        }
        judge(&failures, &defects);
        assert_int_equal(defects.defects[defects.n - 1].kind, HBM_DEFECT_SCATTERED);
        assert_true(defects.defects[defects.n - 1].evenness >= 0 && defects.defects[defects.n - 1].evenness < 1e-9);
        hbm_defects_done(&defects);
        march_failures_done(&failures);
}

static void what_differs_more_than_once_is_one_failure(void **state) {
        const uint16_t at[7] = { 1, 1, 1, 0, 1, 1, 1 };
        MarchFailures failures = {};
        HbmDefects defects = {};

        for (unsigned i = 0; i < 10000; i++)
                fail_at(&failures, at, (Bits) { 5, -1, -1 }, MARCH_PHASE_MARCH);
        assert_true(failures.allocated < 1000);
        judge(&failures, &defects);
        assert_int_equal(defects.n, 1);
        assert_int_equal(defects.defects[0].n_reads, 10000);
        hbm_defects_done(&defects);
        march_failures_done(&failures);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_structure_is_told_as_itself),
                cmocka_unit_test(two_structures_are_told_apart),
                cmocka_unit_test(several_in_one_bank_are_told_apart),
                cmocka_unit_test(a_stack_that_comes_and_goes_is_no_heap_of_banks),
                cmocka_unit_test(under_a_lane_a_bank_and_a_cell_are_told),
                cmocka_unit_test(what_shares_nothing_is_scattered),
                cmocka_unit_test(an_uneven_spread_is_said),
                cmocka_unit_test(what_differs_more_than_once_is_one_failure),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
