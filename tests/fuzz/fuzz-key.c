/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The same bytes as a public key in PEM and in DER, as one that a token holds, and as what a record says of a change of keys. What is taken has
 * one form: written again it is the same key, and its DER the same bytes.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/json.h"
#include "daemon/record/statement/key-rotation.h"
#include "tests/fuzz/known-key.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Takes over KEY. */
static void is_whole(PublicKey *key) {
        _cleanup_free_ char *pem = NULL;
        PublicKey again;

        HOLDS(record_algorithm_to_string(key->algorithm) && strncmp(key->id, "SHA256:", 7) == 0 && strlen(key->id) == 50);
        HOLDS(public_key_to_pem(key, &pem) == 0);
        HOLDS(public_key_from_pem(&again, pem, strlen(pem)) == 0);
        HOLDS(again.n_spki == key->n_spki && memcmp(again.spki, key->spki, key->n_spki) == 0 && strcmp(again.id, key->id) == 0);
        HOLDS(public_key_verify(key, pem, strlen(pem), key->spki, KEY_ED25519_SIGNATURE < key->n_spki ? KEY_ED25519_SIGNATURE : key->n_spki) == 0);
        public_key_done(&again);
        public_key_done(key);
}

static void try_rotation(const char *text, size_t n) {
        _cleanup_printer_ Printer printer = {};
        KeyRotation rotation, again;
        json_t *value, *printed;
        const char *wrong;
        int r;

        if (json_read(text, n, &value, &wrong) < 0)
                return;
        r = key_rotation_parse(value, &rotation);
        json_decref(value);
        if (r < 0)
                return;
        printer_open(&printer, '{');
        key_rotation_print(&printer, &rotation.old, &rotation.new);
        printer_close(&printer, '}');
        HOLDS(printer.error == 0 && json_read(printer.text, printer.n, &printed, &wrong) == 0);
        HOLDS(key_rotation_parse(printed, &again) == 0);
        HOLDS(strcmp(again.old.id, rotation.old.id) == 0 && strcmp(again.new.id, rotation.new.id) == 0);
        json_decref(printed);
        key_rotation_done(&again);
        is_whole(&rotation.old);
        is_whole(&rotation.new);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        PublicKey key;

        if (public_key_from_pem(&key, (const char *) data, size) == 0)
                is_whole(&key);
        if (public_key_from_spki(&key, data, size) == 0) {
                HOLDS(key.n_spki == size && memcmp(key.spki, data, size) == 0);
                is_whole(&key);
        }
        for (RecordAlgorithm i = 0; i < _RECORD_ALGORITHM_MAX; i++)
                if (public_key_from_raw(&key, i, data, size) == 0) {
                        HOLDS(key.algorithm == i && memcmp(key.spki + key.n_spki - size, data, size) == 0);
                        is_whole(&key);
                }
        try_rotation((const char *) data, size);
        return 0;
}
