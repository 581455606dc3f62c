/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The whole way of a repair on one chip: a row fails, its repair is asked for, the chip is reset, and the row is proven; and what
 * becomes of repairs that do not take, and of banks without spares.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/memory/hbm/report/parameters.h"
#include "checks/plan/plan.h"
#include "tests/hall-device.h"

extern const Check check_hbm;

#define HEAD "scenario: t\nseed: 5\ntopology: {ultraservers: 1}\nfaults:\n"
#define BANK "hbm2/ch3/pc1/sid0/bg2/ba1"
#define FAULT(at, what) "  - {at: us0-1/chip3/" at ", kind: " what "}\n"

static Device *chip_with(const char *faults) {
        char text[8192];
        Device *device;

        (void) snprintf(text, sizeof(text), HEAD "%s", faults);
        device = hall_device(text, "us0-1", 3, 1 << 20);
        assert_non_null(device);
        return device;
}

static Verdict scan(Device *device, HbmRepairMode repair, Found *found) {
        HbmParameters parameters = *(const HbmParameters *) *check_word_find("hbm")->parameters_defaults;

        parameters.repair = repair;
        return hall_scan(device, &check_hbm, &parameters, found);
}

static void reset(Device *device) {
        WireCommand command = { .type = COMMAND_RESET, .unit = WIRE_CHIP_ALL };

        assert_int_equal(device_execute(device, &command, 1, NULL), 0);
}

static void a_repaired_row_is_proven(void **state) {
        Device *device = chip_with(FAULT(BANK "/row4711/col12/bit77", "stuck-at, value: 1"));
        static Found found;

        /* A scan that may not repair says what there is to do it with, and leaves it at that. */
        assert_int_equal(scan(device, HBM_REPAIR_NONE, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "hbm-cell", BANK "/row4711/col12/bit77"));
        assert_non_null(strstr(found.lines, "8 spare rows left in its bank"));
        assert_true(found_value(&found, "hbm_rows_proven") < 0);
        reset(device);
        assert_int_equal(scan(device, HBM_REPAIR_VERIFY, &found), VERDICT_FAILED);
        assert_int_equal(found_value(&found, "hbm_rows_proven"), 0);

        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        assert_int_equal(found_value(&found, "hbm_repairs_requested"), 1);
        assert_non_null(strstr(found.lines, "at the next reset, 7 left in its bank"));
        /* Asked again before the reset, it is not asked twice. */
        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        assert_int_equal(found_value(&found, "hbm_repairs_requested"), 0);
        assert_int_equal(found_value(&found, "hbm_repairs_pending"), 1);
        assert_int_equal(found.n, 1);

        reset(device);
        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_PASSED);
        assert_true(found_value(&found, "hbm_repairs_pending") < 0);
        assert_int_equal(found_value(&found, "hbm_rows_proven"), 1);
        assert_int_equal(found.n, 0);
        (void) device_free(device);
}

static void a_repair_that_does_not_take_is_told(void **state) {
        Device *device = chip_with(FAULT(BANK "/row0", "row-dead") FAULT(BANK "/row0", "repair-fails"));
        static Found found;

        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        reset(device);
        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "hbm-row", BANK "/row0"));
        assert_true(found_has(&found, "hbm-repair-failed", BANK "/row0"));
        assert_int_equal(found.n, 2);
        assert_int_equal(found_value(&found, "hbm_repairs_requested"), 0);
        assert_int_equal(found_value(&found, "hbm_rows_proven"), 0);
        (void) device_free(device);
}

static void a_bank_without_spares_is_told(void **state) {
        char faults[4096] = "";
        Device *device;
        static Found found;

        for (unsigned i = 0; i < 9; i++)
                (void) snprintf(faults + strlen(faults), sizeof(faults) - strlen(faults), FAULT(BANK "/row%u/col%u/bit%u", "stuck-at, value: 0"),
                                100 + 600 * i, i, 20 * i);
        device = chip_with(faults);

        assert_int_equal(scan(device, HBM_REPAIR_NONE, &found), VERDICT_FAILED);
        assert_int_equal(found.n, 10);
        assert_true(found_has(&found, "hbm-spares-exhausted", BANK));
        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        assert_int_equal(found_value(&found, "hbm_repairs_requested"), 8);
        assert_true(found_has(&found, "hbm-spares-exhausted", BANK));

        reset(device);
        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        assert_int_equal(found_value(&found, "hbm_rows_proven"), 8);
        assert_true(found_has(&found, "hbm-cell", BANK "/row4900/col8/bit160"));
        assert_true(found_has(&found, "hbm-spares-exhausted", BANK));
        assert_int_equal(found.n, 2);
        (void) device_free(device);
}

