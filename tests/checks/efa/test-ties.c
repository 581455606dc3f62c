/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Adapters that come and go. One alone is at fault, so no other may be called broken, in either run of a step nor by what both say together;
 * where only one flow ever met it, either end may be it, and that is what is said. As a campaign: TIE_CASES=N seeds of each fault.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/efa/efa.h"
#include "tests/checks/rehearsal.h"

/* ---- hand-made ledgers ---- */

#define BIT(a) (UINT64_C(1) << (a))

static void wrong_flow(Ledger *ledger, unsigned from, unsigned to, Wrong wrong) {
        ledger->pairs[from][to].n_packets += 100;
        ledger->pairs[from][to].n_wrong[wrong]++;
        ledger->n_wrong[wrong]++;
}

static void test_two_that_share_one_wrong_pair_are_tied(void **state) {
        Ledger ledger = {};
        Blame blame;

        wrong_flow(&ledger, 5, 6, WRONG_CORRUPTION);
        wrong_flow(&ledger, 6, 5, WRONG_CORRUPTION);
        wrong_flow(&ledger, 9, 10, WRONG_CORRUPTION);
        wrong_flow(&ledger, 9, 14, WRONG_CORRUPTION);
        blame = ledger_blame(&ledger, WRONG_CORRUPTION, 0);
        assert_int_equal(blame.tied, BIT(5) | BIT(6));
        assert_int_equal(blame.ends[5], BIT(6));
        assert_int_equal(blame.ends[6], BIT(5));
        assert_int_equal(blame.blamed, BIT(5) | BIT(6) | BIT(9));

        /* Whatever one of them has with a third one, or with itself, tells which it is. */
        wrong_flow(&ledger, 12, 5, WRONG_CORRUPTION);
        blame = ledger_blame(&ledger, WRONG_CORRUPTION, 0);
        assert_int_equal(blame.tied, 0);
        assert_int_equal(blame.blamed, BIT(5) | BIT(9));
}

static void test_a_loop_unties(void **state) {
        Ledger ledger = {};
        Blame blame;

        wrong_flow(&ledger, 5, 6, WRONG_LOSS);
        wrong_flow(&ledger, 6, 6, WRONG_LOSS);
        blame = ledger_blame(&ledger, WRONG_LOSS, 0);
        assert_int_equal(blame.tied, 0);
        assert_int_equal(blame.blamed, BIT(6));
}

/* Two broken ones that are each other's partners are both seen with others. */
static void test_two_broken_ones_are_not_tied(void **state) {
        Ledger ledger = {};
        Blame blame;

        wrong_flow(&ledger, 5, 6, WRONG_SLOW);
        wrong_flow(&ledger, 4, 5, WRONG_SLOW);
        wrong_flow(&ledger, 6, 7, WRONG_SLOW);
        blame = ledger_blame(&ledger, WRONG_SLOW, 0);
        assert_int_equal(blame.tied, 0);
        assert_int_equal(blame.blamed, BIT(5) | BIT(6));
}

/* One that had it with two of those that it talked to may be sound, and they not. */
static void test_two_partners_are_too_few(void **state) {
        Ledger ledger = {};
        Blame blame;

        wrong_flow(&ledger, 8, 9, WRONG_CORRUPTION);
        wrong_flow(&ledger, 9, 14, WRONG_CORRUPTION);
        ledger.pairs[9][10].n_packets = 100;
        blame = ledger_blame(&ledger, WRONG_CORRUPTION, 0);
        assert_int_equal(blame.shared, BIT(9));
        assert_int_equal(blame.unsure, BIT(8) | BIT(9) | BIT(14));
        assert_int_equal(blame_ends(&blame, 9), BIT(8) | BIT(14));
        assert_int_equal(blame_ends(&blame, 14), BIT(9));
        assert_int_equal(blame_ends(&blame, 10), 0);

        /* A third one tells, and one that shows it with others leaves but one. */
        wrong_flow(&ledger, 9, 10, WRONG_CORRUPTION);
        blame = ledger_blame(&ledger, WRONG_CORRUPTION, 0);
        assert_int_equal(blame.shared | blame.unsure, 0);
        assert_int_equal(blame.blamed, BIT(9));
        ledger.pairs[9][10].n_wrong[WRONG_CORRUPTION] = 0;
        for (unsigned a = 1; a < 4; a++)
                wrong_flow(&ledger, 8, a, WRONG_CORRUPTION);
        blame = ledger_blame(&ledger, WRONG_CORRUPTION, 0);
        assert_int_equal(blame.shared, 0);
        assert_int_equal(blame.tied, BIT(9) | BIT(14));
        assert_int_equal(blame.blamed, BIT(8) | BIT(9) | BIT(14));
}

