/* SPDX-License-Identifier: Apache-2.0 */

/* The check against the simulated unit: each cause, with a twin that is sound; and devices that lie. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/plan/plan.h"
#include "checks/rounding/parameters.h"
#include "checks/worker/scan.h"
#include "tests/hall-device.h"

extern const Check check_rounding;
const char *parameters_rounding_refuse(const void *parameters);

static const RoundingParameters preflight = {
        .seed = 20061204, .false_alarms = 0.01, .fleet = 400000, .bias = 0.25, .samples = 4096, .resets = 1,
};
static const RoundingParameters production = {
        .seed = 20061204, .false_alarms = 0.01, .fleet = 400000, .bias = 0.25, .samples = 4096, .words = 4352, .resets = 10,
        .every_format = true, .every_value = true,
};

static Found found;

static Verdict judge(const char *faults, const RoundingParameters *parameters) {
        char text[2048];
        Device *device;
        Verdict verdict;

        (void) snprintf(text, sizeof(text), "scenario: test\nseed: 3\ntopology: {servers: 1}\nfaults: [%s]\n", faults);
        device = hall_device(text, "trn-0", 0, SCAN_WINDOW_BYTES);
        assert_non_null(device);
        verdict = hall_scan(device, &check_rounding, parameters, &found);
        (void) device_free(device);
        return verdict;
}

typedef struct Case {
        const char *fault; /* without its place */
        const char *code, *says;
        bool thorough;     /* what production alone promises */
} Case;

static const Case cases[] = {
        { "kind: rng-bit-stuck, bit: 31, value: 0", "rounding-generator", "bit 31 of the random word is stuck at 0", false },
        { "kind: rng-bit-stuck, bit: 8, value: 1", "rounding-generator", "bit 8 of the random word is stuck at 1", false },
        { "kind: rng-bit-stuck, bit: 0, value: 1", "rounding-generator", "bit 0 of the random word is stuck at 1", true },
        { "kind: rng-bit-stuck, bit: 1, value: 0", "rounding-generator", "bit 1 of the random word is stuck at 0", true },
        { "kind: rng-bits-tied, bit: 12, other: 30, wired: or", "rounding-generator", "bits 30 and 12 of the random word are tied: both are the or", false },
        { "kind: rng-bits-tied, bit: 2, other: 9, wired: and", "rounding-generator", "bits 9 and 2 of the random word are tied: both are the and", true },
        { "kind: rng-bits-swapped, bit: 31, other: 11", "rounding-generator", "bits 31 and 11 of the random word are swapped", false },
        { "kind: rng-bits-swapped, bit: 0, other: 1", "rounding-generator", "bits 1 and 0 of the random word are swapped", true },
        { "kind: rng-short-cycle, words: 7", "rounding-generator", "begin anew after 7", false },
        { "kind: rng-short-cycle, words: 4000", "rounding-generator", "begin anew after 4000", true },
        { "kind: rng-lock-up", "rounding-generator", "stands still", false },
        { "kind: sr-off", "rounding-mode", "stochastic rounding rounds to nearest", false },
        { "kind: sr-on", "rounding-mode", "rounding to nearest is stochastic", false },
        { "kind: field-width, field: shorter", "rounding-width", "1 bit too short", false },
        { "kind: field-width, field: longer", "rounding-width", "1 bit too long", false },
        { "kind: field-width, field: fp16", "rounding-width", "as it is for the format fp16", true },
        { "kind: sr-few-bits, bits: 3", "rounding-width", "only the upper 3 bits", false },
        { "kind: sr-few-bits, bits: 29", "rounding-width", "only the upper 29 bits", true },
        { "kind: sr-sign", "rounding-sign", "the other way", false },
        { "kind: seed-ignored", "rounding-seed", "the seed is not taken", false },
        { "kind: reset-ignored", "rounding-seed", "a reset leaves the generator as it was", false },
        { "kind: seed-lost-after-reset", "rounding-seed", "the first seed after a reset is not taken", false },
        { "kind: lane-seed-shared, other: 3", "rounding-lanes", "that of lane 3\"", false },
        { "kind: lane-seed-shifted, other: 100, lag: 17", "rounding-lanes", "that of lane 100, 17 words ahead", false },
        { "kind: convert-stuck, bit: 3, value: 1", "rounding-nearest", "bit 3 of the result is stuck at 1", false },
        { "kind: convert-stuck, bit: 14, value: 0", "rounding-nearest", "bit 14 of the result is stuck at 0", false },
        { "kind: convert-stuck, bit: 31, value: 0", "rounding-nearest", "bit 31 of the result is stuck at 0", true },
        { "kind: round-carry-lost", "rounding-nearest", "does not reach the exponent", false },
        { "kind: subnormal-flushed", "rounding-nearest", "below the normal range are zero", false },
};

