/* SPDX-License-Identifier: Apache-2.0 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/collective/collective.h"
#include "tests/checks/rehearsal.h"

#define SINGLE "scenario: test\nseed: 21\ntopology: {servers: 1}\n"
#define ULTRA  "scenario: test\nseed: 21\ntopology: {ultraservers: 1}\n"

static void expect_pass(Step *step) {
        Verdict verdict = _VERDICT_INVALID;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(verdict, VERDICT_PASSED);
        assert_int_equal(step->n_said, 0);
}

static CollectiveParameters *parameters_of(Step *step) {
        return step->parameters;
}

static void few(Step *step) {
        parameters_of(step)->operations = parameters_of(step)->sizes = CHOICE_FEW;
}

static void test_healthy_chips_pass_again_and_again(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "collective", "trn-0");

        for (unsigned i = 0; i < 3; i++, step->seed++) {
                expect_pass(step);
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], VERDICT_PASSED);
        }
}

/* Chips differ by a percent each way, and one by much more than they. */
static void test_a_straggler_is_told_among_chips_that_differ(void **state) {
        for (unsigned seed = 0; seed < 8; seed++) {
                Verdict verdict = _VERDICT_INVALID;
                char text[256];

                (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\nnoise: {step-times: 0.01}\n", seed);
                _cleanup_rehearsal_ Step *sound = rehearsal_new(text, "collective", "trn-0");

                few(sound);
                expect_pass(sound);
                strcat(text, "faults: [{at: trn-0/chip4, kind: chip-slow, factor: 1.2}]\n");
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", "trn-0");

                few(step);
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                assert_true(step->n_said == 1 && rehearsal_said(step, "collective-slow", "trn-0/chip4"));
                if (seed == 0)
                        rehearsal_print(step);
        }
}

static void test_healthy_ultraservers_pass(void **state) {
        for (unsigned s = 0; s < 4; s++) {
                char server[] = "us0-0";

                server[4] = (char) ('0' + s);
                _cleanup_rehearsal_ Step *step = rehearsal_new(ULTRA, "collective", server);

                expect_pass(step);
        }
}

static void test_any_set_of_neighbours_can_be_judged(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "collective", "trn-0");
        static const uint16_t sets[] = { 0x0003, 0x8008, 0x7ffe, 0x1111, 0xfffe };

        for (size_t i = 0; i < ELEMENTS(sets); i++) {
                step->servers[0].included = sets[i];
                expect_pass(step);
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], sets[i] >> c & 1 ? VERDICT_PASSED : _VERDICT_INVALID);
        }
}

static void test_chips_that_are_no_neighbours_are_skipped(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "collective", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        step->servers[0].included = 0x0021; /* chips 0 and 5 */
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        assert_int_equal(verdict, VERDICT_SKIPPED);
        assert_int_equal(step->skip, REASON_NOT_REQUESTED);
}

typedef struct FaultCase {
        const char *fault;
        const char *findings[5][3]; /* the third is "together": seen over all four servers alone */
} FaultCase;

