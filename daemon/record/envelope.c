/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/envelope.h"

#include <jansson.h>
#include <string.h>

#include "daemon/record/base64.h"
#include "daemon/record/json.h"

void pae_print(Printer *pae, const char *type, const void *payload, size_t n) {
        printer_text(pae, "DSSEv1 ");
        printer_digits(pae, strlen(type));
        printer_text(pae, " ");
        printer_text(pae, type);
        printer_text(pae, " ");
        printer_digits(pae, n);
        printer_text(pae, " ");
        printer_raw(pae, payload, n);
}

static void print_base64(Printer *printer, const void *data, size_t n) {
        char *to = printer_room(printer, BASE64_SIZE(n));

        if (to)
                (void) base64_encode(data, n, to);
}

void leaf_print(Printer *leaf, const PublicKey *key, const uint8_t id[static DIGEST_BYTES], const uint8_t *signature, size_t n_signature) {
        printer_text(leaf,
                     "{\"apiVersion\":\"0.0.2\",\"kind\":\"hashedrekord\",\"spec\":{\"hashedRekordV002\":"
                     "{\"data\":{\"algorithm\":\"SHA2_256\",\"digest\":\"");
        print_base64(leaf, id, DIGEST_BYTES);
        printer_text(leaf, "\"},\"signature\":{\"content\":\"");
        print_base64(leaf, signature, n_signature);
        printer_text(leaf, "\",\"verifier\":{\"keyDetails\":\"");
        printer_text(leaf, public_key_details(key));
        printer_text(leaf, "\",\"publicKey\":{\"rawBytes\":\"");
        print_base64(leaf, key->spki, key->n_spki);
        printer_text(leaf, "\"}}}}}}");
}

int leaf_hash(const PublicKey *key, const uint8_t id[static DIGEST_BYTES], const uint8_t *signature, size_t n_signature, TreeHash *ret) {
        _cleanup_printer_ Printer leaf = {};

        leaf_print(&leaf, key, id, signature, n_signature);
        if (leaf.error < 0)
                return leaf.error;
        return tree_leaf(leaf.text, leaf.n, ret);
}

static void envelope_print(Printer *printer, const RecordKey *key, const void *payload, size_t n,
                           const uint8_t *signature, size_t n_signature) {
        printer_text(printer, "{\"payload\":\"");
        print_base64(printer, payload, n);
        printer_text(printer,
                     "\",\"payloadType\":\"" RECORD_PAYLOAD_TYPE "\",\"signatures\":[{\"keyid\":\"");
        printer_text(printer, record_key_id(key));
        printer_text(printer, "\",\"sig\":\"");
        print_base64(printer, signature, n_signature);
        printer_text(printer, "\"}]}");
}

void signed_done(Signed *record) {
        printer_done(&record->envelope);
}

int envelope_sign(const RecordKey *key, const void *payload, size_t n, Signed *ret) {
        _cleanup_(signed_done) Signed record = {};
        _cleanup_printer_ Printer pae = {};
        uint8_t signature[KEY_SIGNATURE_MAX];
        size_t n_signature;
        int r;

        pae_print(&pae, RECORD_PAYLOAD_TYPE, payload, n);
        if (pae.error < 0)
                return pae.error;
        r = key_sign(key, pae.text, pae.n, signature, &n_signature);
        if (r < 0)
                return r;
        r = digest_sha256(pae.text, pae.n, record.id);
        if (r < 0)
                return r;
        r = leaf_hash(key_public(key), record.id, signature, n_signature, &record.leaf);
        if (r < 0)
                return r;

        envelope_print(&record.envelope, key, payload, n, signature, n_signature);
        if (record.envelope.error < 0)
                return record.envelope.error;
        if (record.envelope.n > RECORD_ENVELOPE_MAX)
                return -EMSGSIZE;

        *ret = record;
        record = (Signed) {};
        return 0;
}

void envelope_done(Envelope *envelope) {
        free(envelope->pae);
        *envelope = (Envelope) {};
}

static int take_signature(json_t *signature, Envelope *envelope, const char **ret_wrong) {
        const char *key_id, *text;
        json_t *sig;
        size_t n;

        if (json_is_object(signature) && json_object_get(signature, "keyid") &&
            !json_is_string(json_object_get(signature, "keyid"))) {
                *ret_wrong = "the keyid is not a string";
                return -EBADMSG;
        }
        sig = json_object_get(signature, "sig");
        text = json_string_value(sig);
        n = json_string_length(sig);
        if (!text || n == 0 || n > BASE64_SIZE(sizeof(envelope->signature) - 3) ||
            base64_decode(text, n, envelope->signature, &envelope->n_signature) < 0) {
                *ret_wrong = "the signature is not strict base64";
                return -EBADMSG;
        }
        key_id = json_string_value(json_object_get(signature, "keyid"));
        if (key_id && strlen(key_id) < sizeof(envelope->key_id))
                (void) strcpy(envelope->key_id, key_id);
        return 0;
}

static int take_payload(json_t *payload, Envelope *envelope, const char **ret_wrong) {
        _cleanup_free_ uint8_t *bytes = NULL;
        _cleanup_printer_ Printer pae = {};
        const char *text = json_string_value(payload);
        size_t n;

        bytes = malloc(json_string_length(payload) + 4);
        if (!bytes)
                return -ENOMEM;
        if (!text || base64_decode(text, json_string_length(payload), bytes, &n) < 0) {
                *ret_wrong = "the payload is not strict base64";
                return -EBADMSG;
        }
        pae_print(&pae, RECORD_PAYLOAD_TYPE, bytes, n);
        if (pae.error < 0)
                return pae.error;
        envelope->n_pae = pae.n;
        envelope->payload_offset = pae.n - n;
        envelope->pae = TAKE_PTR(pae.text);
        return 0;
}

int envelope_parse(const char *text, size_t n, Envelope *ret, const char **ret_wrong) {
        _cleanup_(envelope_done) Envelope envelope = {};
        _cleanup_json_ json_t *object = NULL;
        const char *type;
        json_t *signatures;
        int r;

        if (n > RECORD_ENVELOPE_MAX) {
                *ret_wrong = "the envelope is larger than 1 MiB";
                return -EBADMSG;
        }
        r = json_read(text, n, &object, ret_wrong);
        if (r < 0)
                return r;

        type = json_string_value(json_object_get(object, "payloadType"));
        if (!type || strcmp(type, RECORD_PAYLOAD_TYPE) != 0) {
                *ret_wrong = "the payload type is not " RECORD_PAYLOAD_TYPE;
                return -EBADMSG;
        }
        signatures = json_object_get(object, "signatures");
        if (!json_is_array(signatures) || json_array_size(signatures) != 1) {
                *ret_wrong = "there is not exactly one signature";
                return -EBADMSG;
        }
        r = take_signature(json_array_get(signatures, 0), &envelope, ret_wrong);
        if (r < 0)
                return r;
        r = take_payload(json_object_get(object, "payload"), &envelope, ret_wrong);
        if (r < 0)
                return r;

        *ret = envelope;
        envelope = (Envelope) {};
        return 0;
}