static void assert_found(const Case *c, const RoundingParameters *parameters, const char *at, const char *rest) {
        char fault[256];

        (void) snprintf(fault, sizeof(fault), "{at: trn-0/chip0/%s, %s%s}", at, c->fault, rest);
        assert_int_equal(judge(fault, parameters), VERDICT_FAILED);
        if (found.n != 1 || !found_has(&found, c->code, at) || !strstr(found.lines, c->says))
                fail_msg("%s: %u findings, wanted %s: %s\n%.3000s", fault, found.n, c->code, c->says, found.lines);
}

static void test_a_sound_chip_passes(void **state) {
        assert_int_equal(judge("", &preflight), VERDICT_PASSED);
        assert_int_equal(found.n, 0);
        assert_true(found_value(&found, "rounding_mismatched_conversions") == 0);
        assert_true(found_value(&found, "rounding_p_value") > 1e-6);
        assert_true(found_value(&found, "rounding_binomial_samples") >= 50);
        assert_true(found_value(&found, "rounding_false_alarms") > 0.9 * 0.01 / 400000);
        assert_int_equal(judge("", &production), VERDICT_PASSED);
        assert_int_equal(found.n, 0);
}

static void test_each_cause_is_named_on_one_lane(void **state) {
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                if (!cases[i].thorough)
                        assert_found(&cases[i], &preflight, "core5/scalar/lane77", "");
                if (cases[i].thorough || i % 4 == 0)
                        assert_found(&cases[i], &production, "core0/vector/lane0", "");
        }
}

static void test_a_whole_engine_is_one_finding(void **state) {
        for (size_t i = 0; i < ELEMENTS(cases); i++)
                if (!cases[i].thorough)
                        assert_found(&cases[i], &preflight, "core7/gpsimd", "");
        /* Not every lane has words that show it. */
        assert_found(&(Case) { "kind: rng-bit-stuck, bit: 4, value: 1", "rounding-generator", "bit 4 of the random word is stuck at 1", false }, &preflight,
                     "core7/gpsimd", "");
}

static void test_what_comes_and_goes_is_named_too(void **state) {
        for (size_t i = 0; i < ELEMENTS(cases); i++)
                if (!cases[i].thorough && !strstr(cases[i].fault, "lane-seed")) {
                        Case c = cases[i];

                        /* One reset of a core shows nothing that comes and goes. */
                        assert_found(&c, strstr(c.fault, "reset") ? &production : &preflight, "core2/vector/lane9",
                                     ", persistence: intermittent, probability: 0.5");
                        if (!strstr(found.lines, "at times "))
                                fail_msg("%s: %s", c.fault, strstr(found.lines, "message"));
                }
}

/* The few words of preflight in which the lowest bits decide may have many causes: a closer look tells. */
static void test_the_lowest_bits_are_named_by_a_closer_look(void **state) {
        for (unsigned bits = 26; bits <= 29; bits++) {
                Case c = { .code = "rounding-width" };
                char fault[64], says[64];

                (void) snprintf(fault, sizeof(fault), "kind: sr-few-bits, bits: %u", bits);
                (void) snprintf(says, sizeof(says), "only the upper %u bits", bits);
                c.fault = fault;
                c.says = says;
                assert_found(&c, &preflight, "core3/scalar", "");
        }
        assert_found(&(Case) { .fault = "kind: field-width, field: fp16", .code = "rounding-width", .says = "as it is for the format fp16" }, &preflight,
                     "core3/scalar/lane5", "");
}

