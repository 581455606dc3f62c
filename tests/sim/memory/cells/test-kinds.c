/* SPDX-License-Identifier: Apache-2.0 */

/* Faults of cells as a scenario has them: what is refused and where, what may be together, what is left of them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "sim/chip/fault.h"
#include "tests/sim/lone-command.h"

#define CELL "trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row5/col3/bit7"
#define SRAM "trn-0/chip0/core1/sbuf/part9/row100/bit7"

/* A scenario with FAULTS, each "{…}" but for the place: a list of C strings that ends with NULL. */
static Lone *with(const char *first, const char *at, const char *const faults[], char **ret_error) {
        char text[4096];
        int n = snprintf(text, sizeof(text), "scenario: x\n%stopology: {servers: 1}\nfaults:\n", first);

        for (size_t i = 0; faults[i]; i++)
                n += snprintf(text + n, sizeof(text) - (size_t) n, "  - {at: %s, %s}\n", at, faults[i]);
        return lone_new(text, ret_error);
}

#define FAULTS(...) ((const char *const[]) { __VA_ARGS__, NULL })

static void refused(const char *at, const char *fault, const char *expected) {
        _cleanup_free_ char *error = NULL;
        _cleanup_(lone_freep) Lone *lone = with("", at, FAULTS(fault), &error);

        if (lone)
                fail_msg("taken: %s", fault);
        if (!strstr(error, expected))
                fail_msg("%s: said \"%s\", expected \"%s\"", fault, error, expected);
}

