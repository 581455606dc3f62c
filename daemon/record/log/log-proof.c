/* SPDX-License-Identifier: Apache-2.0 */

/* What the log proves to others: checkpoints, and that records are in them. */

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/keys/proof.h"
#include "daemon/record/log/log.h"

static_assert(RECORD_PATH_MAX == TREE_PATH_MAX && RECORD_HASH_TEXT == BASE64_SIZE(DIGEST_BYTES) + 1, "");

bool record_vkey_is_witness(const char *vkey) {
        NoteKey key;

        assert(vkey);
        return note_key_parse(&key, vkey) == 0 && key.type == NOTE_WITNESS;
}

const char *record_log_vkey(const RecordLog *log) {
        assert(log);
        return log->publisher.vkey.text ?: "";
}

int record_log_checkpoint(RecordLog *log, char **ret, size_t *ret_n) {
        uint64_t size;

        assert(log && ret && ret_n);
        return store_newest_checkpoint(log->reader, atomic_load(&log->published), &size, ret, ret_n);
}

int record_log_checkpointed(RecordLog *log, uint64_t *ret_size) {
        assert(log && ret_size);

        *ret_size = atomic_load(&log->published);
        return atomic_load(&log->publishing);
}

int record_log_proof(RecordLog *log, uint64_t index, char **ret, size_t *ret_n) {
        _cleanup_printer_ Printer proof = {};
        _cleanup_free_ char *note = NULL;
        uint64_t size;
        TreePath path;
        size_t n;
        int r;

        assert(log && ret && ret_n);

        if (index >= record_log_size(log))
                return -ERANGE;
        r = store_best_checkpoint(log->reader, index + 1, atomic_load(&log->published), &size, &note, &n);
        if (r == 0)
                r = tree_inclusion(&(TreeSource) { store_hash, log->reader }, index, size, &path);
        if (r < 0)
                return r;
        proof_print(&proof, index, &path, note, n);
        printer_raw(&proof, "", 1);
        if (proof.error < 0)
                return proof.error;
        *ret_n = proof.n - 1;
        *ret = TAKE_PTR(proof.text);
        return 0;
}

int record_log_consistency(RecordLog *log, uint64_t old, uint64_t size, RecordPath *ret) {
        TreePath path;
        int r;

        assert(log && ret);

        if (size > record_log_size(log))
                return -ERANGE;
        r = tree_consistency(&(TreeSource) { store_hash, log->reader }, old, size, &path);
        if (r < 0)
                return r;
        ret->n = path.n;
        for (size_t i = 0; i < path.n; i++)
                *base64_encode(path.hashes[i].bytes, DIGEST_BYTES, ret->hashes[i]) = '\0';
        return 0;
}

int record_log_leaves(RecordLog *log, uint64_t first, uint64_t count, int fd) {
        uint64_t size;
        int r;

        assert(log);

        size = record_log_size(log);
        if (first >= size)
                return -ERANGE;
        if (count > size - first)
                count = size - first;
        if (count > INT_MAX)
                count = INT_MAX;
        r = store_leaves(log->reader, first, first + count, fd);
        return r < 0 ? r : (int) count;
}