static void test_two_lanes_are_two_findings(void **state) {
        static const Expected both[] = { { "rounding-generator", "core1/vector/lane4" }, { "rounding-mode", "core1/vector/lane5" } };

        assert_int_equal(judge("{at: trn-0/chip0/core1/vector/lane4, kind: rng-bit-stuck, bit: 20, value: 1}, "
                               "{at: trn-0/chip0/core1/vector/lane5, kind: sr-off}", &preflight), VERDICT_FAILED);
        assert_true(found_all(&found, both, 2));
}

/* Several at once on one lane: no single cause explains it, so its words are read out. */
static void test_what_no_single_cause_explains_is_read_out(void **state) {
        static const char lane[] = "core1/gpsimd/lane63";
        static const struct {
                const char *faults, *code, *says[2];
        } several[] = {
                { "{at: trn-0/chip0/core1/gpsimd/lane63, kind: rng-bit-stuck, bit: 30, value: 1}, "
                  "{at: trn-0/chip0/core1/gpsimd/lane63, kind: rng-bit-stuck, bit: 9, value: 0}", "rounding-generator",
                  { "bit 30 is stuck at 1", "bit 9 is stuck at 0" } },
                { "{at: trn-0/chip0/core1/gpsimd/lane63, kind: rng-bits-swapped, bit: 30, other: 11}, "
                  "{at: trn-0/chip0/core1/gpsimd/lane63, kind: rng-bits-tied, bit: 20, other: 21, wired: and}", "rounding-generator",
                  { "bit 30 gives bit 11", "bit 21 gives itself and bit 20" } },
                { "{at: trn-0/chip0/core1/gpsimd/lane63, kind: rng-short-cycle, words: 5}, "
                  "{at: trn-0/chip0/core1/gpsimd/lane63, kind: rng-bit-stuck, bit: 31, value: 0}", "rounding-generator",
                  { "the words repeat", "after 5" } },
        };

        for (size_t i = 0; i < sizeof(several) / sizeof(several[0]); i++) {
                assert_int_equal(judge(several[i].faults, &preflight), VERDICT_FAILED);
                assert_int_equal(found.n, 1);
                if (!found_has(&found, several[i].code, lane))
                        fail_msg("%s", strstr(found.lines, "diagnosis"));
                for (unsigned j = 0; j < 2; j++)
                        if (!strstr(found.lines, several[i].says[j]))
                                fail_msg("no \"%s\" in %s", several[i].says[j], strstr(found.lines, "message"));
        }
}

/* A stream that is no lane's, on two lanes: each other's. */
static void test_lanes_alike_in_an_unknown_stream_are_told(void **state) {
        assert_int_equal(judge("{at: trn-0/chip0/core1/gpsimd/lane6, kind: lane-seed-shifted, other: 9, lag: 40}, "
                               "{at: trn-0/chip0/core1/gpsimd/lane6, kind: rng-bit-stuck, bit: 30, value: 0}, "
                               "{at: trn-0/chip0/core1/gpsimd/lane7, kind: lane-seed-shifted, other: 9, lag: 40}, "
                               "{at: trn-0/chip0/core1/gpsimd/lane7, kind: rng-bit-stuck, bit: 30, value: 0}", &preflight), VERDICT_FAILED);
        assert_int_equal(found.n, 2);
        assert_true(found_has(&found, "rounding-lanes", "core1/gpsimd/lane6") && found_has(&found, "rounding-lanes", "core1/gpsimd/lane7"));
        assert_non_null(strstr(found.lines, "64 of 64 words"));
        assert_non_null(strstr(found.lines, "are those of lane 7, 0 ahead"));
        /* So far ahead that the words read out have less than half in common. */
        assert_int_equal(judge("{at: trn-0/chip0/core1/gpsimd/lane6, kind: lane-seed-shifted, other: 9, lag: 40}, "
                               "{at: trn-0/chip0/core1/gpsimd/lane6, kind: rng-bit-stuck, bit: 30, value: 0}, "
                               "{at: trn-0/chip0/core1/gpsimd/lane7, kind: lane-seed-shifted, other: 9, lag: 1}, "
                               "{at: trn-0/chip0/core1/gpsimd/lane7, kind: rng-bit-stuck, bit: 30, value: 0}", &preflight), VERDICT_FAILED);
        assert_int_equal(found.n, 2);
        assert_true(found_has(&found, "rounding-lanes", "core1/gpsimd/lane6") && found_has(&found, "rounding-lanes", "core1/gpsimd/lane7"));
        assert_non_null(strstr(found.lines, "are those of lane 7, 39 ahead"));
        /* Words that the stuck bit leaves as they are tell whose they were. */
        assert_non_null(strstr(found.lines, "are those of lane 9, 1 ahead"));
}