static void what_is_wrong_is_refused_with_its_place(void **state) {
        static const struct {
                const char *fault, *said;
        } cases[] = {
                { "kind: transition, primitive: <0w0/1/->", "4:93: no primitive of transition, expected one of <0w1/0/-> <1w0/1/->" },
                { "kind: transition, primitive: <0w1/2/->", "4:98: expected what the victim then holds" },
                { "kind: transition, primitive: 7", "4:93: expected <" },
                { "kind: transition", "'primitive' is missing" },
                { "kind: coupling-state, primitive: <0;0/1/->", "'aggressor' is missing" },
                { "kind: coupling-state, primitive: <0;0/1/->, aggressor: bit7", "where the fault itself sits" },
                { "kind: coupling-state, primitive: <0;0/1/->, aggressor: row5/col3/bit7", "where the fault itself sits" },
                { "kind: coupling-state, primitive: <0;0/1/->, aggressor: bit256", "4:119: expected bit0 to bit255" },
                { "kind: coupling-state, primitive: <0;0/1/->, aggressor: row7/col64/bit1", "4:124: expected col0 to col63" },
                { "kind: coupling-state, primitive: <0;0/1/->, aggressor: row7", "no part of the same sort" },
                { "kind: coupling-state, primitive: <0;0/1/->, aggressor: row16384/col1/bit1", "4:5: " },
                { "kind: coupling-state, primitive: <0;0/1/->, aggressor: hbm1/ch0/pc0/sid0/bg0/ba0/row5/col3/bit7", "end of a location" },
                { "kind: coupling-state, primitive: <0;0/1/->, aggressor: bit3, together: both", "'both' is no value" },
                { "kind: linked, first: <0w1/0/->, second: <1w1/0/->", "must undo the first" },
                { "kind: linked, first: <0w1/0/->, second: <1r1/0/0>", "must undo the first" },
                { "kind: linked, first: <0w0/1/->, second: <0w0;1/0/->", "\"aggressor\" is missing" },
                { "kind: linked, first: <0w0/1/->, second: <1w1/0/->, aggressor: bit3", "has no \"aggressor\"" },
                { "kind: linked, first: <0w0/1/->, second: <0w0;1/0/->, aggressor: bit3, second-aggressor: bit4", "two primitives of two cells" },
                { "kind: linked, first: <0r0/1/1>, second: <1w1/0/->", "expected a primitive of TF, WDF" },
                { "kind: decoder, class: a", "decoder cannot sit in a bit" },
                { "kind: neighbourhood, type: static, pattern: 01010, value: 1", "four of 0, 1, u and d" },
                { "kind: neighbourhood, type: static, pattern: 01x0, value: 1", "expected 0, 1, u (goes up)" },
                { "kind: neighbourhood, type: static, pattern: 01u0, value: 1", "one neighbour goes up or down" },
                { "kind: neighbourhood, type: active, pattern: u1u0, value: 1", "one neighbour goes up or down" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++)
                refused(CELL, cases[i].fault, cases[i].said);
        refused("trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row0/col3/bit7", "kind: neighbourhood, type: static, pattern: 0101, value: 1", "4:5: ");
        refused("trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row5/col3/bit0", "kind: neighbourhood, type: static, pattern: 0101, value: 1", "4:5: ");
        refused("trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/sub1/col3/bit1", "kind: transition, primitive: <0w1/0/->", "4:5: ");
        refused("trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row5", "kind: decoder, class: a, reads: and", "class a reads zeros or ones");
        refused("trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row5", "kind: decoder, class: c", "\"partner\" is missing");
        refused("trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row5", "kind: decoder, class: c, partner: ba1/row5", "4:");
        refused("trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/col5", "kind: decoder, class: a", "expected a row, or one access of a row");
        refused(SRAM, "kind: coupling-state, primitive: <0;0/1/->, aggressor: psum1/part9/row1/bit7", "4:");
        refused(SRAM, "kind: coupling-state, primitive: <0;0/1/->, aggressor: row7168/bit7", "4:5: ");
}

static void contradictions_are_refused_and_nothing_else(void **state) {
        static const struct {
                const char *a, *b;
                bool together;
        } cases[] = {
                { "kind: stuck-at, value: 0", "kind: stuck-at, value: 1", false },
                { "kind: stuck-at, value: 0", "kind: stuck-at, value: 0", false },
                { "kind: state, primitive: <0/1/->", "kind: state, primitive: <1/0/->", false },
                { "kind: stuck-at, value: 0", "kind: coupling-state, primitive: <1;0/1/->, aggressor: bit9", false },
                { "kind: coupling-state, primitive: <0;1/0/->, aggressor: bit9", "kind: coupling-state, primitive: <1;0/1/->, aggressor: bit9", true },
                { "kind: coupling-state, primitive: <0;1/0/->, aggressor: bit9", "kind: coupling-state, primitive: <1;0/1/->, aggressor: bit8", false },
                { "kind: read-destructive, primitive: <0r0/1/1>", "kind: deceptive-read, primitive: <0r0/1/0>", false },
                { "kind: read-destructive, primitive: <0r0/1/1>", "kind: deceptive-read, primitive: <1r1/0/1>", true },
                { "kind: read-destructive, primitive: <0r0/1/1>", "kind: dynamic-deceptive-read, primitive: <1w0r0/1/0>", false },
                { "kind: read-destructive, primitive: <0r0/1/1>", "kind: dynamic-read-destructive, primitive: <1w0r0/1/1>", true },
                { "kind: coupling-read-destructive, primitive: <0;0r0/1/1>, aggressor: bit9", "kind: coupling-incorrect-read, primitive: <1;0r0/0/1>, aggressor: bit9", true },
                { "kind: coupling-read-destructive, primitive: <0;0r0/1/1>, aggressor: bit9", "kind: coupling-incorrect-read, primitive: <1;0r0/0/1>, aggressor: bit8", false },
                { "kind: transition, primitive: <0w1/0/->", "kind: stuck-open", true },
                { "kind: stuck-open", "kind: stuck-open", false },
                { "kind: coupling-inversion, primitive: <0w1;x/!x/->, aggressor: bit9", "kind: coupling-inversion, primitive: <0w1;x/!x/->, aggressor: bit8", true },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_free_ char *error = NULL;
                _cleanup_(lone_freep) Lone *lone = with("", CELL, FAULTS(cases[i].a, cases[i].b), &error);

                if ((lone != NULL) != cases[i].together)
                        fail_msg("%s beside %s: %s", cases[i].a, cases[i].b, error ? error : "taken");
                if (!lone)
                        assert_non_null(strstr(error, "the two cannot be together"));
        }
}

/* ---- what they do ---- */

static WireBox row_box(unsigned row) {
        WireBox box = { .last = { [HBM_COLUMN] = 31 } };

        box.first[HBM_ROW] = box.last[HBM_ROW] = (uint16_t) row;
        return box;
}

/* Runs OPS, a string of "w0", "r1" …, over a row; returns how many reads differ. */
static uint64_t march(Lone *lone, WireBox box, MemoryBackground background, const char *ops) {
        WireCommand command = { .type = COMMAND_HBM_MARCH, .march = { .box = box, .background = (uint8_t) background } };
        WireCompletion completion;

        for (; *ops; ops += 2)
                command.march.ops[command.march.n_ops++] = (uint8_t) ((*ops == 'w' ? MARCH_WRITE : 0) | (ops[1] - '0'));
        completion = lone_run(lone, "trn-0", 0, command);
        assert_int_equal(completion.status, STATUS_NRT_SUCCESS);
        return completion.result[0];
}

/* <0w1;1/0/->: whether the victim, written at the same time, ends as what was written. */
static void who_wins_together_is_said_by_the_fault_or_else_by_the_scenario(void **state) {
#define DISTURBED "kind: coupling-disturb, primitive: <0w1;1/0/->, aggressor: bit9"
        static const struct {
                const char *scenario, *fault;
                bool disturbed;
        } cases[] = {
                { "", DISTURBED, true },
                { "", DISTURBED ", together: fault", true },
                { "", DISTURBED ", together: write", false },
                { "coupling-together: fault\n", DISTURBED ", together: scenario", true },
                { "coupling-together: write\n", DISTURBED, false },
                { "coupling-together: write\n", DISTURBED ", together: fault", true },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(lone_freep) Lone *lone = with(cases[i].scenario, CELL, FAULTS(cases[i].fault), NULL);

                assert_non_null(lone);
                assert_int_equal(march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "w0w1r1"), cases[i].disturbed);
        }

        _cleanup_free_ char *error = NULL;

        assert_null(with("coupling-together: both\n", CELL, FAULTS(DISTURBED), &error));
        assert_non_null(strstr(error, "test:2:20: 'both' is no value"));
}