/* ---- steps ---- */

#define CHIP    5u
#define ADAPTER "trn-0/chip5/nic5"

static const char *const faults[] = {
        "nic5, kind: nic-slow, share: 0.3",
        "nic5, kind: receiver-not-ready, rate: 0.5",
        "nic5, kind: unresponsive",
        "nic5, kind: packet-loss, rate: 0.5",
        "nic5, kind: packet-loss, rate: 0.05, direction: send",
        "nic5, kind: packet-corruption, rate: 0.5",
        "nic5, kind: packet-misdelivery, rate: 0.5",
        "nic5, kind: packet-duplicate, rate: 0.5",
        "nic5, kind: path-drops, rate: 0.5",
        "nic5, kind: path-delay, nsec: 50000",
        "nic5, kind: single-path",
        "nic5, kind: packet-flood, packets: 2000",
        "nic5, kind: packet-flood, packets: 65536",
        "nic5, kind: cable-loss, rate: 0.5",
        "nic5/path3, kind: packet-loss, rate: 1",
        "nic5/path3, kind: packet-corruption, rate: 0.5",
        "nic5/path3, kind: path-delay, nsec: 50000",
};

/* Of scans: how many there were in which this was so. */
typedef struct Told {
        AdapterSet broken;
        unsigned n, n_found, n_either, n_failed_innocents, n_warned_innocents, n_open_innocents;
} Told;

static void count_findings(const Findings *findings, Told *told) {
        bool found = false, either = false, failed = false, warned = false;

        for (size_t i = 0; i < findings->n; i++) {
                const Finding *finding = &findings->items[i].finding;
                bool is_either = strcmp(finding->code, "efa-either-end") == 0;

                either = either || is_either;
                if (told->broken >> location_index(&finding->where, LOCATION_CHIP) & 1)
                        found = found || !is_either;
                else if (finding->severity == SEVERITY_FAIL)
                        failed = true;
                else
                        warned = warned || !is_either;
        }
        told->n_found += found;
        told->n_either += either;
        told->n_failed_innocents += failed;
        told->n_warned_innocents += warned;
        if (failed || warned)
                for (size_t i = 0; i < findings->n; i++)
                        print_message("#   %s: %s\n", findings->items[i].finding.code, findings->items[i].finding.message);
}

static void scan_once(const char *text, Told *told) {
        Findings findings = {};
        bool open = false;
        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "trn-0");

        for (unsigned run = 1; run <= 2; run++) {
                Verdict verdict = _VERDICT_INVALID;

                assert_int_equal(rehearsal_run(step, &verdict), 0);
                rehearsal_keep(step, run, &findings);
                for (unsigned c = 0; run == 1 && c < CHIPS; c++)
                        open = open || (!(told->broken >> c & 1) && step->parts[c] == VERDICT_ERROR);
                if (verdict != VERDICT_FAILED)
                        break;
        }
        findings_settle(&findings);
        told->n++;
        told->n_open_innocents += open;
        count_findings(&findings, told);
        findings_clear(&findings);
}

