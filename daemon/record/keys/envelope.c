/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/envelope.h"

#include <stdbool.h>
#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/json.h"

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

void leaf_print(Printer *leaf, const PublicKey *key, const uint8_t id[static DIGEST_BYTES], const uint8_t *signature, size_t n_signature) {
        printer_text(leaf,
                     "{\"apiVersion\":\"0.0.2\",\"kind\":\"hashedrekord\",\"spec\":{\"hashedRekordV002\":"
                     "{\"data\":{\"algorithm\":\"SHA2_256\",\"digest\":\"");
        printer_base64(leaf, id, DIGEST_BYTES);
        printer_text(leaf, "\"},\"signature\":{\"content\":\"");
        printer_base64(leaf, signature, n_signature);
        printer_text(leaf, "\",\"verifier\":{\"keyDetails\":\"");
        printer_text(leaf, public_key_details(key));
        printer_text(leaf, "\",\"publicKey\":{\"rawBytes\":\"");
        printer_base64(leaf, key->spki, key->n_spki);
        printer_text(leaf, "\"}}}}}}");
}

int leaf_hash(const PublicKey *key, const uint8_t id[static DIGEST_BYTES], const uint8_t *signature, size_t n_signature, TreeHash *ret) {
        _cleanup_printer_ Printer leaf = {};

        leaf_print(&leaf, key, id, signature, n_signature);
        if (leaf.error < 0)
                return leaf.error;
        return tree_leaf(leaf.text, leaf.n, ret);
}

/* What stands before payload, key ID and signature, and behind them. */
static const char *const form[] = {
        "{\"payload\":\"",
        "\",\"payloadType\":\"" RECORD_PAYLOAD_TYPE "\",\"signatures\":[{\"keyid\":\"",
        "\",\"sig\":\"",
        "\"}]}",
};

void envelope_done(Envelope *envelope) {
        free(envelope->pae);
        *envelope = (Envelope) {};
}

/* What differs from one envelope to another, as it stands there. */
typedef struct Part {
        const char *text; /* NULL: missing, or no string */
        size_t n;
} Part;

typedef enum PartName { PART_PAYLOAD, PART_KEY_ID, PART_SIGNATURE, _PART_MAX } PartName;

static bool is_plain(const char *text, size_t n) {
        uint8_t odd = 0;

        for (size_t i = 0; i < n; i++)
                odd |= (uint8_t) (text[i] - 0x20) > 0x5e || text[i] == '\\';
        return !odd;
}

/*
 * An envelope as envelope_print() writes it, and as nearly all are: to read it like any JSON takes as long as to verify it. Whatever
 * else it may be the general reader knows.
 */
static bool take_own_form(const char *text, size_t n, Part parts[static _PART_MAX]) {
        for (size_t i = 0;; i++) {
                size_t n_form = strlen(form[i]);
                const char *end;

                if (n < n_form || memcmp(text, form[i], n_form) != 0)
                        return false;
                text += n_form;
                n -= n_form;
                if (i == _PART_MAX)
                        return n == 0;
                end = memchr(text, '"', n);
                if (!end || !is_plain(text, (size_t) (end - text)))
                        return false;
                parts[i] = (Part) { text, (size_t) (end - text) };
                n -= parts[i].n;
                text = end;
        }
}

static Part string_part(const json_t *string) {
        return (Part) { json_string_value(string), json_string_length(string) };
}

static int take_json(const json_t *object, Part parts[static _PART_MAX], const char **ret_wrong) {
        const char *type = json_string_value(json_object_get(object, "payloadType"));
        const json_t *signatures = json_object_get(object, "signatures"), *signature, *key_id;

        if (!type || strcmp(type, RECORD_PAYLOAD_TYPE) != 0) {
                *ret_wrong = "the payload type is not " RECORD_PAYLOAD_TYPE;
                return -EBADMSG;
        }
        if (!json_is_array(signatures) || json_array_size(signatures) != 1) {
                *ret_wrong = "there is not exactly one signature";
                return -EBADMSG;
        }
        signature = json_array_get(signatures, 0);
        key_id = json_object_get(signature, "keyid");
        if (key_id && !json_is_string(key_id)) {
                *ret_wrong = "the keyid is not a string";
                return -EBADMSG;
        }
        parts[PART_PAYLOAD] = string_part(json_object_get(object, "payload"));
        parts[PART_KEY_ID] = string_part(key_id);
        parts[PART_SIGNATURE] = string_part(json_object_get(signature, "sig"));
        return 0;
}

