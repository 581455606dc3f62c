/* SPDX-License-Identifier: Apache-2.0 */

/* Devices that fail, and devices that lie: between the check and a sound chip sits somebody who changes what it answers. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/memory/hbm/report/parameters.h"
#include "checks/plan/plan.h"
#include "tests/hall-device.h"

extern const Check check_hbm;

typedef enum Lie {
        LIE_NONE,
        LIE_FAIL,       /* the n-th batch fails with an errno */
        LIE_SILENT,     /* no mismatches ever */
        LIE_FORGET,     /* the last mismatch of each list */
        LIE_MORE,       /* counts one more than there are */
        LIE_ELSEWHERE,  /* the first mismatch is at another place */
        LIE_OUTSIDE,    /* at a place that does not exist */
        LIE_OPERATION,  /* of a write */
        LIE_EQUAL,      /* what is reported as different is as expected */
        LIE_ORDER,      /* the first two change places */
        LIE_DATA,       /* other data than memory has */
        LIE_HALF,       /* visits half of the accesses and says so */
        LIE_COPY,       /* copies out something else */
        LIE_STATUS,     /* a status that is no success */
        LIE_LENGTH,     /* a length that is no multiple */
        LIE_GEOMETRY,   /* attributes say nothing */
        LIE_BLIND,      /* leaves out what `blind` says */
        LIE_STALE_COPY, /* copies out what the first copy of an access had */
        LIE_STALE_READ, /* reports what its last report of an access had */
        LIE_LONG,       /* lists more than there was room for */
        _LIE_MAX,
} Lie;

/* Mismatches that a comparator does not see; -1: whatever it is. */
typedef struct Blind {
        int unit, op, wants, descending, after_write;
} Blind;

typedef struct Old {
        uint8_t unit;
        uint16_t at[_MEMORY_AXIS_MAX];
        uint8_t data[MEMORY_ACCESS_BYTES];
} Old;

typedef struct Liar {
        Device *device; /* owns the sound one below */
        void *below;
        uint8_t *window;
        Lie lie;
        unsigned n, fail_at;
        int error;
        bool lied;
        const HbmParameters *parameters; /* NULL: defaults */
        Blind blind;
        Old olds[8192];
        size_t n_olds;
} Liar;

static bool is_blind(const Blind *blind, const WireCommand *command, const WireMismatch *mismatch) {
        const WireMarch *march = &command->march;
        bool written = false;

        for (unsigned i = 0; i < mismatch->op; i++)
                written |= march->ops[i] & MARCH_WRITE;
        return (blind->unit < 0 || blind->unit == command->unit) && (blind->op < 0 || blind->op == mismatch->op) &&
               (blind->wants < 0 || blind->wants == (int) (march->ops[mismatch->op] & MARCH_DATA)) &&
               (blind->descending < 0 || blind->descending == march->descending) &&
               (blind->after_write < 0 || blind->after_write == written);
}

static void leave_out(Liar *liar, const WireCommand *command, WireCompletion *completion) {
        WireMismatch *list = (WireMismatch *) (liar->window + command->out_offset);
        size_t n = completion->out_bytes / sizeof(WireMismatch), left = 0;

        for (size_t i = 0; i < n; i++)
                if (!is_blind(&liar->blind, command, &list[i]))
                        list[left++] = list[i];
        liar->lied |= left < n;
        completion->result[0] -= n - left;
        completion->out_bytes = (uint32_t) (left * sizeof(WireMismatch));
}

/* The first data that were seen at a place come back for good. */
static void make_old(Liar *liar, unsigned unit, const uint16_t at[static _MEMORY_AXIS_MAX], uint8_t *data) {
        Old *old;

        for (size_t i = 0; i < liar->n_olds; i++) {
                old = &liar->olds[i];
                if (old->unit != unit || memcmp(old->at, at, sizeof(old->at)) != 0)
                        continue;
                liar->lied |= memcmp(data, old->data, sizeof(old->data)) != 0;
                memcpy(data, old->data, sizeof(old->data));
                return;
        }

        assert_true(liar->n_olds < ELEMENTS(liar->olds));
        old = &liar->olds[liar->n_olds++];
        old->unit = (uint8_t) unit;
        memcpy(old->at, at, sizeof(old->at));
        memcpy(old->data, data, sizeof(old->data));
}

