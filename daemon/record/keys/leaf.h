/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Leaf: what of a record is in the log's tree, made again from the record itself. */

#include "daemon/record/keys/keyring.h"

typedef struct Leaf {
        char key_id[KEY_ID_MAX]; /* of the key that is in it */
        Printer body;
        TreeHash hash; /* of that */
} Leaf;

void leaf_done(Leaf *leaf);

/*
 * Of an envelope of N bytes, with the key that it names. No signature is checked: where the hash is in the log, the log has taken just this
 * record with this signature and key. -EBADMSG, and *ret_wrong (a static sentence): it is no envelope; -ENOKEY: none of the keyring;
 * -ENOMEM, -EIO.
 */
int leaf_make(const RecordKeyring *keyring, const char *envelope, size_t n, Leaf *ret, const char **ret_wrong);

/*
 * Reads {"pruned":{"index":INDEX,"sha256":"ID"}}, which a log tells in place of an envelope that it has no more. Nobody has signed it. -EBADMSG: it
 * is no such mark; -ENOMEM.
 */
int leaf_read_mark(const char *text, size_t n, uint64_t *ret_index, uint8_t ret_id[static DIGEST_BYTES]);