static const FaultCase fault_cases[] = {
        { "{at: trn-0/chip9, kind: reduce-stuck-bit, bit: 0, value: 1}", { { "collective-data", "trn-0/chip9" } } },
        { "{at: trn-0/chip9, kind: reduce-stuck-bit, bit: 31, value: 0}", { { "collective-data", "trn-0/chip9" } } },
        { "{at: trn-0/chip2, kind: reduce-stuck-bit, bit: 30, value: 1}", { { "collective-data", "trn-0/chip2" } } },
        { "{at: trn-0/chip2, kind: reduce-stuck-bit, bit: 26, value: 0}", { { "collective-data", "trn-0/chip2" } } },
        { "{at: trn-0/chip0, kind: dma-corrupt, rate: 1}", { { "collective-data", "trn-0/chip0" } } },
        { "{at: trn-0/chip0, kind: dma-corrupt, rate: 0.05}", { { "collective-data", "trn-0/chip0" } } },
        { "{at: trn-0/chip7, kind: collective-stall, step: 0}", { { "collective-hang", "trn-0/chip7" } } },
        { "{at: trn-0/chip7, kind: collective-stall, step: 1}", { { "collective-hang", "trn-0/chip7" } } },
        { "{at: trn-0/chip7, kind: collective-stall, step: 29}", { { "collective-hang", "trn-0/chip7" } } },
        { "{at: trn-0/chip15, kind: semaphore-lost, step: 0}", { { "collective-hang", "trn-0/chip15" } } },
        { "{at: trn-0/chip15, kind: semaphore-lost, step: 13}", { { "collective-hang", "trn-0/chip15" } } },
        { "{at: trn-0/chip15, kind: semaphore-lost, step: 29}", { { "collective-hang", "trn-0/chip15" } } },
        { "{at: trn-0/chip4/link-x+, kind: link-stall, bytes: 0}", { { "collective-hang", "trn-0/chip4/link-x+" } } },
        { "{at: trn-0/chip4/link-y-, kind: link-stall, bytes: 1000}", { { "collective-hang", "trn-0/chip4/link-y-" } } },
        { "{at: trn-0/chip4/link-x-, kind: link-stall, bytes: 100000000}", { { "collective-hang", "trn-0/chip4/link-x-" } } },
        { "{at: trn-0/chip11, kind: chip-slow, factor: 2}", { { "collective-slow", "trn-0/chip11" } } },
        { "{at: trn-0/chip11, kind: chip-slow, factor: 1.45}", { { "collective-slow", "trn-0/chip11" } } },
        { "{at: trn-0/chip11, kind: chip-slow, factor: 1.15}", { { "collective-slow", "trn-0/chip11" } } },
        { "{at: trn-0/chip11, kind: chip-slow, factor: 1.05}", { { NULL } } },
        { "{at: trn-0/chip11, kind: chip-slow, factor: 1.3}, {at: trn-0/chip2, kind: chip-slow, factor: 40}",
          { { "collective-slow", "trn-0/chip11" }, { "collective-slow", "trn-0/chip2" } } },
        { "{at: trn-0/chip11, kind: chip-slow, factor: 1000}", { { "collective-slow", "trn-0/chip11" } } },
        { "{at: trn-0/chip11/link-y+, kind: link-throttled, share: 0.01}", { { "collective-slow", "trn-0/chip11/link-y+" } } },
        /* A slow link is no hang: the other fault is found too. */
        { "{at: trn-0/chip11/link-y+, kind: link-throttled, share: 0.01}, {at: trn-0/chip3, kind: collective-stall, step: 20}",
          { { "collective-slow", "trn-0/chip11/link-y+" }, { "collective-hang", "trn-0/chip3" } } },
        { "{at: trn-0/chip11/link-y+, kind: link-throttled, share: 0.01}, {at: trn-0/chip3, kind: reduce-stuck-bit, bit: 12, value: 1}",
          { { "collective-slow", "trn-0/chip11/link-y+" }, { "collective-data", "trn-0/chip3" } } },
        { "{at: trn-0/chip11/link-y+, kind: link-down}", { { "collective-hang", "trn-0/chip11/link-y+" } } },
        { "{at: trn-0/chip4/link-x+, kind: cable-broken}",
          { { "collective-hang", "trn-0/chip4/link-x+" }, { "collective-hang", "trn-0/chip5/link-x-" } } },
        { "{at: trn-0/chip0/link-x+, kind: cable-swapped, with: trn-0/chip5/link-y+}",
          { { "collective-cable", "trn-0/chip0/link-x+" }, { "collective-cable", "trn-0/chip1/link-x-" },
            { "collective-cable", "trn-0/chip5/link-y+" }, { "collective-cable", "trn-0/chip9/link-y-" } } },
        { "{at: trn-0/chip0/link-x+, kind: cable-swapped, with: trn-0/chip5/link-y+}, {at: trn-0/chip14, kind: dma-corrupt, rate: 1}",
          { { "collective-cable", "trn-0/chip0/link-x+" }, { "collective-cable", "trn-0/chip1/link-x-" },
            { "collective-cable", "trn-0/chip5/link-y+" }, { "collective-cable", "trn-0/chip9/link-y-" },
            { "collective-data", "trn-0/chip14" } } },
        { "{at: trn-0/chip3, kind: reduce-stuck-bit, bit: 22, value: 1}, {at: trn-0/chip12, kind: dma-corrupt, rate: 0.3}",
          { { "collective-data", "trn-0/chip3" }, { "collective-data", "trn-0/chip12" } } },
        /* Beside a neighbour that is to blame itself: for what it sends, or for its own sums. */
        { "{at: trn-0/chip5, kind: reduce-stuck-bit, bit: 20, value: 1}, {at: trn-0/chip6, kind: dma-corrupt, rate: 0.3}",
          { { "collective-data", "trn-0/chip5" }, { "collective-data", "trn-0/chip6" } } },
        { "{at: trn-0/chip5, kind: reduce-stuck-bit, bit: 20, value: 1}, {at: trn-0/chip6, kind: reduce-stuck-bit, bit: 3, value: 1}",
          { { "collective-data", "trn-0/chip5" }, { "collective-data", "trn-0/chip6" } } },
        { "{at: trn-0/chip5, kind: reduce-stuck-bit, bit: 20, value: 1}, {at: trn-0/chip6, kind: dma-corrupt, rate: 0.3}, "
          "{at: trn-0/chip4, kind: dma-corrupt, rate: 0.5}, {at: trn-0/chip9, kind: dma-corrupt, rate: 0.7}",
          { { "collective-data", "trn-0/chip5" }, { "collective-data", "trn-0/chip6" }, { "collective-data", "trn-0/chip4" },
            { "collective-data", "trn-0/chip9" } } },
        { "{at: trn-0/chip3, kind: chip-slow, factor: 5}, {at: trn-0/chip12, kind: reduce-stuck-bit, bit: 3, value: 0}",
          { { "collective-slow", "trn-0/chip3" }, { "collective-data", "trn-0/chip12" } } },
};