/* A seed for which some other seed's scan passes too: nothing depends on the one that plans have. */
static void test_any_seed_passes_a_sound_chip(void **state) {
        for (uint64_t seed = 0; seed < 8; seed++) {
                RoundingParameters p = preflight;

                p.seed = seed * 0x1234567;
                assert_int_equal(judge("", &p), VERDICT_PASSED);
                assert_int_equal(judge("{at: trn-0/chip0/core5/scalar/lane77, kind: rng-bit-stuck, bit: 9, value: 1}", &p), VERDICT_FAILED);
                assert_int_equal(found.n, 1);
        }
}

/* ---- devices that lie ---- */

static unsigned n_lied;
static uint8_t *window;

static void say_less(const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_CONVERT && command->unit == 3)
                completion->out_bytes -= 1;
}

/* What it wrote is taken back: the window holds what it held. */
static void write_nothing(const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_CONVERT && command->unit == 3 && n_lied++ == 5)
                memset(window + command->out_offset, 0xa5, command->out_bytes);
}

/* The first answer of its kind again and again, whatever the seed. */
static void repeat_itself(const WireCommand *command, WireCompletion *completion) {
        static uint8_t first[ENGINE_LANES * 2400];
        static uint32_t n_first;

        if (command->type != COMMAND_CONVERT || command->unit != 3 || !(command->convert.flags & CONVERT_STOCHASTIC))
                return;
        if (n_first != command->out_bytes && n_lied == 0) {
                n_first = command->out_bytes;
                memcpy(first, window + command->out_offset, n_first);
        } else if (n_first == command->out_bytes) {
                memcpy(window + command->out_offset, first, n_first);
                n_lied++;
        }
}

static void test_a_device_that_lies_does_not_pass(void **state) {
        static void (*const lies[])(const WireCommand *command, WireCompletion *completion) = { say_less, write_nothing, repeat_itself };

        for (size_t i = 0; i < ELEMENTS(lies); i++) {
                HallDevice *hall = hall_device_new("scenario: test\nseed: 3\ntopology: {servers: 1}\n", "trn-0", 0, SCAN_WINDOW_BYTES);
                Device *device = hall_connect(hall, &hall_transport, hall);

                window = hall->reach.window;
                n_lied = 0;
                hall_lie = lies[i];
                assert_int_equal(hall_scan(device, &check_rounding, &preflight, &found), i == 0 ? VERDICT_ERROR : VERDICT_FAILED);
                hall_lie = NULL;
                (void) device_free(device);
        }
}

static void test_a_small_window_takes_one_engine_after_another(void **state) {
        assert_int_equal(hall_judge("scenario: test\nseed: 3\ntopology: {servers: 1}\n", &check_rounding, "trn-0", 0, &preflight, &found), VERDICT_PASSED);
        assert_int_equal(hall_judge("scenario: test\nseed: 3\ntopology: {servers: 1}\nfaults: [{at: trn-0/chip0/core3/gpsimd/lane1, kind: sr-off}]\n",
                                    &check_rounding, "trn-0", 0, &preflight, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "rounding-mode", "core3/gpsimd/lane1"));
}

