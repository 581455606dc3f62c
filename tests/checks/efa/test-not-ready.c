/* SPDX-License-Identifier: Apache-2.0 */

/*
 * That a receiver was not ready is known from what senders say, and a sender may say what is not so. Of one broken adapter, whichever of the two
 * it is, no sound one may be called broken. As a campaign: READY_CASES=N seeds.
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

typedef struct Report {
        uint8_t from, to;
} Report;

static Blame blame_of(const Report *reports, size_t n, AdapterSet known) {
        Ledger ledger = {};

        for (size_t i = 0; i < n; i++) {
                Pair *pair = &ledger.pairs[reports[i].from][reports[i].to];

                pair->n_packets += 100;
                pair->n_wrong[WRONG_NOT_READY]++;
                ledger.n_wrong[WRONG_NOT_READY]++;
        }
        return ledger_blame(&ledger, WRONG_NOT_READY, known);
}

#define BLAME_OF(...) blame_of((const Report[]) { __VA_ARGS__ }, ELEMENTS(((const Report[]) { __VA_ARGS__ })), 0)

static void test_several_senders_say_it_of_their_receiver(void **state) {
        assert_int_equal(BLAME_OF({ 4, 5 }, { 0, 5 }, { 5, 5 }).blamed, BIT(5));
        /* Two of them that share a sender. */
        assert_int_equal(BLAME_OF({ 4, 5 }, { 0, 5 }, { 5, 5 }, { 4, 9 }, { 8, 9 }, { 9, 9 }).blamed, BIT(5) | BIT(9));
        /* So does another server's. */
        assert_int_equal(BLAME_OF({ 4, 5 }, { 21, 5 }).blamed, BIT(5));
}

static void test_a_sender_that_says_it_of_several_is_the_one(void **state) {
        Blame blame = BLAME_OF({ 4, 5 }, { 4, 9 }, { 4, 4 });

        assert_int_equal(blame.blamed, BIT(4));
        assert_int_equal(blame.suspects | blame.tied | blame.open | blame.unsure, 0);
        assert_int_equal(blame.senders, BIT(4));
        /* Two that come and go would look so, too, so all three are asked more. */
        blame = BLAME_OF({ 4, 5 }, { 4, 9 });
        assert_int_equal(blame.blamed, BIT(4));
        assert_int_equal(blame.unsure, BIT(4) | BIT(5) | BIT(9));
        /* Two of them that share a receiver, and one that has a broken one among its receivers. */
        assert_int_equal(BLAME_OF({ 4, 5 }, { 4, 9 }, { 4, 4 }, { 8, 9 }, { 8, 13 }, { 8, 8 }).blamed, BIT(4) | BIT(8));
        assert_int_equal(BLAME_OF({ 4, 5 }, { 4, 9 }, { 4, 4 }, { 8, 9 }, { 9, 9 }).blamed, BIT(4) | BIT(9));
}

/* One witness is not enough: both are asked more, and what stays is of either. */
static void test_one_pair_is_of_either_end(void **state) {
        static const Report one = { 4, 5 };
        Blame blame = blame_of(&one, 1, 0);

        assert_int_equal(blame.tied, BIT(4) | BIT(5));
        assert_int_equal(blame.suspects, BIT(4) | BIT(5));
        assert_int_equal(blame.unsure, BIT(4) | BIT(5));
        assert_int_equal(blame_ends(&blame, 4), BIT(5));
        assert_int_equal(blame_ends(&blame, 5), BIT(4));
        assert_int_equal(blame_of(&one, 1, BIT(4)).blamed, 0);
        /* What one says that is not ready itself is held against nobody, and of itself nobody else can say it. */
        assert_int_equal(BLAME_OF({ 4, 5 }, { 1, 5 }, { 5, 6 }).blamed, BIT(5));
        blame = BLAME_OF({ 5, 5 });
        assert_int_equal(blame.blamed & ~blame.tied, BIT(5));
        /* Of three in a row it may be the middle one, or the ends. */
        blame = BLAME_OF({ 4, 5 }, { 5, 6 });
        assert_int_equal(blame.tied, BIT(4) | BIT(5) | BIT(6));
        assert_int_equal(blame_ends(&blame, 5), BIT(4) | BIT(6));
}

