/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/memory/sram/parameters.h"
#include "checks/plan/plan.h"
#include "tests/hall-device.h"

extern const Check check_sram;

#define HEAD "scenario: t\nseed: 5\ntopology: {ultraservers: 1}\n"
#define CHIP "us0-1/chip3/"

static SramParameters defaults(void) {
        return *(const SramParameters *) *check_word_find("sram")->parameters_defaults;
}

static Verdict judge(const char *head, const char *faults, unsigned chip, const SramParameters *parameters, Found *found) {
        char text[8192];

        (void) snprintf(text, sizeof(text), HEAD "%s%s%s\n", head, faults ? "faults:\n" : "", faults ? faults : "");
        return hall_judge(text, &check_sram, "us0-1", chip, parameters, found);
}

static void a_healthy_chip_passes_over_all_of_its_bytes(void **state) {
        static const char *const heads[] = { "", "sram: {sbuf: parity, psum: secded}\n", "sram: {sbuf: none}\n" };

        for (unsigned i = 0; i < ELEMENTS(heads); i++) {
                SramParameters parameters = defaults();
                Found found;

                assert_int_equal(judge(heads[i], NULL, 3, &parameters, &found), VERDICT_PASSED);
                assert_int_equal(found.n, 0);
                assert_true(found_value(&found, "sram_bytes_tested") == 251658240);
        }
}

/* FAULTS are the only ones of the chip; exactly EXPECTED must be found. */
static void expect(const char *head, const char *faults, const Expected *expected, size_t n) {
        SramParameters parameters = defaults();
        Found found;

        assert_int_equal(judge(head, faults, 3, &parameters, &found), VERDICT_FAILED);
        assert_true(found_all(&found, expected, n));
}

#define FAULT(at, what) "  - {at: " CHIP at ", kind: " what "}\n"
#define EXPECT_WITH(head, faults, ...)                                                                       \
        do {                                                                                                 \
                const Expected expected[] = { __VA_ARGS__ };                                                 \
                expect(head, faults, expected, ELEMENTS(expected));                                          \
        } while (0)
#define EXPECT(faults, ...) EXPECT_WITH("", faults, __VA_ARGS__)

static void every_kind_is_found_with_its_exact_place(void **state) {
        EXPECT(FAULT("core5/sbuf/part93/row4711/bit77", "stuck-at, value: 1"), { "sram-cell", "core5/sbuf/part93/row4711/bit77" });
        EXPECT(FAULT("core0/psum0/part0/row0/bit0", "stuck-at, value: 0"), { "sram-cell", "core0/psum0/part0/row0/bit0" });
        EXPECT(FAULT("core7/psum7/part127/row63/bit255", "stuck-at, value: 1"), { "sram-cell", "core7/psum7/part127/row63/bit255" });
        EXPECT(FAULT("core7/sbuf/part127/row7167/bit255", "stuck-at, value: 1"), { "sram-cell", "core7/sbuf/part127/row7167/bit255" });
        EXPECT(FAULT("core1/sbuf/part3/row5/bit3", "stuck-at, value: 1") FAULT("core1/sbuf/part3/row5/bit9", "stuck-at, value: 0"),
               { "sram-word", "core1/sbuf/part3/row5" });
        EXPECT(FAULT("core2/sbuf/part3/row5", "sram-row-dead"), { "sram-row", "core2/sbuf/part3/row5" });
        EXPECT(FAULT("core2/psum4/part3/row5", "sram-row-dead, reads: ones"), { "sram-row", "core2/psum4/part3/row5" });
        EXPECT(FAULT("core2/sbuf/part3/row5", "sram-row-dead, reads: inverted"), { "sram-row", "core2/sbuf/part3/row5" });
        EXPECT(FAULT("core2/sbuf/part3/bit70", "sram-column"), { "sram-column", "core2/sbuf/part3/bit70" });
        EXPECT(FAULT("core6/psum2/part127/bit255", "sram-column, reads: ones"), { "sram-column", "core6/psum2/part127/bit255" });
        EXPECT(FAULT("core6/psum2/part12/bit0", "sram-column, reads: inverted"), { "sram-column", "core6/psum2/part12/bit0" });
        EXPECT(FAULT("core3/sbuf/part64", "sram-partition-dead"), { "sram-partition", "core3/sbuf/part64" });
        EXPECT(FAULT("core3/psum6/part64", "sram-partition-dead, reads: ones"), { "sram-partition", "core3/psum6/part64" });
        EXPECT(FAULT("core3/sbuf/part0", "sram-partition-dead, reads: inverted"), { "sram-partition", "core3/sbuf/part0" });
        EXPECT(FAULT("core4/sbuf", "sram-array-dead"), { "sram-array", "core4/sbuf" });
        EXPECT(FAULT("core4/psum3", "sram-array-dead, reads: ones"), { "sram-array", "core4/psum3" });
        EXPECT(FAULT("core0/psum0", "sram-array-dead, reads: inverted"), { "sram-array", "core0/psum0" });
}

