/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "checks/text/cleanup.h"
#include "daemon/record/keys/proof.h"
#include "tests/record/note-key.h"
#include "tests/record/place.h"
#include "tests/record/plain-tree.h"

#define LEAVES 11
#define INDEX  3

static RecordKey *key;
static CheckpointPolicy policy;
static TreeHash leaves[LEAVES];
static Printer proof; /* of leaf INDEX */

static int setup(void **state) {
        Checkpoint checkpoint = { .origin = PLACE_ORIGIN, .size = LEAVES };
        _cleanup_printer_ Printer note = {};
        TreePath path = {};
        Place place;

        place_init(&place);
        assert_int_equal(record_key_load(place.key, &key), 0);
        place_done(&place);
        policy.log = note_key_of(PLACE_ORIGIN, NOTE_LOG, key);

        for (unsigned i = 0; i < LEAVES; i++)
                assert_int_equal(tree_leaf(&i, sizeof(i), &leaves[i]), 0);
        checkpoint.root = plain_root(leaves, LEAVES);
        (void) note_of(&note, &checkpoint, &policy.log, key);
        plain_path(leaves, INDEX, LEAVES, &path);
        proof_print(&proof, INDEX, &path, note.text, note.n);
        return proof.error;
}

static int teardown(void **state) {
        printer_done(&proof);
        (void) record_key_free(key);
        return 0;
}

static int verify(const char *data, size_t n, const TreeHash *leaf) {
        Checkpoint checkpoint;
        CheckpointSeen seen;
        const char *wrong;
        Proof parsed;
        int r;

        r = proof_parse(data, n, &parsed);
        if (r == 0)
                r = proof_verify(&parsed, leaf, &policy, &checkpoint, &seen, &wrong);
        if (r == 0) {
                assert_int_equal(parsed.index, INDEX);
                assert_int_equal(checkpoint.size, LEAVES);
        }
        return r;
}

static void test_the_record_is_proven_and_no_other(void **state) {
        for (unsigned i = 0; i < LEAVES; i++)
                assert_int_equal(verify(proof.text, proof.n, &leaves[i]), i == INDEX ? 0 : -EBADMSG);
}

static void test_every_flipped_bit_is_refused(void **state) {
        for (size_t bit = 0; bit < proof.n * 8; bit++) {
                proof.text[bit / 8] ^= (char) (1 << bit % 8);
                assert_int_equal(verify(proof.text, proof.n, &leaves[INDEX]), -EBADMSG);
                proof.text[bit / 8] ^= (char) (1 << bit % 8);
        }
        for (size_t n = 0; n < proof.n; n++)
                assert_int_equal(verify(proof.text, n, &leaves[INDEX]), -EBADMSG);
}

/* Nobody signed it, so it must change nothing. */
static void test_what_is_extra_is_left_alone(void **state) {
        const char *rest = memchr(proof.text, '\n', proof.n);
        _cleanup_printer_ Printer more = {};

        printer_raw(&more, proof.text, (size_t) (rest + 1 - proof.text));
        printer_text(&more, "extra AAAA\n");
        printer_raw(&more, rest + 1, proof.n - (size_t) (rest + 1 - proof.text));
        assert_int_equal(verify(more.text, more.n, &leaves[INDEX]), 0);
}

static void test_what_is_no_proof_is_refused(void **state) {
        static const char *const texts[] = {
                "", "c2sp.org/tlog-proof@v1\n", "c2sp.org/tlog-proof@v2\nindex 0\n\n", "c2sp.org/tlog-proof@v1\nindex\n\n",
                "c2sp.org/tlog-proof@v1\nindex 01\n\n", "c2sp.org/tlog-proof@v1\nindex -1\n\n", "c2sp.org/tlog-proof@v1\nindex 1\nAAAA\n\n",
                "c2sp.org/tlog-proof@v1\nextra AAAA\nextra AAAA\nindex 1\n\n", "c2sp.org/tlog-proof@v1\nindex 1\n",
        };
        _cleanup_printer_ Printer bomb = {};
        Proof parsed;

        for (size_t i = 0; i < ELEMENTS(texts); i++)
                assert_int_equal(proof_parse(texts[i], strlen(texts[i]), &parsed), -EBADMSG);
        printer_text(&bomb, "c2sp.org/tlog-proof@v1\nindex 1\n");
        for (unsigned i = 0; i <= TREE_PATH_MAX; i++)
                printer_text(&bomb, "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=\n");
        printer_text(&bomb, "\n");
        assert_int_equal(proof_parse(bomb.text, bomb.n, &parsed), -EBADMSG);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_the_record_is_proven_and_no_other),
                cmocka_unit_test(test_every_flipped_bit_is_refused),
                cmocka_unit_test(test_what_is_extra_is_left_alone),
                cmocka_unit_test(test_what_is_no_proof_is_refused),
        };

        return cmocka_run_group_tests(tests, setup, teardown);
}