/* A server of which no adapter has buffers: each of them is to blame, and nobody for what it says. */
static void test_all_receivers_may_be_it(void **state) {
        Report reports[3 * CHIPS];
        Blame blame;

        for (unsigned c = 0; c < CHIPS; c++) {
                reports[3 * c] = (Report) { (uint8_t) c, (uint8_t) ((c + 1) % CHIPS) };
                reports[3 * c + 1] = (Report) { (uint8_t) c, (uint8_t) ((c + 5) % CHIPS) };
                reports[3 * c + 2] = (Report) { (uint8_t) c, (uint8_t) c };
        }
        blame = blame_of(reports, ELEMENTS(reports), 0);
        assert_int_equal(blame.blamed, OWN_ADAPTERS);
        assert_int_equal(blame.senders, 0);
}

/* ---- steps ---- */

#define LIAR    5u
#define LIAR_AT "trn-0/chip5/nic5"

static unsigned one_in; /* so many flows it says it of one */
static uint64_t draw;

static bool is_drawn(void) {
        draw = draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (draw >> 33) % one_in == 0;
}

/* Packets that were taken. */
static void deny_taken(Step *step, const WireCommand *command, WireCompletion *completion) {
        if (command->type != COMMAND_NIC_SEND || command->chip != LIAR || !is_drawn())
                return;
        completion->result[0] = command->nic_send.packets / 2;
        completion->result[1] = EFA_NOT_READY;
}

/* Those that it has lost itself. */
static void deny_lost(Step *step, const WireCommand *command, WireCompletion *completion) {
        if (command->type == COMMAND_NIC_SEND && command->chip == LIAR && completion->result[0] < command->nic_send.packets)
                completion->result[1] = EFA_NOT_READY;
}

/* How many sound adapters were failed or not judged, and whether the broken one was found. */
static unsigned judge(Step *step, const char *code, bool *ret_found) {
        Verdict verdict = _VERDICT_INVALID;
        unsigned n_innocent = 0;

        assert_int_equal(rehearsal_run(step, &verdict), 0);
        for (unsigned c = 0; c < CHIPS; c++)
                n_innocent += c != LIAR && step->parts[c] != VERDICT_PASSED;
        if (n_innocent > 0)
                rehearsal_print(step);
        *ret_found = step->n_said == 1 && step->parts[LIAR] == VERDICT_FAILED && rehearsal_said(step, code, LIAR_AT);
        return n_innocent;
}

static void test_a_sender_that_denies_what_was_taken(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "efa", "trn-0");
        bool found;

        one_in = 1;
        step->tamper = deny_taken;
        assert_int_equal(judge(step, "efa-counter", &found), 0);
        assert_true(found);
        assert_non_null(strstr(step->said[0].message, "these took what others sent"));
}

static void test_a_sender_that_denies_what_it_lost(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\nfaults: [{at: " LIAR_AT
                                                       ", kind: packet-loss, rate: 0.2, direction: send}]\n", "efa", "trn-0");
        bool found;

        step->tamper = deny_lost;
        assert_int_equal(judge(step, "efa-counter", &found), 0);
        assert_true(found);
}

static unsigned n_seeds(void) {
        const char *text = getenv("READY_CASES");

        return text ? (unsigned) atoi(text) : 12;
}

/* What is seen once is asked of others, so that a receiver is not named for what a sender says at times. */
static void test_a_sender_that_denies_at_times(void **state) {
        static const unsigned shares[] = { 3, 10, 20, 50 };

        for (size_t i = 0; i < ELEMENTS(shares); i++) {
                unsigned n_found = 0, n_innocent = 0;

                one_in = shares[i];
                for (unsigned seed = 0; seed < n_seeds(); seed++) {
                        _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "efa", "trn-0");
                        bool found;

                        draw = seed;
                        step->tamper = deny_taken;
                        n_innocent += judge(step, "efa-counter", &found);
                        n_found += found;
                }
                print_message("# in one of %u flows: found %u of %u, sound ones not passed %u\n", one_in, n_found, n_seeds(), n_innocent);
                assert_int_equal(n_innocent, 0);
        }
}

/* ---- one pair for ever ---- */

#define PARTNER    6u
#define PARTNER_AT "trn-0/chip6/nic6"

static enum { PINNED_LOST, PINNED_COUNTED, PINNED_TAKEN, _PINNED_MAX } pinned;

