/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/keys/proof.h"
#include "tests/record/published.h"

#define RECORDS 13

static Published published;
static RecordLog *record_log;

static int setup(void **state) {
        published_init(&published);
        return published_open(&published, &record_log, NULL);
}

static int teardown(void **state) {
        record_log = record_log_free(record_log);
        published_done(&published);
        return 0;
}

static Checkpoint newest(void) {
        _cleanup_free_ char *note = NULL;
        const char *wrong = "";
        Checkpoint checkpoint;
        CheckpointSeen seen;
        size_t n;

        assert_int_equal(record_log_checkpoint(record_log, &note, &n), 0);
        if (checkpoint_verify(note, n, &published.policy, &checkpoint, &seen, &wrong) < 0)
                fail_msg("%s: %.*s", wrong, (int) n, note);
        return checkpoint;
}

static TreeHash leaf_of(uint64_t index) {
        FILE *file = tmpfile();
        TreeHash leaf;

        assert_int_equal(record_log_leaves(record_log, index, 1, fileno(file)), 1);
        rewind(file);
        assert_int_equal(fread(&leaf, sizeof(leaf), 1, file), 1);
        (void) fclose(file);
        return leaf;
}

static void test_nothing_is_published_of_an_empty_log(void **state) {
        uint64_t size = 99;
        char *note;
        size_t n;

        assert_int_equal(record_log_checkpoint(record_log, &note, &n), -ENOENT);
        assert_int_equal(record_log_proof(record_log, 0, &note, &n), -ERANGE);
        assert_int_equal(record_log_checkpointed(record_log, &size), 0);
        assert_int_equal(size, 0);
}

static void test_a_checkpoint_follows_every_record(void **state) {
        for (unsigned i = 1; i <= RECORDS; i++) {
                published_append(&published, record_log, 1);
                published_wait(record_log, i);
                assert_int_equal(newest().size, i);
        }
}

static void test_every_record_is_proven_and_no_other(void **state) {
        published_append(&published, record_log, RECORDS);
        published_wait(record_log, RECORDS);
        for (uint64_t i = 0; i < RECORDS; i++) {
                _cleanup_free_ char *text = NULL;
                TreeHash leaf = leaf_of(i), other = leaf_of((i + 1) % RECORDS);
                Checkpoint checkpoint;
                CheckpointSeen seen;
                const char *wrong;
                Proof proof;
                size_t n;

                assert_int_equal(record_log_proof(record_log, i, &text, &n), 0);
                assert_int_equal(proof_parse(text, n, &proof), 0);
                assert_int_equal(proof.index, i);
                assert_int_equal(proof_verify(&proof, &leaf, &published.policy, &checkpoint, &seen, &wrong), 0);
                assert_int_equal(checkpoint.size, RECORDS);
                assert_int_equal(proof_verify(&proof, &other, &published.policy, &checkpoint, &seen, &wrong), -EBADMSG);
        }
}

static void test_a_checkpoint_leads_to_every_later_one(void **state) {
        TreeHash roots[RECORDS + 1];
        RecordPath path;

        for (unsigned i = 1; i <= RECORDS; i++) {
                published_append(&published, record_log, 1);
                published_wait(record_log, i);
                roots[i] = newest().root;
        }
        for (unsigned old = 1; old <= RECORDS; old++)
                for (unsigned size = old; size <= RECORDS; size++) {
                        TreePath hashes = {};

                        assert_int_equal(record_log_consistency(record_log, old, size, &path), 0);
                        hashes.n = path.n;
                        for (size_t i = 0; i < path.n; i++) {
                                uint8_t data[RECORD_HASH_TEXT];
                                size_t n;

                                assert_int_equal(base64_decode_standard(path.hashes[i], strlen(path.hashes[i]), data, &n), 0);
                                memcpy(hashes.hashes[i].bytes, data, DIGEST_BYTES);
                        }
                        assert_int_equal(tree_consistency_verify(&hashes, old, &roots[old], size, &roots[size]), 1);
                }
        assert_int_equal(record_log_consistency(record_log, 1, RECORDS + 1, &path), -ERANGE);
        assert_int_equal(record_log_consistency(record_log, 5, 4, &path), -ERANGE);
}

static void test_leaves_come_as_they_are_numbered(void **state) {
        TreeHash leaves[RECORDS];
        Frontier tree = {};
        TreeHash root, nodes[TREE_LEVELS];
        FILE *file = tmpfile();

        assert_int_equal(record_log_leaves(record_log, 0, 1, fileno(file)), -ERANGE);
        published_append(&published, record_log, RECORDS);
        published_wait(record_log, RECORDS);
        assert_int_equal(record_log_leaves(record_log, 0, UINT64_MAX, fileno(file)), RECORDS);
        assert_int_equal(record_log_leaves(record_log, RECORDS, 1, fileno(file)), -ERANGE);
        rewind(file);
        assert_int_equal(fread(leaves, sizeof(TreeHash), RECORDS + 1, file), RECORDS);
        (void) fclose(file);
        for (unsigned i = 0; i < RECORDS; i++)
                assert_true(frontier_append(&tree, &leaves[i], nodes) > 0);
        assert_int_equal(frontier_root(&tree, &root), 0);
        assert_memory_equal(root.bytes, newest().root.bytes, DIGEST_BYTES);
}

/* A log that closes says all it has. */
static void test_the_last_record_is_covered_before_the_log_closes(void **state) {
        uint64_t size;

        record_log = record_log_free(record_log);
        published.checkpoint_sec = 3600;
        assert_int_equal(published_open(&published, &record_log, NULL), 0);
        published_append(&published, record_log, 1);
        published_wait(record_log, 1); /* the first comes at once, the next in an hour */
        published_append(&published, record_log, 1);
        assert_int_equal(record_log_checkpointed(record_log, &size), 0);
        assert_int_equal(size, 1);
        record_log = record_log_free(record_log);
        assert_int_equal(published_open(&published, &record_log, NULL), 0);
        assert_int_equal(newest().size, 2);
}

static void test_a_log_without_a_key_publishes_nothing(void **state) {
        char *note;
        size_t n;

        record_log = record_log_free(record_log);
        assert_int_equal(published_open_with(&published, NULL, NULL, &record_log, NULL), 0);
        published_append(&published, record_log, 2);
        assert_string_equal(record_log_vkey(record_log), "");
        assert_int_equal(record_log_checkpoint(record_log, &note, &n), -ENOENT);
        assert_int_equal(record_log_proof(record_log, 0, &note, &n), -ENOENT);
}

int main(void) {
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(test_nothing_is_published_of_an_empty_log, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_checkpoint_follows_every_record, setup, teardown),
                cmocka_unit_test_setup_teardown(test_every_record_is_proven_and_no_other, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_checkpoint_leads_to_every_later_one, setup, teardown),
                cmocka_unit_test_setup_teardown(test_leaves_come_as_they_are_numbered, setup, teardown),
                cmocka_unit_test_setup_teardown(test_the_last_record_is_covered_before_the_log_closes, setup, teardown),
                cmocka_unit_test_setup_teardown(test_a_log_without_a_key_publishes_nothing, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
