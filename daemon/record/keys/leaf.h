/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

/* Leaf: what of a record is in the log's tree, made again from the record itself. */

#include "daemon/record/keys/envelope.h"
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
