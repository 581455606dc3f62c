/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/*
 * Request
 *
 * What a log asks of a witness, c2sp.org/tlog-witness@v1.0.0: the body of `POST add-checkpoint`,
 *
 *     old SIZE
 *     BASE64(hash)       up to 63, a consistency proof from SIZE to the checkpoint
 *     (an empty line)
 *     a checkpoint, which is a signed note
 */

#include "daemon/record/keys/checkpoint.h"

/* The first line, the proof, and a note. */
#define REQUEST_MAX (32 + TREE_PATH_MAX * 45 + 1 + NOTE_MAX)

typedef struct Request {
        uint64_t old;
        TreePath path;
        Note note; /* in the body, from note.text on */
        size_t n_note;
        Checkpoint checkpoint;
} Request;

/* Borrows BODY. -EBADMSG, and *ret_wrong (a static sentence). Nothing of it is proven. */
int request_parse(const char *body, size_t n, Request *ret, const char **ret_wrong);
void request_print(Printer *body, uint64_t old, const TreePath *path, const char *note, size_t n);
