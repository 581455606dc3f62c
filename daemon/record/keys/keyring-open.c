/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "checks/whole-file.h"
#include "daemon/record/keys/keyring-document.h"
#include "daemon/record/keys/state.h"

/*
 * Whether a keyring is to be believed: by the roots that were given for the first one, and ever after by those of the newest that was seen.
 */

typedef struct Opening {
        Ring ring;
        KeyringDocument document;
        Roots anchor;       /* who must have signed */
        uint64_t version;   /* of what the anchor stands in; 0: none */
        Ring before;        /* what is remembered, if anything */
        bool is_remembered;
        const char *wrong;
        char text[KEYRING_WRONG_MAX]; /* room for one of no fixed words */
} Opening;

static void opening_done(Opening *opening) {
        ring_done(&opening->ring);
        ring_done(&opening->before);
        keyring_document_done(&opening->document);
        roots_done(&opening->anchor);
}

static int refuse(Opening *opening, const char *wrong) {
        opening->wrong = wrong;
        return -EKEYREJECTED;
}

/* One that is signed by its own roots, whoever they are. */
static int read_own(const char *text, size_t n, Ring *ring, KeyringDocument *document, const char **ret_wrong) {
        int r;

        r = ring_parse(text, n, ring, ret_wrong);
        if (r == 0)
                r = keyring_document_read(ring, document, ret_wrong);
        if (r == 0)
                r = roots_have_signed(&document->roots, ring);
        if (r == 0)
                *ret_wrong = "too few of its own roots have signed the keyring";
        return r < 0 ? r : r == 0 ? -EBADMSG : 0;
}

/* Who stands in a keyring that is believed stands for the next one. */
static int take_anchor(Opening *opening, const char *text, size_t n, Ring *ring) {
        _cleanup_(keyring_document_done) KeyringDocument document = {};
        int r;

        r = read_own(text, n, ring, &document, &opening->wrong);
        if (r < 0)
                return r;
        opening->version = document.keyring->version;
        opening->anchor = document.roots;
        document.roots = (Roots) {};
        return 0;
}

static int find_anchor(Opening *opening, const RecordState *state, const char *roots) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r;

        r = state ? state_read_keyring(state, &text, &n) : -ENOENT;
        if (r == 0) {
                opening->is_remembered = true;
                r = take_anchor(opening, text, n, &opening->before);
                if (r == -EBADMSG)
                        opening->wrong = "the keyring that was kept is damaged";
                return r == -EBADMSG ? -ENOKEY : r;
        }
        if (r != -ENOENT)
                return r;
        if (!roots) {
                opening->wrong = "nobody vouches for the keyring: give its roots with --root";
                return -ENOKEY;
        }
        r = whole_file_drain(roots, KEYRING_FILE_MAX, &text, &n);
        if (r < 0) {
                opening->wrong = "the roots cannot be read";
                return r == -ENOMEM ? r : -ENOKEY;
        }
        if (n > 0 && text[0] == '{') {
                _cleanup_(ring_done) Ring ring = {};

                r = take_anchor(opening, text, n, &ring);
        } else
                r = roots_parse(&opening->anchor, text, n);
        if (r == -EBADMSG || r == -E2BIG) {
                opening->wrong = "the roots are no public keys, or too few for their threshold";
                return -ENOKEY;
        }
        return r;
}

/* The signatures of those known before come first: nothing of the payload is read until they hold. */
static int check_ring(Opening *opening) {
        int r;

        r = roots_have_signed(&opening->anchor, &opening->ring);
        if (r == 0)
                return refuse(opening, "too few of the known roots have signed the keyring");
        if (r > 0)
                r = keyring_document_read(&opening->ring, &opening->document, &opening->wrong);
        if (r == 0)
                r = roots_have_signed(&opening->document.roots, &opening->ring);
        if (r == -EBADMSG)
                return -EKEYREJECTED;
        if (r <= 0)
                return r < 0 ? r : refuse(opening, "too few of its own roots have signed the keyring");
        if (opening->document.keyring->version < opening->version)
                return refuse(opening, "a newer keyring has been seen before");
        return 0;
}

static bool is_same(const Ring *a, const Ring *b) {
        return a->n_pae == b->n_pae && memcmp(a->pae, b->pae, a->n_pae) == 0;
}

static int open_ring(Opening *opening, const char *text, size_t n, const char *roots, RecordState *state) {
        int r;

        r = ring_parse(text, n, &opening->ring, &opening->wrong);
        if (r == -EBADMSG)
                return roots || state ? -EKEYREJECTED : r;
        if (r == 0)
                r = find_anchor(opening, state, roots);
        if (r == 0)
                r = check_ring(opening);
        if (r < 0 || !state)
                return r;
        if (opening->is_remembered && opening->document.keyring->version == opening->version)
                return is_same(&opening->ring, &opening->before) ? 0 : refuse(opening, "another keyring of the same version has been seen before");
        return state_write_keyring(state, text, n);
}

/* A text is believed by whoever names it; where roots are known it must not take the place of what they sign. */
static int open_text(Opening *opening, const char *text, size_t n, const char *roots, const RecordState *state, RecordKeyring **ret) {
        _cleanup_free_ char *kept = NULL;
        size_t n_kept;
        int r;

        r = state ? state_read_keyring(state, &kept, &n_kept) : -ENOENT;
        if (r != -ENOENT && r < 0)
                return r;
        if (roots || r == 0)
                return refuse(opening, "no root has signed the keyring");
        r = keyring_parse(text, n, ret, opening->text);
        if (r == -EBADMSG)
                opening->wrong = opening->text;
        return r;
}

int record_keyring_open(const char *path, const char *roots, RecordState *state, RecordKeyring **ret, char **ret_why) {
        _cleanup_(opening_done) Opening opening = {};
        _cleanup_free_ char *text = NULL;
        size_t n = 0;
        int r;

        assert(path && ret && ret_why);

        r = whole_file_drain(path, KEYRING_FILE_MAX, &text, &n);
        if (r == 0 && n > 0 && text[0] == '{') {
                r = open_ring(&opening, text, n, roots, state);
                if (r == 0)
                        *ret = TAKE_PTR(opening.document.keyring);
        } else if (r == 0)
                r = open_text(&opening, text, n, roots, state, ret);
        if (r < 0) {
                *ret_why = strdup(opening.wrong ?: strerror(-r));
                return *ret_why ? r : -ENOMEM;
        }
        return 0;
}
