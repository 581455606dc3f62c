/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "checks/text/cleanup.h"
#include "daemon/record/keys/checkpoint.h"
#include "tests/record/note-key.h"
#include "tests/record/place.h"

#define ROOT "CsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I="

static RecordKey *keys[3];
static CheckpointPolicy policy;

static int setup(void **state) {
        Place place;

        place_init(&place);
        for (size_t i = 0; i < ELEMENTS(keys); i++) {
                char name[8];

                (void) snprintf(name, sizeof(name), "%zu.key", i);
                keys[i] = place_key(&place, name, RECORD_ED25519);
        }
        place_done(&place);
        policy.log = note_key_of(PLACE_ORIGIN, NOTE_LOG, keys[0]);
        policy.n_witnesses = 2;
        policy.witnesses[0] = note_key_of("w1", NOTE_WITNESS, keys[1]);
        policy.witnesses[1] = note_key_of("w2", NOTE_WITNESS, keys[2]);
        return 0;
}

static int teardown(void **state) {
        for (size_t i = 0; i < ELEMENTS(keys); i++)
                (void) record_key_free(keys[i]);
        return 0;
}

static void test_what_is_printed_is_read_back(void **state) {
        static const uint64_t sizes[] = { 0, 1, 11, TREE_SIZE_MAX };

        for (size_t i = 0; i < ELEMENTS(sizes); i++) {
                Checkpoint one = { .origin = PLACE_ORIGIN, .size = sizes[i], .root.bytes = { 1, 2, [31] = 255 } }, two;
                _cleanup_printer_ Printer text = {};

                checkpoint_print(&text, &one);
                assert_int_equal(checkpoint_parse(text.text, text.n, &two), 0);
                assert_memory_equal(&one, &two, sizeof(one));
                for (size_t n = 0; n < text.n; n++)
                        assert_int_equal(checkpoint_parse(text.text, n, &two), -EBADMSG);
        }
}

static void test_what_is_no_checkpoint_is_refused(void **state) {
        static const char *const texts[] = {
                "", "\n\n\n", "a\n1\n", "a\n\n" ROOT "\n", "\n1\n" ROOT "\n", "a\n01\n" ROOT "\n", "a\n-1\n" ROOT "\n", "a\n+1\n" ROOT "\n",
                "a\n1 \n" ROOT "\n", "a\n0x1\n" ROOT "\n", "a\n9007199254740993\n" ROOT "\n", "a\n18446744073709551617\n" ROOT "\n",
                "a\n1\n" ROOT, "a\n1\nAAAA\n", "a\n1\n" ROOT "AAAA\n", "a\n1\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2J=\n",
                "a\n1\nCsUYapGGPo4dkMgIAUqom_Xajj7h2fB2MPA3j2jxq2I=\n", "a\n1\n" ROOT "\n\n", "a\n1\n" ROOT "\nmore",
        };
        static const char more[] = "a\n1\n" ROOT "\nmore\n";
        Checkpoint checkpoint;

        for (size_t i = 0; i < ELEMENTS(texts); i++)
                assert_int_equal(checkpoint_parse(texts[i], strlen(texts[i]), &checkpoint), -EBADMSG);
        assert_int_equal(checkpoint_parse(more, strlen(more), &checkpoint), 0);
}

/* A note of ORIGIN, signed by the keys whose bits are set. */
static int verify(const char *origin, unsigned signers, CheckpointSeen *ret_seen, const char **ret_wrong) {
        Checkpoint one = { .size = 11 }, two;
        _cleanup_printer_ Printer text = {}, note = {};

        (void) snprintf(one.origin, sizeof(one.origin), "%s", origin);
        checkpoint_print(&text, &one);
        printer_raw(&note, text.text, text.n);
        printer_text(&note, "\n");
        if (signers & 1)
                note_sign(&note, text.text, text.n, &policy.log, keys[0], 0);
        if (signers & 2)
                note_sign(&note, text.text, text.n, &policy.witnesses[0], keys[1], UINT64_C(1000000000000));
        if (signers & 4)
                note_sign(&note, text.text, text.n, &policy.witnesses[1], keys[2], UINT64_C(2000000000000));
        if (signers & 8) /* in the name of a witness */
                note_sign(&note, text.text, text.n, &policy.witnesses[1], keys[1], 0);
        assert_int_equal(note.error, 0);
        return checkpoint_verify(note.text, note.n, &policy, &two, ret_seen, ret_wrong);
}

static void test_the_log_must_have_signed_and_witnesses_are_counted(void **state) {
        CheckpointSeen seen;
        const char *wrong;

        assert_int_equal(verify(PLACE_ORIGIN, 1, &seen, &wrong), 0);
        assert_int_equal(seen.n_witnesses, 0);
        assert_int_equal(seen.usec, 0);
        assert_int_equal(verify(PLACE_ORIGIN, 1 | 2, &seen, &wrong), 0);
        assert_int_equal(seen.n_witnesses, 1);
        assert_int_equal(verify(PLACE_ORIGIN, 1 | 2 | 4, &seen, &wrong), 0);
        assert_int_equal(seen.n_witnesses, 2);
        assert_int_equal(seen.usec, UINT64_C(2000000000000));

        assert_int_equal(verify(PLACE_ORIGIN, 2 | 4, &seen, &wrong), -EBADMSG);
        assert_string_equal(wrong, "it is not signed by the log");
        assert_int_equal(verify(PLACE_ORIGIN, 1 | 2 | 8, &seen, &wrong), -EBADMSG);
        assert_string_equal(wrong, "a witness's signature does not fit");
        /* A key of the log that signs for another origin. */
        assert_int_equal(verify("fleet.example/stations/st-018", 1, &seen, &wrong), -EBADMSG);
        assert_string_equal(wrong, "it is of another log");
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_what_is_printed_is_read_back),
                cmocka_unit_test(test_what_is_no_checkpoint_is_refused),
                cmocka_unit_test(test_the_log_must_have_signed_and_witnesses_are_counted),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
