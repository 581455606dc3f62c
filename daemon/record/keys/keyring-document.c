/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/encode/timestamp.h"
#include "daemon/record/keys/keyring-document.h"

#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/json.h"

#define NUMBER_MAX ((json_int_t) TREE_SIZE_MAX - 1)

void keyring_document_done(KeyringDocument *document) {
        document->keyring = record_keyring_free(document->keyring);
        roots_done(&document->roots);
}

static int wrong(const char **ret_wrong, const char *sentence) {
        *ret_wrong = sentence;
        return -EBADMSG;
}

/* ---- values ---- */

/* OTHERWISE where there is none. */
static bool take_number(const json_t *object, const char *key, uint64_t otherwise, uint64_t *ret) {
        const json_t *value = json_object_get(object, key);

        *ret = value ? (uint64_t) json_integer_value(value) : otherwise;
        return !value || (json_is_integer(value) && json_integer_value(value) >= 0 && json_integer_value(value) <= NUMBER_MAX);
}

/* yyyy-mm-ddThh:mm:ss[.fff…]Z */
static bool take_time(const json_t *object, const char *key, uint64_t *ret) {
        const char *text = text_of(object, key), *rest = strlen(text) > 19 ? text + 19 : "";

        if (*rest == '.' && strspn(rest + 1, "0123456789") > 0)
                rest += 1 + strspn(rest + 1, "0123456789");
        return strcmp(rest, "Z") == 0 && timestamp_parse(text, ret) == 0;
}

static bool take_text(const json_t *object, const char *key, char *ret, size_t size) {
        const char *text = text_of(object, key);

        if (!*text || strlen(text) >= size)
                return false;
        (void) strcpy(ret, text);
        return true;
}

/* A key is what its SPKI is; name and algorithm must say the same. */
static int take_key(const char *id, const json_t *entry, PublicKey *ret) {
        const json_t *text = json_object_get(entry, "spki");
        uint8_t spki[BASE64_SIZE(KEY_SPKI_MAX)];
        size_t n = json_string_length(text);
        int r;

        if (!json_is_string(text) || n > sizeof(spki) || base64_decode_standard(json_string_value(text), n, spki, &n) < 0)
                return -EBADMSG;
        r = public_key_from_spki(ret, spki, n);
        if (r < 0)
                return r;
        if (strcmp(ret->id, id) == 0 && strcmp(record_algorithm_to_string(ret->algorithm), text_of(entry, "algorithm")) == 0)
                return 0;
        public_key_done(ret);
        return -EBADMSG;
}

/* ---- parts ---- */

static int read_roots(const json_t *document, Roots *roots) {
        const json_t *root = json_object_get(document, "root"), *keys = json_object_get(root, "keys");
        uint64_t threshold;
        const char *id;
        json_t *entry;

        json_object_foreach((json_t *) keys, id, entry) {
                PublicKey key;
                int r = take_key(id, entry, &key);

                if (r == 0)
                        r = roots_add(roots, &key);
                if (r < 0)
                        return r;
        }
        if (!take_number(root, "threshold", 0, &threshold) || threshold == 0 || threshold > roots->n)
                return -EBADMSG;
        roots->threshold = (unsigned) threshold;
        return 0;
}

static int read_record_keys(const json_t *document, RecordKeyring *keyring) {
        const char *id;
        json_t *entry;

        json_object_foreach(json_object_get(document, "recordKeys"), id, entry) {
                KeyringKey key = {};
                int r;

                if (!take_text(entry, "producer", key.producer, sizeof(key.producer)) ||
                    !take_text(entry, "log", key.origin, sizeof(key.origin)) || !take_number(entry, "fromIndex", 0, &key.from_index) ||
                    !take_number(entry, "untilIndex", UINT64_MAX, &key.until_index) || key.from_index > key.until_index)
                        return -EBADMSG;
                r = take_key(id, entry, &key.key);
                if (r == 0)
                        r = keyring_add_key(keyring, &key);
                if (r < 0)
                        return r;
        }
        return 0;
}

static int read_logs(const json_t *document, RecordKeyring *keyring) {
        const json_t *least = json_object_get(document, "minIndex");
        size_t i, n_least = 0;
        json_t *entry;

        json_array_foreach(json_object_get(document, "logs"), i, entry) {
                KeyringLog log = {};
                int r;

                if (note_key_parse(&log.key, text_of(entry, "vkey")) < 0 || log.key.type != NOTE_LOG ||
                    !take_number(least, log.key.name, 0, &log.min_index))
                        return -EBADMSG;
                n_least += json_object_get(least, log.key.name) != NULL;
                r = keyring_add_log(keyring, &log);
                if (r < 0)
                        return r;
        }
        /* A bound on a log that is not named would be one that nobody keeps. */
        return n_least == json_object_size(least) ? 0 : -EBADMSG;
}

