/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Syndromes worked out by hand on March SS, whose 13 reads are 0 1 2 | 3 4 5 | 6 7 8 | 9 10 11 | 12:
 * any(w0);up(r0,r0,w0,r0,w1);up(r1,r1,w1,r1,w0);dn(r0,r0,w0,r0,w1);dn(r1,r1,w1,r1,w0);any(r0)
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "checks/memory/march/syndrome.h"

#define READS_0 (0x7u | 0x7u << 6 | 1u << 12) /* all that want 0 */
#define READS_1 (0x7u << 3 | 0x7u << 9)

static March march_of(const char *name) {
        March march;

        assert_int_equal(march_read(name, &march, NULL, NULL), 0);
        return march;
}

static MarchSyndrome explain(const char *name, uint64_t failed) {
        March march = march_of(name);
        MarchSyndrome syndrome;

        march_syndrome_explain(&march, failed, false, &syndrome);
        return syndrome;
}

static void reads_are_counted_in_the_order_of_the_notation(void **state) {
        March march = march_of("March SS");

        assert_int_equal(march_syndrome_bit(&march, 0, 0), 0); /* w0 */
        assert_int_equal(march_syndrome_bit(&march, 1, 0), 1);
        assert_int_equal(march_syndrome_bit(&march, 1, 2), 0);
        assert_int_equal(march_syndrome_bit(&march, 1, 3), 1u << 2);
        assert_int_equal(march_syndrome_bit(&march, 5, 0), 1u << 12);
        assert_int_equal(march_syndrome_bit(&march, 5, 1), 0);
        assert_int_equal(march_syndrome_bit(&march, 9, 0), 0);
}

static void a_cell_that_never_reads_0_is_stuck_or_read_wrongly(void **state) {
        MarchSyndrome syndrome = explain("March SS", READS_0);

        /* SAF 1, SF <0/1/->, RDF <0r0/1/1>, IRF <0r0/0/1>, and TF <1w0/1/-> of a cell that held 1 before. */
        assert_int_equal(syndrome.n_alone >= 5, true);
        assert_non_null(strstr(syndrome.text, "SAF 1"));
        assert_non_null(strstr(syndrome.text, "SF <0/1/->"));
}

static void a_transition_that_fails_is_named(void **state) {
        /* w1 of element 1 and the writes of 1 that follow leave 0: every read of 1 fails, no read of 0. */
        MarchSyndrome syndrome = explain("March SS", READS_1);

        assert_non_null(strstr(syndrome.text, "SAF 0"));
        /* March C- has no second write of 1 either; there it is the same. But a cell that held 1 before shows less. */
        syndrome = explain("any(w0);up(r0,w1);up(r1,w0);dn(r0,w1);dn(r1,w0);any(r0)", 1u << 1 | 1u << 3);
        assert_non_null(strstr(syndrome.text, "TF <0w1/0/->"));
}

static void the_second_of_two_reads_betrays_a_deceptive_one(void **state) {
        MarchSyndrome syndrome = explain("March SS", 1u << 1 | 1u << 7);

        assert_non_null(strstr(syndrome.text, "DRDF <0r0/1/0>"));
        assert_int_equal(syndrome.n_before, syndrome.n_after); /* <s;0r0/1/0> would depend on the order */
        syndrome = explain("March SS", 1u << 4 | 1u << 10);
        assert_non_null(strstr(syndrome.text, "DRDF <1r1/0/1>"));
}

static void a_write_that_disturbs_shows_after_itself(void **state) {
        /* From 1, w0 leaves 0; then w0 within elements 1 and 3 flips it, which the read after it sees. */
        MarchSyndrome syndrome = explain("March SS", 1u << 2 | 1u << 8);

        assert_string_equal(syndrome.text, "WDF <0w0/1/->");
        assert_int_equal(syndrome.n_alone, 1);
        assert_int_equal(syndrome.n_before + syndrome.n_after, 0);
        /* From 0 the first w0 flips it; then an aggressor that always held the right value explains it, too. */
        syndrome = explain("March SS", 1u << 0 | 1u << 1 | 1u << 8);
        assert_ptr_equal(strstr(syndrome.text, "WDF <0w0/1/->"), syndrome.text);
        assert_int_equal(syndrome.n_alone, 1);
}