static Told scan_often(const char *fault, const char *probability, unsigned n) {
        Told told = { .broken = BIT(CHIP) };

        for (unsigned seed = 0; seed < n; seed++) {
                char text[512];

                (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\nfaults: [{at: trn-0/chip%u/%s, "
                                "persistence: intermittent, probability: %s}]\n", seed, CHIP, fault, probability);
                scan_once(text, &told);
        }
        print_message("# %-55s p %-4s %u scans: found %u, either end %u; sound ones failed %u, warned of %u, not judged %u\n", fault, probability,
                      told.n, told.n_found, told.n_either, told.n_failed_innocents, told.n_warned_innocents, told.n_open_innocents);
        return told;
}

static void test_what_comes_and_goes_fails_no_partner(void **state) {
        static const char *const probabilities[] = { "0.02", "0.05", "0.1", "0.3" };
        const char *text = getenv("TIE_CASES");
        unsigned n = text ? (unsigned) atoi(text) : 2;

        for (size_t i = 0; i < ELEMENTS(faults); i++)
                for (size_t p = 0; p < ELEMENTS(probabilities); p++) {
                        Told told = scan_often(faults[i], probabilities[p], n);

                        assert_int_equal(told.n_failed_innocents, 0);
                        assert_int_equal(told.n_warned_innocents, 0);
                }
}

/* Adapters 8 and 14 both have adapter 9 for a partner. */
static Told scan_two(const char *kind, const char *probability, unsigned first, unsigned n) {
        Told told = { .broken = BIT(8) | BIT(14) };

        for (unsigned seed = first; seed < first + n; seed++) {
                char text[512];

                (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\nfaults:\n"
                                "  - {at: trn-0/chip8/nic8, kind: %s, persistence: intermittent, probability: %s}\n"
                                "  - {at: trn-0/chip14/nic14, kind: %s, persistence: intermittent, probability: %s}\n",
                                seed, kind, probability, kind, probability);
                scan_once(text, &told);
        }
        print_message("# two adapters: %-38s p %-4s %u scans: found %u, either end %u; sound ones failed %u, warned of %u, not judged %u\n", kind,
                      probability, told.n, told.n_found, told.n_either, told.n_failed_innocents, told.n_warned_innocents, told.n_open_innocents);
        return told;
}

static void test_two_that_come_and_go_fail_no_partner_in_common(void **state) {
        static const char *const kinds[] = {
                "packet-corruption, rate: 0.3", "packet-loss, rate: 0.3", "nic-slow, share: 0.3", "path-delay, nsec: 50000, direction: send",
        };
        const char *text = getenv("TIE_CASES");
        unsigned n = text ? (unsigned) atoi(text) : 2;

        for (size_t i = 0; i < ELEMENTS(kinds); i++)
                for (unsigned p = 0; p < 2; p++)
                        assert_int_equal(scan_two(kinds[i], p == 0 ? "0.02" : "0.1", 0, n).n_failed_innocents, 0);
}

/* A tie that can be undone is: also what a flow that was pinned to a path has shown alone is asked of others. */
static void test_ties_are_asked_until_one_end_shows_it(void **state) {
        assert_int_equal(scan_often("nic5, kind: nic-slow, share: 0.3", "0.1", 25).n_either, 0);
        assert_int_equal(scan_often("nic5, kind: nic-slow, share: 0.3", "0.05", 25).n_either, 0);
        /* So little that longer messages do not show it. */
        assert_int_equal(scan_often("nic5, kind: nic-slow, share: 0.86", "0.3", 10).n_either, 0);
        assert_int_equal(scan_often("nic5/path3, kind: path-delay, nsec: 50000", "0.05", 25).n_either, 0);
}

/* ---- what stays tied ---- */

/* Between chips 5 and 6 alone, both ways: no adapter's fault shows so. */
static bool is_between(const WireArrival *arrival, unsigned to) {
        return (arrival->chip == 5 && to == 6) || (arrival->chip == 6 && to == 5);
}

static void change(WireArrival *arrival) {
        arrival->crc32c ^= 1;
}

static void change_on_a_path(WireArrival *arrival) {
        arrival->crc32c ^= arrival->path == 3;
}

static void hurry(WireArrival *arrival) {
        arrival->arrived_nsec = arrival->sent_nsec - 1;
}

static void delay(WireArrival *arrival) {
        arrival->arrived_nsec += 50000;
}

static void (*spoil)(WireArrival *arrival);

static void spoil_between(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        WireArrival *arrivals = (WireArrival *) out;

        for (uint64_t i = 0; command->type == COMMAND_NIC_RECEIVE && i < completion->result[1]; i++)
                if (is_between(&arrivals[i], command->chip))
                        spoil(&arrivals[i]);
}

static void expect_tie(Step *step) {
        Verdict verdict = _VERDICT_INVALID;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(verdict, VERDICT_WARNED);
        assert_int_equal(step->n_said, 2);
        for (unsigned i = 0; i < 2; i++) {
                assert_string_equal(step->said[i].code, "efa-either-end");
                assert_string_equal(step->said[i].at, i == 0 ? "trn-0/chip5/nic5" : "trn-0/chip6/nic6");
                assert_string_equal(step->said[i].far_end, i == 0 ? "trn-0/chip6/nic6" : "trn-0/chip5/nic5");
                assert_non_null(strstr(step->said[i].message, "between nic5 and nic6"));
                assert_non_null(strstr(step->said[i].message, "it is one of these two"));
        }
        for (unsigned c = 0; c < CHIPS; c++) {
                bool is_one = c == 5 || c == 6;

                if (step->parts[c] == _VERDICT_INVALID)
                        continue;
                assert_int_equal(step->parts[c], is_one ? VERDICT_ERROR : VERDICT_PASSED);
                assert_int_equal(step->reasons[c], is_one ? REASON_AMBIGUOUS : REASON_NONE);
        }
        assert_true(rehearsal_untested(step, "either_end trn-0/chip5/nic5") && rehearsal_untested(step, "either_end trn-0/chip6/nic6"));
}

/* Neither is called broken, and neither passes. */
static void test_what_only_two_have_with_each_other_is_of_either(void **state) {
        static void (*const spoils[])(WireArrival *arrival) = { change, change_on_a_path, hurry, delay };

        for (size_t i = 0; i < ELEMENTS(spoils); i++) {
                _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "efa", "trn-0");

                spoil = spoils[i];
                step->rewrite = spoil_between;
                expect_tie(step);
        }
}

/* From chip 8 to 9 and from 9 to 14 alone: chip 9 may be the one, and so may the others together. */
static void spoil_a_chain(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        WireArrival *arrivals = (WireArrival *) out;

        for (uint64_t i = 0; command->type == COMMAND_NIC_RECEIVE && i < completion->result[1]; i++)
                if ((arrivals[i].chip == 8 && command->chip == 9) || (arrivals[i].chip == 9 && command->chip == 14))
                        spoil(&arrivals[i]);
}

static void test_one_in_common_is_not_the_one(void **state) {
        static void (*const spoils[])(WireArrival *arrival) = { change, change_on_a_path, hurry, delay };

        for (size_t i = 0; i < ELEMENTS(spoils); i++) {
                _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "efa", "trn-0");
                Verdict verdict = _VERDICT_INVALID;

                spoil = spoils[i];
                step->rewrite = spoil_a_chain;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                rehearsal_print(step);
                assert_int_equal(verdict, VERDICT_WARNED);
                assert_int_equal(step->n_said, 3);
                for (unsigned s = 0; s < 3; s++)
                        assert_string_equal(step->said[s].code, "efa-either-end");
                assert_non_null(strstr(step->said[0].message, "between nic8 and nic9"));
                assert_non_null(strstr(step->said[1].message, "Nothing was wrong with others but 1:"));
                assert_non_null(strstr(step->said[2].message, "between nic9 and nic14"));
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], c == 8 || c == 9 || c == 14 ? VERDICT_ERROR : VERDICT_PASSED);
        }
}

