/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/ring.h"

#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/keys/envelope.h"

#define OLD_PAYLOAD_TYPE "application/vnd.assay.keyring+json"

void ring_done(Ring *ring) {
        free(ring->pae);
        *ring = (Ring) {};
}

int ring_init(Ring *ring, const void *payload, size_t n) {
        Printer pae = {};

        pae_print(&pae, RING_PAYLOAD_TYPE, payload, n);
        if (pae.error < 0) {
                printer_done(&pae);
                return pae.error;
        }
        *ring = (Ring) { .pae = pae.text, .n_pae = pae.n, .payload_offset = pae.n - n };
        return 0;
}

static int wrong(char ret_wrong[static KEYRING_WRONG_MAX], const char *sentence) {
        (void) snprintf(ret_wrong, KEYRING_WRONG_MAX, "%s", sentence);
        return -EBADMSG;
}

static int take_signature(const json_t *object, RingSignature *ret, char ret_wrong[static KEYRING_WRONG_MAX]) {
        const json_t *key_id = json_object_get(object, "keyid"), *sig = json_object_get(object, "sig");
        uint8_t bytes[BASE64_SIZE(KEY_SIGNATURE_MAX)];
        size_t n = json_string_length(sig);

        if (key_id && !json_is_string(key_id))
                return wrong(ret_wrong, "a keyid is not a string");
        if (!json_is_string(sig) || n == 0 || n > sizeof(bytes) || base64_decode(json_string_value(sig), n, bytes, &n) < 0 ||
            n > KEY_SIGNATURE_MAX)
                return wrong(ret_wrong, "a signature is not strict base64");
        *ret = (RingSignature) { .n = n };
        memcpy(ret->bytes, bytes, n);
        if (key_id && json_string_length(key_id) < sizeof(ret->key_id))
                memcpy(ret->key_id, json_string_value(key_id), json_string_length(key_id));
        return 0;
}

static int take_payload(const json_t *payload, Ring *ring, char ret_wrong[static KEYRING_WRONG_MAX]) {
        _cleanup_free_ uint8_t *bytes = malloc(json_string_length(payload) + 4);
        size_t n;

        if (!bytes)
                return -ENOMEM;
        if (!json_is_string(payload) || base64_decode(json_string_value(payload), json_string_length(payload), bytes, &n) < 0)
                return wrong(ret_wrong, "the payload is not strict base64");
        return ring_init(ring, bytes, n);
}

int ring_parse(const char *text, size_t n, Ring *ret, char ret_wrong[static KEYRING_WRONG_MAX]) {
        _cleanup_(ring_done) Ring ring = {};
        _cleanup_json_ json_t *object = NULL;
        const json_t *signatures;
        const char *type, *odd;
        int r;

        if (n > KEYRING_FILE_MAX)
                return wrong(ret_wrong, "it is larger than 1 MiB");
        r = json_read(text, n, &object, &odd);
        if (r < 0)
                return r == -EBADMSG ? wrong(ret_wrong, odd) : r;
        type = text_of(object, "payloadType");
        if (strcmp(type, OLD_PAYLOAD_TYPE) == 0)
                return wrong(ret_wrong, "its payload is JSON, as of earlier versions: write it as a text, and have it signed anew with assayctl keys ring");
        if (strcmp(type, RING_PAYLOAD_TYPE) != 0)
                return wrong(ret_wrong, "the payload type is not " RING_PAYLOAD_TYPE);
        signatures = json_object_get(object, "signatures");
        if (!json_is_array(signatures) || json_array_size(signatures) == 0 || json_array_size(signatures) > RING_SIGNATURES_MAX)
                return wrong(ret_wrong, "there are no signatures, or more than 32");
        r = take_payload(json_object_get(object, "payload"), &ring, ret_wrong);
        for (size_t i = 0; i < json_array_size(signatures) && r == 0; i++)
                r = take_signature(json_array_get(signatures, i), &ring.signatures[ring.n_signatures++], ret_wrong);
        if (r < 0)
                return r;
        *ret = ring;
        ring = (Ring) {};
        return 0;
}

int ring_sign(Ring *ring, const RecordKey *root) {
        RingSignature signature = {};
        size_t i;
        int r;

        r = key_sign(root, ring->pae, ring->n_pae, signature.bytes, &signature.n);
        if (r < 0)
                return r;
        (void) strcpy(signature.key_id, record_key_id(root));
        for (i = 0; i < ring->n_signatures; i++)
                if (strcmp(ring->signatures[i].key_id, signature.key_id) == 0)
                        break;
        if (i == RING_SIGNATURES_MAX)
                return -E2BIG;
        if (i == ring->n_signatures)
                ring->n_signatures++;
        ring->signatures[i] = signature;
        return 0;
}

void ring_print(Printer *printer, const Ring *ring) {
        printer_open(printer, '{');
        printer_member_base64(printer, "payload", ring->pae + ring->payload_offset, ring->n_pae - ring->payload_offset);
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

int ring_read(const Ring *ring, RecordKeyring **ret, char ret_wrong[static KEYRING_WRONG_MAX]) {
        _cleanup_(record_keyring_freep) RecordKeyring *keyring = NULL;
        int r;

        r = keyring_read(ring->pae + ring->payload_offset, ring->n_pae - ring->payload_offset, &keyring, ret_wrong);
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

int ring_count_signed(const Ring *ring, const RecordKeyring *keyring) {
        int n = 0;

        for (size_t i = 0; i < keyring->n_roots; i++)
                for (size_t k = 0; k < ring->n_signatures; k++) {
                        const RingSignature *signature = &ring->signatures[k];
                        int r = public_key_verify(&keyring->roots[i], ring->pae, ring->n_pae, signature->bytes, signature->n);

                        if (r < 0)
                                return r;
                        if (r > 0) {
                                n++;
                                break;
                        }
                }
        return n;
}

int ring_is_signed(const Ring *ring, const RecordKeyring *keyring) {
        int n = ring_count_signed(ring, keyring);

        return n < 0 ? n : keyring->threshold > 0 && (unsigned) n >= keyring->threshold;
}
