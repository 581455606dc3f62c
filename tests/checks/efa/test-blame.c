/* SPDX-License-Identifier: Apache-2.0 */

/*
 * Several servers: each server's step sees of another's adapter few flows only, and says nothing of its own adapters that these few do not
 * carry. A path of the fabric that loses packets of all of them changes nothing about that. As a campaign: SERVER_CASES=N seeds.
 */

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/efa/efa.h"
#include "tests/checks/rehearsal.h"

#define ADAPTER "us0-1/chip15/nic15"
#define PLANE   "{at: us0-2/chip0/nic0/path5, kind: fabric-path-drops, rate: 0.3}"

/* With the first server in between, which has a partner in both. */
#define ANOTHER "{at: us0-3/chip4/nic4, kind: packet-loss, rate: 0.05}"

typedef struct ServerCase {
        const char *fault, *code; /* of ADAPTER */
} ServerCase;

static const ServerCase cases[] = {
        { "kind: packet-loss, rate: 0.05", "efa-loss" },
        { "kind: packet-corruption, rate: 0.05", "efa-corruption" },
        { "kind: packet-misdelivery, rate: 0.05", "efa-misdelivery" },
        { "kind: packet-duplicate, rate: 0.05", "efa-misdelivery" },
        { "kind: receiver-not-ready, rate: 0.1", "efa-not-ready" },
        { "kind: nic-clock-off, nsec: 20000", "efa-clock" },
        { "kind: packet-loss, rate: 0.05, persistence: intermittent, probability: 0.2", NULL }, /* its own step may not meet it */
};

static unsigned n_seeds(void) {
        const char *text = getenv("SERVER_CASES");

        return text ? (unsigned) atoi(text) : 2;
}

/* The numbers "N of M packets" of a message are a part of a whole. */
static bool is_a_part(const char *message) {
        const char *of = strstr(message, " of ");
        uint64_t part, whole;

        return !of || !strstr(message, " packets") || sscanf(message, "%" SCNu64 " of %" SCNu64, &part, &whole) != 2 || part <= whole;
}

/* The step of SERVER names the broken adapters, the fabric, or nobody. */
static bool blames_the_right_ones(const Step *step, const char *server) {
        for (size_t i = 0; i < step->n_said; i++) {
                bool is_fabric = strcmp(step->said[i].code, "efa-fabric") == 0 && strcmp(step->said[i].at, server) == 0;

                bool is_broken = strcmp(step->said[i].at, ADAPTER) == 0 || strcmp(step->said[i].at, "us0-3/chip4/nic4") == 0;

                if (!(is_fabric || is_broken) || !is_a_part(step->said[i].message) ||
                    strcmp(step->said[i].code, "efa-path") == 0)
                        return false;
        }

        return true;
}

static unsigned n_open_parts(const Step *step) {
        unsigned n = 0;

        for (unsigned c = 0; c < CHIPS; c++)
                n += step->parts[c] == VERDICT_ERROR;
        return n;
}

static void judge_servers(const ServerCase *one, const char *plane, unsigned seed, unsigned *n_open) {
        char text[512];

        (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {ultraservers: 1}\nfaults: [%s%s{at: " ADAPTER ", %s}]\n", seed,
                        plane, *plane ? ", " : "", one->fault);
        for (unsigned s = 0; s < RING; s++) {
                Verdict verdict = _VERDICT_INVALID;
                char server[16];

                (void) snprintf(server, sizeof(server), "us0-%u", s);
                _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", server);

                step->seed = seed * 977 + s;
                assert_int_equal(rehearsal_run(step, &verdict), 0);
                if (!blames_the_right_ones(step, server) || (s == 1 && one->code && !rehearsal_said(step, one->code, ADAPTER)) ||
                    (s == 1 && n_open_parts(step) > 0)) {
                        rehearsal_print(step);
                        fail_msg("%s, %s seed %u, step of %s", one->fault, plane, seed, server);
                }
                assert_int_equal(n_open_parts(step), step->n_untested);
                *n_open += n_open_parts(step);
        }
}

/* Between chip 15 of us0-0 and that of us0-1 alone, whatever else these are asked. */
static void spoil_between(Step *step, unsigned server, const WireCommand *command, uint8_t *out, WireCompletion *completion) {
        WireArrival *arrivals = (WireArrival *) out;

        for (uint64_t i = 0; command->type == COMMAND_NIC_RECEIVE && i < completion->result[1]; i++)
                if (server < 2 && command->chip == 15 && arrivals[i].chip == 15 && strcmp(arrivals[i].server, server == 0 ? "us0-1" : "us0-0") == 0)
                        arrivals[i].crc32c ^= 1;
}