static void copy_old(Liar *liar, const WireCommand *command) {
        uint16_t at[_MEMORY_AXIS_MAX];
        uint8_t *data = liar->window + command->out_offset;

        memcpy(at, command->copy.box.first, sizeof(at));
        for (; at[HBM_CHANNEL] <= command->copy.box.last[HBM_CHANNEL]; at[HBM_CHANNEL]++, data += MEMORY_ACCESS_BYTES)
                make_old(liar, command->unit, at, data);
}

static void change_march(Liar *liar, const WireCommand *command, WireCompletion *completion) {
        WireMismatch *list = (WireMismatch *) (liar->window + command->out_offset), swap;
        size_t n = completion->out_bytes / sizeof(WireMismatch);

        if (liar->lie == LIE_HALF) {
                completion->result[1] /= 2;
                liar->lied = true;
        }
        if (liar->lie == LIE_STATUS)
                completion->status = STATUS_NRT_HBM_UE;
        if (liar->lie == LIE_LONG) {
                completion->out_bytes = command->out_bytes + (uint32_t) sizeof(WireMismatch);
                completion->result[0] = completion->out_bytes / sizeof(WireMismatch);
                liar->lied = true;
        }
        if (liar->lie == LIE_MORE)
                completion->result[0]++;
        if (n == 0)
                return;

        if (liar->lie == LIE_BLIND) {
                leave_out(liar, command, completion);
                return;
        }
        if (liar->lie == LIE_STALE_READ) {
                for (size_t i = 0; i < n; i++)
                        make_old(liar, command->unit, list[i].at, list[i].actual);
                return;
        }
        liar->lied |= liar->lie > LIE_FAIL;
        switch ((int) liar->lie) { /* the others have nothing to do with lists */
        case LIE_SILENT:
                completion->result[0] = completion->out_bytes = 0;
                break;
        case LIE_FORGET:
                completion->result[0]--;
                completion->out_bytes -= (uint32_t) sizeof(WireMismatch);
                break;
        case LIE_ELSEWHERE:
                list[0].at[HBM_ROW] ^= 1;
                break;
        case LIE_OUTSIDE:
                list[0].at[HBM_SID] = 3;
                break;
        case LIE_OPERATION:
                list[0].op = 23;
                break;
        case LIE_EQUAL:
                memset(list[0].actual, command->march.ops[0] & MARCH_DATA ? 0xff : 0, sizeof(list[0].actual));
                break;
        case LIE_ORDER:
                swap = list[0];
                list[0] = list[n - 1];
                list[n - 1] = swap;
                break;
        case LIE_DATA:
                list[0].actual[5] ^= 0x10;
                break;
        case LIE_LENGTH:
                completion->out_bytes--;
                break;
        default:
                break;
        }
}

static int liar_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                        uint64_t deadline_usec) {
        Liar *liar = userdata;
        int r;

        if (liar->lie == LIE_FAIL && ++liar->n == liar->fail_at) {
                liar->lied = true;
                return liar->error;
        }

        r = hall_execute(liar->below, commands, n, completions, deadline_usec);
        for (size_t i = 0; r >= 0 && i < n; i++) {
                if (commands[i].type == COMMAND_HBM_MARCH)
                        change_march(liar, &commands[i], &completions[i]);
                if (commands[i].type == COMMAND_HBM_COPY_OUT && liar->lie == LIE_COPY) {
                        liar->window[commands[i].out_offset] ^= 1;
                        liar->lied = true;
                }
                if (commands[i].type == COMMAND_HBM_COPY_OUT && liar->lie == LIE_STALE_COPY)
                        copy_old(liar, &commands[i]);
                if (commands[i].type == COMMAND_ATTRIBUTE && liar->lie == LIE_GEOMETRY) {
                        completions[i].status = STATUS_NRT_QUEUE_EMPTY;
                        liar->lied = true;
                }
        }
        return r;
}

static void liar_close(void *userdata) {
        hall_close(((Liar *) userdata)->below);
}

static const DeviceTransport liar_transport = { liar_execute, liar_close };

