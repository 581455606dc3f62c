/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/proof.h"

#include <string.h>

#include "daemon/record/tree/lines.h"

#define HEADER "c2sp.org/tlog-proof@v1"

void proof_print(Printer *printer, uint64_t index, const TreePath *path, const char *note, size_t n_note) {
        printer_text(printer, HEADER "\nindex ");
        line_print_number(printer, index);
        lines_print_path(printer, path);
        printer_text(printer, "\n");
        printer_raw(printer, note, n_note);
}

int proof_parse(const char *data, size_t n, Proof *ret) {
        Lines lines = { data, n };
        Proof proof = {};
        Line line, rest;
        int r;

        if (n > PROOF_MAX)
                return -EBADMSG;
        r = line_take(&lines, &line);
        if (r < 0)
                return r;
        if (line.n != strlen(HEADER) || memcmp(line.text, HEADER, line.n) != 0)
                return -EBADMSG;
        r = line_take(&lines, &line);
        /* Nobody signed what is extra. */
        if (r == 0 && line_after(&line, "extra", &rest) == 0)
                r = line_take(&lines, &line);
        if (r == 0)
                r = line_after(&line, "index", &rest);
        if (r == 0)
                r = line_number(&rest, &proof.index);
        if (r == 0)
                r = lines_take_path(&lines, &proof.path);
        if (r < 0)
                return r;
        proof.note = lines.text;
        proof.n_note = lines.n;
        *ret = proof;
        return 0;
}

int proof_verify(const Proof *proof, const TreeHash *leaf, const CheckpointPolicy *policy, Checkpoint *ret, CheckpointSeen *ret_seen,
                 const char **ret_wrong) {
        Checkpoint checkpoint;
        CheckpointSeen seen;
        int r;

        r = checkpoint_verify(proof->note, proof->n_note, policy, &checkpoint, &seen, ret_wrong);
        if (r < 0)
                return r;
        r = tree_inclusion_verify(&proof->path, leaf, proof->index, checkpoint.size, &checkpoint.root);
        if (r < 0)
                return r;
        if (r == 0) {
                *ret_wrong = "the record is not where the proof says, or not in this log";
                return -EBADMSG;
        }
        *ret = checkpoint;
        *ret_seen = seen;
        return 0;
}
