/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/ring.h"

#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/json.h"
#include "daemon/record/keys/envelope.h"
#include "daemon/record/keys/keyring.h"

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

static int wrong(const char **ret_wrong, const char *sentence) {
        *ret_wrong = sentence;
        return -EBADMSG;
}

static int take_signature(const json_t *object, RingSignature *ret, const char **ret_wrong) {
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

static int take_payload(const json_t *payload, Ring *ring, const char **ret_wrong) {
        _cleanup_free_ uint8_t *bytes = malloc(json_string_length(payload) + 4);
        size_t n;

        if (!bytes)
                return -ENOMEM;
        if (!json_is_string(payload) || base64_decode(json_string_value(payload), json_string_length(payload), bytes, &n) < 0)
                return wrong(ret_wrong, "the payload is not strict base64");
        return ring_init(ring, bytes, n);
}

int ring_parse(const char *text, size_t n, Ring *ret, const char **ret_wrong) {
        _cleanup_(ring_done) Ring ring = {};
        _cleanup_json_ json_t *object = NULL;
        const json_t *signatures;
        const char *type;
        int r;

        if (n > KEYRING_FILE_MAX)
                return wrong(ret_wrong, "it is larger than 1 MiB");
        r = json_read(text, n, &object, ret_wrong);
        if (r < 0)
                return r;
        type = text_of(object, "payloadType");
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