/* What the step on SERVER says of them: all but those that are on another one, and nothing else. Returns how many. */
static size_t expect_told(const char *topology, const char *server, const FaultCase *one, bool is_few, bool is_first) {
        Verdict verdict = _VERDICT_INVALID;
        char text[512];
        size_t n = 0, n_own = 0;

        (void) snprintf(text, sizeof(text), "%sfaults: [%s]\n", topology, one->fault);
        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", server);

        if (is_few)
                few(step);
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        for (; n < ELEMENTS(one->findings) && one->findings[n][0]; n++) {
                bool is_here = one->findings[n][2] ? is_first : strncmp(one->findings[n][1], server, strlen(server)) == 0;

                if (!is_here)
                        continue;
                n_own++;
                if (!rehearsal_said(step, one->findings[n][0], one->findings[n][1])) {
                        rehearsal_print(step);
                        fail_msg("%s: %s at %s is missing", one->fault, one->findings[n][0], one->findings[n][1]);
                }
        }
        if (step->n_said != n_own) {
                rehearsal_print(step);
                fail_msg("%s: %zu findings of %s, not %zu", one->fault, step->n_said, server, n_own);
        }
        assert_int_equal(verdict, n_own > 0 ? VERDICT_FAILED : VERDICT_PASSED);
        return n_own;
}

static void test_each_fault_is_found_in_its_place_and_nowhere_else(void **state) {
        for (size_t i = 0; i < ELEMENTS(fault_cases); i++) {
                expect_told(SINGLE, "trn-0", &fault_cases[i], true, true);
                expect_told(SINGLE, "trn-0", &fault_cases[i], false, true);
        }
}

/* A port that comes and goes: that it heard itself once does not make it sound, and its far end has nothing to answer for. */
static void test_a_transceiver_that_is_dead_at_times_is_blamed_at_its_own_end(void **state) {
        unsigned n_found = 0;

        for (unsigned seed = 0; seed < 30; seed++) {
                const char *at = seed % 2 == 0 ? "trn-0/chip11/link-y+" : "trn-0/chip4/link-x+";
                Verdict verdict = _VERDICT_INVALID;
                char text[512];

                (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\nfaults: "
                                "[{at: %s, kind: link-down, persistence: intermittent, probability: %s}]\n",
                                seed, at, seed % 3 == 0 ? "0.15" : "0.3");
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", "trn-0");

                few(step);
                ((CollectiveParameters *) step->parameters)->rounds = 11;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                for (size_t k = 0; k < step->n_said; k++)
                        if (strcmp(step->said[k].at, at) != 0 || !strstr(step->said[k].message, "does not hear itself")) {
                                rehearsal_print(step);
                                fail_msg("%s%s: %s", text, step->said[k].at, step->said[k].message);
                        }
                assert_in_range(step->n_said, 0, 1);
                n_found += step->n_said;
        }
        assert_in_range(n_found, 25, 30);
}