/* A scan of these two alone has nobody else to ask, and each of them has itself. */
static void test_of_two_adapters_alone_each_has_itself(void **state) {
        static const char *const kinds[] = { "packet-corruption, rate: 0.2", "packet-loss, rate: 0.2, direction: send", "nic-slow, share: 0.3" };

        for (size_t i = 0; i < ELEMENTS(kinds); i++) {
                Verdict verdict = _VERDICT_INVALID;
                char text[256];

                (void) snprintf(text, sizeof(text), "scenario: test\nseed: 3\ntopology: {servers: 1}\nfaults: [{at: " ADAPTER ", kind: %s}]\n", kinds[i]);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "trn-0");

                step->servers[0].included = 0x0060;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                rehearsal_print(step);
                assert_int_equal(step->n_said, 1);
                assert_true(step->parts[5] == VERDICT_FAILED && step->parts[6] == VERDICT_PASSED);
        }
}

static void test_two_adapters_alone_may_stay_tied(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "efa", "trn-0");

        step->servers[0].included = 0x0060;
        spoil = change;
        step->rewrite = spoil_between;
        expect_tie(step);
}

/* Four pairs that have two kinds of trouble each; and how many flows each adapter sent itself to tell them apart. */
#define PAIRED 8u
static unsigned n_loops[CHIPS];

