/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/memory/hbm/passes/schedule.h"
#include "checks/memory/hbm/report/parameters.h"
#include "checks/plan/plan.h"
#include "tests/hall-device.h"

extern const Check check_hbm;

#define HEAD "scenario: t\nseed: %u\ntopology: {ultraservers: 1}\n"
#define CHIP "us0-1/chip3/"

static HbmParameters defaults(void) {
        return *(const HbmParameters *) *check_word_find("hbm")->parameters_defaults;
}

static Verdict judge(const char *faults, unsigned chip, const HbmParameters *parameters, Found *found) {
        char text[4096];

        (void) snprintf(text, sizeof(text), HEAD "%s%s\n", 5, faults ? "faults:\n" : "", faults ? faults : "");
        return hall_judge(text, &check_hbm, "us0-1", chip, parameters, found);
}

static void a_healthy_chip_passes_over_all_of_its_bytes(void **state) {
        HbmParameters parameters = defaults();
        Found found;

        assert_int_equal(judge(NULL, 3, &parameters, &found), VERDICT_PASSED);
        assert_int_equal(found.n, 0);
        assert_true(found_value(&found, "hbm_bytes_tested") == 103079215104);
}

static void a_healthy_chip_passes_every_phase(void **state) {
        HbmParameters parameters = defaults();
        Found found;

        parameters.phases = (1u << _HBM_DO_MAX) - 1;
        parameters.random = 4;
        parameters.orders = (HbmOrders) { 3, { MEMORY_ORDER_ROW_FAST, MEMORY_ORDER_BANK_FAST, MEMORY_ORDER_COLUMN_FAST } };
        assert_int_equal(judge(NULL, 3, &parameters, &found), VERDICT_PASSED);
        assert_int_equal(found.n, 0);
        assert_true(found_value(&found, "hbm_bytes_tested") == 103079215104);
        /* Both parities twice with both data: 8 × half of 16384 rows × 1536 banks × 4 stacks. */
        assert_true(found_value(&found, "hbm_rows_hammered") == 402653184);
        /* In each of 32 pseudo-channels of 4 stacks 2 × 256 + 8 accesses, and 2 × 32 + 8 in its two other stack IDs. */
        assert_true(found_value(&found, "hbm_accesses_walked") == 84992);
        assert_true(found_value(&found, "hbm_retention_proven") == 512);
}

/* What has no room is said, with the time it would take, and the rest is done all the same. */
static void a_phase_beyond_the_budget_is_no_pass(void **state) {
        HbmParameters parameters = defaults();
        Found found;

        assert_int_equal(march_read("March G", &parameters.march, NULL, NULL), 0);
        parameters.pause_sec = 9999; /* more than a plan may ask for */
        assert_int_equal(judge(NULL, 3, &parameters, &found), VERDICT_SKIPPED);
        assert_true(found_value(&found, "hbm_bytes_tested") == 0);
        assert_non_null(strstr(found.message, "left out: march 1 of 1 passes, "));
        assert_null(strstr(found.message, "address"));

        /* A failure is a result none the less. */
        assert_int_equal(judge("  - {at: " CHIP "hbm0/ch0/pc0/dq0, kind: lane-stuck, value: 0}\n", 3, &parameters, &found), VERDICT_FAILED);
        assert_true(found_has(&found, "hbm-lane", "hbm0/ch0/pc0/dq0"));
}

static void a_lane_is_found_by_walking_alone(void **state) {
        HbmParameters parameters = defaults();
        Found found;

        parameters.phases = 1u << HBM_DO_WALKING;
        for (unsigned value = 0; value < 2; value++) {
                char fault[128];

                (void) snprintf(fault, sizeof(fault), "  - {at: " CHIP "hbm3/ch11/pc1/dq31, kind: lane-stuck, value: %u}\n", value);
                assert_int_equal(judge(fault, 3, &parameters, &found), VERDICT_FAILED);
                if (!found_has(&found, "hbm-lane", "hbm3/ch11/pc1/dq31"))
                        fail_msg("%s", found.lines);
        }
}

