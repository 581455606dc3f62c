/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Chips that send or add wrongly at times. One alone is at fault, so no other may be called broken, in either run of a step nor by what both say
 * together; where only one partner ever met it, either of the two may be it, and that is what is said. As a campaign: SUMS_CASES=N seeds of each fault.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/collective/collective.h"
#include "tests/checks/rehearsal.h"

#define EITHER "collective-either-end"

static unsigned n_cases(unsigned otherwise) {
        const char *text = getenv("SUMS_CASES");

        return text ? (unsigned) atoi(text) : otherwise;
}

/* As the plan preflight has it. */
static void as_preflight(Step *step) {
        CollectiveParameters *parameters = step->parameters;

        parameters->operations = parameters->sizes = CHOICE_FEW;
        parameters->rounds = 11;
}

/* ---- scans with broken chips ---- */

#define BIT(chip) (UINT64_C(1) << (chip))

/* Of chips, or of scans: how many were so. */
typedef struct Told {
        uint64_t broken; /* chips of the UltraServer, server by server */
        unsigned n_scans, n_failed, n_open, n_failed_innocents, n_open_innocents;
} Told;

/* Chips of the UltraServer at which a failure was found. */
static uint64_t failed_chips(const Findings *findings) {
        uint64_t failed = 0;

        for (size_t i = 0; i < findings->n; i++) {
                const Location *where = &findings->items[i].finding.where;
                int chip = location_index(where, LOCATION_CHIP);

                if (chip >= 0 && findings->items[i].finding.severity == SEVERITY_FAIL)
                        failed |= BIT((unsigned) (where->server[strlen(where->server) - 1] - '0') * CHIPS + (unsigned) chip);
        }
        return failed;
}

static void count_chips(const Findings *findings, uint64_t failed, uint64_t open, Told *told) {
        open &= ~failed;
        told->n_scans++;
        told->n_failed += (unsigned) __builtin_popcountll(failed & told->broken);
        told->n_open += (unsigned) __builtin_popcountll(open & told->broken);
        told->n_failed_innocents += (failed & ~told->broken) != 0;
        told->n_open_innocents += (open & ~told->broken) != 0;
        for (size_t i = 0; failed & ~told->broken && i < findings->n; i++)
                print_message("#   %s chip%d: %s\n", findings->items[i].finding.where.server,
                              location_index(&findings->items[i].finding.where, LOCATION_CHIP), findings->items[i].finding.message);
}

/* The step on one server, and again where it failed. Returns its chips that were left open. */
static uint64_t scan_server(const char *text, const char *server, Findings *findings) {
        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", server);
        uint64_t open = 0;

        as_preflight(step);
        for (unsigned run = 1; run <= 2; run++) {
                Verdict verdict = _VERDICT_INVALID;

                assert_int_equal(rehearsal_run(step, &verdict), 0);
                rehearsal_keep(step, run, findings);
                for (unsigned c = 0; run == 1 && c < CHIPS; c++)
                        open |= step->parts[c] == VERDICT_ERROR ? BIT(step->own * CHIPS + c) : 0;
                if (verdict != VERDICT_FAILED)
                        break;
        }
        findings_settle(findings);
        return open;
}

static void scan_once(const char *text, bool is_ultra, Told *told) {
        static const char *const servers[RING] = { "us0-0", "us0-1", "us0-2", "us0-3" };
        uint64_t failed = 0, open = 0;
        Findings all = {};

        for (unsigned s = 0; s < (is_ultra ? RING : 1u); s++) {
                Findings findings = {};

                open |= scan_server(text, is_ultra ? servers[s] : "trn-0", &findings);
                failed |= failed_chips(&findings);
                for (size_t i = 0; i < findings.n; i++)
                        assert_int_equal(findings_add(&all, &findings.items[i].finding, s + 1), 0);
                findings_clear(&findings);
        }
        count_chips(&all, failed, open, told);
        findings_clear(&all);
}

static void print_told(const char *whose, const char *fault, const char *probability, const Told *told) {
        print_message("# %s, %-36s p %-4s %u scans: broken chips failed %u, open %u; in so many a sound one failed %u, open %u\n", whose, fault, probability,
                      told->n_scans, told->n_failed, told->n_open, told->n_failed_innocents, told->n_open_innocents);
}

