/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "checks/text/cleanup.h"
#include "checks/vocabulary/measurements.h"

static bool is_of(const char *check, const char *name) {
        return measurement_find(check, name) != NULL;
}

static void a_row_says_what_its_value_needs(void **state) {
        const MeasurementRow *row;

        for (size_t i = 0; (row = measurement_at(i)); i++) {
                bool is_limited = row->limit_type != LIMIT_NONE;

                assert_true(strcmp(row->check, "device") == 0 || check_word_find(row->check));
                assert_true(strlen(row->unit) > 0);
                assert_true(strlen(row->why) > 10 && row->why[strlen(row->why) - 1] != '.');
                assert_true(row->unlimited == NULL || is_limited);
                /* Beyond a limit a step is called something, and what is said beyond it alone has one. */
                assert_int_equal(row->beyond != SEVERITY_INFO, is_limited);
                assert_true(row->duty == MEASUREMENT_ASKED || is_limited);
                /* The limit is one, or one of a range of which no end is an accident. */
                assert_true(isfinite(row->least) && isfinite(row->most) && (is_limited || row->least == row->most || row->least == 1));
                assert_true(isnan(row->limit) ? row->least < row->most : row->limit == row->least && row->limit == row->most);
                assert_true(is_limited || row->statistic == STATISTIC_NONE);
        }
        assert_true(measurement_at(100) != NULL);
}

/* Every name leads to one row, whoever says it: so the name alone tells which. */
static void no_name_has_two_rows(void **state) {
        const MeasurementRow *row, *other;

        for (size_t i = 0; (row = measurement_at(i)); i++)
                for (size_t k = 0; k < i && (other = measurement_at(k)); k++)
                        assert_string_not_equal(row->name, other->name);
}

static void rows_of_a_check_stand_together(void **state) {
        const MeasurementRow *row, *rows;
        size_t n;

        for (size_t i = 0; (row = measurement_at(i)); i++) {
                rows = measurement_rows(row->check, &n);
                assert_true(n > 0 && n <= MEASUREMENTS_OF_CHECK_MAX);
                assert_true(row >= rows && row < rows + n);
        }
        assert_null(measurement_rows("hb", &n));
        assert_int_equal(n, 0);
}

/* Each check can pass by something: a value that each step says, or one of those that a plan asks for. */
static void each_check_has_a_limit(void **state) {
        const CheckWord *word;

        for (size_t i = 0; (word = check_word_at(i)); i++) {
                const MeasurementRow *row;
                unsigned n = 0;

                for (size_t k = 0; (row = measurement_at(k)); k++)
                        n += strcmp(row->check, word->name) == 0 && row->duty != MEASUREMENT_BEYOND && row->limit_type != LIMIT_NONE;
                if (n == 0)
                        fail_msg("%s passes by nothing", word->name);
        }
}

/* Every coverage count has a row. */
static void what_plans_promise_is_in_the_table(void **state) {
        const CheckWord *word;

        for (size_t i = 0; (word = check_word_at(i)); i++)
                for (const char *const *count = word->counts; count && *count; count++)
                        if (!is_of(word->name, *count))
                                fail_msg("%s has no row", *count);
}

static void a_family_is_exact_and_bounded(void **state) {
        assert_true(is_of("collective", "collective_all_reduce_64_fp32_1073741824_busbw"));
        assert_true(is_of("collective", "collective_sendrecv_16_uint8_0_time"));
        assert_false(is_of("collective", "collective_all_reduce_64_fp32_01_busbw"));
        assert_false(is_of("collective", "collective_all_reduce_64_fp32_10737418240_busbw"));
        assert_false(is_of("collective", "collective_all_reduce_64_fp32_1_busbw_"));
        assert_false(is_of("collective", "collective_all_reduce_64_fp32__busbw"));
        assert_false(is_of("collective", "collective_broadcast_64_fp32_1_busbw"));
        assert_false(is_of("collective", "collective_all_reduce_64_fp64_1_time"));
        assert_false(is_of("efa", "collective_all_reduce_64_fp32_1_time"));
        assert_true(is_of("neuronlink", "neuronlink_untested_either_end"));
        assert_false(is_of("neuronlink", "neuronlink_untested_either"));
        assert_false(is_of("neuronlink", "neuronlink_untested_"));
        assert_false(is_of("neuronlink", ""));
        assert_true(is_of("host-link", "host_link_findings_not_written"));
        assert_false(is_of("host-link", "hbm_findings_not_written"));
        assert_false(is_of("host-link", "host-link_findings_not_written"));
        assert_true(is_of("efa", "device_answers_of_others"));
}