static int read_witnesses(const json_t *document, RecordKeyring *keyring) {
        json_t *entry;
        size_t i;

        json_array_foreach(json_object_get(document, "witnesses"), i, entry) {
                KeyringWitness witness = {};
                int r;

                if (!take_text(entry, "name", witness.name, sizeof(witness.name)) || !note_name_is_valid(witness.name) ||
                    note_key_parse(&witness.key, text_of(entry, "vkey")) < 0)
                        return -EBADMSG;
                r = keyring_add_witness(keyring, &witness);
                if (r < 0)
                        return r;
        }
        return keyring_check_witnesses(keyring);
}

/* Whoever names logs or witnesses says how many of these must have signed, if only 0: else he may think that he had asked for some. */
static int read_quorum(const json_t *document, RecordKeyring *keyring) {
        bool is_due = keyring->n_logs + keyring->n_witnesses > 0;
        uint64_t quorum;

        if (!take_number(document, "quorum", 0, &quorum) || (is_due && !json_object_get(document, "quorum")))
                return -EBADMSG;
        return keyring_set_quorum(keyring, quorum);
}

/* What must be an object or a list where it is there: to the loops above another thing would look like an empty one. */
static bool has_shape(const json_t *document) {
        static const struct {
                const char *name;
                json_type type;
                bool is_required;
        } fields[] = {
                { "root",       JSON_OBJECT,  true  },
                { "recordKeys", JSON_OBJECT,  true  },
                { "logs",       JSON_ARRAY,   false },
                { "witnesses",  JSON_ARRAY,   false },
                { "minIndex",   JSON_OBJECT,  false },
        };

        for (size_t i = 0; i < ELEMENTS(fields); i++) {
                const json_t *value = json_object_get(document, fields[i].name);

                if (value ? json_typeof(value) != fields[i].type : fields[i].is_required)
                        return false;
        }
        return true;
}

static int read_document(const json_t *document, KeyringDocument *ret, const char **ret_wrong) {
        RecordKeyring *keyring = ret->keyring;
        uint64_t issued;
        int r;

        if (strcmp(text_of(document, "_type"), KEYRING_TYPE) != 0 || !has_shape(document))
                return wrong(ret_wrong, "the payload is no " KEYRING_TYPE);
        if (!take_number(document, "version", 0, &keyring->version) || keyring->version == 0)
                return wrong(ret_wrong, "the keyring has no version");
        if (!take_time(document, "issuedOn", &issued) || !take_time(document, "expires", &keyring->expires_usec))
                return wrong(ret_wrong, "the keyring does not say when it was issued, or when it expires");
        r = read_roots(document, &ret->roots);
        if (r == -EBADMSG)
                return wrong(ret_wrong, "the keyring names no roots, one of them twice, or fewer than its threshold");
        if (r == 0)
                r = read_record_keys(document, keyring);
        if (r == -EBADMSG)
                return wrong(ret_wrong, "a record key of the keyring cannot be");
        if (r == 0)
                r = read_logs(document, keyring);
        if (r == 0)
                r = read_witnesses(document, keyring);
        if (r == -EBADMSG || r == -E2BIG)
                return wrong(ret_wrong, "the keyring's logs or witnesses cannot be");
        if (r == 0)
                r = read_quorum(document, keyring);
        return r == -EBADMSG ? wrong(ret_wrong, "the keyring does not say how many of its witnesses are a quorum, or more than there are") : r;
}

int keyring_document_read(const Ring *ring, KeyringDocument *ret, const char **ret_wrong) {
        _cleanup_(keyring_document_done) KeyringDocument found = { .keyring = keyring_new() };
        _cleanup_json_ json_t *document = NULL;
        int r;

        if (!found.keyring)
                return -ENOMEM;
        r = json_read(ring->pae + ring->payload_offset, ring->n_pae - ring->payload_offset, &document, ret_wrong);
        if (r == 0)
                r = read_document(document, &found, ret_wrong);
        if (r < 0)
                return r;
        *ret = found;
        found = (KeyringDocument) {};
        return 0;
}