static void faults_on_one_chip_are_told_apart(void **state) {
        EXPECT(FAULT("core2/sbuf/part3/bit70", "sram-column") FAULT("core2/sbuf/part3/row1000/bit71", "stuck-at, value: 1")
               FAULT("core2/sbuf/part99", "sram-partition-dead, reads: inverted") FAULT("core2/sbuf/part100/row7", "sram-row-dead")
               FAULT("core2/psum1", "sram-array-dead") FAULT("core2/psum2/part5/row5/bit5", "stuck-at, value: 0")
               FAULT("core2/psum7/part5", "sram-partition-dead") FAULT("core6/psum1/part9/bit1", "sram-column, reads: inverted"),
               { "sram-column", "core2/sbuf/part3/bit70" }, { "sram-cell", "core2/sbuf/part3/row1000/bit71" },
               { "sram-partition", "core2/sbuf/part99" }, { "sram-row", "core2/sbuf/part100/row7" }, { "sram-array", "core2/psum1" },
               { "sram-cell", "core2/psum2/part5/row5/bit5" }, { "sram-partition", "core2/psum7/part5" },
               { "sram-column", "core6/psum1/part9/bit1" });
}

static void two_cells_of_one_bit_are_no_bit_line(void **state) {
        EXPECT(FAULT("core2/sbuf/part3/row1000/bit70", "stuck-at, value: 1") FAULT("core2/sbuf/part3/row1001/bit70", "stuck-at, value: 0"),
               { "sram-cell", "core2/sbuf/part3/row1000/bit70" }, { "sram-cell", "core2/sbuf/part3/row1001/bit70" });
}

/* Where it was met at all, by a list that ends in the first seventh of its rows. */
static void a_bit_line_that_comes_and_goes_is_one(void **state) {
        unsigned n_met = 0;

        for (unsigned part = 0; part < 24; part++) {
                SramParameters parameters = defaults();
                char fault[160], at[64];
                static Found found;

                (void) snprintf(at, sizeof(at), "core2/sbuf/part%u/bit%u", part, 10 * part);
                (void) snprintf(fault, sizeof(fault), FAULT("%s", "sram-column, persistence: intermittent, probability: 0.1"), at);
                if (judge("", fault, 3, &parameters, &found) == VERDICT_PASSED)
                        continue;
                n_met++;
                if (found.n != 1 || !found_has(&found, "sram-column", at))
                        fail_msg("%s", found.lines);
        }
        assert_true(n_met > 4);
}

/* Met by marches, that is: what only errors planted for the code have met is told of the code, and the tray is replaced as well. */
static void an_array_that_comes_and_goes_is_one(void **state) {
        static const char *const reads[] = { "zeros", "ones", "inverted" };
        static const double probabilities[] = { 0.03, 0.07, 0.2, 0.5 };
        static const char *const places[] = { "core2/sbuf", "core5/psum6", "core1/sbuf/part77", "core7/psum0/part12" };
        unsigned n_met = 0;

        for (unsigned i = 0; i < ELEMENTS(places) * ELEMENTS(probabilities) * ELEMENTS(reads); i++) {
                const char *at = places[i % ELEMENTS(places)], *code = strstr(at, "part") ? "sram-partition" : "sram-array";
                double probability = probabilities[i / ELEMENTS(places) % ELEMENTS(probabilities)];
                SramParameters parameters = defaults();
                char fault[192];
                static Found found;

                (void) snprintf(fault, sizeof(fault), FAULT("%s", "%s-dead, reads: %s, persistence: intermittent, probability: %g"), at,
                                code, reads[i / ELEMENTS(places) / ELEMENTS(probabilities)], probability);
                if (judge("", fault, 3, &parameters, &found) == VERDICT_PASSED || (found.n == 1 && strstr(found.lines, "\"sram-ecc\"")))
                        continue;
                n_met++;
                if (found.n != 1 || !found_has(&found, code, at))
                        fail_msg("%s %g: %u findings: %s", at, probability, found.n, found.lines);
        }
        assert_true(n_met > 20);
}

