/* SPDX-License-Identifier: Apache-2.0 */

/* ECC that does not what it says: between the check and a stack with a real code sits somebody who changes the one or the other. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "checks/memory/hbm/report/parameters.h"
#include "checks/plan/plan.h"
#include "tests/hall-device.h"

extern const Check check_hbm;

typedef enum Lie {
        LIE_NONE,
        LIE_RAW_CORRECTS,  /* nothing is read beside ECC */
        LIE_NEVER_CORRECTS,
        LIE_STUCK_COUNTS,  /* the mailbox says what it said first */
        LIE_RAW_COUNTS,    /* every asking counts one error */
        LIE_HIDES,         /* what ECC cannot correct is not reported */
        LIE_NO_MAILBOX,
        LIE_GARBLED_MAILBOX,
        LIE_NO_CLEARING,
        _LIE_MAX,
} Lie;

typedef struct Liar {
        HallDevice *below;
        Lie lie;
        uint8_t first[STACKS][32];
        uint32_t first_bytes[STACKS];
        unsigned n_asked;
        bool lied;
} Liar;

static bool is_mailbox(const Liar *liar, const WireCommand *command, unsigned *ret_stack) {
        const char *path = (const char *) liar->below->reach.window + command->in_offset;

        if (command->type != COMMAND_ATTRIBUTE || command->in_bytes < 12 || memcmp(path, "mailbox/hbm", 11) != 0)
                return false;
        *ret_stack = (unsigned) (path[11] - '0');
        return *ret_stack < STACKS;
}

static void change_word(Liar *liar, const WireCommand *command, WireCompletion *completion, unsigned stack) {
        char *text = (char *) liar->below->reach.window + command->out_offset;

        liar->lied |= liar->lie >= LIE_STUCK_COUNTS && liar->lie != LIE_HIDES;
        if (liar->lie == LIE_STUCK_COUNTS && liar->first_bytes[stack] == 0) {
                liar->first_bytes[stack] = completion->out_bytes;
                memcpy(liar->first[stack], text, completion->out_bytes);
        } else if (liar->lie == LIE_STUCK_COUNTS)
                memcpy(text, liar->first[stack], liar->first_bytes[stack]);
        else if (liar->lie == LIE_RAW_COUNTS)
                completion->out_bytes = (uint32_t) sprintf(text, "0x%08x", (0x100 + liar->n_asked++) << 16);
        else if (liar->lie == LIE_NO_MAILBOX)
                completion->status = STATUS_NRT_QUEUE_EMPTY;
        else if (liar->lie == LIE_GARBLED_MAILBOX)
                memcpy(text, "0xgarbled!", completion->out_bytes);
}

static int liar_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions, uint64_t deadline_usec) {
        static WireCommand changed[WIRE_BATCH_MAX];
        Liar *liar = userdata;
        unsigned stack;
        int r;

        memcpy(changed, commands, n * sizeof(*commands));
        for (size_t i = 0; i < n; i++) {
                if (changed[i].type != COMMAND_HBM_MARCH)
                        continue;
                if (liar->lie == LIE_RAW_CORRECTS && !changed[i].march.ecc)
                        changed[i].march.ecc = liar->lied = true;
                if (liar->lie == LIE_NEVER_CORRECTS && changed[i].march.ecc) {
                        changed[i].march.ecc = 0;
                        liar->lied = true;
                }
        }

        r = hall_execute(liar->below, changed, n, completions, deadline_usec);
        for (size_t i = 0; r >= 0 && i < n; i++) {
                if (is_mailbox(liar, &commands[i], &stack))
                        change_word(liar, &commands[i], &completions[i], stack);
                if (liar->lie == LIE_RAW_CORRECTS && commands[i].type == COMMAND_HBM_MARCH)
                        completions[i].status = STATUS_NRT_SUCCESS;
                if (liar->lie == LIE_HIDES && commands[i].type == COMMAND_HBM_MARCH && commands[i].march.ecc) {
                        liar->lied |= completions[i].result[0] > 0;
                        completions[i].result[0] = completions[i].out_bytes = 0;
                }
                if (liar->lie == LIE_NO_CLEARING && commands[i].type == COMMAND_ATTRIBUTE_WRITE) {
                        completions[i].status = STATUS_NRT_FAILURE;
                        liar->lied = true;
                }
        }
        return r;
}

static void liar_close(void *userdata) {
        hall_close(((Liar *) userdata)->below);
}

static const DeviceTransport transport = { liar_execute, liar_close };

#define CHIP "us0-0/chip0/"

