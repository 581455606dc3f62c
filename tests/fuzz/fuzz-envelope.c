/* SPDX-License-Identifier: Apache-2.0 */

/*
 * The same bytes as an envelope, which no forger can sign, and as a payload signed by a key the keyring
 * holds: verified or refused, and of what is refused nothing comes out but the reason. What base64 takes it
 * gives back.
 */

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "daemon/record/encode/base64.h"
#include "tests/fuzz/known-key.h"
#include "tests/record/sign-line.h"

/* What is an envelope, kept in parts, comes back as one that says the same. */
static void try_parts(const char *text, size_t n) {
        _cleanup_(envelope_done) Envelope envelope = {}, again = {};
        _cleanup_printer_ Printer printer = {};
        const char *payload, *wrong;
        size_t n_payload;
        bool is_plain;

        if (envelope_parse(text, n, &envelope, &wrong) < 0)
                return;
        payload = envelope_payload(&envelope, &n_payload);
        envelope_print(&printer, envelope.signatures[0].key_id, payload, n_payload, envelope.signatures[0].bytes, envelope.signatures[0].n);
        if (printer.n > RECORD_ENVELOPE_MAX)
                return;
        HOLDS(envelope_parse(printer.text, printer.n, &again, &wrong) == 0);
        HOLDS(again.n_pae == envelope.n_pae && memcmp(again.pae, envelope.pae, again.n_pae) == 0);
        HOLDS(again.signatures[0].n == envelope.signatures[0].n && memcmp(again.signatures[0].bytes, envelope.signatures[0].bytes, again.signatures[0].n) == 0);
        is_plain = true;
        for (const char *p = envelope.signatures[0].key_id; *p; p++)
                is_plain &= *p >= ' ' && *p <= '~' && *p != '"' && *p != '\\';
        HOLDS(strcmp(again.signatures[0].key_id, is_plain ? envelope.signatures[0].key_id : "") == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static RecordKey *key;
static RecordKeyring *keyring;

static void make_keys(void) {
        key = known_key();
        HOLDS(record_keyring_parse(record_key_public_pem(key), strlen(record_key_public_pem(key)),
                                   &keyring) == 0);
}

static RecordTrust verify(const char *envelope, size_t n, const uint8_t *payload, size_t n_payload) {
        RecordVerified verified;
        RecordTrust trust;

        HOLDS(record_verify(keyring, envelope, n, &trust, &verified) == 0);
        HOLDS(verified.reason && verified.reason[0]);
        for (const char *p = verified.reason; *p; p++)
                HOLDS((unsigned char) *p >= 0x20);
        if (trust == RECORD_VERIFIED) {
                HOLDS(payload && verified.n_payload == n_payload &&
                      memcmp(verified.payload, payload, n_payload) == 0);
                HOLDS(result_to_string(verified.entry.result) && verified.origin[0] &&
                      strlen(verified.entry.id) == 64);
        } else
                HOLDS(!verified.payload && verified.n_payload == 0 && !verified.entry.id[0] &&
                      !verified.key_id[0]);
        record_verified_done(&verified);
        return trust;
}

static void try_base64(const char *text, size_t n) {
        _cleanup_free_ uint8_t *bytes = malloc(n / 4 * 3 + 1);
        _cleanup_free_ char *again = NULL;
        size_t n_bytes;

        HOLDS(bytes);
        if (base64_decode(text, n, bytes, &n_bytes) < 0)
                return;
        again = malloc(BASE64_SIZE(n_bytes) + 1);
        HOLDS(again && base64_encode(bytes, n_bytes, again) == again + n);
        for (size_t i = 0; i < n; i++)
                HOLDS(again[i] == (text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
        SignedLine record;

        if (!key)
                make_keys();
        try_base64((const char *) data, size);
        try_parts((const char *) data, size);
        HOLDS(verify((const char *) data, size, NULL, 0) != RECORD_VERIFIED);
        if (sign_line(key, data, size, &record) < 0)
                return 0;
        HOLDS(verify(record.envelope.text, record.envelope.n, data, size) != RECORD_UNKNOWN_KEY);
        signed_line_done(&record);
        return 0;
}
