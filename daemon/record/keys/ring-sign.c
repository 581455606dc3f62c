/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/keys/ring.h"

/* Signs what a reader takes, and nothing else. */
static int sign(Ring *ring, const RecordKey *root, RecordRingSigned *ret, char wrong[static KEYRING_WRONG_MAX]) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        int n = 0, r;

        r = ring_read(ring, &keyring, wrong);
        if (r == 0)
                r = ring_sign(ring, root);
        if (r == 0)
                r = n = ring_count_signed(ring, keyring);
        if (r == -E2BIG) {
                (void) snprintf(wrong, KEYRING_WRONG_MAX, "too many have signed it, or it is too large");
                return -EBADMSG;
        }
        if (r < 0)
                return r;
        *ret = (RecordRingSigned) { .n = (unsigned) n, .threshold = keyring->threshold };
        for (size_t i = 0; i < keyring->n_roots; i++)
                ret->has_root = ret->has_root || strcmp(keyring->roots[i].id, record_key_id(root)) == 0;
        return 0;
}

int record_ring_sign(const char *text, size_t n, const RecordKey *root, char **ret, size_t *ret_n, RecordRingSigned *ret_signed, char **ret_why) {
        _cleanup_(ring_done) Ring ring = {};
        _cleanup_printer_ Printer signed_ring = {};
        char wrong[KEYRING_WRONG_MAX] = "";
        RecordRingSigned now = {};
        int r;

        assert(text && root && ret && ret_n && ret_signed && ret_why);

        r = n > 0 && text[0] == '{' ? ring_parse(text, n, &ring, wrong) : ring_init(&ring, text, n);
        if (r == 0)
                r = sign(&ring, root, &now, wrong);
        if (r == 0) {
                ring_print(&signed_ring, &ring);
                r = signed_ring.error;
        }
        if (r < 0) {
                *ret_why = strdup(r == -EBADMSG ? wrong : strerror(-r));
                return *ret_why ? r : -ENOMEM;
        }
        *ret = TAKE_PTR(signed_ring.text);
        *ret_n = signed_ring.n;
        *ret_signed = now;
        return 0;
}