static void a_neighbour_of_a_sick_chip_passes(void **state) {
        SramParameters parameters = defaults();
        Found found;

        assert_int_equal(judge("", FAULT("core4/sbuf", "sram-array-dead"), 4, &parameters, &found), VERDICT_PASSED);
}

static void a_comparator_that_misses_plants_is_found(void **state) {
        EXPECT(FAULT("core1", "comparator-blind, misses: both"), { "sram-comparator", "core1" });
        EXPECT(FAULT("core7", "comparator-blind, misses: zeros"), { "sram-comparator", "core7" });
        EXPECT(FAULT("core0", "comparator-blind, misses: ones"), { "sram-comparator", "core0" });
}

static void codes_that_say_nothing_are_found(void **state) {
        EXPECT(FAULT("core1/sbuf", "sram-ecc-silent"), { "sram-ecc", "core1/sbuf" });
        EXPECT(FAULT("core6/psum3", "sram-ecc-silent"), { "sram-ecc", "core6/psum3" });
        EXPECT_WITH("sram: {sbuf: parity, psum: secded}\n", FAULT("core6/psum3", "sram-ecc-silent"), { "sram-ecc", "core6/psum3" });
        EXPECT_WITH("sram: {sbuf: parity, psum: secded}\n", FAULT("core6/sbuf", "sram-ecc-silent"), { "sram-ecc", "core6/sbuf" });
        EXPECT(FAULT("core1/sbuf", "sram-ecc-off"), { "sram-ecc", "core1/sbuf" });
        EXPECT(FAULT("core6/psum0", "sram-ecc-off"), { "sram-ecc", "core6/psum0" });
        EXPECT(FAULT("core1/sbuf", "sram-ecc-silent") FAULT("core1/sbuf/part9/row9/bit9", "stuck-at, value: 1"),
               { "sram-ecc", "core1/sbuf" }, { "sram-cell", "core1/sbuf/part9/row9/bit9" });
}

static void counters_that_stand_still_are_found(void **state) {
        EXPECT("  - {at: us0-1/chip3, kind: counter-stuck, counter: sram_ecc_corrected}\n", { "sram-ecc", "us0-1/chip3" });
        EXPECT("  - {at: us0-1/chip3, kind: counter-stuck, counter: sram_ecc_uncorrected}\n", { "sram-ecc", "us0-1/chip3" });
}

static void decoders_are_told_from_rows(void **state) {
        EXPECT(FAULT("core1/sbuf/part9/row100", "decoder, class: c, partner: row7000"), { "sram-decoder", "core1/sbuf/part9" });
        EXPECT(FAULT("core1/sbuf/part9/row7000", "decoder, class: c, partner: row100"), { "sram-decoder", "core1/sbuf/part9" });
        EXPECT(FAULT("core1/psum5/part9/row3", "decoder, class: d, partner: row60"), { "sram-decoder", "core1/psum5/part9" });
        EXPECT(FAULT("core1/psum5/part9/row60", "decoder, class: d, partner: row3, reads: or"), { "sram-decoder", "core1/psum5/part9" });
        /* An address that reaches nothing is as a dead row. */
        for (unsigned row = 10; row < 20; row++) {
                char fault[256];

                (void) snprintf(fault, sizeof(fault), FAULT("core1/psum5/part9/row%u", "decoder, class: d, partner: row60, "
                                                            "persistence: intermittent, probability: 0.6"), row);
                EXPECT(fault, { "sram-decoder", "core1/psum5/part9" });
        }
        EXPECT(FAULT("core1/psum5/part9/row60", "decoder, class: a"), { "sram-row", "core1/psum5/part9/row60" });
        EXPECT(FAULT("core1/psum5/part9/row60", "decoder, class: b, partner: row3"), { "sram-row", "core1/psum5/part9/row60" });
}