static void too_many_passes_are_refused(void **state) {
        HbmParameters parameters = defaults();
        Found found;

        parameters.phases = 1u << HBM_DO_RETENTION | 1u << HBM_DO_HAMMER;
        parameters.repeats = 8;
        assert_int_equal(judge(NULL, 3, &parameters, &found), VERDICT_ERROR);
        assert_non_null(strstr(found.message, "more than 64 passes"));
}

/* A plan is refused by a count of its passes; here they are scheduled. */
static void passes_are_counted_as_they_are_scheduled(void **state) {
        StepSettings settings = { .name = "hbm", .n_servers = 1, .seed = 1 };
        StepServer servers[1] = {};
        HbmParameters parameters = defaults();
        Step *step;

        settings.servers = servers;
        assert_int_equal(step_new(&settings, &step), 0);
        for (unsigned phases = 1; phases < 1u << _HBM_DO_MAX; phases++)
                for (unsigned repeats = 1; repeats <= 8; repeats += 7) {
                        HbmRun run = { .step = step, .parameters = &parameters };
                        int r;

                        assert_int_equal(memory_geometry_parse("16 2 3 4 4 16384 32", &run.geometry), 0);
                        run.box = memory_geometry_box(&run.geometry);
                        parameters.phases = phases;
                        parameters.repeats = repeats;
                        parameters.random = 3 * repeats;
                        parameters.orders.n = 1 + phases % 3;
                        r = hbm_schedule(&run);
                        if (hbm_parameters_passes(&parameters) > MARCH_STEP_PASSES_MAX)
                                assert_int_equal(r, -E2BIG);
                        else {
                                assert_int_equal(r, 0);
                                assert_int_equal(run.n_passes, hbm_parameters_passes(&parameters));
                        }
                }
        (void) step_free(step);
}

static void a_plan_that_asks_too_much_is_refused_where_it_does(void **state) {
        static const struct {
                const char *parameters, *error;
        } cases[] = {
                { "{phases: [hammer, retention], repeats: 8}", "p:3:34: these parameters ask for more than 64 passes" },
                { "{phases: [random], slices: 4}", "p:3:34: only the phases march and address go around live data" },
                { "{repair: request, slices: 4}", "p:3:34: repairs do not go around live data" },
                { "{phases: [hammer, retention], repeats: 3}", NULL },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                _cleanup_(plan_freep) Plan *plan = NULL;
                _cleanup_free_ char *error = NULL;
                char text[256];
                int n = snprintf(text, sizeof(text), "plan: p\nstage: RMA\nsteps: [{check: hbm, parameters: %s}]\n", cases[i].parameters);

                assert_int_equal(plan_parse("p", text, (size_t) n, &plan, &error), cases[i].error ? -EINVAL : 0);
                if (cases[i].error && strncmp(error, cases[i].error, strlen(cases[i].error)) != 0)
                        fail_msg("got      %s\nexpected %s", error, cases[i].error);
        }
}

#define BANK "hbm2/ch3/pc1/sid0/bg2/ba1"

/* FAULTS are the only ones of the chip; exactly EXPECTED must be found. */
static void expect(const char *faults, const HbmParameters *parameters, const Expected *expected, size_t n) {
        Found found;

        assert_int_equal(judge(faults, 3, parameters, &found), VERDICT_FAILED);
        assert_true(found_all(&found, expected, n));
}

#define FAULT(at, what) "  - {at: " CHIP at ", kind: " what "}\n"
#define EXPECT(faults, ...)                                                                                  \
        do {                                                                                                 \
                const Expected expected[] = { __VA_ARGS__ };                                                 \
                HbmParameters parameters = defaults();                                                       \
                expect(faults, &parameters, expected, ELEMENTS(expected));                                   \
        } while (0)

