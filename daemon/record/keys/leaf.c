/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/leaf.h"

#include <string.h>

#include "daemon/record/encode/json.h"

#define MARK_MAX 256 /* bytes; no envelope is so short */

void leaf_done(Leaf *leaf) {
        printer_done(&leaf->body);
}

int leaf_make(const RecordKeyring *keyring, const char *text, size_t n, Leaf *ret, const char **ret_wrong) {
        _cleanup_(envelope_done) Envelope envelope = {};
        _cleanup_(leaf_done) Leaf leaf = {};
        const KeyringKey *entry;
        int r;

        r = envelope_parse(text, n, &envelope, ret_wrong);
        if (r < 0)
                return r;
        entry = keyring_find(keyring, envelope.signatures[0].key_id);
        if (!entry) {
                *ret_wrong = "it is signed with a key that is not trusted here";
                return -ENOKEY;
        }
        leaf_print(&leaf.body, &envelope, &entry->key);
        r = leaf.body.error ?: tree_leaf(leaf.body.text, leaf.body.n, &leaf.hash);
        if (r < 0)
                return r;
        (void) strcpy(leaf.key_id, entry->key.id);
        *ret = leaf;
        leaf = (Leaf) {};
        return 0;
}

int leaf_read_mark(const char *text, size_t n, uint64_t *ret_index, uint8_t ret_id[static DIGEST_BYTES]) {
        _cleanup_json_ json_t *mark = NULL;
        const json_t *pruned, *index;
        const char *wrong;
        int r;

        r = n > MARK_MAX ? -EBADMSG : json_read(text, n, &mark, &wrong);
        if (r < 0)
                return r;
        pruned = json_object_get(mark, "pruned");
        index = json_object_get(pruned, "index");
        if (!json_is_integer(index) || (uint64_t) json_integer_value(index) >= TREE_SIZE_MAX || digest_from_hex(text_of(pruned, "sha256"), ret_id) < 0)
                return -EBADMSG;
        *ret_index = (uint64_t) json_integer_value(index);
        return 0;
}