static void both_rows_of_a_short_are_repaired(void **state) {
        Device *device = chip_with(FAULT(BANK "/row200", "decoder, class: c, partner: row201"));
        static Found found;

        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "hbm-wordline-short", BANK "/row200"));
        assert_int_equal(found_value(&found, "hbm_repairs_requested"), 2);
        (void) device_free(device);
}

/* Columns, lanes and decoders are no affair of rows: nothing is asked for, and nothing said of spares. */
static void what_no_row_mends_is_left_alone(void **state) {
        Device *device = chip_with(FAULT(BANK "/col12/bit77", "column-select") FAULT("hbm1/ch1/pc0/dq3", "lane-stuck, value: 1"));
        static Found found;

        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        assert_int_equal(found.n, 2);
        assert_int_equal(found_value(&found, "hbm_repairs_requested"), 0);
        assert_null(strstr(found.lines, "spare"));
        (void) device_free(device);
}

/* A repaired row is mended though a column or a lane still fails in it: that is told, and no repair. */
static void what_no_row_mends_is_no_failed_repair(void **state) {
        static const struct {
                const char *faults;
                Expected told;
        } cases[] = {
                { FAULT(BANK "/col12/bit77", "column-select") FAULT(BANK "/row4711", "row-dead"), { "hbm-column", BANK "/col12/bit77" } },
                { FAULT(BANK "/col12", "column-select") FAULT(BANK "/row4711", "row-dead"), { "hbm-column", BANK "/col12" } },
                { FAULT("hbm2/ch3/pc1/dq3", "lane-stuck, value: 1") FAULT(BANK "/row4711", "row-dead"), { "hbm-lane", "hbm2/ch3/pc1/dq3" } },
        };
        static Found found;

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Device *device = chip_with(cases[i].faults);

                assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
                assert_int_equal(found_value(&found, "hbm_repairs_requested"), 1);
                reset(device);
                assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
                assert_true(found_all(&found, &cases[i].told, 1));
                (void) device_free(device);
        }
}

/* A spare that fails is one, beside a column as well. */
static void a_failed_repair_is_told_beside_a_column(void **state) {
        Device *device = chip_with(FAULT(BANK "/col12/bit77", "column-select") FAULT(BANK "/row4711", "row-dead") FAULT(BANK "/row4711", "repair-fails"));
        static Found found;

        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        reset(device);
        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "hbm-repair-failed", BANK "/row4711"));
        assert_true(found_has(&found, "hbm-column", BANK "/col12/bit77"));
        (void) device_free(device);
}

static void tell_no_spares(const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_HBM_SPARES)
                completion->status = STATUS_NRT_INVALID;
}

static void tell_unused_spares(const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_HBM_SPARES) {
                completion->result[0] = 8;
                completion->result[1] = REPAIR_NONE;
        }
}

/* A chip that has remapped rows and does not say which: nothing was proven, and none of none is not all of them. */
static void rows_that_are_not_told_are_not_proven(void **state) {
        Device *device = chip_with(FAULT(BANK "/row4711/col12/bit77", "stuck-at, value: 1"));
        static Found found;

        assert_int_equal(scan(device, HBM_REPAIR_REQUEST, &found), VERDICT_FAILED);
        reset(device);
        hall_lie = tell_no_spares;
        assert_int_equal(scan(device, HBM_REPAIR_VERIFY, &found), VERDICT_ERROR);
        hall_lie = tell_unused_spares;
        assert_int_equal(scan(device, HBM_REPAIR_VERIFY, &found), VERDICT_ERROR);
        hall_lie = NULL;
        assert_int_equal(scan(device, HBM_REPAIR_VERIFY, &found), VERDICT_PASSED);
        assert_int_equal(found_value(&found, "hbm_rows_proven"), 1);
        (void) device_free(device);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_repaired_row_is_proven),
                cmocka_unit_test(a_repair_that_does_not_take_is_told),
                cmocka_unit_test(a_bank_without_spares_is_told),
                cmocka_unit_test(both_rows_of_a_short_are_repaired),
                cmocka_unit_test(what_no_row_mends_is_left_alone),
                cmocka_unit_test(what_no_row_mends_is_no_failed_repair),
                cmocka_unit_test(a_failed_repair_is_told_beside_a_column),
                cmocka_unit_test(rows_that_are_not_told_are_not_proven),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