static void every_kind_is_found_with_its_exact_place(void **state) {
        EXPECT(FAULT(BANK "/row4711/col12/bit77", "stuck-at, value: 1"), { "hbm-cell", BANK "/row4711/col12/bit77" });
        EXPECT(FAULT(BANK "/row0/col0/bit0", "stuck-at, value: 0"), { "hbm-cell", BANK "/row0/col0/bit0" });
        EXPECT(FAULT("hbm3/ch15/pc1/sid2/bg3/ba3/row16383/col31/bit255", "stuck-at, value: 0"),
               { "hbm-cell", "hbm3/ch15/pc1/sid2/bg3/ba3/row16383/col31/bit255" });
        EXPECT(FAULT(BANK "/row9/col12/bit7", "stuck-at, value: 1") FAULT(BANK "/row9/col12/bit8", "stuck-at, value: 0"),
               { "hbm-word", BANK "/row9/col12" });
        EXPECT(FAULT(BANK "/row4711", "row-dead"), { "hbm-row", BANK "/row4711" });
        EXPECT(FAULT(BANK "/row4711", "row-dead, reads: ones"), { "hbm-row", BANK "/row4711" });
        EXPECT(FAULT(BANK "/row4711", "row-dead, reads: inverted"), { "hbm-row", BANK "/row4711" });
        EXPECT(FAULT(BANK, "bank-dead"), { "hbm-bank", BANK });
        EXPECT(FAULT(BANK, "bank-dead, reads: ones"), { "hbm-bank", BANK });
        EXPECT(FAULT(BANK, "bank-dead, reads: inverted"), { "hbm-bank", BANK });
        EXPECT(FAULT("hbm0/ch0/pc0/dq0", "lane-stuck, value: 0"), { "hbm-lane", "hbm0/ch0/pc0/dq0" });
        EXPECT(FAULT("hbm1/ch7/pc1/dq31", "lane-stuck, value: 1"), { "hbm-lane", "hbm1/ch7/pc1/dq31" });
}

static void a_column_is_told_from_cells(void **state) {
        EXPECT(FAULT(BANK "/col12/bit77", "column-select, reads: ones") FAULT(BANK "/row3/col12/bit78", "stuck-at, value: 1"),
               { "hbm-column", BANK "/col12/bit77" }, { "hbm-cell", BANK "/row3/col12/bit78" });
        EXPECT(FAULT(BANK "/row4711/col12/bit77", "stuck-at, value: 1") FAULT(BANK "/row11/col12/bit77", "stuck-at, value: 1"),
               { "hbm-cell", BANK "/row4711/col12/bit77" }, { "hbm-cell", BANK "/row11/col12/bit77" });
}

static void faults_on_one_chip_are_told_apart(void **state) {
        EXPECT(FAULT("hbm2/ch3/pc1/dq5", "lane-stuck, value: 1") FAULT("hbm2/ch3/pc1/dq9", "lane-stuck, value: 0")
               FAULT(BANK, "bank-dead") FAULT("hbm2/ch3/pc1/sid1/bg0/ba0/row77", "row-dead, reads: inverted")
               FAULT("hbm2/ch3/pc1/sid1/bg0/ba2/row5/col6/bit10", "stuck-at, value: 1")
               FAULT("hbm2/ch0/pc0/sid1/bg0/ba0/row78", "row-dead") FAULT("hbm2/ch15/pc1/sid2/bg3/ba0", "bank-dead")
               FAULT("hbm0/ch1/pc0/sid1/bg0/ba0/row78/col1/bit1", "stuck-at, value: 1"),
               { "hbm-lane", "hbm2/ch3/pc1/dq5" }, { "hbm-lane", "hbm2/ch3/pc1/dq9" }, { "hbm-bank", BANK },
               { "hbm-row", "hbm2/ch3/pc1/sid1/bg0/ba0/row77" },
               { "hbm-cell", "hbm2/ch3/pc1/sid1/bg0/ba2/row5/col6/bit10" }, { "hbm-row", "hbm2/ch0/pc0/sid1/bg0/ba0/row78" },
               { "hbm-bank", "hbm2/ch15/pc1/sid2/bg3/ba0" }, { "hbm-cell", "hbm0/ch1/pc0/sid1/bg0/ba0/row78/col1/bit1" });
}