/* Another chip has FAULT in each scan. */
static Told scan_often(const char *fault, const char *probability, bool is_ultra, unsigned n) {
        Told told = {};

        for (unsigned seed = 0; seed < n; seed++) {
                unsigned server = is_ultra ? seed % RING : 0, chip = (is_ultra ? seed / RING : seed) % CHIPS;
                char text[256];

                told.broken = BIT(server * CHIPS + chip);
                (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {%s: 1}\nfaults: [{at: %s-%u/chip%u, kind: %s, "
                                "persistence: intermittent, probability: %s}]\n", seed, is_ultra ? "ultraservers" : "servers", is_ultra ? "us0" : "trn",
                                server, chip, fault, probability);
                scan_once(text, is_ultra, &told);
        }
        print_told(is_ultra ? "a chip of 64" : "a chip of 16", fault, probability, &told);
        return told;
}

static const char *const faults[] = {
        "dma-corrupt, rate: 1", "dma-corrupt, rate: 0.01", "reduce-stuck-bit, bit: 5, value: 1",
};
static const char *const probabilities[] = { "1", "0.3", "0.1", "0.02" };

static void test_what_comes_and_goes_fails_no_partner(void **state) {
        for (size_t i = 0; i < ELEMENTS(faults); i++)
                for (size_t p = 0; p < ELEMENTS(probabilities); p++)
                        assert_int_equal(scan_often(faults[i], probabilities[p], false, n_cases(24)).n_failed_innocents, 0);
}

static void test_over_an_ultraserver_it_fails_no_partner_either(void **state) {
        for (size_t i = 0; i < ELEMENTS(faults); i++)
                for (size_t p = 0; p < ELEMENTS(probabilities); p++) {
                        Told told = scan_often(faults[i], probabilities[p], true, n_cases(8));

                        assert_int_equal(told.n_failed_innocents, 0);
                        assert_in_range(told.n_open_innocents, 0, told.n_scans / 50); /* those with one on another server, which is asked too */
                }
}

/* ---- two broken ones ---- */

/* Chips 4 and 6 both have chip 5 for a neighbour, and chip 7. */
static void test_two_that_come_and_go_fail_no_neighbour_in_common(void **state) {
        for (size_t i = 0; i < 2; i++) /* what they send */
                for (size_t p = 1; p < ELEMENTS(probabilities); p++) {
                        Told told = { .broken = BIT(4) | BIT(6) };
                        char text[384];

                        for (unsigned seed = 0; seed < n_cases(8); seed++) {
                                (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\nfaults:\n"
                                                "  - {at: trn-0/chip4, kind: %s, persistence: intermittent, probability: %s}\n"
                                                "  - {at: trn-0/chip6, kind: %s, persistence: intermittent, probability: %s}\n",
                                                seed, faults[i], probabilities[p], faults[i], probabilities[p]);
                                scan_once(text, false, &told);
                        }
                        print_told("two chips", faults[i], probabilities[p], &told);
                        assert_int_equal(told.n_failed_innocents, 0);
                }
}

/* ---- what stays tied ---- */

/* What was posted last at each chip of the server. */
static WireCollectivePost posts[CHIPS];
static uint8_t receive_ports[CHIPS][RINGS_MAX];

/* Where the first block that comes in on RING, of rank 0 where there are several, stands in the output: in elements. */
static uint32_t block_begin(const WireCollectivePost *post, unsigned ring) {
        if (post->operation == COLLECTIVE_REDUCE_SCATTER) /* a sum of two */
                return 0;
        return part_begin(post->operation == COLLECTIVE_SEND_RECEIVE ? post->elements : part_begin(post->elements, post->ranks, 1), post->rings, ring);
}

static void spoil_port(const WireCommand *command, uint8_t *out, unsigned chip, unsigned port) {
        const WireCollectivePost *post = &posts[command->chip];

        if (command->chip != chip)
                return;
        for (unsigned c = 0; c < post->rings; c++)
                if (receive_ports[chip][c] == port)
                        out[sizeof(WireCollectiveStatus) + (size_t) block_begin(post, c) * format_bytes(post->format)] ^= 1;
}

/* Blocks from chip 5 to chip 6 come in changed, and so do those from chip 6 to chip 10 where `goes_on`. */
static bool goes_on;

static void spoil_between(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        const WireCollectiveRing *rings = (const WireCollectiveRing *) (out - command->out_offset + command->in_offset);

        if (command->type == COMMAND_COLLECTIVE_POST) {
                posts[command->chip] = command->collective_post;
                for (unsigned c = 0; c < command->collective_post.rings; c++)
                        receive_ports[command->chip][c] = rings[c].receive_port;
        }
        if (command->type != COMMAND_COLLECTIVE_WAIT)
                return;
        spoil_port(command, out, 6, LINK_X_MINUS);
        if (goes_on)
                spoil_port(command, out, 10, LINK_Y_MINUS);
}

/* Neither end is called broken, and neither passes; nor one that had it with two others, nor these. */
static void expect_open(Step *step, uint16_t chips, unsigned n_asked) {
        Verdict verdict = _VERDICT_INVALID;
        char text[64];

        step->rewrite = spoil_between;
        as_preflight(step);
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(verdict, VERDICT_WARNED);
        assert_int_equal(step->n_said, __builtin_popcount(chips));
        for (unsigned c = 0; c < CHIPS; c++) {
                bool is_open = chips >> c & 1;

                if (step->parts[c] == _VERDICT_INVALID)
                        continue;
                assert_int_equal(step->parts[c], is_open ? VERDICT_ERROR : VERDICT_PASSED);
                assert_int_equal(step->reasons[c], is_open ? REASON_AMBIGUOUS : REASON_NONE);
                (void) snprintf(text, sizeof(text), "either_end trn-0/chip%u", c);
                assert_true(rehearsal_untested(step, text) == is_open);
                (void) snprintf(text, sizeof(text), "trn-0/chip%u", c);
                assert_true(rehearsal_said(step, EITHER, text) == is_open);
        }
        for (size_t i = 0; i < step->n_said; i++) {
                (void) snprintf(text, sizeof(text), "In %u runs more of all chips", n_asked);
                assert_non_null(strstr(step->said[i].message, text));
                assert_true(strcmp(step->said[i].far_end, step->said[i].at) != 0);
        }
}

static void test_what_only_two_have_with_each_other_is_of_either(void **state) {
        for (unsigned i = 0; i < 2; i++) {
                _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "collective", "trn-0");

                goes_on = i == 1;
                expect_open(step, goes_on ? 0x0460 : 0x0060, 1220);
        }
        goes_on = false;
}

/* Nobody else is there to be asked. */
static void test_two_chips_alone_may_stay_tied(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "collective", "trn-0");

        step->servers[0].included = 0x0060;
        expect_open(step, 0x0060, 1220);
}

