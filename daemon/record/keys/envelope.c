/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/keys/envelope.h"

#include <ctype.h>
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

void leaf_print(Printer *leaf, const Envelope *envelope, const PublicKey *key) {
        const Signature *signature = &envelope->signatures[0];

        printer_text(leaf,
                     "{\"apiVersion\":\"0.0.2\",\"kind\":\"hashedrekord\",\"spec\":{\"hashedRekordV002\":"
                     "{\"data\":{\"algorithm\":\"SHA2_256\",\"digest\":\"");
        printer_base64(leaf, envelope->id, DIGEST_BYTES);
        printer_text(leaf, "\"},\"signature\":{\"content\":\"");
        printer_base64(leaf, signature->bytes, signature->n);
        printer_text(leaf, "\",\"verifier\":{\"keyDetails\":\"");
        printer_text(leaf, public_key_details(key));
        printer_text(leaf, "\",\"publicKey\":{\"rawBytes\":\"");
        printer_base64(leaf, key->spki, key->n_spki);
        printer_text(leaf, "\"}}}}}}");
}

int leaf_hash(const Envelope *envelope, const PublicKey *key, TreeHash *ret) {
        _cleanup_printer_ Printer leaf = {};

        leaf_print(&leaf, envelope, key);
        return leaf.error ?: tree_leaf(leaf.text, leaf.n, ret);
}

/* What stands before payload, key ID and signature, and behind them. */
static const char *const form[] = {
        "{\"payload\":\"",
        "\",\"payloadType\":\"" RECORD_PAYLOAD_TYPE "\",\"signatures\":[{\"keyid\":\"",
        "\",\"sig\":\"",
        "\"}]}",
};

int envelope_init(Envelope *envelope, const char *type, const void *payload, size_t n, size_t max) {
        _cleanup_(envelope_done) Envelope made = { .signatures = calloc(max, sizeof(Signature)), .n_max = max };
        _cleanup_printer_ Printer pae = {};

        pae_print(&pae, type, payload, n);
        /* A library that hashes at all fails for want of memory alone. */
        if (!made.signatures || pae.error < 0 || digest_sha256(pae.text, pae.n, made.id) < 0)
                return -ENOMEM;
        made.n_pae = pae.n;
        made.payload_offset = pae.n - n;
        made.pae = TAKE_PTR(pae.text);
        *envelope = made;
        made = (Envelope) {};
        return 0;
}

void envelope_done(Envelope *envelope) {
        free(envelope->pae);
        free(envelope->signatures);
        *envelope = (Envelope) {};
}

int envelope_add(Envelope *envelope, const RecordKey *key) {
        Signature signature = {};
        size_t i = 0;
        int r;

        (void) strcpy(signature.key_id, record_key_id(key));
        while (i < envelope->n_signatures && strcmp(envelope->signatures[i].key_id, signature.key_id) != 0)
                i++;
        if (i == envelope->n_max)
                return -E2BIG;
        r = key_sign(key, envelope->pae, envelope->n_pae, signature.bytes, &signature.n);
        if (r < 0)
                return r;
        envelope->signatures[i] = signature;
        if (i == envelope->n_signatures)
                envelope->n_signatures++;
        return 0;
}

