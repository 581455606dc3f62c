/* SPDX-License-Identifier: Apache-2.0 */

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "checks/memory/march/notation.h"
#include "checks/text/cleanup.h"
#include "sim/coverage/coverage.h"

static Coverage measured(const char *text, bool strict) {
        const char *wrong = NULL;
        Coverage coverage;
        March march;

        if (march_read(text, &march, &wrong, NULL) < 0)
                fail_msg("%s: %s", text, wrong);
        assert_int_equal(coverage_measure(&march, strict, &coverage), 0);
        return coverage;
}

static const CoverageCount *count_of(const Coverage *coverage, const char *name) {
        for (size_t i = 0; i < coverage->n; i++)
                if (strcmp(coverage->classes[i].name, name) == 0)
                        return &coverage->classes[i];
        fail_msg("no class is called %s", name);
        return NULL;
}

static bool is_complete(const Coverage *coverage, const char *name) {
        const CoverageCount *count = count_of(coverage, name);

        return count->detected == count->total;
}

static const char *const static_classes[] = {
        "SAF",     "SF",      "TF",     "WDF",  "RDF",  "DRDF", "IRF",   "CFst",
        "CFds_wt", "CFds_wn", "CFds_r", "CFtr", "CFwd", "CFrd", "CFdrd", "CFir",
};

/* Detected of 2 for one cell, of 8 for two, as published enumerations of the static space have them. */
static const struct {
        const char *march;
        unsigned detected[ELEMENTS(static_classes)], all;
} worked_examples[] = {
        { "MATS+",    { 2, 2, 1, 0, 2, 0, 2, 6, 3, 0, 3, 2, 0, 4, 0, 4 }, 29 },
        { "March X",  { 2, 2, 2, 0, 2, 0, 2, 6, 4, 0, 4, 4, 0, 5, 0, 5 }, 36 },
        { "March C-", { 2, 2, 2, 0, 2, 0, 2, 8, 8, 0, 8, 8, 0, 8, 0, 8 }, 56 },
        { "March SR", { 2, 2, 2, 0, 2, 2, 2, 8, 8, 0, 8, 8, 0, 8, 4, 8 }, 62 },
        { "March SS", { 2, 2, 2, 2, 2, 2, 2, 8, 8, 8, 8, 8, 8, 8, 8, 8 }, 84 },
};

static void the_worked_examples_come_out(void **state) {
        for (size_t i = 0; i < ELEMENTS(worked_examples); i++) {
                Coverage coverage = measured(worked_examples[i].march, false);

                for (size_t k = 0; k < ELEMENTS(static_classes); k++) {
                        const CoverageCount *count = count_of(&coverage, static_classes[k]);

                        assert_int_equal(count->total, k < 7 ? 2 : 8);
                        if (count->detected != worked_examples[i].detected[k])
                                fail_msg("%s finds %u of %s", worked_examples[i].march, count->detected, count->name);
                }
                assert_int_equal(coverage.static_detected, worked_examples[i].all);
                assert_int_equal(coverage.static_total, 84);
        }
}

/* What the literature claims of its tests. */
static void claims_of_the_literature_hold(void **state) {
        static const char *const write_read[] = { "dRDF", "dDRDF", "dIRF", "dCFds", "dCFrd", "dCFdrd", "dCFir" };
        static const char *const linked[] = { "LF1", "LF2av", "LF2va", "LF2aa", "LF3" };
        Coverage mss = measured("March MSS", false), raw = measured("March RAW", false), ab = measured("March AB", true),
                 sl = measured("March SL", false), sr = measured("March SR", false), g = measured("March G", false);

        assert_int_equal(mss.static_detected, 84);
        assert_int_equal(raw.static_detected, 84);
        assert_int_equal(ab.static_detected, 84);
        for (size_t i = 0; i < ELEMENTS(write_read); i++) {
                assert_true(is_complete(&raw, write_read[i]));
                assert_true(is_complete(&ab, write_read[i]));
        }
        for (size_t i = 0; i < ELEMENTS(linked); i++)
                assert_true(is_complete(&sl, linked[i]));
        assert_int_equal(count_of(&sr, "AF-C")->detected, 0);
        assert_int_equal(count_of(&sr, "AF-D")->detected, 0);
        assert_true(is_complete(&g, "DRF"));
        assert_int_equal(count_of(&raw, "DRF")->detected, 0);
}

/* Stuck-open cells need an element that reads both values in one visit. */
static void stuck_open_needs_both_values_in_one_visit(void **state) {
        static const char *const finders[] = { "MATS++", "March Y", "March B", "March AB", "March RAW", "PMOVI", "March LA" };
        static const char *const others[] = { "MATS+", "March C-", "March SS", "March A", "March RAW1", "IFA-9" };

        for (size_t i = 0; i < ELEMENTS(finders); i++) {
                Coverage coverage = measured(finders[i], false);

                assert_true(is_complete(&coverage, "SOF"));
        }
        for (size_t i = 0; i < ELEMENTS(others); i++) {
                Coverage coverage = measured(others[i], false);

                assert_false(is_complete(&coverage, "SOF"));
        }
}

/* The one difference that is published between a pass upwards and whichever way. */
static void the_direction_of_any_can_matter(void **state) {
        Coverage up = measured("March RAW", false), strict = measured("March RAW", true);

        assert_int_equal(count_of(&up, "dCFdrd")->detected, 16);
        assert_true(count_of(&strict, "dCFdrd")->detected < 16);
}

static void classes_have_the_size_of_the_tables(void **state) {
        static const struct {
                const char *name;
                unsigned total;
        } sizes[] = {
                { "CFid", 8 },   { "CFin", 4 },    { "SOF", 1 },      { "DRF", 2 },      { "AF-A", 2 },    { "AF-B", 8 },
                { "AF-C", 2 },   { "AF-D", 4 },    { "dCFds", 16 },   { "dWW", 8 },      { "LF1", 12 },    { "LF2av", 96 },
                { "LF2va", 120 }, { "LF2aa", 480 }, { "LF3", 1440 },  { "SNPSF", 32 },   { "PNPSF", 32 },  { "ANPSF", 128 },
        };
        Coverage coverage = measured("any(w0)", false);

        for (size_t i = 0; i < ELEMENTS(sizes); i++) {
                assert_int_equal(count_of(&coverage, sizes[i].name)->total, sizes[i].total);
                assert_int_equal(count_of(&coverage, sizes[i].name)->detected, 0);
        }
}

static void too_many_directions_are_refused(void **state) {
        Coverage coverage;
        March march;

        assert_int_equal(march_read("any(w0);any(r0);any(r0);any(r0);any(r0);any(r0);any(r0);any(r0);any(r0);any(r0);any(r0);"
                                    "any(r0);any(r0)", &march, NULL, NULL), 0);
        assert_int_equal(coverage_measure(&march, true, &coverage), -E2BIG);
        assert_int_equal(coverage_measure(&march, false, &coverage), 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_worked_examples_come_out),
                cmocka_unit_test(claims_of_the_literature_hold),
                cmocka_unit_test(stuck_open_needs_both_values_in_one_visit),
                cmocka_unit_test(the_direction_of_any_can_matter),
                cmocka_unit_test(classes_have_the_size_of_the_tables),
                cmocka_unit_test(too_many_directions_are_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