/* It keeps the own end from passing, and does not fail it. */
static void test_what_cannot_be_told_stays_open(void **state) {
        _cleanup_rehearsal_ Step *step = rehearsal_new("scenario: test\nseed: 3\ntopology: {ultraservers: 1}\n", "efa", "us0-0");
        Verdict verdict = _VERDICT_INVALID;

        step->rewrite = spoil_between;
        assert_int_equal(rehearsal_run(step, &verdict), 0);
        rehearsal_print(step);
        assert_int_equal(verdict, VERDICT_PASSED);
        assert_int_equal(step->n_said, 0);
        assert_true(rehearsal_untested(step, "either_end us0-0/chip15/nic15"));
        for (unsigned c = 0; c < CHIPS; c++)
                assert_int_equal(step->parts[c], c == 15 ? VERDICT_ERROR : VERDICT_PASSED);
        assert_int_equal(step->reasons[15], REASON_AMBIGUOUS);
}

/* A delay that the way within a server hides. The other server's step sees that it is none of its own, as others of its own have it with that
 * adapter too; the own one has nobody but the pair, so the adapter stays open. With a third server it fails. */
static void test_two_servers_pass_no_late_pair(void **state) {
        for (unsigned seed = 0; seed < 2 * n_seeds(); seed++)
                for (unsigned s = 1; s <= 2; s++) {
                        unsigned broken = seed % CHIPS;
                        Verdict verdict = _VERDICT_INVALID;
                        char text[256], server[16];

                        (void) snprintf(text, sizeof(text), "scenario: test\nseed: %u\ntopology: {ultraservers: 1}\nfaults: "
                                        "[{at: us0-1/chip%u/nic%u, kind: path-delay, nsec: 7000}]\n", seed, broken, broken);
                        (void) snprintf(server, sizeof(server), "us0-%u", s);
                        _cleanup_rehearsal_ Step *step = rehearsal_new(text, "efa", server);

                        for (unsigned i = 0; i < RING; i++)
                                step->servers[i].included = i == 1 || i == 2 ? 0xffff : 0;
                        assert_int_equal(rehearsal_run(step, &verdict), 0);
                        assert_int_equal(step->n_said, 0);
                        assert_int_equal(n_open_parts(step), s == 1);
                        assert_true(s != 1 || step->parts[broken] == VERDICT_ERROR);
                }
}

/* Lost packets that come and go between two servers show with others, as often as these are asked. */
static void test_what_comes_and_goes_elsewhere_is_told(void **state) {
        const ServerCase *one = &cases[ELEMENTS(cases) - 1];
        unsigned n_open = 0;

        for (unsigned seed = 15; seed < 20; seed++) /* some of these meet it in a flow between servers alone */
                judge_servers(one, "", seed, &n_open);
        assert_int_equal(n_open, 0);
}

static void judge_cases(const char *plane) {
        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                unsigned n_open = 0;

                for (unsigned seed = 0; seed < n_seeds(); seed++)
                        judge_servers(&cases[i], plane, seed, &n_open);
                print_message("# %-75s %u seeds of %u servers: %u chips not judged\n", cases[i].fault, n_seeds(), RING, n_open);
                if (cases[i].code)
                        assert_int_equal(n_open, 0);
        }
}

static void test_an_adapter_of_another_server_is_that_server_s(void **state) {
        judge_cases("");
}

/* Neither is one that has two broken partners on two other servers. */
static void test_two_broken_partners_make_no_third_suspect(void **state) {
        judge_cases(ANOTHER);
        judge_cases(PLANE ", " ANOTHER);
}

/* Nor an adapter that sprays, where of a flow of two packets one went astray, back to its sender: what takes no path is on no path. */
static void test_a_packet_that_comes_back_makes_no_single_path(void **state) {
        unsigned n_open = 0;

        judge_servers(&cases[2], PLANE ", " ANOTHER, 70, &n_open);
        assert_int_equal(n_open, 0);
}

static void test_a_lossy_fabric_makes_no_partner_suspect(void **state) {
        judge_cases(PLANE);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_an_adapter_of_another_server_is_that_server_s),
                cmocka_unit_test(test_what_cannot_be_told_stays_open),
                cmocka_unit_test(test_two_servers_pass_no_late_pair),
                cmocka_unit_test(test_what_comes_and_goes_elsewhere_is_told),
                cmocka_unit_test(test_two_broken_partners_make_no_third_suspect),
                cmocka_unit_test(test_a_packet_that_comes_back_makes_no_single_path),
                cmocka_unit_test(test_a_lossy_fabric_makes_no_partner_suspect),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