static void a_fault_says_itself_that_it_can_never_act(void **state) {
        _cleanup_(lone_freep) Lone *lone = with("", CELL, FAULTS(DISTURBED ", together: write",
                                                                 "kind: coupling-disturb, primitive: <0w1;1/0/->, aggressor: col4/bit9, together: write",
                                                                 "kind: coupling-disturb, primitive: <0r0;1/0/->, aggressor: bit9, together: write"), NULL);
        const Chip *chip = lone_chip(lone, "trn-0", 0);

        assert_non_null(chip->faults[0]->kind->undetectable(chip->faults[0]));
        assert_null(chip->faults[1]->kind->undetectable(chip->faults[1]));
        assert_null(chip->faults[2]->kind->undetectable(chip->faults[2]));
}

static void a_healed_cell_keeps_its_value(void **state) {
        _cleanup_(lone_freep) Lone *lone = with("", CELL, FAULTS("kind: coupling-disturb, primitive: <0r0;0/1/->, aggressor: row9/col3/bit7"), NULL);

        assert_int_equal(march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "w0r0"), 0);
        assert_int_equal(march(lone, row_box(9), MEMORY_BACKGROUND_SOLID, "w0r0"), 0); /* turns the victim over */
        chip_heal(lone_chip(lone, "trn-0", 0), 0);
        assert_int_equal(march(lone, row_box(9), MEMORY_BACKGROUND_SOLID, "r0r0"), 0);
        assert_int_equal(march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "r0r0"), 2);
        assert_int_equal(march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "w0r0"), 0);
        assert_int_equal(march(lone, row_box(9), MEMORY_BACKGROUND_SOLID, "w0r0"), 0);
        assert_int_equal(march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "r0"), 0);
}