/* Random places and parameters of every kind; what and where must come out exactly. */
static void random_faults_are_located_exactly(void **state) {
        static const struct {
                const char *kind, *code;
                bool partition, row, bit;
        } kinds[] = {
                { "stuck-at, value: 0", "sram-cell", true, true, true },
                { "stuck-at, value: 1", "sram-cell", true, true, true },
                { "sram-row-dead", "sram-row", true, true, false },
                { "sram-row-dead, reads: inverted", "sram-row", true, true, false },
                { "sram-column", "sram-column", true, false, true },
                { "sram-column, reads: ones", "sram-column", true, false, true },
                { "sram-partition-dead, reads: inverted", "sram-partition", true, false, false },
                { "sram-array-dead, reads: ones", "sram-array", false, false, false },
                { "sram-ecc-off", "sram-ecc", false, false, false },
                { "sram-ecc-silent", "sram-ecc", false, false, false },
        };

        for (unsigned seed = 1; seed <= 12; seed++)
                for (size_t i = 0; i < ELEMENTS(kinds); i++) {
                        uint64_t x = (seed * 1000003u + i) * 0x9e3779b97f4a7c15u;
                        char at[64], fault[160];
                        Expected expected = { kinds[i].code, at };
                        int n;

                        x ^= x >> 29;
                        x *= 0xbf58476d1ce4e5b9u;
                        x ^= x >> 32;
                        n = x >> 60 & 1 ? snprintf(at, sizeof(at), "core%u/sbuf", (unsigned) (x & 7))
                                        : snprintf(at, sizeof(at), "core%u/psum%u", (unsigned) (x & 7), (unsigned) (x >> 3 & 7));
                        if (kinds[i].partition)
                                n += snprintf(at + n, sizeof(at) - (size_t) n, "/part%u", (unsigned) (x >> 6 & 127));
                        if (kinds[i].row)
                                n += snprintf(at + n, sizeof(at) - (size_t) n, "/row%u",
                                              (unsigned) (x >> 13 & 0xffff) % (x >> 60 & 1 ? 7168 : 64));
                        if (kinds[i].bit)
                                (void) snprintf(at + n, sizeof(at) - (size_t) n, "/bit%u", (unsigned) (x >> 30 & 255));
                        (void) snprintf(fault, sizeof(fault), FAULT("%s", "%s"), at, kinds[i].kind);
                        expect("", fault, &expected, 1);
                }
}

static void a_plan_that_asks_too_much_is_refused_where_it_does(void **state) {
        static const char head[] = "plan: p\nstage: RMA\nsteps: [{check: sram, parameters: {repeats: ";
        _cleanup_(plan_freep) Plan *plan = NULL;
        _cleanup_free_ char *error = NULL;
        char text[128];
        int n;

        n = snprintf(text, sizeof(text), "%s31}}]\n", head); /* of two backgrounds */
        assert_int_equal(plan_parse("p", text, (size_t) n, &plan, NULL), 0);
        plan = plan_free(plan);
        n = snprintf(text, sizeof(text), "%s32}}]\n", head);
        assert_int_equal(plan_parse("p", text, (size_t) n, &plan, &error), -EINVAL);
        assert_ptr_equal(strstr(error, "p:3:35: these parameters ask for more than 63 passes"), error);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_plan_that_asks_too_much_is_refused_where_it_does),
                cmocka_unit_test(a_healthy_chip_passes_over_all_of_its_bytes),
                cmocka_unit_test(every_kind_is_found_with_its_exact_place),
                cmocka_unit_test(faults_on_one_chip_are_told_apart),
                cmocka_unit_test(two_cells_of_one_bit_are_no_bit_line),
                cmocka_unit_test(a_bit_line_that_comes_and_goes_is_one),
                cmocka_unit_test(an_array_that_comes_and_goes_is_one),
                cmocka_unit_test(a_neighbour_of_a_sick_chip_passes),
                cmocka_unit_test(a_comparator_that_misses_plants_is_found),
                cmocka_unit_test(codes_that_say_nothing_are_found),
                cmocka_unit_test(counters_that_stand_still_are_found),
                cmocka_unit_test(decoders_are_told_from_rows),
                cmocka_unit_test(random_faults_are_located_exactly),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
