/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/roots.h"

#include <string.h>

#include "daemon/record/keys/keyring.h"
#include "daemon/record/tree/lines.h"

void roots_done(Roots *roots) {
        for (size_t i = 0; i < roots->n; i++)
                public_key_done(&roots->keys[i]);
        *roots = (Roots) {};
}

int roots_add(Roots *roots, PublicKey *key) {
        bool is_there = roots->n == ROOTS_MAX;

        for (size_t i = 0; i < roots->n; i++)
                is_there = is_there || strcmp(roots->keys[i].id, key->id) == 0;
        if (is_there) {
                public_key_done(key);
                return -EBADMSG;
        }
        roots->keys[roots->n++] = *key;
        *key = (PublicKey) {};
        return 0;
}

/* No line of base64 has a space. PEM may have CR LF, and so may what stands beside it. */
static int parse_threshold(const char *text, size_t n, uint64_t *ret) {
        unsigned n_found = 0;

        for (const char *line = text, *end; line < text + n; line = end + 1) {
                Line one, rest;

                end = memchr(line, '\n', n - (size_t) (line - text)) ?: text + n;
                one = (Line) { line, (size_t) (end - line) - (end > line && end[-1] == '\r') };
                if (line_after(&one, "threshold", &rest) < 0)
                        continue;
                if (line_number(&rest, ret) < 0 || n_found++ > 0)
                        return -EBADMSG;
        }
        return 0;
}

int roots_parse(Roots *roots, const char *text, size_t n) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_(roots_done) Roots found = {};
        uint64_t threshold;
        int r;

        r = record_keyring_parse(text, n, &keyring);
        if (r < 0)
                return r;
        threshold = keyring->n_keys;
        r = parse_threshold(text, n, &threshold);
        for (size_t i = 0; i < keyring->n_keys && r == 0; i++)
                r = roots_add(&found, &keyring->keys[i].key);
        if (r == 0 && (threshold == 0 || threshold > found.n))
                r = -EBADMSG;
        if (r < 0)
                return r;
        found.threshold = (unsigned) threshold;
        *roots = found;
        found = (Roots) {};
        return 0;
}

int roots_count_signed(const Roots *roots, const Ring *ring) {
        int n = 0;

        for (size_t i = 0; i < roots->n; i++)
                for (size_t k = 0; k < ring->n_signatures; k++) {
                        int r = public_key_verify(&roots->keys[i], ring->pae, ring->n_pae, ring->signatures[k].bytes,
                                                  ring->signatures[k].n);

                        if (r < 0)
                                return r;
                        if (r > 0) {
                                n++;
                                break;
                        }
                }
        return n;
}

int roots_have_signed(const Roots *roots, const Ring *ring) {
        int n = roots_count_signed(roots, ring);

        return n < 0 ? n : roots->threshold > 0 && (unsigned) n >= roots->threshold;
}
