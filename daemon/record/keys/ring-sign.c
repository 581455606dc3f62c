/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/keys/ring.h"

/* Signs what a reader takes, and nothing else. */
static int sign(Ring *ring, const RecordKey *root, char **ret, size_t *ret_n, char wrong[static KEYRING_WRONG_MAX]) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_printer_ Printer text = {};
        int r;

        r = ring_read(ring, &keyring, wrong);
        if (r == 0)
                r = ring_sign(ring, root);
        if (r == -E2BIG)
                (void) snprintf(wrong, KEYRING_WRONG_MAX, "too many have signed it, or it is too large");
        if (r < 0)
                return r == -E2BIG ? -EBADMSG : r;
        ring_print(&text, ring);
        if (text.error < 0)
                return text.error;
        *ret = TAKE_PTR(text.text);
        *ret_n = text.n;
        return 0;
}

static int told(int r, const char *wrong, char **ret_why) {
        if (r >= 0)
                return r;
        *ret_why = strdup(r == -EBADMSG ? wrong : strerror(-r));
        return *ret_why ? r : -ENOMEM;
}

int record_ring_make(const char *text, size_t n, const RecordKey *root, char **ret, size_t *ret_n, char **ret_why) {
        _cleanup_(ring_done) Ring ring = {};
        char wrong[KEYRING_WRONG_MAX] = "";
        int r;

        assert(text && root && ret && ret_n && ret_why);

        r = ring_init(&ring, text, n);
        if (r == 0)
                r = sign(&ring, root, ret, ret_n, wrong);
        return told(r, wrong, ret_why);
}

int record_ring_sign(const char *text, size_t n, const RecordKey *root, char **ret, size_t *ret_n, char **ret_why) {
        _cleanup_(ring_done) Ring ring = {};
        char wrong[KEYRING_WRONG_MAX] = "";
        int r;

        assert(text && root && ret && ret_n && ret_why);

        r = ring_parse(text, n, &ring, wrong);
        if (r == 0)
                r = sign(&ring, root, ret, ret_n, wrong);
        return told(r, wrong, ret_why);
}

int record_ring_signed(const char *text, size_t n, const RecordKey *root, RecordRingSigned *ret) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_(ring_done) Ring ring = {};
        char wrong[KEYRING_WRONG_MAX];
        RecordRingSigned found = {};
        int r;

        assert(text && root && ret);

        r = ring_parse(text, n, &ring, wrong);
        if (r == 0)
                r = ring_read(&ring, &keyring, wrong);
        if (r == 0)
                r = ring_count_signed(&ring, keyring);
        if (r < 0)
                return r;
        found.n = (unsigned) r;
        found.threshold = keyring->threshold;
        for (size_t i = 0; i < keyring->n_roots; i++)
                found.has_root = found.has_root || strcmp(keyring->roots[i].id, record_key_id(root)) == 0;
        *ret = found;
        return 0;
}