#define SELDOM_SEEDS 40u

/* … nor is it where it comes back so seldom that neither end need show it soon: whoever waits is sound. */
static void test_a_transceiver_that_is_seldom_dead_blames_nobody_who_waits(void **state) {
        static const char at[] = "trn-0/chip4/link-x+";
        unsigned n_found = 0;

        for (unsigned seed = 0; seed < SELDOM_SEEDS; seed++) {
                Verdict verdict = _VERDICT_INVALID;
                char text[512];

                (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\nfaults: "
                                "[{at: %s, kind: link-down, persistence: intermittent, probability: 0.03}]\n", seed, at);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", "trn-0");

                few(step);
                ((CollectiveParameters *) step->parameters)->rounds = 11;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                for (size_t k = 0; k < step->n_said; k++)
                        if (strcmp(step->said[k].at, at) != 0 || !strstr(step->said[k].message, "does not hear itself")) {
                                rehearsal_print(step);
                                fail_msg("%s%s: %s", text, step->said[k].at, step->said[k].message);
                        }
                n_found += step->n_said;
        }
        print_message("# %u of %u\n", n_found, SELDOM_SEEDS);
        assert_true(n_found > 0);
}

#define SPOILERS "{at: trn-0/chip1, kind: dma-corrupt, rate: 1}, {at: trn-0/chip4, kind: dma-corrupt, rate: 1}, " \
                 "{at: trn-0/chip6, kind: dma-corrupt, rate: 1}, {at: trn-0/chip9, kind: dma-corrupt, rate: 1}"

/* All four neighbours of chip 5 send it what is wrong: whatever its sums are says nothing of it, and neither does a pass. */
static void test_a_chip_without_sound_partners_is_not_judged(void **state) {
        static const char *const own[] = { "", ", {at: trn-0/chip5, kind: reduce-stuck-bit, bit: 20, value: 1}" };

        for (size_t i = 0; i < ELEMENTS(own); i++) {
                Verdict verdict = _VERDICT_INVALID;
                char text[512];

                (void) snprintf(text, sizeof(text), SINGLE "faults: [" SPOILERS "%s]\n", own[i]);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", "trn-0");

                few(step);
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                rehearsal_print(step);
                assert_int_equal(verdict, VERDICT_FAILED);
                assert_int_equal(step->n_said, 4);
                assert_int_equal(step->parts[5], VERDICT_ERROR);
                assert_int_equal(step->reasons[5], REASON_AMBIGUOUS);
                assert_int_equal(step->parts[0], VERDICT_PASSED);
                assert_true(rehearsal_untested(step, "partners trn-0/chip5"));
        }
}