static void spoil_pairs(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        WireArrival *arrivals = (WireArrival *) out;

        /* The ring has one of 8 packets. */
        n_loops[command->chip] += command->type == COMMAND_NIC_SEND && command->nic_send.chip == command->chip && command->nic_send.packets != 8;
        for (uint64_t i = 0; command->type == COMMAND_NIC_RECEIVE && command->chip < PAIRED && i < completion->result[1]; i++)
                if ((arrivals[i].chip ^ 1u) == command->chip) {
                        change(&arrivals[i]);
                        hurry(&arrivals[i]);
                }
}

/* So many suspects need more flows than a round has room for; each is asked as often as the bound of what escapes says. */
static void test_all_suspects_are_asked_as_often(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "efa", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        memset(n_loops, 0, sizeof(n_loops));
        step->rewrite = spoil_pairs;
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        for (unsigned c = 0; c < CHIPS; c++) {
                assert_int_equal(step->parts[c], c < PAIRED ? VERDICT_ERROR : VERDICT_PASSED);
                assert_int_equal(n_loops[c], c < PAIRED ? 2 * 6 * 8 : 0); /* kinds, rounds, flows */
        }
}

/* The flows from chip 5 to chip 6 that are pinned to a path, and all from chip 9 to chip 10, so that paths are looked at. */
static void spoil_pinned(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        WireArrival *arrivals = (WireArrival *) out;
        static uint32_t pinned[NIC_PATHS]; /* flows */

        if (command->type == COMMAND_NIC_SEND && command->chip == 5 && command->nic_send.chip == 6 && command->nic_send.path < NIC_PATHS)
                pinned[command->nic_send.path] = command->nic_send.flow;
        for (uint64_t i = 0; command->type == COMMAND_NIC_RECEIVE && i < completion->result[1]; i++)
                if ((arrivals[i].chip == 5 && command->chip == 6 && arrivals[i].flow == pinned[arrivals[i].path]) ||
                    (arrivals[i].chip == 9 && command->chip == 10))
                        change(&arrivals[i]);
}

static void test_what_pinned_flows_alone_show_counts(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "efa", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        step->rewrite = spoil_pinned;
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(step->n_said, 4);
        for (unsigned c = 0; c < CHIPS; c++)
                assert_int_equal(step->parts[c], c == 5 || c == 6 || c == 9 || c == 10 ? VERDICT_ERROR : VERDICT_PASSED);
}

/* One that is broken in another way, as its traffic with others shows, is the one. */
static void test_a_tie_is_explained_by_one_that_is_broken(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\nfaults: "
                                                       "[{at: trn-0/chip6/nic6, kind: packet-loss, rate: 0.3}]\n", "efa", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        spoil = change;
        step->rewrite = spoil_between;
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(step->n_said, 1);
        assert_true(rehearsal_said(step, "efa-loss", "trn-0/chip6/nic6"));
        assert_int_equal(step->parts[5], VERDICT_PASSED);
        assert_int_equal(step->parts[6], VERDICT_FAILED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_two_that_share_one_wrong_pair_are_tied),
                cmocka_unit_test(test_a_loop_unties),
                cmocka_unit_test(test_two_broken_ones_are_not_tied),
                cmocka_unit_test(test_two_partners_are_too_few),
                cmocka_unit_test(test_what_comes_and_goes_fails_no_partner),
                cmocka_unit_test(test_two_that_come_and_go_fail_no_partner_in_common),
                cmocka_unit_test(test_ties_are_asked_until_one_end_shows_it),
                cmocka_unit_test(test_what_only_two_have_with_each_other_is_of_either),
                cmocka_unit_test(test_one_in_common_is_not_the_one),
                cmocka_unit_test(test_of_two_adapters_alone_each_has_itself),
                cmocka_unit_test(test_two_adapters_alone_may_stay_tied),
                cmocka_unit_test(test_all_suspects_are_asked_as_often),
                cmocka_unit_test(test_what_pinned_flows_alone_show_counts),
                cmocka_unit_test(test_a_tie_is_explained_by_one_that_is_broken),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