static int take_signature(const Part *part, Envelope *envelope, const char **ret_wrong) {
        if (!part->text || part->n == 0 || part->n > BASE64_SIZE(sizeof(envelope->signature) - 3) ||
            base64_decode(part->text, part->n, envelope->signature, &envelope->n_signature) < 0) {
                *ret_wrong = "the signature is not strict base64";
                return -EBADMSG;
        }
        return 0;
}

static int take_pae(const void *payload, size_t n, Envelope *envelope) {
        _cleanup_printer_ Printer pae = {};

        pae_print(&pae, RECORD_PAYLOAD_TYPE, payload, n);
        if (pae.error < 0)
                return pae.error;
        envelope->n_pae = pae.n;
        envelope->payload_offset = pae.n - n;
        envelope->pae = TAKE_PTR(pae.text);
        return 0;
}

static int take_payload(const Part *part, Envelope *envelope, const char **ret_wrong) {
        _cleanup_free_ uint8_t *bytes = NULL;
        size_t n;

        bytes = malloc(part->n + 4);
        if (!bytes)
                return -ENOMEM;
        if (!part->text || base64_decode(part->text, part->n, bytes, &n) < 0) {
                *ret_wrong = "the payload is not strict base64";
                return -EBADMSG;
        }
        return take_pae(bytes, n, envelope);
}

int envelope_parse(const char *text, size_t n, Envelope *ret, const char **ret_wrong) {
        _cleanup_(envelope_done) Envelope envelope = {};
        _cleanup_json_ json_t *object = NULL;
        Part parts[_PART_MAX];
        int r;

        if (n > RECORD_ENVELOPE_MAX) {
                *ret_wrong = "the envelope is larger than 1 MiB";
                return -EBADMSG;
        }
        if (!take_own_form(text, n, parts)) {
                r = json_read(text, n, &object, ret_wrong);
                if (r == 0)
                        r = take_json(object, parts, ret_wrong);
                if (r < 0)
                        return r;
        }
        r = take_signature(&parts[PART_SIGNATURE], &envelope, ret_wrong);
        if (r == 0)
                r = take_payload(&parts[PART_PAYLOAD], &envelope, ret_wrong);
        if (r < 0)
                return r;
        if (parts[PART_KEY_ID].text && parts[PART_KEY_ID].n < sizeof(envelope.key_id))
                memcpy(envelope.key_id, parts[PART_KEY_ID].text, parts[PART_KEY_ID].n);

        *ret = envelope;
        envelope = (Envelope) {};
        return 0;
}

int envelope_read_payload(const Envelope *envelope, json_t **ret, const char **ret_wrong) {
        size_t n;
        const char *payload = envelope_payload(envelope, &n);

        return json_read(payload, n, ret, ret_wrong);
}

void envelope_print(Printer *printer, const char *key_id, const void *payload, size_t n, const void *signature, size_t n_signature) {
        printer_text(printer, form[0]);
        printer_base64(printer, payload, n);
        printer_text(printer, form[1]);
        if (key_id && is_plain(key_id, strlen(key_id)) && !strchr(key_id, '"'))
                printer_text(printer, key_id);
        printer_text(printer, form[2]);
        printer_base64(printer, signature, n_signature);
        printer_text(printer, form[3]);
}

void signed_done(Signed *record) {
        envelope_done(&record->envelope);
}

/* How long its text is. */
static size_t envelope_length(const Envelope *envelope) {
        size_t length, n;

        (void) envelope_payload(envelope, &n);
        length = strlen(envelope->key_id) + BASE64_SIZE(n) + BASE64_SIZE(envelope->n_signature);
        for (size_t i = 0; i < ELEMENTS(form); i++)
                length += strlen(form[i]);
        return length;
}

int envelope_sign(const RecordKey *key, const void *payload, size_t n, Signed *ret) {
        _cleanup_(signed_done) Signed record = {};
        Envelope *envelope = &record.envelope;
        int r;

        r = take_pae(payload, n, envelope);
        if (r < 0)
                return r;
        (void) strcpy(envelope->key_id, record_key_id(key));
        r = key_sign(key, envelope->pae, envelope->n_pae, envelope->signature, &envelope->n_signature);
        if (r == 0 && envelope_length(envelope) > RECORD_ENVELOPE_MAX)
                r = -EMSGSIZE;
        if (r == 0)
                r = digest_sha256(envelope->pae, envelope->n_pae, record.id);
        if (r == 0)
                r = leaf_hash(key_public(key), record.id, envelope->signature, envelope->n_signature, &record.leaf);
        if (r < 0)
                return r;

        *ret = record;
        record = (Signed) {};
        return 0;
}