/* REPEATS: how often everything is planted. */
static Verdict judge_repeated(Liar *liar, const char *faults, unsigned repeats, unsigned seed, Found *found) {
        HbmParameters parameters = *(const HbmParameters *) *check_word_find("hbm")->parameters_defaults;
        char text[1024];
        Device *device;
        Verdict verdict;

        parameters.phases = 1u << HBM_DO_ECC;
        parameters.repeats = repeats;
        (void) snprintf(text, sizeof(text), "scenario: t\nseed: %u\ntopology: {ultraservers: 1}\n%s", seed, faults);
        liar->below = hall_device_new(text, "us0-0", 0, 1 << 20);
        assert_non_null(liar->below);
        device = hall_connect(liar->below, &transport, liar);
        assert_non_null(device);
        verdict = hall_scan(device, &check_hbm, &parameters, found);
        for (unsigned stack = 0; verdict == VERDICT_PASSED && stack < STACKS; stack++) {
                char path[32];
                uint64_t word;

                /* What was planted is forgotten. */
                (void) snprintf(path, sizeof(path), "mailbox/hbm%u_ecc", stack);
                assert_int_equal(device_attribute_u64(device, 0, path, &word), 0);
                assert_int_equal(word, 0);
        }
        device_free(device);
        return verdict;
}

static Verdict judge(Liar *liar, const char *faults, Found *found) {
        return judge_repeated(liar, faults, 1, 9, found);
}

static void sound_ecc_corrects_and_counts_what_is_planted(void **state) {
        Found found;

        assert_int_equal(judge(&(Liar) { .lie = LIE_NONE }, "", &found), VERDICT_PASSED);
        assert_true(found_value(&found, "hbm_ecc_planted") == 32);
        assert_true(found_value(&found, "hbm_ecc_corrected") == 16);
        assert_true(found_value(&found, "hbm_ecc_uncorrected") == 16);
        assert_true(found_value(&found, "hbm_ecc_wrong") == 0);
}

static void ecc_that_lies_is_found(void **state) {
        static const Lie lies[] = { LIE_RAW_CORRECTS, LIE_NEVER_CORRECTS, LIE_STUCK_COUNTS, LIE_RAW_COUNTS, LIE_HIDES };

        for (size_t i = 0; i < ELEMENTS(lies); i++) {
                Liar liar = { .lie = lies[i] };
                Found found;

                assert_int_equal(judge(&liar, "", &found), VERDICT_FAILED);
                assert_true(liar.lied);
                if (found.n != STACKS || !found_has(&found, "hbm-ecc", CHIP "hbm0") || !found_has(&found, "hbm-ecc", CHIP "hbm3"))
                        fail_msg("lie %u: %s", lies[i], found.lines);
        }
}

static void counters_that_cannot_be_read_are_no_pass(void **state) {
        static const Lie lies[] = { LIE_NO_MAILBOX, LIE_GARBLED_MAILBOX, LIE_NO_CLEARING };

        for (size_t i = 0; i < ELEMENTS(lies); i++) {
                Liar liar = { .lie = lies[i] };
                Found found;

                assert_int_equal(judge(&liar, "", &found), VERDICT_ERROR);
                assert_true(liar.lied);
        }
}

#define FAULT(at, what) "  - {at: " CHIP at ", kind: " what "}\n"
#define BANK "hbm2/ch3/pc1/sid0/bg2/ba1"

static void kinds_of_the_simulator_are_found_on_their_stack(void **state) {
        static const char *const faults[] = {
                "faults:\n" FAULT("hbm1", "ecc-off"), "faults:\n" FAULT("hbm1", "ecc-silent"),
        };

        for (size_t i = 0; i < ELEMENTS(faults); i++) {
                Found found;

                assert_int_equal(judge(&(Liar) {}, faults[i], &found), VERDICT_FAILED);
                if (found.n != 1 || !found_has(&found, "hbm-ecc", CHIP "hbm1"))
                        fail_msg("%s: %s", faults[i], found.lines);
        }
}

#define STUCK(counter) "faults:\n  - {at: us0-0/chip0, kind: counter-stuck, counter: " counter "}\n"

/* One of no stack: only sysfs stands still. Nothing is planted that no repair would mend, so that counter shows nothing. */
static void a_counter_of_sysfs_that_stands_still_is_found(void **state) {
        static const struct {
                const char *faults;
                Verdict verdict;
        } cases[] = {
                { STUCK("mem_ecc_corrected"), VERDICT_FAILED },
                { STUCK("mem_ecc_repairable_uncorrected"), VERDICT_FAILED },
                { STUCK("mem_ecc_uncorrected"), VERDICT_PASSED },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                bool fails = cases[i].verdict == VERDICT_FAILED;
                Found found;

                assert_int_equal(judge(&(Liar) {}, cases[i].faults, &found), cases[i].verdict);
                if (found.n != fails || (fails && (!found_has(&found, "hbm-ecc", "us0-0/chip0") || !strstr(found.lines, "stats/hardware/mem_ecc_"))))
                        fail_msg("%s: %s", cases[i].faults, found.lines);
        }
}

