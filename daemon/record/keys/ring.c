/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/ring.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"

#define OLD_PAYLOAD_TYPE "application/vnd.assay.keyring+json"

static int wrong(char ret_wrong[static KEYRING_WRONG_MAX], const char *sentence) {
        (void) snprintf(ret_wrong, KEYRING_WRONG_MAX, "%s", sentence);
        return -EBADMSG;
}

int ring_parse(const char *text, size_t n, Envelope *ret, char ret_wrong[static KEYRING_WRONG_MAX]) {
        _cleanup_json_ json_t *object = NULL;
        const char *odd;
        int r;

        if (n > KEYRING_FILE_MAX)
                return wrong(ret_wrong, "it is larger than 1 MiB");
        r = json_read(text, n, &object, &odd);
        if (r == 0 && strcmp(text_of(object, "payloadType"), OLD_PAYLOAD_TYPE) == 0)
                return wrong(ret_wrong, "its payload is JSON, as of earlier versions: write it as a text, and have it signed anew with assayctl keys ring");
        if (r == 0)
                r = envelope_take(object, RING_PAYLOAD_TYPE, RING_SIGNATURES_MAX, ret, &odd);
        return r == -EBADMSG ? wrong(ret_wrong, odd) : r;
}

void ring_print(Printer *printer, const Envelope *ring) {
        size_t n;
        const char *payload = envelope_payload(ring, &n);

        printer_open(printer, '{');
        printer_member_base64(printer, "payload", payload, n);
        printer_member_always(printer, "payloadType", RING_PAYLOAD_TYPE);
        printer_key(printer, "signatures");
        printer_open(printer, '[');
        for (size_t i = 0; i < ring->n_signatures; i++) {
                printer_open(printer, '{');
                printer_member(printer, "keyid", ring->signatures[i].key_id);
                printer_member_base64(printer, "sig", ring->signatures[i].bytes, ring->signatures[i].n);
                printer_close(printer, '}');
        }
        printer_close(printer, ']');
        printer_close(printer, '}');
        printer_text(printer, "\n");
}

/* ---- what it says ---- */

int ring_read(const Envelope *ring, RecordKeyring **ret, char ret_wrong[static KEYRING_WRONG_MAX]) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        size_t n;
        const char *payload = envelope_payload(ring, &n);
        int r;

        r = keyring_read(payload, n, &keyring, ret_wrong);
        if (r < 0)
                return r;
        /* A line that means nothing in a station's text may here be a bound that nobody keeps. */
        if (keyring->remark > 0) {
                (void) snprintf(ret_wrong, KEYRING_WRONG_MAX, "line %u begins with no word of a keyring, nor with #", keyring->remark);
                return -EBADMSG;
        }
        if (keyring->version == 0)
                return wrong(ret_wrong, "the keyring has no `version N`");
        if (keyring->expires_usec == UINT64_MAX)
                return wrong(ret_wrong, "the keyring does not say when it expires");
        if (keyring->threshold == 0 || keyring->threshold > keyring->n_roots)
                return wrong(ret_wrong, "the keyring names no roots, or fewer than its threshold");
        for (size_t i = 0; i < keyring->n_keys; i++)
                if (!keyring->keys[i].producer[0])
                        return wrong(ret_wrong, "a key of the keyring is bound to no producer and log: name it in a line `record KEY PRODUCER ORIGIN`");
        *ret = TAKE_PTR(keyring);
        return 0;
}

/* How many roots of KEYRING have signed RING, each counted once; -ENOMEM. */
static int ring_count_signed(const Envelope *ring, const RecordKeyring *keyring) {
        int n = 0, r = 0;

        for (size_t i = 0; i < keyring->n_roots && r >= 0; i++) {
                r = envelope_verify(ring, &keyring->roots[i]);
                n += r > 0;
        }
        return r < 0 ? r : n;
}

int ring_is_signed(const Envelope *ring, const RecordKeyring *keyring) {
        int n = ring_count_signed(ring, keyring);

        return n < 0 ? n : keyring->threshold > 0 && (unsigned) n >= keyring->threshold;
}

/* ---- signing ---- */

/* Signs what a reader takes, and nothing else. */
static int sign(Envelope *ring, const RecordKey *root, RecordRing *ret, char wrong_text[static KEYRING_WRONG_MAX]) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        _cleanup_printer_ Printer text = {};
        RecordRing made = {};
        int r;

        r = ring_read(ring, &keyring, wrong_text);
        if (r == 0)
                r = envelope_add(ring, root);
        if (r == -E2BIG)
                return wrong(wrong_text, "too many have signed it, or it is too large");
        if (r == 0)
                r = ring_count_signed(ring, keyring);
        if (r < 0)
                return r;
        ring_print(&text, ring);
        if (text.error < 0)
                return text.error;
        made.n_signed = (unsigned) r;
        made.threshold = keyring->threshold;
        for (size_t i = 0; i < keyring->n_roots; i++)
                made.has_root = made.has_root || strcmp(keyring->roots[i].id, record_key_id(root)) == 0;
        made.text = TAKE_PTR(text.text);
        made.n = text.n;
        *ret = made;
        return 0;
}

int record_ring_sign(const char *text, size_t n, bool is_signed, const RecordKey *root, RecordRing *ret, char **ret_why) {
        _cleanup_(envelope_done) Envelope ring = {};
        char wrong_text[KEYRING_WRONG_MAX] = "";
        int r;

        assert(text && root && ret && ret_why);

        r = is_signed ? ring_parse(text, n, &ring, wrong_text) : envelope_init(&ring, RING_PAYLOAD_TYPE, text, n, RING_SIGNATURES_MAX);
        if (r == 0)
                r = sign(&ring, root, ret, wrong_text);
        if (r < 0) {
                *ret_why = strdup(r == -EBADMSG ? wrong_text : strerror(-r));
                return *ret_why ? r : -ENOMEM;
        }
        return 0;
}