static Verdict judge(Liar *liar, Found *found) {
        const void *parameters = liar->parameters ? liar->parameters : *check_word_find("hbm")->parameters_defaults;
        HallDevice *hall = hall_device_new("scenario: t\nseed: 9\ntopology: {ultraservers: 1}\n", "us0-0", 0, 1 << 20);
        Device *device;
        Verdict verdict;

        assert_non_null(hall);
        liar->below = hall;
        liar->window = hall->reach.window;
        device = hall_connect(hall, &liar_transport, liar);
        assert_non_null(device);
        verdict = hall_scan(device, &check_hbm, parameters, found);
        device_free(device);
        return verdict;
}

static void a_sound_device_passes_here(void **state) {
        Found found;

        assert_int_equal(judge(&(Liar) { .lie = LIE_NONE }, &found), VERDICT_PASSED);
}

static void no_lie_is_a_pass(void **state) {
        for (unsigned lie = LIE_SILENT; lie < _LIE_MAX; lie++) {
                static Liar liar;
                Found found;
                Verdict verdict;

                liar = (Liar) { .lie = (Lie) lie, .blind = { -1, -1, -1, -1, -1 } };
                verdict = judge(&liar, &found);

                assert_true(liar.lied || lie == LIE_STATUS || lie == LIE_MORE);
                if (verdict != VERDICT_FAILED && verdict != VERDICT_ERROR)
                        fail_msg("lie %u: verdict %u", lie, verdict);
        }
}

static void a_comparator_that_says_what_cannot_be_is_found(void **state) {
        static const Lie lies[] = { LIE_SILENT, LIE_FORGET, LIE_MORE, LIE_OUTSIDE, LIE_OPERATION, LIE_EQUAL, LIE_ORDER, LIE_HALF };

        for (size_t i = 0; i < ELEMENTS(lies); i++) {
                Liar liar = { .lie = lies[i] };
                Found found;

                assert_int_equal(judge(&liar, &found), VERDICT_FAILED);
                if (!found_has(&found, "hbm-comparator", "us0-0/chip0/hbm0"))
                        fail_msg("lie %u: %s", lies[i], found.lines);
        }
}

static void a_comparator_blind_to_one_thing_is_found(void **state) {
        static const Blind blinds[] = {
                { -1, -1, -1, -1, -1 }, { 2, -1, -1, -1, -1 }, { -1, -1, 0, -1, -1 }, { -1, -1, 1, -1, -1 },
                { -1, 0, -1, -1, -1 },  { -1, 1, -1, -1, -1 }, { -1, 3, -1, -1, -1 }, { -1, 3, 1, 1, -1 },
                { 1, 3, 0, 1, -1 },     { 3, 1, 1, 0, -1 },    { -1, -1, -1, -1, 1 }, { -1, -1, -1, -1, 0 },
                { 0, -1, 0, 1, 1 },     { 0, 0, 0, 1, 0 },
        };
        static Liar liar;

        for (size_t i = 0; i < ELEMENTS(blinds); i++) {
                char at[32];
                Found found;

                liar = (Liar) { .lie = LIE_BLIND, .blind = blinds[i] };
                assert_int_equal(judge(&liar, &found), VERDICT_FAILED);
                assert_true(liar.lied);
                for (unsigned stack = 0; stack < STACKS; stack++) {
                        bool owed = blinds[i].unit < 0 || blinds[i].unit == (int) stack;

                        (void) snprintf(at, sizeof(at), "us0-0/chip0/hbm%u", stack);
                        if (found_has(&found, "hbm-comparator", at) != owed)
                                fail_msg("blind %zu, stack %u: %s", i, stack, found.lines);
                }
                assert_int_equal(found.n, blinds[i].unit < 0 ? STACKS : 1);
        }
}

