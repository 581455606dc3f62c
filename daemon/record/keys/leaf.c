/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/leaf.h"

#include <string.h>

void leaf_done(Leaf *leaf) {
        printer_done(&leaf->body);
}

int leaf_make(const RecordKeyring *keyring, const char *text, size_t n, Leaf *ret, const char **ret_wrong) {
        _cleanup_(envelope_done) Envelope envelope = {};
        _cleanup_(leaf_done) Leaf leaf = {};
        uint8_t id[DIGEST_BYTES];
        const KeyringKey *entry;
        int r;

        r = envelope_parse(text, n, &envelope, ret_wrong);
        if (r < 0)
                return r;
        entry = keyring_find(keyring, envelope.key_id);
        if (!entry) {
                *ret_wrong = "it is signed with a key that is not trusted here";
                return -ENOKEY;
        }
        r = digest_sha256(envelope.pae, envelope.n_pae, id);
        if (r < 0)
                return r;

        leaf_print(&leaf.body, &entry->key, id, envelope.signature, envelope.n_signature);
        r = leaf.body.error ?: tree_leaf(leaf.body.text, leaf.body.n, &leaf.hash);
        if (r < 0)
                return r;
        (void) strcpy(leaf.key_id, entry->key.id);
        *ret = leaf;
        leaf = (Leaf) {};
        return 0;
}
