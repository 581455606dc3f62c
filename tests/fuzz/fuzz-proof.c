/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The same bytes as a tlog-proof, as lines of hashes, and as the path of an inclusion or a consistency proof: whatever they are, they prove
 * nothing of a tree that they were not made of, and end.
 */

#include <stdint.h>

#include "daemon/record/keys/proof.h"
#include "daemon/record/tree/lines.h"
#include "tests/fuzz/known-key.h"
#include "tests/record/note-key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static CheckpointPolicy policy;

static void read_proof(const char *text, size_t n) {
        _cleanup_printer_ Printer again = {};
        const TreeHash leaf = {};
        Checkpoint checkpoint;
        CheckpointSeen seen;
        const char *wrong = NULL;
        Proof proof;

        if (proof_parse(text, n, &proof) < 0)
                return;
        HOLDS(proof.index <= TREE_SIZE_MAX && proof.path.n <= TREE_PATH_MAX && proof.note + proof.n_note == text + n);
        HOLDS(proof_verify(&proof, &leaf, &policy, &checkpoint, &seen, &wrong) == -EBADMSG && wrong);
        proof_print(&again, proof.index, &proof.path, proof.note, proof.n_note);
        HOLDS(again.error == 0);
        if (!memmem(text, n, "\nextra ", 7))
                HOLDS(again.n == n && memcmp(again.text, text, n) == 0);
}

static void read_path(const char *text, size_t n) {
        _cleanup_printer_ Printer again = {};
        Lines lines = { text, n };
        TreePath path;

        if (lines_take_path(&lines, &path) < 0)
                return;
        lines_print_path(&again, &path);
        printer_text(&again, "\n");
        HOLDS(again.n + lines.n == n && memcmp(again.text, text, again.n) == 0);
}

static void prove(const uint8_t *data, size_t size) {
        const TreeHash nothing = {};
        TreePath path = {};
        uint64_t numbers[2];

        if (size < sizeof(numbers))
                return;
        memcpy(numbers, data, sizeof(numbers));
        data += sizeof(numbers), size -= sizeof(numbers);
        path.n = size / sizeof(TreeHash) < TREE_PATH_MAX ? size / sizeof(TreeHash) : TREE_PATH_MAX;
        if (path.n > 0)
                memcpy(path.hashes, data, path.n * sizeof(TreeHash));
        /* No path ends in a hash of zeros; only a leaf alone, and a tree that did not grow, need none. */
        HOLDS(tree_inclusion_verify(&path, &nothing, numbers[0], numbers[1], &nothing) == (numbers[0] == 0 && numbers[1] == 1 && path.n == 0));
        HOLDS(tree_consistency_verify(&path, numbers[0], &nothing, numbers[1], &nothing) <= (path.n == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        if (policy.n_witnesses == 0) {
                RecordKey *key = known_key();

                policy.log = note_key_of("fleet.example/st-017", NOTE_LOG, key);
                policy.n_witnesses = 1;
                policy.witnesses[0] = note_key_of("w1", NOTE_WITNESS, key);
                (void) record_key_free(key);
        }
        read_proof((const char *) data, size);
        read_path((const char *) data, size);
        prove(data, size);
        return 0;
}
