/* SPDX-License-Identifier: Apache-2.0 */

/* The sram check against a device that lies: about its codes, its counters, its marches, and by failing anywhere. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "checks/plan/plan.h"
#include "tests/hall-device.h"

extern const Check check_sram;

typedef enum Lie {
        LIE_NONE,
        LIE_FAIL,        /* the n-th batch fails with an errno */
        LIE_MUTE,        /* no uncorrected error is told */
        LIE_ALARM,       /* every read through a code tells one */
        LIE_CHANGE,      /* a bit of what is read through a code */
        LIE_RAW,         /* a bit of what is read beside it */
        LIE_STILL,       /* counters say what they said first */
        LIE_BACKWARDS,   /* counters count down */
        LIE_WORDS,       /* counters are no numbers */
        LIE_CODE,        /* no such code */
        LIE_GEOMETRY,    /* of a memory that is no array */
        LIE_HUGE,        /* of more than anybody could test */
        LIE_NOTHING,     /* attributes are not there */
        LIE_SILENT,      /* no mismatches ever */
        LIE_MORE,        /* one more than there are */
        LIE_OUTSIDE,     /* at a place that does not exist */
        LIE_HALF,        /* visits half of the accesses and says so */
        LIE_STATUS,      /* a raw march met an uncorrected error */
        _LIE_MAX,
} Lie;

typedef struct Liar {
        HallDevice *below;
        uint8_t *window;
        Lie lie;
        unsigned n, fail_at;
        int error;
        bool lied;
} Liar;

static void say(Liar *liar, const WireCommand *command, WireCompletion *completion, const char *text) {
        completion->status = STATUS_NRT_SUCCESS;
        completion->out_bytes = (uint32_t) strlen(text);
        memcpy(liar->window + command->out_offset, text, completion->out_bytes);
        liar->lied = true;
}

static bool ends_with(Liar *liar, const WireCommand *command, const char *end) {
        size_t n = strlen(end);

        return command->in_bytes >= n && memcmp(liar->window + command->in_offset + command->in_bytes - n, end, n) == 0;
}

static void change_attribute(Liar *liar, const WireCommand *command, WireCompletion *completion) {
        bool counter = ends_with(liar, command, "corrected");
        char text[32];

        if (liar->lie == LIE_NOTHING) {
                completion->status = STATUS_NRT_QUEUE_EMPTY;
                completion->out_bytes = 0;
                liar->lied = true;
        }
        if (liar->lie == LIE_CODE && ends_with(liar, command, "/ecc"))
                say(liar, command, completion, "hamming");
        if (liar->lie == LIE_GEOMETRY && ends_with(liar, command, "/geometry"))
                say(liar, command, completion, "128 1 2 1 1 64 1");
        if (liar->lie == LIE_HUGE && ends_with(liar, command, "/geometry"))
                say(liar, command, completion, "65535 1 1 1 65535 1 1");
        if (liar->lie == LIE_STILL && counter)
                say(liar, command, completion, "7");
        if (liar->lie == LIE_WORDS && counter)
                say(liar, command, completion, "12 errors");
        if (liar->lie == LIE_BACKWARDS && counter) {
                (void) snprintf(text, sizeof(text), "%u", 1000000 - liar->n);
                say(liar, command, completion, text);
        }
}

static void change_march(Liar *liar, const WireCommand *command, WireCompletion *completion) {
        WireMismatch *list = (WireMismatch *) (liar->window + command->out_offset);

        if (liar->lie == LIE_HALF)
                completion->result[1] /= 2;
        if (liar->lie == LIE_MORE)
                completion->result[0]++;
        if (liar->lie == LIE_STATUS)
                completion->status = STATUS_NRT_NC_UE;
        if (liar->lie == LIE_SILENT)
                completion->result[0] = completion->out_bytes = 0;
        if (liar->lie == LIE_OUTSIDE && completion->out_bytes > 0)
                list[0].at[SRAM_BANK] = 9;
        liar->lied |= liar->lie >= LIE_SILENT;
}