static const FaultCase ring_cases[] = {
        { "{at: us0-2/chip6, kind: collective-stall, step: 29}", { { "collective-hang", "us0-2/chip6" } } },
        { "{at: us0-2/chip6, kind: collective-stall, step: 0}", { { "collective-hang", "us0-2/chip6" } } },
        { "{at: us0-1/chip9, kind: collective-stall, step: 125}", { { "collective-hang", "us0-1/chip9", "together" } } },
        { "{at: us0-3/chip0, kind: semaphore-lost, step: 77}", { { "collective-hang", "us0-3/chip0", "together" } } },
        /* A fault that one server shows by itself hides no other one. */
        { "{at: us0-1/chip5/link-z+, kind: link-narrowed, width: 8}, {at: us0-2/chip7, kind: collective-stall, step: 41}",
          { { "collective-slow", "us0-1/chip5/link-z+" }, { "collective-slow", "us0-2/chip5/link-z-" },
            { "collective-hang", "us0-2/chip7", "together" } } },
        { "{at: us0-3/chip5, kind: chip-slow, factor: 3}, {at: us0-3/chip7, kind: semaphore-lost, step: 90}",
          { { "collective-slow", "us0-3/chip5" }, { "collective-hang", "us0-3/chip7", "together" } } },
        { "{at: us0-1/chip5/link-z+, kind: link-throttled, share: 0.01}, {at: us0-2/chip7, kind: collective-stall, step: 41}",
          { { "collective-slow", "us0-1/chip5/link-z+" }, { "collective-hang", "us0-2/chip7", "together" } } },
        { "{at: us0-0/chip5/link-z+, kind: link-stall, bytes: 3000}", { { "collective-hang", "us0-0/chip5/link-z+" } } },
        { "{at: us0-1/chip4/link-x+, kind: link-stall, bytes: 3000}", { { "collective-hang", "us0-1/chip4/link-x+" } } },
        { "{at: us0-2/chip5/link-z+, kind: link-throttled, share: 0.5}", { { "collective-slow", "us0-2/chip5/link-z+" } } },
        { "{at: us0-0/chip11/link-z-, kind: link-down}", { { "collective-hang", "us0-0/chip11/link-z-" } } },
        { "{at: us0-3/chip11, kind: reduce-stuck-bit, bit: 9, value: 1}", { { "collective-data", "us0-3/chip11" } } },
        { "{at: us0-1/chip2, kind: dma-corrupt, rate: 1}", { { "collective-data", "us0-1/chip2" } } },
        { "{at: us0-1/chip2, kind: chip-slow, factor: 3}", { { "collective-slow", "us0-1/chip2" } } },
        { "{at: us0-1/chip2, kind: collective-stall, step: 7}, {at: us0-3/chip2, kind: semaphore-lost, step: 1}",
          { { "collective-hang", "us0-1/chip2" }, { "collective-hang", "us0-3/chip2" } } },
        /* a wrong cable between servers hides nothing of what a server does by itself */
        { "{at: us0-1/chip9/link-z+, kind: cable-swapped, with: us0-1/chip4/link-z+}, {at: us0-1/chip7, kind: collective-stall, step: 5}",
          { { "collective-cable", "us0-1/chip9/link-z+" }, { "collective-cable", "us0-2/chip9/link-z-" },
            { "collective-cable", "us0-1/chip4/link-z+" }, { "collective-cable", "us0-2/chip4/link-z-" },
            { "collective-hang", "us0-1/chip7" } } },
};

static void test_one_server_of_an_ultraserver_tells_each(void **state) {
        for (size_t i = 0; i < ELEMENTS(ring_cases); i++) {
                size_t n = 0, n_told = 0;

                while (n < ELEMENTS(ring_cases[i].findings) && ring_cases[i].findings[n][0])
                        n++;
                for (unsigned s = 0; s < 4; s++)
                        n_told += expect_told(ULTRA, (const char *[]) { "us0-0", "us0-1", "us0-2", "us0-3" }[s], &ring_cases[i], true, s == 0);
                assert_int_equal(n_told, n);
        }
}

static void test_parts_of_an_ultraserver_can_be_judged(void **state) {
        static const uint16_t sets[][4] = {
                { 0x0020, 0x0020, 0, 0 }, { 0x0020, 0, 0, 0x0020 }, { 0x0021, 0xffff, 0, 0 }, { 0xffff, 0, 0xffff, 0 }, { 0xfffe, 0x0001, 0, 0x8000 },
        };

        for (size_t i = 0; i < ELEMENTS(sets); i++) {
                _cleanup_rehearsal_ Step *step = rehearsal_new(ULTRA, "collective", "us0-0");

                few(step);
                parameters_of(step)->rounds = 4;
                for (unsigned s = 0; s < 4; s++)
                        step->servers[s].included = sets[i][s];
                expect_pass(step);
        }
}