/* Every second packet from the one does not come out of the other. */
static void take_away(const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        WireArrival *arrivals = (WireArrival *) (void *) out;
        uint64_t n = 0;

        for (uint64_t i = 0; i < completion->result[1]; i++)
                if (arrivals[i].chip != LIAR || arrivals[i].sequence % 2 == 0)
                        arrivals[n++] = arrivals[i];
        completion->result[0] -= completion->result[1] - n;
        completion->out_bytes = (uint32_t) (completion->out_bytes - (completion->result[1] - n) * sizeof(*arrivals));
        completion->result[1] = n;
}

static unsigned n_refused, n_counted;

static void refuse_one_partner(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        const char *path = (const char *) out - command->out_offset + command->in_offset;

        if (command->type == COMMAND_NIC_SEND && command->chip == LIAR && command->nic_send.chip == PARTNER) {
                completion->result[0] = (command->nic_send.packets + 1) / 2;
                completion->result[1] = EFA_NOT_READY;
                n_refused += command->nic_send.packets / 2;
        }
        if (command->type == COMMAND_NIC_RECEIVE && command->chip == PARTNER && pinned != PINNED_TAKEN)
                take_away(command, out, completion);
        if (command->type == COMMAND_ATTRIBUTE && command->chip == PARTNER && command->in_bytes == strlen("hw_counters/rx_drops") &&
            memcmp(path, "hw_counters/rx_drops", command->in_bytes) == 0) {
                n_counted++;
                completion->out_bytes = (uint32_t) snprintf((char *) out, command->out_bytes, "%u", pinned == PINNED_COUNTED ? n_refused : 0);
        }
}

/* A sender that loses them and says so of one partner alone looks like a receiver that has no buffer for it alone. */
static void test_one_sender_alone_fails_no_receiver(void **state) {
        for (unsigned i = 0; i < _PINNED_MAX; i++) {
                _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "efa", "trn-0");
                Verdict verdict = _VERDICT_INVALID;

                pinned = i;
                n_refused = n_counted = 0;
                step->rewrite = refuse_one_partner;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                assert_true(n_refused > 0 && n_counted == 2);
                rehearsal_print(step);
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], c == PARTNER && i == PINNED_COUNTED ? VERDICT_FAILED :
                                                         (c == LIAR || c == PARTNER) && i != PINNED_COUNTED ? VERDICT_ERROR : VERDICT_PASSED);
                if (i == PINNED_COUNTED)
                        assert_true(step->n_said == 1 && rehearsal_said(step, "efa-not-ready", PARTNER_AT));
                else
                        assert_true(step->n_said == 2 && rehearsal_said(step, "efa-either-end", LIAR_AT) && rehearsal_said(step, "efa-either-end", PARTNER_AT));
        }
}

/* Of two servers, the sender in the other one: its own step says it. */
static void deny_elsewhere(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        if (server == 1)
                deny_taken(step, command, completion);
}

static void test_a_sender_of_another_server_fails_nobody_here(void **state) {
        for (unsigned own = 0; own < 2; own++) {
                _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 3\ntopology: {ultraservers: 1}\n", "efa", own ? "us0-1" : "us0-0");
                Verdict verdict = _VERDICT_INVALID;

                one_in = 1;
                step->rewrite = deny_elsewhere;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                rehearsal_print(step);
                for (unsigned c = 0; c < CHIPS; c++)
                        assert_int_equal(step->parts[c], own && c == LIAR ? VERDICT_FAILED : VERDICT_PASSED);
                assert_true(step->n_said == own && (!own || rehearsal_said(step, "efa-counter", "us0-1/chip5/nic5")));
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_several_senders_say_it_of_their_receiver),
                cmocka_unit_test(test_a_sender_that_says_it_of_several_is_the_one),
                cmocka_unit_test(test_one_pair_is_of_either_end),
                cmocka_unit_test(test_all_receivers_may_be_it),
                cmocka_unit_test(test_a_sender_that_denies_what_was_taken),
                cmocka_unit_test(test_a_sender_that_denies_what_it_lost),
                cmocka_unit_test(test_a_sender_that_denies_at_times),
                cmocka_unit_test(test_one_sender_alone_fails_no_receiver),
                cmocka_unit_test(test_a_sender_of_another_server_fails_nobody_here),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
