/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/record/statement/key-rotation.h"

#include <string.h>

#include "daemon/record/encode/base64.h"
#include "daemon/record/encode/json.h"

static void print_key(Printer *printer, const PublicKey *key) {
        printer_member(printer, "keyid", key->id);
        printer_member(printer, "algorithm", record_algorithm_to_string(key->algorithm));
        printer_member_base64(printer, "spki", key->spki, key->n_spki);
}

void key_rotation_print(Printer *predicate, const PublicKey *old, const PublicKey *new) {
        print_key(predicate, new);
        printer_member_open(predicate, "replaces", '{');
        print_key(predicate, old);
        printer_close(predicate, '}');
}

static int parse_key(const json_t *object, PublicKey *ret) {
        uint8_t spki[BASE64_SIZE(KEY_SPKI_MAX)];
        const char *text = text_of(object, "spki");
        PublicKey key;
        size_t n;
        int r;

        if (strlen(text) > BASE64_SIZE(KEY_SPKI_MAX) || base64_decode_standard(text, strlen(text), spki, &n) < 0)
                return -EBADMSG;
        r = public_key_from_spki(&key, spki, n);
        if (r < 0)
                return r;
        if (strcmp(key.id, text_of(object, "keyid")) != 0 ||
            strcmp(record_algorithm_to_string(key.algorithm), text_of(object, "algorithm")) != 0) {
                public_key_done(&key);
                return -EBADMSG;
        }
        *ret = key;
        return 0;
}

int key_rotation_parse(const json_t *predicate, KeyRotation *ret) {
        KeyRotation rotation = {};
        int r;

        r = parse_key(predicate, &rotation.new);
        if (r == 0)
                r = parse_key(json_object_get(predicate, "replaces"), &rotation.old);
        if (r < 0) {
                key_rotation_done(&rotation);
                return r;
        }
        *ret = rotation;
        return 0;
}

void key_rotation_done(KeyRotation *rotation) {
        public_key_done(&rotation->old);
        public_key_done(&rotation->new);
}