static void a_disturbing_neighbour_is_placed(void **state) {
        /*
         * <0w1;0/1/->: the w1 that ends element 1 at the aggressor flips a victim that still holds 0. Ascending, that is one
         * behind it, whose r0 r0 then fail, w0 mends it. Descending (element 3) it is one before it.
         */
        MarchSyndrome behind = explain("March SS", 1u << 0 | 1u << 1);
        MarchSyndrome before = explain("March SS", 1u << 6 | 1u << 7);

        assert_non_null(strstr(behind.text, "CFds <0w1;0/1/->"));
        assert_int_equal(behind.n_alone, 0);
        assert_int_equal(behind.n_before, 2); /* <0w1;…> and <0w0;…> */
        assert_null(strstr(before.text, "CFwd"));
        assert_non_null(strstr(before.text, "CFds <0w1;0/1/->"));
        assert_int_equal(before.n_before, 0);
        assert_true(before.n_after > 0);
}

static void a_cell_under_a_background_of_1_is_its_mirror(void **state) {
        March march = march_of("March SS");
        MarchSyndrome syndrome;

        march_syndrome_explain(&march, 1u << 2 | 1u << 8, true, &syndrome);
        assert_string_equal(syndrome.text, "WDF <1w1/0/->");
}

static void what_no_primitive_does_has_no_candidates(void **state) {
        MarchSyndrome syndrome = explain("March SS", 1u << 1 | 1u << 4 | 1u << 12);

        assert_string_equal(syndrome.text, "");
        assert_int_equal(syndrome.n_alone + syndrome.n_before + syndrome.n_after, 0);
        assert_string_equal(explain("March SS", 0).text, "");
}

static void a_leak_needs_a_pause(void **state) {
        assert_int_equal(explain("any(w1);Del;any(r1)", 1).n_alone, explain("any(w1);any(r1)", 1).n_alone + 1);
        assert_non_null(strstr(explain("any(w1);any(r1);Del;any(r1)", 2).text, "DRF to 0"));
        assert_null(strstr(explain("any(w1);any(r1);any(r1)", 2).text, "DRF to 0"));
}

/* Two operations back to back: only a march that reads right after a write can see them. */
static void a_dynamic_fault_shows_in_march_raw(void **state) {
        /* any(w0);up(r0,w0,r0,r0,w1,r1);… : <0w1r1/0/0> fails at the r1 that follows w1, and until 1 is written again. */
        MarchSyndrome syndrome = explain("any(w0);any(r0,w1,r1,w0)", 1u << 1);

        assert_non_null(strstr(syndrome.text, "more"));
        syndrome = explain("any(w0);any(w1,w1,r1,r1);any(w0,w1,r1,w1,r1)", 1u << 2);
        assert_non_null(strstr(syndrome.text, "dIRF <0w1r1/1/0>"));
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(reads_are_counted_in_the_order_of_the_notation),
                cmocka_unit_test(a_cell_that_never_reads_0_is_stuck_or_read_wrongly),
                cmocka_unit_test(a_transition_that_fails_is_named),
                cmocka_unit_test(the_second_of_two_reads_betrays_a_deceptive_one),
                cmocka_unit_test(a_write_that_disturbs_shows_after_itself),
                cmocka_unit_test(a_disturbing_neighbour_is_placed),
                cmocka_unit_test(a_cell_under_a_background_of_1_is_its_mirror),
                cmocka_unit_test(what_no_primitive_does_has_no_candidates),
                cmocka_unit_test(a_leak_needs_a_pause),
                cmocka_unit_test(a_dynamic_fault_shows_in_march_raw),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