int envelope_verify(const Envelope *envelope, const PublicKey *key) {
        int r = 0;

        for (size_t i = 0; i < envelope->n_signatures && r == 0; i++)
                r = public_key_verify(key, envelope->pae, envelope->n_pae, envelope->signatures[i].bytes, envelope->signatures[i].n);
        return r;
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

static Part string_part(const json_t *object, const char *key) {
        const json_t *string = json_object_get(object, key);

        return (Part) { json_string_value(string), json_string_length(string) };
}

static int wrong(const char **ret_wrong, const char *sentence) {
        *ret_wrong = sentence;
        return -EBADMSG;
}

static int take_payload(const Part *part, const char *type, size_t max, Envelope *ret, const char **ret_wrong) {
        _cleanup_free_ uint8_t *bytes = malloc(part->n + 4);
        size_t n;

        if (!bytes)
                return -ENOMEM;
        if (!part->text || base64_decode(part->text, part->n, bytes, &n) < 0)
                return wrong(ret_wrong, "the payload is not strict base64");
        return envelope_init(ret, type, bytes, n, max);
}

static int take_signature(const Part *part, const Part *key_id, Envelope *envelope, const char **ret_wrong) {
        Signature *signature = &envelope->signatures[envelope->n_signatures++];

        if (!part->text || part->n == 0 || part->n > BASE64_SIZE(sizeof(signature->bytes)) ||
            base64_decode(part->text, part->n, signature->bytes, &signature->n) < 0)
                return wrong(ret_wrong, "the signature is not strict base64");
        if (key_id->text && key_id->n < sizeof(signature->key_id))
                memcpy(signature->key_id, key_id->text, key_id->n);
        return 0;
}

static bool is_like(const char *key, const char *name) {
        for (;; name++) {
                key += strspn(key, "_");
                if (tolower((unsigned char) *key) != tolower((unsigned char) *name))
                        return false;
                if (!*key++)
                        return true;
        }
}

static bool is_odd(const char *key) {
        static const char *const names[] = { "payload", "payloadType", "signatures", "keyid", "sig", ENVELOPE_OF_BUNDLE };

        for (const char *p = key; *p; p++)
                if (*p & 0x80)
                        return true;
        for (size_t i = 0; i < ELEMENTS(names); i++)
                if (is_like(key, names[i]))
                        return strcmp(key, names[i]) != 0;
        return false;
}

bool envelope_is_ambiguous(const json_t *object) {
        const char *key;
        json_t *member;

        json_object_foreach((json_t *) (uintptr_t) object, key, member)
                if (is_odd(key))
                        return true;
        return false;
}

int envelope_take(const json_t *object, const char *type, size_t max, Envelope *ret, const char **ret_wrong) {
        _cleanup_(envelope_done) Envelope envelope = {};
        static const char ambiguous[] = "it has a member that other readers take for another one";
        const json_t *signatures = json_object_get(object, "signatures"), *signature;
        Part payload = string_part(object, "payload");
        size_t i;
        int r;

        if (json_object_get(object, ENVELOPE_OF_BUNDLE))
                return wrong(ret_wrong, "it is an envelope and a bundle: each reader would take another record for it");
        if (envelope_is_ambiguous(object))
                return wrong(ret_wrong, ambiguous);
        if (strcmp(text_of(object, "payloadType"), type) != 0)
                return wrong(ret_wrong, "it has another payload type");
        if (payload.n > RECORD_ENVELOPE_MAX)
                return wrong(ret_wrong, "the envelope is larger than 1 MiB");
        if (json_array_size(signatures) == 0 || json_array_size(signatures) > max)
                return wrong(ret_wrong, max == 1 ? "there is not exactly one signature" : "there are no signatures, or too many");
        r = take_payload(&payload, type, max, &envelope, ret_wrong);
        json_array_foreach((json_t *) signatures, i, signature) {
                Part sig = string_part(signature, "sig"), key_id = string_part(signature, "keyid");

                if (r == 0 && envelope_is_ambiguous(signature))
                        r = wrong(ret_wrong, ambiguous);
                if (r == 0 && json_object_get(signature, "keyid") && !key_id.text)
                        r = wrong(ret_wrong, "the keyid is not a string");
                if (r == 0)
                        r = take_signature(&sig, &key_id, &envelope, ret_wrong);
        }
        if (r < 0)
                return r;
        *ret = envelope;
        envelope = (Envelope) {};
        return 0;
}

int envelope_parse(const char *text, size_t n, Envelope *ret, const char **ret_wrong) {
        _cleanup_(envelope_done) Envelope envelope = {};
        _cleanup_json_ json_t *object = NULL;
        Part parts[_PART_MAX];
        int r;

        if (n > RECORD_ENVELOPE_MAX)
                return wrong(ret_wrong, "the envelope is larger than 1 MiB");
        if (!take_own_form(text, n, parts)) {
                r = json_read(text, n, &object, ret_wrong);
                return r < 0 ? r : envelope_take(object, RECORD_PAYLOAD_TYPE, 1, ret, ret_wrong);
        }
        r = take_payload(&parts[PART_PAYLOAD], RECORD_PAYLOAD_TYPE, 1, &envelope, ret_wrong);
        if (r == 0)
                r = take_signature(&parts[PART_SIGNATURE], &parts[PART_KEY_ID], &envelope, ret_wrong);
        if (r < 0)
                return r;
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
        length = strlen(envelope->signatures[0].key_id) + BASE64_SIZE(n) + BASE64_SIZE(envelope->signatures[0].n);
        for (size_t i = 0; i < ELEMENTS(form); i++)
                length += strlen(form[i]);
        return length;
}

int envelope_sign(const RecordKey *key, const void *payload, size_t n, Signed *ret) {
        _cleanup_(signed_done) Signed record = {};
        Envelope *envelope = &record.envelope;
        int r;

        r = envelope_init(envelope, RECORD_PAYLOAD_TYPE, payload, n, 1);
        if (r == 0)
                r = envelope_add(envelope, key);
        if (r == 0 && envelope_length(envelope) > RECORD_ENVELOPE_MAX)
                r = -EMSGSIZE;
        if (r == 0)
                r = leaf_hash(envelope, key_public(key), &record.leaf);
        if (r < 0)
                return r;

        *ret = record;
        record = (Signed) {};
        return 0;
}