/* What an auditor needs to work a p-value out again: 50 numbers a quarter of the way up, none of which went up. */
static void test_the_statistic_is_told_with_its_p_value(void **state) {
        assert_int_equal(judge("{at: trn-0/chip0/core3/scalar/lane9, kind: sr-off}", &preflight), VERDICT_FAILED);
        assert_true(found_value(&found, "rounding_binomial_samples") == 50);
        assert_true(found_value(&found, "rounding_binomial_ups") == 0);
        assert_true(fabs(found_value(&found, "rounding_p_value") / (2 * pow(0.75, 50)) - 1) < 1e-9);
        assert_true(found_value(&found, "rounding_binomial_low") == 0 && found_value(&found, "rounding_binomial_high") == 30);
}

static void test_the_most_that_a_plan_may_ask_for_has_room(void **state) {
        RoundingParameters most = production;

        most.words = ROUNDING_WORDS_MAX;
        most.samples = 8192;
        most.bias = 0.0945; /* next to all of the samples */
        assert_null(parameters_rounding_refuse(&most));
        assert_int_equal(judge("", &most), VERDICT_PASSED);
}

/* A hash of all seeds that generators got, in order. */
static uint64_t seeds_seen;

static void see_seeds(const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_RNG_SEED)
                seeds_seen = seeds_seen * UINT64_C(0x9e3779b97f4a7c15) + command->seed.seed;
}

static uint64_t seeds_of_a_scan(const RoundingParameters *parameters, uint64_t seed) {
        seeds_seen = 0;
        hall_seed = seed;
        hall_lie = see_seeds;
        assert_int_equal(judge("", parameters), VERDICT_PASSED);
        hall_lie = NULL;
        hall_seed = 1;
        return seeds_seen;
}

/* A second scan asks for other words; one with the same seed for the same, and so does a plan that gives one. The record tells which. */
static void test_each_scan_draws_words_of_its_own(void **state) {
        const RoundingParameters *defaults = *check_word_find("rounding")->parameters_defaults;
        RoundingParameters as_preflight = preflight;
        uint64_t first;
        double told;

        as_preflight.seed = defaults->seed;
        first = seeds_of_a_scan(&as_preflight, 99131157439633);
        told = found_value(&found, "rounding_seed");
        assert_true(told > 0 && told <= UINT32_MAX && told == floor(told));
        assert_true(seeds_of_a_scan(&as_preflight, 5701) != first);
        assert_true(found_value(&found, "rounding_seed") != told);
        assert_true(seeds_of_a_scan(&as_preflight, 99131157439633) == first);

        as_preflight.seed = (uint64_t) told;
        assert_true(seeds_of_a_scan(&as_preflight, 5701) == first);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_a_sound_chip_passes),
                cmocka_unit_test(test_each_cause_is_named_on_one_lane),
                cmocka_unit_test(test_a_whole_engine_is_one_finding),
                cmocka_unit_test(test_what_comes_and_goes_is_named_too),
                cmocka_unit_test(test_the_lowest_bits_are_named_by_a_closer_look),
                cmocka_unit_test(test_two_lanes_are_two_findings),
                cmocka_unit_test(test_what_no_single_cause_explains_is_read_out),
                cmocka_unit_test(test_lanes_alike_in_an_unknown_stream_are_told),
                cmocka_unit_test(test_any_seed_passes_a_sound_chip),
                cmocka_unit_test(test_each_scan_draws_words_of_its_own),
                cmocka_unit_test(test_a_device_that_lies_does_not_pass),
                cmocka_unit_test(test_the_statistic_is_told_with_its_p_value),
                cmocka_unit_test(test_the_most_that_a_plan_may_ask_for_has_room),
                cmocka_unit_test(test_a_small_window_takes_one_engine_after_another),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
