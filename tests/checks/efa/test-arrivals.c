/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Packets that are of no flow of the round in which they are taken: one that floods is found by what its receivers or its own counter say, and
 * nobody by what one receiver says alone. As a campaign: STRANGER_CASES=N seeds.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/efa/efa.h"
#include "tests/checks/rehearsal.h"

static unsigned n_seeds(void) {
        const char *text = getenv("STRANGER_CASES");

        return text ? (unsigned) atoi(text) : 60;
}

/* Runs efa on a server with chip 14 broken in this way; returns whether it was found. */
static bool scan(const char *fault, unsigned seed) {
        Verdict verdict = _VERDICT_INVALID;
        char text[512];

        (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {servers: 1}\nfaults: [{at: trn-0/chip14%s, persistence: intermittent}]\n",
                        seed, fault);
        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", "trn-0");

        if (rehearsal_run(step, &verdict) < 0)
                return false;
        for (size_t i = 0; i < step->n_said; i++)
                if (strncmp(step->said[i].at, "trn-0/chip14", strlen("trn-0/chip14")) != 0) {
                        rehearsal_print(step);
                        fail_msg("%s, seed %u: a sound adapter was named", fault, seed);
                }
        for (unsigned c = 0; c < CHIPS; c++)
                if (c != 14 && step->parts[c] != VERDICT_PASSED)
                        fail_msg("%s, seed %u: sound chip %u has not passed", fault, seed, c);
        return step->parts[14] == VERDICT_FAILED;
}

/* A void answer reads as an empty box, and the packets are there in the next round. */
static void test_what_an_earlier_round_left_is_nobody_s_flood(void **state) {
        static const char *const probabilities[] = { "0.1", "0.3", "0.5" };

        for (size_t p = 0; p < ELEMENTS(probabilities); p++) {
                unsigned n_found = 0;
                char fault[96];

                (void) snprintf(fault, sizeof(fault), ", kind: garble, mode: void, command: nic, probability: %s", probabilities[p]);
                for (unsigned seed = 0; seed < n_seeds(); seed++)
                        n_found += scan(fault, seed);
                print_message("# void answers, p %s: found %u of %u\n", probabilities[p], n_found, n_seeds());
        }
}

/* One that floods rarely reaches one receiver alone, and counts what it sent. */
static void test_its_own_counter_tells_a_flood(void **state) {
        unsigned n_found = 0;

        for (unsigned seed = 0; seed < n_seeds(); seed++)
                n_found += scan("/nic14, kind: packet-flood, packets: 200, probability: 0.03", seed);
        print_message("# floods that are rare: found %u of %u\n", n_found, n_seeds());
        assert_true(n_found >= n_seeds() / 2);
}

/* Chip 6 says of the packets that chip 5 sent it that they are of a flow that nobody knows. */
static void make_strangers(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        WireArrival *arrivals = (WireArrival *) out;

        for (uint64_t i = 0; command->type == COMMAND_NIC_RECEIVE && command->chip == 6 && i < completion->result[1]; i++)
                if (arrivals[i].chip == 5)
                        arrivals[i].flow = ~arrivals[i].flow;
}

static void test_one_receiver_alone_fails_no_sender(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 21\ntopology: {servers: 1}\n", "efa", "trn-0");
        Verdict verdict = _VERDICT_INVALID;

        step->rewrite = make_strangers;
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        for (size_t i = 0; i < step->n_said; i++)
                assert_string_equal(step->said[i].code, "efa-either-end");
        for (unsigned c = 0; c < CHIPS; c++)
                assert_int_equal(step->parts[c], c == 5 || c == 6 ? VERDICT_ERROR : VERDICT_PASSED);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_an_earlier_round_left_is_nobody_s_flood),
                cmocka_unit_test(test_its_own_counter_tells_a_flood),
                cmocka_unit_test(test_one_receiver_alone_fails_no_sender),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