static void test_chips_that_were_in_no_ring_are_told(void **state) {
        static const struct {
                const char *fault, *why;
                uint16_t included;
        } cases[] = {
                { "", "out_of_scan", 0x7fff },
                { "{at: trn-0/chip0/link-x+, kind: cable-swapped, with: trn-0/chip5/link-y+}", "cables", 0xffff },
                { "{at: trn-0/chip7, kind: collective-stall, step: 3}", "stopped", 0xffff },
                { "{at: trn-0/chip7, kind: chip-slow, factor: 2}", NULL, 0xffff },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Verdict verdict = _VERDICT_INVALID;
                char text[256];

                (void) snprintf(text, sizeof(text), SINGLE "faults: [%s]\n", cases[i].fault);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", "trn-0");
                step->servers[0].included = cases[i].included;
                few(step);
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                assert_int_equal(step->n_untested, cases[i].why ? __builtin_popcount(cases[i].included) : 0);
                for (size_t k = 0; k < step->n_untested; k++) {
                        (void) snprintf(text, sizeof(text), "%s trn-0/chip%zu", cases[i].why, k);
                        assert_string_equal(step->untested[k], text);
                }
        }
}

/* Each chip of a scan of the whole UltraServer has it in its record where it was in no collective with all others. */
static void test_chips_that_were_not_together_are_told(void **state) {
        static const struct {
                const char *faults;
                unsigned n; /* chips */
                bool too_poor;
        } cases[] = {
                { "", 0, false },
                { "{at: us0-1/chip5/link-z+, kind: link-narrowed, width: 8}", 0, false },
                { "{at: us0-2/chip7, kind: collective-stall, step: 41}", RING * CHIPS, false },
                { "{at: us0-1/chip5/link-z+, kind: link-down}", RING * CHIPS, false },
                { "{at: us0-0/chip5, kind: collective-stall, step: 2}", RING * CHIPS, false },
                { "", RING * CHIPS, true }, /* the step has no device time left */
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Verdict verdict = _VERDICT_INVALID;
                unsigned n = 0;
                char text[256];

                (void) snprintf(text, sizeof(text), ULTRA "faults: [%s]\n", cases[i].faults);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", "us0-0");

                few(step);
                step->budget_sec = cases[i].too_poor ? 1 : step->budget_sec;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                for (unsigned c = 0; c < RING * CHIPS; c++) {
                        (void) snprintf(text, sizeof(text), "together us0-%u/chip%u", c / CHIPS, c % CHIPS);
                        n += rehearsal_untested(step, text);
                }
                if (n != cases[i].n)
                        fail_msg("case %zu: %u chips", i, n);
        }
}

/* Without its neighbours in the scan a server was in none with them; one that is in no UltraServer has none. */
static void test_a_server_alone_was_in_no_collective_with_others(void **state) {
        _cleanup_rehearsal_ Step *alone = rehearsal_new(ULTRA, "collective", "us0-1"), *single = rehearsal_new(SINGLE, "collective", "trn-0");

        for (unsigned s = 0; s < RING; s++)
                alone->servers[s].included = s == 1 ? 0xffff : 0;
        few(alone);
        expect_pass(alone);
        assert_int_equal(alone->n_untested, CHIPS);
        assert_true(rehearsal_untested(alone, "together us0-1/chip15"));
        few(single);
        expect_pass(single);
        assert_int_equal(single->n_untested, 0);
}

static unsigned n_asked[RING][CHIPS][PORTS];

static void count_ports(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        const WireCollectiveRing *rings = (const WireCollectiveRing *) (out - command->out_offset + command->in_offset);

        for (unsigned c = 0; command->type == COMMAND_COLLECTIVE_POST && c < command->collective_post.rings; c++)
                if (rings[c].receive_port < PORTS)
                        n_asked[server][command->chip][rings[c].receive_port]++;
}

/* As the plan preflight promises. */
static void test_each_port_is_asked_often(void **state) {
        for (unsigned s = 0; s < RING; s++) {
                _cleanup_rehearsal_ Step *step = rehearsal_new(ULTRA, "collective", (const char *[]) { "us0-0", "us0-1", "us0-2", "us0-3" }[s]);

                few(step);
                parameters_of(step)->rounds = 11;
                step->rewrite = count_ports;
                expect_pass(step);
        }
        for (unsigned i = 0; i < RING * CHIPS * PORTS; i++)
                assert_true(n_asked[i / PORTS / CHIPS][i / PORTS % CHIPS][i % PORTS] >= (i % PORTS < LINK_Z_PLUS ? 9 : 8));
}