static void a_neighbour_of_a_sick_chip_passes(void **state) {
        HbmParameters parameters = defaults();
        Found found;

        assert_int_equal(judge(FAULT(BANK, "bank-dead"), 4, &parameters, &found), VERDICT_PASSED);
}

static void a_comparator_that_misses_plants_is_found(void **state) {
        EXPECT(FAULT("hbm1", "comparator-blind, misses: both"), { "hbm-comparator", "hbm1" });
        EXPECT(FAULT("hbm1", "comparator-blind, misses: zeros"), { "hbm-comparator", "hbm1" });
        EXPECT(FAULT("hbm3", "comparator-blind, misses: ones"), { "hbm-comparator", "hbm3" });
}

/* What comes and goes: what the engine does not see is its own, what memory does not give is memory's. */
static void an_engine_blind_now_and_then_is_told_from_memory(void **state) {
        static const struct {
                const char *fault;
                bool blind;
        } cases[] = {
                { "{at: us0-1/chip3/hbm1, kind: comparator-blind, misses: zeros, persistence: intermittent, probability: 0.5}", true },
                { "{at: us0-1/chip3/hbm1, kind: comparator-blind, misses: both, persistence: intermittent, probability: 0.7}", true },
                { "{at: us0-1/chip3/hbm1, kind: stack-dead, reads: zeros, persistence: intermittent, probability: 0.5}", false },
                { "{at: us0-1/chip3/hbm1/ch2, kind: channel-dead, reads: ones, persistence: intermittent, probability: 0.6}", false },
                /* Four elements read ones: at 0.5 one scan of sixteen would meet none of them. */
                { "{at: us0-1/chip3/hbm1/ch2/pc0/dq5, kind: lane-stuck, value: 0, persistence: intermittent, probability: 0.9}", false },
        };
        HbmParameters parameters = defaults();

        for (size_t i = 0; i < ELEMENTS(cases); i++)
                for (unsigned seed = 1; seed <= 8; seed++) {
                        char text[512];
                        Verdict verdict;
                        Found found;

                        (void) snprintf(text, sizeof(text), HEAD "faults:\n  - %s\n", seed, cases[i].fault);
                        verdict = hall_judge(text, &check_hbm, "us0-1", 3, &parameters, &found);
                        /* Memory that acts in half of the commands of so short a test may have luck. */
                        if ((cases[i].blind && verdict != VERDICT_FAILED) || (strstr(found.lines, "\"hbm-comparator\"") != NULL) != cases[i].blind ||
                            (cases[i].blind && found.n != 1))
                                fail_msg("%s, seed %u: %s %s", cases[i].fault, seed, verdict_to_string(verdict), found.lines);
                }
}

/* Memory that is seldom wrong gives a plant back and then, in a few trials of many, what the march wants: the march is right not to report it. */
static void memory_that_is_seldom_wrong_is_no_blind_comparator(void **state) {
        HbmParameters parameters = defaults();
        unsigned n_named = 0;

        for (unsigned seed = 65; seed <= 84; seed++) {
                char text[512];
                Found found;

                (void) snprintf(text, sizeof(text),
                                HEAD "faults:\n  - {at: us0-1/chip3/hbm1, kind: stack-dead, reads: %s, persistence: intermittent, probability: 0.1}\n",
                                seed, seed % 2 ? "ones" : "zeros");
                (void) hall_judge(text, &check_hbm, "us0-1", 3, &parameters, &found);
                if (strstr(found.lines, "\"hbm-comparator\""))
                        fail_msg("seed %u: %s", seed, found.lines);
                n_named += found_has(&found, "hbm-stack", "hbm1");
        }
        assert_in_range(n_named, 15, 20);
}