static void what_is_said_otherwise_is_told(void **state) {
        const MeasurementRow *mismatches = measurement_find("sram", "sram_mismatches"), *bytes = measurement_find("hbm", "hbm_bytes_tested");
        const MeasurementRow *seed = measurement_find("rounding", "rounding_seed"), *scan = measurement_named("efa_untested_out_of_scan");
        const MeasurementRow *heat = measurement_named("telemetry_temperature"), *rise = measurement_named("telemetry_temperature_rise");
        const MeasurementRow *lanes = measurement_named("neuronlink_lane_errors");

        assert_null(measurement_wrong(mismatches, "{error}", LIMIT_LESS_THAN_OR_EQUAL, 0));
        assert_non_null(measurement_wrong(mismatches, "1", LIMIT_LESS_THAN_OR_EQUAL, 0));
        assert_non_null(measurement_wrong(mismatches, "{error}", LIMIT_LESS_THAN_OR_EQUAL, 1));
        assert_non_null(measurement_wrong(mismatches, "{error}", LIMIT_EQUAL, 0));
        assert_non_null(measurement_wrong(mismatches, "{error}", LIMIT_NONE, 0));
        assert_null(measurement_wrong(bytes, "By", LIMIT_GREATER_THAN_OR_EQUAL, 12345));
        assert_null(measurement_wrong(bytes, "By", LIMIT_NONE, 0));
        assert_null(measurement_wrong(seed, "1", LIMIT_NONE, 0));
        assert_non_null(measurement_wrong(seed, "1", LIMIT_EQUAL, 0));
        assert_null(measurement_wrong(scan, "{server}", LIMIT_NONE, 0));
        assert_null(measurement_wrong(scan, "{adapter}", LIMIT_NONE, 0));
        assert_non_null(measurement_wrong(scan, "{chip}", LIMIT_NONE, 0));

        assert_non_null(measurement_wrong(heat, "Cel", LIMIT_LESS_THAN_OR_EQUAL, 1e308));
        assert_non_null(measurement_wrong(heat, "Cel", LIMIT_LESS_THAN_OR_EQUAL, -1));
        assert_non_null(measurement_wrong(heat, "Cel", LIMIT_LESS_THAN_OR_EQUAL, NAN));
        assert_null(measurement_wrong(heat, "Cel", LIMIT_LESS_THAN_OR_EQUAL, 150));
        assert_null(measurement_impossible(heat, -273, STATISTIC_NONE));
        assert_non_null(measurement_impossible(heat, -274, STATISTIC_NONE));
        assert_non_null(measurement_impossible(heat, 20, STATISTIC_MEAN));
        assert_null(measurement_impossible(rise, -274, STATISTIC_NONE));
        assert_null(measurement_impossible(mismatches, 0, STATISTIC_NONE));
        assert_non_null(measurement_impossible(mismatches, -0.5, STATISTIC_NONE));
        assert_non_null(measurement_impossible(bytes, -1, STATISTIC_NONE));
        assert_null(measurement_impossible(lanes, 3, STATISTIC_MAX));
        assert_non_null(measurement_impossible(lanes, 3, STATISTIC_MIN));
        assert_non_null(measurement_impossible(lanes, 3, STATISTIC_NONE));
}

static const YamlField *parameter_of(const char *check, const char *name) {
        for (const YamlField *field = check_word_find(check)->parameters; field && field->name; field++)
                if (strcmp(field->name, name) == 0)
                        return field;
        return NULL;
}

/* A limit that a plan may ask for and its row does not allow makes an error of every step of that plan. */
static void each_limit_that_a_plan_may_ask_for_is_allowed(void **state) {
        static const struct {
                const char *value;
                const char *parameter; /* NULL: the value follows from one that is a share of something else */
                bool is_same; /* the limit is the parameter and nothing besides, so the row is as wide */
        } followed[] = {
                { "telemetry_hbm_corrected",         "hbm_corrected_max",    true  },
                { "telemetry_sram_corrected",        "sram_corrected_max",   true  },
                { "telemetry_temperature",           "temperature_max",      true  },
                { "telemetry_temperature_rise",      "temperature_rise_max", true  },
                { "neuronlink_margin_ratio",         "margin",               false },
                { "collective_step_ratio",           "straggler",            false },
                { "hbm_region_age_max",              NULL,                   false }, /* of the plan itself */
                { "host_link_bandwidth_min",         NULL,                   false },
                { "host_link_adapter_bandwidth_min", NULL,                   false },
                { "collective_port_bandwidth",       NULL,                   false },
        };
        const MeasurementRow *row;
        size_t n = 0;

        for (size_t i = 0; i < ELEMENTS(followed); i++) {
                const YamlField *field;
                double least, most;

                row = measurement_named(followed[i].value);
                assert_non_null(row);
                n += strncmp(row->why, "the plan's ", 11) == 0;
                if (!followed[i].parameter)
                        continue;
                field = parameter_of(row->check, followed[i].parameter);
                assert_non_null(field);
                least = field->type == YAML_TYPE_NUMBER ? field->low : (double) field->min;
                most = field->type == YAML_TYPE_NUMBER ? field->high : (double) field->max;
                if (least < row->least || most > row->most || (followed[i].is_same && (least > row->least || most < row->most)))
                        fail_msg("%s of a plan is between %g and %g, and the limit of %s between %g and %g", field->name, least, most, row->name, row->least, row->most);
        }
        /* Nor is one of the table forgotten here. */
        for (size_t i = 0; (row = measurement_at(i)); i++)
                n -= row->limit_type != LIMIT_NONE && isnan(row->limit) && strncmp(row->why, "the plan's ", 11) == 0;
        assert_int_equal(n, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_row_says_what_its_value_needs),
                cmocka_unit_test(no_name_has_two_rows),
                cmocka_unit_test(rows_of_a_check_stand_together),
                cmocka_unit_test(each_check_has_a_limit),
                cmocka_unit_test(what_plans_promise_is_in_the_table),
                cmocka_unit_test(a_family_is_exact_and_bounded),
                cmocka_unit_test(what_is_said_otherwise_is_told),
                cmocka_unit_test(each_limit_that_a_plan_may_ask_for_is_allowed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