static void change_copy(Liar *liar, const WireCommand *command, WireCompletion *completion) {
        bool told = completion->status == STATUS_NRT_NC_UE, ecc = command->copy.ecc;

        if ((liar->lie == LIE_MUTE && told) || (liar->lie == LIE_ALARM && ecc && !told)) {
                completion->status = told ? STATUS_NRT_SUCCESS : STATUS_NRT_NC_UE;
                liar->lied = true;
        }
        if ((liar->lie == LIE_CHANGE && ecc) || (liar->lie == LIE_RAW && !ecc)) {
                liar->window[command->out_offset + 3] ^= 4;
                liar->lied = true;
        }
}

static int liar_execute(void *userdata, const WireCommand *commands, size_t n, WireCompletion *completions,
                        uint64_t deadline_usec) {
        Liar *liar = userdata;
        int r;

        liar->n++;
        if (liar->lie == LIE_FAIL && liar->n == liar->fail_at) {
                liar->lied = true;
                return liar->error;
        }

        r = hall_execute(liar->below, commands, n, completions, deadline_usec);
        for (size_t i = 0; r >= 0 && i < n; i++)
                switch (commands[i].type) {
                case COMMAND_ATTRIBUTE:
                        change_attribute(liar, &commands[i], &completions[i]);
                        break;
                case COMMAND_SRAM_MARCH:
                        change_march(liar, &commands[i], &completions[i]);
                        break;
                case COMMAND_SRAM_COPY_OUT:
                        change_copy(liar, &commands[i], &completions[i]);
                        break;
                default:
                        break;
                }
        return r;
}

static void liar_close(void *userdata) {
        hall_close(((Liar *) userdata)->below);
}

static const DeviceTransport liar_transport = { liar_execute, liar_close };

static Verdict judge(Liar *liar, Found *found) {
        Device *device;
        Verdict verdict;

        liar->below = hall_device_new("scenario: t\nseed: 9\ntopology: {ultraservers: 1}\n", "us0-0", 0, 1 << 20);
        assert_non_null(liar->below);
        liar->window = liar->below->reach.window;
        device = hall_connect(liar->below, &liar_transport, liar);
        assert_non_null(device);
        verdict = hall_scan(device, &check_sram, *check_word_find("sram")->parameters_defaults, found);
        device_free(device);
        return verdict;
}

static void a_sound_device_passes_here(void **state) {
        Found found;

        assert_int_equal(judge(&(Liar) { .lie = LIE_NONE }, &found), VERDICT_PASSED);
}

static void no_lie_is_a_pass(void **state) {
        for (unsigned lie = LIE_MUTE; lie < _LIE_MAX; lie++) {
                Liar liar = { .lie = (Lie) lie };
                Found found;
                Verdict verdict = judge(&liar, &found);

                if (!liar.lied || (verdict != VERDICT_FAILED && verdict != VERDICT_ERROR))
                        fail_msg("lie %u: verdict %s%s", lie, verdict_to_string(verdict), liar.lied ? "" : ", and no lie");
        }
}

static void lies_about_codes_are_called_that(void **state) {
        static const Lie lies[] = { LIE_MUTE, LIE_ALARM, LIE_CHANGE, LIE_STILL, LIE_BACKWARDS };

        for (unsigned i = 0; i < ELEMENTS(lies); i++) {
                Liar liar = { .lie = lies[i] };
                Found found;

                assert_int_equal(judge(&liar, &found), VERDICT_FAILED);
                if (!strstr(found.lines, "\"verdict\":\"sram-ecc\""))
                        fail_msg("lie %u: %s", lies[i], found.lines);
        }
}

static void a_device_that_fails_anywhere_never_passes(void **state) {
        static const int errors[] = { -ETIMEDOUT, -EPROTO, -ENODEV };

        for (unsigned e = 0; e < ELEMENTS(errors); e++)
                for (unsigned n = 1;; n++) {
                        Liar liar = { .lie = LIE_FAIL, .fail_at = n, .error = errors[e] };
                        Found found;
                        Verdict verdict = judge(&liar, &found);

                        if (!liar.lied) {
                                assert_int_equal(verdict, VERDICT_PASSED);
                                assert_true(n > 10);
                                break;
                        }
                        assert_int_equal(verdict, VERDICT_ERROR);
                }
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_sound_device_passes_here),
                cmocka_unit_test(no_lie_is_a_pass),
                cmocka_unit_test(lies_about_codes_are_called_that),
                cmocka_unit_test(a_device_that_fails_anywhere_never_passes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