/* Some commands meet it and some do not: it is one thing all the same. */
static void what_comes_and_goes_is_no_heap_of_banks(void **state) {
        static const struct {
                const char *at, *kind, *code;
        } cases[] = {
                { "hbm1/ch2", "channel-dead, reads: zeros", "hbm-channel" },
                { "hbm1/die7", "die-dead, reads: ones", "hbm-die" },
                { "hbm1/ch2/pc1/sid0", "address-tsv, line: row5, value: 0", "hbm-address-tsv" },
        };
        HbmParameters parameters = defaults();

        parameters.others = parameters.march;
        for (size_t i = 0; i < ELEMENTS(cases); i++)
                for (unsigned seed = 1; seed <= 6; seed++) {
                        char text[512];
                        Found found;

                        (void) snprintf(text, sizeof(text), HEAD "faults:\n  - {at: " CHIP "%s, kind: %s, persistence: intermittent, "
                                        "probability: 0.55}\n", seed, cases[i].at, cases[i].kind);
                        assert_int_equal(hall_judge(text, &check_hbm, "us0-1", 3, &parameters, &found), VERDICT_FAILED);
                        if (found.n != 1 || !found_has(&found, cases[i].code, cases[i].at))
                                fail_msg("%s, seed %u: %s", cases[i].kind, seed, found.lines);
                }
}

/* Rows that are hammered and cells that leak do not stand in line. */
static void a_line_that_comes_and_goes_is_no_heap_of_cells(void **state) {
        HbmParameters parameters = defaults();

        for (unsigned seed = 1; seed <= 8; seed++) {
                char text[512];
                Found found;

                parameters.phases = 1u << (seed % 2 ? HBM_DO_HAMMER : HBM_DO_RETENTION);
                (void) snprintf(text, sizeof(text), HEAD "faults:\n  - {at: " CHIP "hbm1/ch2/pc1/sid0/bg2/ba1/sub9/col18/bit42, "
                                "kind: bit-line, reads: ones, persistence: intermittent, probability: 0.5}\n", seed);
                assert_int_equal(hall_judge(text, &check_hbm, "us0-1", 3, &parameters, &found), VERDICT_FAILED);
                if (found.n > 2 || !strstr(found.lines, "\"hbm-bit-line\""))
                        fail_msg("seed %u: %s", seed, found.lines);
        }
}

static void reads_that_are_one_write_late_are_stale_where_they_are(void **state) {
        EXPECT(FAULT("hbm1", "stale-reads"), { "hbm-stale", "hbm1" });
        EXPECT(FAULT("hbm2/ch3/pc1", "stale-reads"), { "hbm-stale", "hbm2/ch3/pc1" });
        EXPECT(FAULT(BANK, "stale-reads"), { "hbm-stale", BANK });
}