/* ---- what no chip may say ---- */

#define LIAR 6u

static unsigned lie; /* which of them is told */

static void tell_a_lie(Step *step, const WireCommand *command, WireCompletion *completion) {
        Device *device = step->servers[step->own].device;
        uint8_t *piece;
        WireCollectiveStatus *status;

        if (command->type != COMMAND_COLLECTIVE_WAIT || command->chip != LIAR)
                return;

        piece = device_window_take(device, 64);
        status = (WireCollectiveStatus *) (piece - device_window_offset(device, piece) + command->out_offset);
        step->n_tampered++;
        switch (lie) {
        case 0: status->progress[1].steps = 100000; break;
        case 1: status->progress[1].done = status->progress[1].steps + 1; break;
        case 2: status->progress[0].done = 0; break; /* and yet a success */
        case 3: status->progress[2].begun = 0; break;
        case 4: status->progress[3].arrived = 0; break;
        case 5: status->rings = 0; break;
        case 6: status->nsec = UINT64_MAX; break;
        case 7: status->progress[0].work_nsec = UINT64_MAX; break;
        case 8: status->progress[0].received--; break;
        case 9: status->progress[0].received = UINT64_MAX; break;
        case 10: status->nsec = 900000000; break; /* which nobody's times add up to */
        case 11: completion->out_bytes--; break;
        case 12: completion->out_bytes = 0; break;
        case 13: completion->status = STATUS_NRT_FAILURE; break;
        case 14: completion->status = STATUS_NRT_HW_ERR_COLLECTIVES; break; /* with an output */
        case 15: /* nothing is missing, and it is not done, after all the time there was */
                completion->status = STATUS_NRT_HW_ERR_COLLECTIVES;
                completion->out_bytes = sizeof(*status);
                status->nsec = 1000000000;
                break;
        case 16: /* all wait for each other */
                completion->status = STATUS_NRT_HW_ERR_COLLECTIVES;
                completion->out_bytes = sizeof(*status);
                for (unsigned c = 0; c < status->rings; c++) {
                        status->progress[c].done = status->progress[c].arrived = status->progress[c].steps - 1;
                        status->progress[c].received = 0;
                }
                break;
        case 17: /* nothing is missing, and it is not done */
                completion->status = STATUS_NRT_HW_ERR_COLLECTIVES;
                completion->out_bytes = sizeof(*status);
                break;
        case 18: /* done, and nothing was to do */
                for (unsigned c = 0; c < status->rings; c++)
                        status->progress[c] = (WireCollectiveProgress) {};
                break;
        case 19: /* the same after all the time there was, all of which it waited and more */
                completion->status = STATUS_NRT_HW_ERR_COLLECTIVES;
                completion->out_bytes = sizeof(*status);
                status->nsec = 1000000000;
                status->progress[0].wait_nsec = UINT64_C(1) << 60;
                break;
        default: fail();
        }
}

static void test_no_lie_becomes_a_pass(void **state) {
        for (lie = 0; lie <= 19; lie++) {
                _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE, "collective", "trn-0");
                Verdict verdict = _VERDICT_INVALID;
                int r;

                few(step);
                step->tamper = tell_a_lie;
                r = rehearsal_run(step, &verdict);
                if (r < 0 || verdict != VERDICT_FAILED || step->n_tampered == 0 || step->n_said > 4) {
                        rehearsal_print(step);
                        fail_msg("lie %u: %d, %s, %zu findings", lie, r, verdict_to_string(verdict), step->n_said);
                }
        }
}

static void test_a_silent_chip_is_left_to_its_own_step(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE "faults: [{at: trn-0/chip6, kind: hang}]\n", "collective", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(verdict, VERDICT_PASSED);
        for (unsigned c = 0; c < CHIPS; c++) {
                assert_int_equal(step->parts[c], c == 6 ? VERDICT_ERROR : VERDICT_PASSED);
                assert_true(c == 6 || step->bytes_compared[c] > 0);
        }
}