/* Eight times: ECC that lies in half of the commands has a chance of 2^-16 to count all of it. */
static void ecc_that_lies_now_and_then_is_found(void **state) {
        static const char *const faults[] = {
                "faults:\n" FAULT("hbm1", "ecc-off, persistence: intermittent, probability: 0.5"),
                "faults:\n" FAULT("hbm1", "ecc-silent, persistence: intermittent, probability: 0.5"),
        };

        for (size_t i = 0; i < ELEMENTS(faults); i++)
                for (unsigned seed = 1; seed <= 40; seed++) {
                        Found found;

                        assert_int_equal(judge_repeated(&(Liar) {}, faults[i], 8, seed, &found), VERDICT_FAILED);
                        if (found.n != 1 || !found_has(&found, "hbm-ecc", CHIP "hbm1"))
                                fail_msg("%s, seed %u: %s", faults[i], seed, found.lines);
                }
}

/* A lane that is broken now and then spoils what is planted; that is not ECC. */
static void memory_that_breaks_now_and_then_is_no_lie_of_ecc(void **state) {
        static const char *const faults[] = {
                "faults:\n" FAULT("hbm1/ch7/pc1/dq31", "lane-stuck, value: 1, persistence: intermittent, probability: 0.5"),
                "faults:\n" FAULT("hbm1/ch7", "channel-dead, persistence: intermittent, probability: 0.5"),
        };

        for (size_t i = 0; i < ELEMENTS(faults); i++)
                for (unsigned seed = 1; seed <= 10; seed++) {
                        Found found;

                        assert_int_equal(judge_repeated(&(Liar) {}, faults[i], 8, seed, &found), VERDICT_FAILED);
                        if (strstr(found.lines, "\"hbm-ecc\""))
                                fail_msg("%s, seed %u: %s", faults[i], seed, found.lines);
                }
}

/* Cells, rows, banks and lanes that fail are told by what they are; ECC works around them as it must. */
static void broken_memory_is_no_lie_of_ecc(void **state) {
        static const struct {
                const char *fault, *code;
        } cases[] = {
                { FAULT(BANK "/row4711/col12/bit77", "stuck-at, value: 1"), "hbm-cell" },
                { FAULT(BANK "/row4711/col12/bit77", "stuck-at, value: 1") FAULT(BANK "/row4711/col12/bit78", "stuck-at, value: 0"), "hbm-word" },
                { FAULT(BANK "/row4711/col12/bit7", "stuck-at, value: 1") FAULT(BANK "/row4711/col12/bit78", "stuck-at, value: 1"), "hbm-word" },
                { FAULT(BANK "/row4711", "row-dead, reads: ones"), "hbm-row" },
                { FAULT(BANK, "bank-dead"), "hbm-bank" },
                { FAULT("hbm1/ch7/pc1/dq31", "lane-stuck, value: 1"), "hbm-lane" },
                { FAULT(BANK "/row9/col1/bit1", "stuck-at, value: 1, persistence: intermittent, probability: 0.5"), "hbm-cell" },
                { FAULT(BANK "/row9/col1/bit1", "deceptive-read, primitive: <1r1/0/1>"), "hbm-cell" },
        };

        for (size_t i = 0; i < ELEMENTS(cases); i++) {
                char text[512];
                Found found;
                Verdict verdict;

                (void) snprintf(text, sizeof(text), "faults:\n%s", cases[i].fault);
                verdict = judge(&(Liar) {}, text, &found);
                if (verdict != VERDICT_FAILED || strstr(found.lines, "\"hbm-ecc\"") || !strstr(found.lines, cases[i].code))
                        fail_msg("%s: %u %s", cases[i].fault, verdict, found.lines);
        }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sound_ecc_corrects_and_counts_what_is_planted),
                cmocka_unit_test(ecc_that_lies_is_found),
                cmocka_unit_test(counters_that_cannot_be_read_are_no_pass),
                cmocka_unit_test(kinds_of_the_simulator_are_found_on_their_stack),
                cmocka_unit_test(a_counter_of_sysfs_that_stands_still_is_found),
                cmocka_unit_test(ecc_that_lies_now_and_then_is_found),
                cmocka_unit_test(broken_memory_is_no_lie_of_ecc),
                cmocka_unit_test(memory_that_breaks_now_and_then_is_no_lie_of_ecc),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