/* Random places and parameters of every kind; what and where must come out exactly. */
static void random_faults_are_located_exactly(void **state) {
        static const struct {
                const char *kind, *code;
                unsigned depth; /* of the place: bank, row, cell; 0: a lane */
        } kinds[] = {
                { "stuck-at, value: 0", "hbm-cell", 3 },  { "stuck-at, value: 1", "hbm-cell", 3 },
                { "row-dead", "hbm-row", 2 },             { "row-dead, reads: ones", "hbm-row", 2 },
                { "row-dead, reads: inverted", "hbm-row", 2 }, { "bank-dead", "hbm-bank", 1 },
                { "bank-dead, reads: ones", "hbm-bank", 1 }, { "bank-dead, reads: inverted", "hbm-bank", 1 },
                { "lane-stuck, value: 0", "hbm-lane", 0 }, { "lane-stuck, value: 1", "hbm-lane", 0 },
        };
        const char *only = getenv("HBM_SEED");
        unsigned first = only ? (unsigned) atoi(only) : 1, n = getenv("HBM_TRIALS") ? (unsigned) atoi(getenv("HBM_TRIALS")) : 6;
        const char *extra = getenv("HBM_EXTRA") ? getenv("HBM_EXTRA") : "";
        unsigned missed = 0, wrong = 0;

        for (unsigned seed = first; seed < first + n; seed++)
                for (size_t i = 0; i < ELEMENTS(kinds); i++) {
                        uint64_t x = (seed * 1000003u + i) * 0x9e3779b97f4a7c15u;
                        char at[128], fault[256];
                        HbmParameters parameters = defaults();
                        Verdict verdict;
                        Found found;
                        int length;

                        x ^= x >> 29;
                        x *= 0xbf58476d1ce4e5b9u;
                        x ^= x >> 32;
                        length = snprintf(at, sizeof(at), "hbm%u/ch%u/pc%u", (unsigned) x % 4, (unsigned) (x >> 2) % 16,
                                          (unsigned) (x >> 6) % 2);
                        if (kinds[i].depth == 0)
                                (void) snprintf(at + length, sizeof(at) - (size_t) length, "/dq%u", (unsigned) (x >> 7) % 32);
                        else
                                length += snprintf(at + length, sizeof(at) - (size_t) length, "/sid%u/bg%u/ba%u",
                                                   (unsigned) (x >> 12) % 3, (unsigned) (x >> 16) % 4, (unsigned) (x >> 18) % 4);
                        if (kinds[i].depth > 1)
                                length += snprintf(at + length, sizeof(at) - (size_t) length, "/row%u", (unsigned) (x >> 20) % 16384);
                        if (kinds[i].depth > 2)
                                (void) snprintf(at + length, sizeof(at) - (size_t) length, "/col%u/bit%u",
                                                (unsigned) (x >> 34) % 32, (unsigned) (x >> 39) % 256);
                        (void) snprintf(fault, sizeof(fault), FAULT("%s", "%s%s"), at, kinds[i].kind, extra);

                        verdict = judge(fault, 3, &parameters, &found);
                        if (verdict != VERDICT_FAILED) {
                                fprintf(stderr, "seed %u: missed (%s) %s", seed, verdict_to_string(verdict), fault);
                                missed++;
                        } else if (found.n != 1 || !found_has(&found, kinds[i].code, at)) {
                                const char *line = found.lines;

                                fprintf(stderr, "seed %u: wrong %s", seed, fault);
                                for (const char *end; getenv("HBM_SEED") && (end = strchr(line, '\n')); line = end + 1)
                                        if (memmem(line, (size_t) (end - line), "diagnosis", 9))
                                                fprintf(stderr, "%.*s", (int) (end - line + 1), line);
                                wrong++;
                        }
                }

        if (missed + wrong > 0)
                fprintf(stderr, "of %zu: %u missed, %u wrong\n", n * ELEMENTS(kinds), missed, wrong);
        assert_int_equal(missed + wrong, 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_kind_is_found_with_its_exact_place),
                cmocka_unit_test(a_column_is_told_from_cells),
                cmocka_unit_test(faults_on_one_chip_are_told_apart),
                cmocka_unit_test(a_comparator_that_misses_plants_is_found),
                cmocka_unit_test(an_engine_blind_now_and_then_is_told_from_memory),
                cmocka_unit_test(memory_that_is_seldom_wrong_is_no_blind_comparator),
                cmocka_unit_test(what_comes_and_goes_is_no_heap_of_banks),
                cmocka_unit_test(a_line_that_comes_and_goes_is_no_heap_of_cells),
                cmocka_unit_test(reads_that_are_one_write_late_are_stale_where_they_are),
                cmocka_unit_test(random_faults_are_located_exactly),
                cmocka_unit_test(a_neighbour_of_a_sick_chip_passes),
                cmocka_unit_test(a_healthy_chip_passes_over_all_of_its_bytes),
                cmocka_unit_test(a_healthy_chip_passes_every_phase),
                cmocka_unit_test(a_phase_beyond_the_budget_is_no_pass),
                cmocka_unit_test(a_lane_is_found_by_walking_alone),
                cmocka_unit_test(too_many_passes_are_refused),
                cmocka_unit_test(passes_are_counted_as_they_are_scheduled),
                cmocka_unit_test(a_plan_that_asks_too_much_is_refused_where_it_does),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