/* With either row a pair is gone: the spare's cells have wires of their own. What the victim holds stays. */
static void a_repaired_row_takes_its_pairs_with_it(void **state) {
        for (unsigned row = 5; row <= 9; row += 4) {
                _cleanup_(lone_freep) Lone *lone = with("", CELL, FAULTS("kind: coupling-disturb, primitive: <0r0;0/1/->, aggressor: row9/col3/bit7"), NULL);
                WireCommand repair = { .type = COMMAND_HBM_REPAIR, .repair = { .box = row_box(row) } };
                WireCommand reset = { .type = COMMAND_RESET, .unit = WIRE_CHIP_ALL };

                assert_int_equal(march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "w0"), 0);
                assert_int_equal(march(lone, row_box(9), MEMORY_BACKGROUND_SOLID, "w0r0"), 0);
                assert_int_equal(lone_run(lone, "trn-0", 0, repair).status, STATUS_NRT_SUCCESS);
                assert_int_equal(march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "r0"), 1);
                assert_int_equal(lone_run(lone, "trn-0", 0, reset).status, STATUS_NRT_SUCCESS);
                if (row == 9)
                        assert_int_equal(march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "r0"), 1);
                assert_int_equal(march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "w0r0"), 0);
                assert_int_equal(march(lone, row_box(9), MEMORY_BACKGROUND_SOLID, "w0r0"), 0);
                assert_int_equal(march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "r0"), 0);
                chip_heal(lone_chip(lone, "trn-0", 0), 0);
        }
}

/* Bit 7 wants to be what bit 9 is not, and bit 9 what bit 7 is: they find no rest. */
static void conditions_without_end_come_to_one(void **state) {
        static const char *const text =
                        "scenario: x\ntopology: {servers: 1}\nfaults:\n"
                        "  - {at: " CELL ", kind: coupling-state, primitive: <0;0/1/->, aggressor: bit9}\n"
                        "  - {at: " CELL ", kind: coupling-state, primitive: <1;1/0/->, aggressor: bit9}\n"
                        "  - {at: trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row5/col3/bit9, kind: coupling-state, primitive: <0;1/0/->, aggressor: bit7}\n"
                        "  - {at: trn-0/chip0/hbm0/ch0/pc0/sid0/bg0/ba0/row5/col3/bit9, kind: coupling-state, primitive: <1;0/1/->, aggressor: bit7}\n";
        uint64_t first = 0;

        for (unsigned i = 0; i < 2; i++) {
                _cleanup_(lone_freep) Lone *lone = lone_new(text, NULL);
                uint64_t n;

                assert_non_null(lone);
                n = march(lone, row_box(5), MEMORY_BACKGROUND_SOLID, "w0r0w1r1");
                assert_true(i == 0 || n == first);
                first = n;
        }
}

/* A march whose element ends on a cell where the next begins, in the other direction: operations back to back. */
static void what_is_back_to_back_crosses_commands(void **state) {
        _cleanup_(lone_freep) Lone *lone = with("", CELL, FAULTS("kind: dynamic-read-destructive, primitive: <0w1r1/0/0>"), NULL);
        WireBox access = row_box(5);

        access.first[HBM_COLUMN] = access.last[HBM_COLUMN] = 3;
        assert_int_equal(march(lone, access, MEMORY_BACKGROUND_SOLID, "w0w1"), 0);
        assert_int_equal(march(lone, access, MEMORY_BACKGROUND_SOLID, "r1"), 1);
        assert_int_equal(march(lone, access, MEMORY_BACKGROUND_SOLID, "w0w1"), 0);
        assert_int_equal(march(lone, row_box(6), MEMORY_BACKGROUND_SOLID, "w1"), 0); /* something else between */
        assert_int_equal(march(lone, access, MEMORY_BACKGROUND_SOLID, "r1"), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_wrong_is_refused_with_its_place),
                cmocka_unit_test(contradictions_are_refused_and_nothing_else),
                cmocka_unit_test(who_wins_together_is_said_by_the_fault_or_else_by_the_scenario),
                cmocka_unit_test(a_fault_says_itself_that_it_can_never_act),
                cmocka_unit_test(a_healed_cell_keeps_its_value),
                cmocka_unit_test(a_repaired_row_takes_its_pairs_with_it),
                cmocka_unit_test(conditions_without_end_come_to_one),
                cmocka_unit_test(what_is_back_to_back_crosses_commands),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
