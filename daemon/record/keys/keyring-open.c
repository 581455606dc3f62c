/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "checks/text/whole-file.h"
#include "daemon/record/keys/ring.h"
#include "daemon/record/keys/state.h"

/*
 * Whether a keyring is to be believed: by the roots that were given for the first one, and ever after by those of the newest that was seen.
 */

typedef struct Opening {
        Envelope ring;
        RecordKeyring *keyring; /* what it says */
        RecordKeyring *anchor;  /* whose roots must have signed it; its version is 0 where it is no keyring, but roots alone */
        Envelope before;        /* what is remembered, if anything */
        bool is_remembered;
        char wrong[KEYRING_WRONG_MAX];
} Opening;

static void opening_done(Opening *opening) {
        envelope_done(&opening->ring);
        envelope_done(&opening->before);
        (void) record_keyring_free(opening->keyring);
        (void) record_keyring_free(opening->anchor);
}

static int refuse(Opening *opening, int error, const char *wrong) {
        (void) snprintf(opening->wrong, sizeof(opening->wrong), "%s", wrong);
        return error;
}

static const char few_own[] = "too few of its own roots have signed the keyring";

/* A keyring that is believed, and signed by its own roots, whoever they are: these stand for the next one. */
static int take_anchor(Opening *opening, const char *text, size_t n, Envelope *ring) {
        int r;

        r = ring_parse(text, n, ring, opening->wrong);
        if (r == 0)
                r = ring_read(ring, &opening->anchor, opening->wrong);
        if (r == 0)
                r = ring_is_signed(ring, opening->anchor);
        return r < 0 ? r : r == 0 ? -EBADMSG : 0;
}

/* A text that names roots, in lines or blocks, and a threshold, which is all of them where it is not said. */
static int take_roots(Opening *opening, const char *text, size_t n) {
        RecordKeyring *anchor;
        int r;

        r = keyring_read(text, n, &opening->anchor, opening->wrong);
        if (r < 0)
                return r;
        anchor = opening->anchor;
        for (size_t i = 0; i < anchor->n_keys && r == 0; i++) {
                if (anchor->keys[i].producer[0])
                        continue;
                r = keyring_add_root(anchor, &anchor->keys[i].key);
                anchor->keys[i].key = (PublicKey) {};
        }
        if (anchor->threshold == 0)
                anchor->threshold = (unsigned) anchor->n_roots;
        anchor->version = 0;
        return r < 0 || anchor->n_roots == 0 || anchor->threshold > anchor->n_roots ? -EBADMSG : 0;
}

static int find_anchor(Opening *opening, const RecordState *state, const char *roots) {
        _cleanup_(envelope_done) Envelope given = {};
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = state ? state_read_keyring(state, &text, &n) : -ENOENT;
        if (r == 0) {
                opening->is_remembered = true;
                r = take_anchor(opening, text, n, &opening->before);
                return r == -EBADMSG ? refuse(opening, -ENOKEY, "the keyring that was kept is damaged, or of an earlier version of this program") : r;
        }
        if (r != -ENOENT)
                return r;
        if (!roots)
                return refuse(opening, -ENOKEY, "nobody vouches for the keyring: give its roots with --root");
        r = whole_file_drain(roots, KEYRING_FILE_MAX, &text, &n);
        if (r < 0)
                return r == -ENOMEM ? r : refuse(opening, -ENOKEY, "the roots cannot be read");
        r = n > 0 && text[0] == '{' ? take_anchor(opening, text, n, &given) : take_roots(opening, text, n);
        return r == -EBADMSG || r == -E2BIG ? refuse(opening, -ENOKEY, "the roots are no public keys, or too few for their threshold") : r;
}

/* The signatures of those known before come first: nothing of the payload is read until they hold. */
static int check_ring(Opening *opening) {
        int r;

        r = ring_is_signed(&opening->ring, opening->anchor);
        if (r == 0)
                return refuse(opening, -EKEYREJECTED, "too few of the known roots have signed the keyring");
        if (r > 0)
                r = ring_read(&opening->ring, &opening->keyring, opening->wrong);
        if (r == 0)
                r = ring_is_signed(&opening->ring, opening->keyring);
        if (r == -EBADMSG || r == -E2BIG)
                return -EKEYREJECTED;
        if (r <= 0)
                return r < 0 ? r : refuse(opening, -EKEYREJECTED, few_own);
        if (opening->keyring->version < opening->anchor->version)
                return refuse(opening, -EKEYREJECTED, "a newer keyring has been seen before");
        return 0;
}

static bool is_same(const Envelope *a, const Envelope *b) {
        return a->n_pae == b->n_pae && memcmp(a->pae, b->pae, a->n_pae) == 0;
}

static int open_ring(Opening *opening, const char *text, size_t n, const char *roots, RecordState *state) {
        int r;

        r = ring_parse(text, n, &opening->ring, opening->wrong);
        if (r == -EBADMSG)
                return roots || state ? -EKEYREJECTED : r;
        if (r == 0)
                r = find_anchor(opening, state, roots);
        if (r == 0)
                r = check_ring(opening);
        if (r < 0 || !state)
                return r;
        if (opening->is_remembered && opening->keyring->version == opening->anchor->version)
                return is_same(&opening->ring, &opening->before) ? 0 : refuse(opening, -EKEYREJECTED, "another keyring of the same version has been seen before");
        return state_write_keyring(state, text, n);
}

/* A text is believed by whoever names it; where roots are known it must not take the place of what they sign. */
static int open_text(Opening *opening, const char *text, size_t n, const char *roots, const RecordState *state) {
        _cleanup_free_ char *kept = NULL;
        size_t n_kept;
        int r;

        r = state ? state_read_keyring(state, &kept, &n_kept) : -ENOENT;
        if (r != -ENOENT && r < 0)
                return r;
        if (roots || r == 0)
                return refuse(opening, -EKEYREJECTED, "no root has signed the keyring");
        return keyring_parse(text, n, &opening->keyring, opening->wrong);
}

int record_keyring_open(const char *path, const char *roots, RecordState *state, RecordKeyring **ret, char **ret_why) {
        _cleanup_(opening_done) Opening opening = {};
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r;

        assert(path && ret && ret_why);

        r = whole_file_drain(path, KEYRING_FILE_MAX, &text, &n);
        if (r == 0)
                r = n > 0 && text[0] == '{' ? open_ring(&opening, text, n, roots, state) : open_text(&opening, text, n, roots, state);
        if (r < 0) {
                *ret_why = strdup(opening.wrong[0] ? opening.wrong : strerror(-r));
                return *ret_why ? r : -ENOMEM;
        }
        *ret = TAKE_PTR(opening.keyring);
        return 0;
}