/* Every named test, whatever its directions and lengths, proves what compares in it. */
static void every_named_test_finds_a_blind_comparator(void **state) {
        static const Blind blinds[] = { { -1, -1, -1, -1, -1 }, { 2, -1, 0, -1, -1 }, { 1, -1, 1, -1, -1 }, { 3, -1, -1, -1, 1 } };
        const HbmParameters *defaults = *check_word_find("hbm")->parameters_defaults;
        static HbmParameters parameters;
        static Liar liar;

        for (size_t t = 0; march_test_at(t); t++)
                for (size_t i = 0; i <= ELEMENTS(blinds); i++) {
                        Found found;
                        Verdict verdict;

                        parameters = *defaults;
                        parameters.backgrounds.n = 1;
                        parameters.ecc = t % 2;
                        parameters.orders.orders[0] = (MemoryOrder) (t % _MEMORY_ORDER_MAX);
                        assert_int_equal(march_read(march_test_at(t)->name, &parameters.march, NULL, NULL), 0);
                        liar = (Liar) { .lie = i < ELEMENTS(blinds) ? LIE_BLIND : LIE_NONE, .parameters = &parameters };
                        if (i < ELEMENTS(blinds))
                                liar.blind = blinds[i];
                        verdict = judge(&liar, &found);
                        /* Not every test reads after a write in one element: then that blindness hides nothing in it. */
                        if (verdict != (liar.lied ? VERDICT_FAILED : VERDICT_PASSED) ||
                            liar.lied != !!strstr(found.lines, "\"hbm-comparator\""))
                                fail_msg("%s, blind %zu: verdict %u, lied %u", march_test_at(t)->name, i, verdict, liar.lied);
                        if (i == 0)
                                assert_true(liar.lied);
                }
}

static void reads_of_what_was_there_before_are_stale(void **state) {
        static const Lie lies[] = { LIE_STALE_COPY, LIE_STALE_READ };
        static Liar liar;

        for (size_t i = 0; i < ELEMENTS(lies); i++) {
                Found found;

                liar = (Liar) { .lie = lies[i] };
                assert_int_equal(judge(&liar, &found), VERDICT_FAILED);
                assert_true(liar.lied);
                if (!found_has(&found, "hbm-stale", "us0-0/chip0/hbm0") || !found_has(&found, "hbm-stale", "us0-0/chip0/hbm3") ||
                    found.n != STACKS)
                        fail_msg("lie %u: %s", lies[i], found.lines);
        }
}

static void a_device_that_fails_anywhere_never_passes(void **state) {
        static const int errors[] = { -ETIMEDOUT, -ENODEV, -EPROTO, -ENOMEM };

        for (size_t e = 0; e < ELEMENTS(errors); e++)
                for (unsigned n = 1;; n++) {
                        Liar liar = { .lie = LIE_FAIL, .fail_at = n, .error = errors[e] };
                        Found found;
                        Verdict verdict = judge(&liar, &found);

                        if (!liar.lied) {
                                assert_int_equal(verdict, VERDICT_PASSED);
                                assert_true(n > 5);
                                break;
                        }
                        if (verdict != VERDICT_ERROR)
                                fail_msg("error %d of batch %u: verdict %u\n%s", errors[e], n, verdict, found.lines);
                }
}

/* The same through every phase, at places further and further apart. */
static void no_phase_passes_over_a_failing_device(void **state) {
        static const int errors[] = { -ETIMEDOUT, -EREMOTEIO };
        static HbmParameters parameters;
        static Liar liar;

        parameters = *(const HbmParameters *) *check_word_find("hbm")->parameters_defaults;
        parameters.phases = (1u << _HBM_DO_MAX) - 1;
        parameters.hammer.rows = 64;
        parameters.random = 2;
        for (size_t e = 0; e < ELEMENTS(errors); e++)
                for (unsigned n = 1;; n += 1 + n / 6) {
                        Found found;
                        Verdict verdict;

                        liar = (Liar) { .lie = LIE_FAIL, .fail_at = n, .error = errors[e], .parameters = &parameters };
                        verdict = judge(&liar, &found);
                        if (!liar.lied) {
                                assert_int_equal(verdict, VERDICT_PASSED);
                                if (liar.n < 300)
                                        fail_msg("%u batches", liar.n);
                                break;
                        }
                        if (verdict != VERDICT_ERROR)
                                fail_msg("error %d of batch %u: verdict %u\n%s", errors[e], n, verdict, found.lines);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_sound_device_passes_here),
                cmocka_unit_test(no_lie_is_a_pass),
                cmocka_unit_test(a_comparator_that_says_what_cannot_be_is_found),
                cmocka_unit_test(a_comparator_blind_to_one_thing_is_found),
                cmocka_unit_test(every_named_test_finds_a_blind_comparator),
                cmocka_unit_test(reads_of_what_was_there_before_are_stale),
                cmocka_unit_test(a_device_that_fails_anywhere_never_passes),
                cmocka_unit_test(no_phase_passes_over_a_failing_device),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