/* One that is broken, as all its neighbours say, explains what it has with one of them alone. */
static void test_a_tie_is_explained_by_one_that_is_broken(void **state) {
        for (size_t i = 0; i < ELEMENTS(faults); i += 2) {
                Verdict verdict = _VERDICT_INVALID;
                char text[256];

                (void) snprintf(text, sizeof(text), "scenario: test\nseed: 21\ntopology: {servers: 1}\nfaults: [{at: trn-0/chip5, kind: %s}]\n",
                                faults[i]);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "collective", "trn-0");

                as_preflight(step);
                step->rewrite = spoil_between;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                rehearsal_print(step);
                assert_int_equal(step->n_said, 1);
                assert_true(rehearsal_said(step, "collective-data", "trn-0/chip5"));
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], c == 5 ? VERDICT_FAILED : VERDICT_PASSED);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_comes_and_goes_fails_no_partner),
                cmocka_unit_test(test_over_an_ultraserver_it_fails_no_partner_either),
                cmocka_unit_test(test_two_that_come_and_go_fail_no_neighbour_in_common),
                cmocka_unit_test(test_what_only_two_have_with_each_other_is_of_either),
                cmocka_unit_test(test_two_chips_alone_may_stay_tied),
                cmocka_unit_test(test_a_tie_is_explained_by_one_that_is_broken),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