/* What a dead link keeps from them they get over the others. */
static void test_chips_beside_what_stops_are_compared(void **state) {
        static const struct {
                const char *faults;
                uint16_t failed;
        } cases[] = {
                { "{at: trn-0/chip1/link-y+, kind: link-down}, {at: trn-0/chip10/link-x+, kind: link-down}, {at: trn-0/chip12/link-y-, kind: cable-broken}",
                  1u << 1 | 1u << 10 | 1u << 12 | 1u << 8 },
                { "{at: trn-0/chip7, kind: collective-stall, step: 0}", 1u << 7 },
                { "{at: trn-0/chip4/link-x+, kind: link-stall, bytes: 0}", 1u << 4 },
                { "{at: trn-0/chip5/link-x+, kind: link-down}, {at: trn-0/chip5/link-x-, kind: link-down}, {at: trn-0/chip5/link-y+, kind: link-down}",
                  1u << 5 },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                Verdict verdict = _VERDICT_INVALID;
                char text[512];

                (void) snprintf(text, sizeof(text), SINGLE "faults: [%s]\n", cases[i].faults);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", "trn-0");

                assert_int_equal(rehearsal_run(step, &verdict), 0);
                for (unsigned c = 0; c < CHIPS; c++)
                        if (step->parts[c] != (cases[i].failed >> c & 1 ? VERDICT_FAILED : VERDICT_PASSED) ||
                            (step->parts[c] == VERDICT_PASSED && step->bytes_compared[c] == 0)) {
                                rehearsal_print(step);
                                fail_msg("%s: chip %u is %s with %g bytes", cases[i].faults, c, verdict_to_string(step->parts[c]), step->bytes_compared[c]);
                        }
        }
}

/* Of a sound chip all of whose neighbours have dead transceivers on its side nothing was seen. */
static void test_a_chip_that_nothing_reaches_is_skipped(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(SINGLE "faults: [{at: trn-0/chip4/link-x+, kind: link-down}, {at: trn-0/chip6/link-x-, kind: link-down}, "
                                                              "{at: trn-0/chip1/link-y+, kind: link-down}, {at: trn-0/chip9/link-y-, kind: link-down}]\n",
                                                       "collective", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(verdict, VERDICT_FAILED);
        assert_int_equal(step->parts[5], VERDICT_SKIPPED);
        assert_int_equal(step->reasons[5], REASON_PREREQUISITE);
        for (unsigned c = 0; c < CHIPS; c++)
                assert_true(c == 5 ? step->bytes_compared[c] == 0 : step->bytes_compared[c] > 0);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_healthy_chips_pass_again_and_again),
                cmocka_unit_test(test_a_straggler_is_told_among_chips_that_differ),
                cmocka_unit_test(test_healthy_ultraservers_pass),
                cmocka_unit_test(test_any_set_of_neighbours_can_be_judged),
                cmocka_unit_test(test_chips_that_are_no_neighbours_are_skipped),
                cmocka_unit_test(test_each_fault_is_found_in_its_place_and_nowhere_else),
                cmocka_unit_test(test_a_transceiver_that_is_dead_at_times_is_blamed_at_its_own_end),
                cmocka_unit_test(test_a_transceiver_that_is_seldom_dead_blames_nobody_who_waits),
                cmocka_unit_test(test_a_chip_without_sound_partners_is_not_judged),
                cmocka_unit_test(test_one_server_of_an_ultraserver_tells_each),
                cmocka_unit_test(test_parts_of_an_ultraserver_can_be_judged),
                cmocka_unit_test(test_chips_that_were_in_no_ring_are_told),
                cmocka_unit_test(test_chips_that_were_not_together_are_told),
                cmocka_unit_test(test_a_server_alone_was_in_no_collective_with_others),
                cmocka_unit_test(test_each_port_is_asked_often),
                cmocka_unit_test(test_no_lie_becomes_a_pass),
                cmocka_unit_test(test_a_silent_chip_is_left_to_its_own_step),
                cmocka_unit_test(test_chips_beside_what_stops_are_compared),
                cmocka_unit_test(test_a_chip_that_nothing_reaches_is_skipped),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
